/** Shares of queues over the last hour or week: what each held, deserved and waited for, as charts and as a table. */

import { byText, clock, counted, day, percent, times } from "./amounts.js";
import { fill, find, make, mark, onceAFrame, say, turning } from "./elements.js";
import { ask, refusal } from "./feed.js";
import { Grid, column } from "./grid.js";
import { decides } from "./picture.js";

const MOST = 8; // Charts side by side; others are chosen by name.
const POINTS = 120;
const PACE = { hour: 10_000, week: 60_000 }; // How often there is something new, milliseconds.
const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [600, 100];
const KINDS = ["held", "hourly", "waiting", "deserved"]; // In the order in which they are drawn, the last above the others.
const TOLD = ["held", "deserved", "waiting"];
const BUSIEST = "busiest"; // What the choice of a queue begins with; names of queues follow "queue ".

/** The section of shares over time. */
export class Shares {
  constructor() {
    this.live = false;
    this.draw = onceAFrame(() => this.#draw());
    this.host = find("shares-charts");
    this.grid = new Grid(find("shares-grid"), {
      label: "Shares of queues over time",
      name: "share",
      empty: "There is no data yet.",
    });
    for (const id of ["shares-queue", "shares-span"]) find(id).addEventListener("change", () => this.#ask());
    this.host.addEventListener("pointermove", (event) => this.#pointAt(event));
    this.host.addEventListener("pointerleave", () => this.#point(null));
    this.host.addEventListener("focus", () => this.#point(Infinity, true));
    this.host.addEventListener("blur", () => this.#point(null));
    this.host.addEventListener("keydown", (event) => this.#pressed(event));
    document.addEventListener("visibilitychange", () => this.#soon());
    turning(find("shares-as-table"), find("shares-drawn"), find("shares-table"), this.draw);
  }

  /** Another picture, and what changed in it: the queues that there are. */
  show(picture, changes) {
    if (changes.whole || changes.queues.size) this.#offer(picture);
    if (picture.role !== this.role) {
      this.role = picture.role;
      this.#ask();
    }
  }

  #offer(picture) {
    const names = [...picture.queues.keys()].sort(byText);
    const options = [[BUSIEST, "the busiest"], ["queue ", "the whole cluster"], ...names.map((name) => [`queue ${name}`, name])];
    const chosen = find("shares-queue").value;
    fill(find("shares-queue"), options, ([value, text]) => make("option", { value, text, selected: value === chosen }));
  }

  /** Whether the daemon can be asked. */
  connected(live) {
    if (live === this.live) return;
    this.live = live;
    if (this.role) this.#ask();
  }

  #soon() {
    clearTimeout(this.timer);
    if (this.live && !document.hidden && decides(this.role)) this.timer = setTimeout(() => this.#ask(), PACE[find("shares-span").value]);
  }

  async #ask() {
    this.stopping?.abort();
    clearTimeout(this.timer);
    if (!this.live || !decides(this.role)) return;
    this.stopping = new AbortController();
    const { signal } = this.stopping;
    const query = new URLSearchParams({ span: find("shares-span").value, points: POINTS });
    const chosen = find("shares-queue").value || BUSIEST;
    if (chosen === BUSIEST) query.set("most", MOST);
    else query.set("queue", chosen.slice("queue ".length));
    try {
      const answer = await ask(`queue-history?${query}`, { signal });
      if (answer.ok) [this.found, this.problem] = [await answer.json(), ""];
      else [this.found, this.problem] = [null, await refusal(answer)];
    } catch (error) {
      if (error.name === "AbortError") return;
      this.problem = "the daemon does not answer"; // The head of the page says more; what was seen stays.
    }
    if (signal.aborted) return;
    this.draw();
    this.#soon();
  }

  #draw() {
    const series = this.found?.queues ?? [];
    say(find("shares-told"), this.problem || (series.length ? spanOf(this.found) : "There is no data yet."));
    if (find("shares-table").hidden) this.#charts(series);
    else this.#table(series);
  }

  #charts(series) {
    // All charts share one scale, so that they can be compared; what waits or is deserved may be more than there is.
    const known = series.flatMap((one) => [...one.held, ...one.deserved]).filter((value) => value !== null);
    this.top = Math.min(1, Math.max(0.05, ...known));
    say(find("shares-scale"), `Charts are ${percent(this.top)} of the cluster high; higher values are cut off.`);
    fill(find("shares-figures"), series.map((one) => one.queue), (name) => figure(name));
    series.forEach((one, at) => {
      const chart = find("shares-figures").children[at];
      const [held, hourly] = [false, true].map((wanted) => one.held.map((value, step) => (this.#isHourly(step) === wanted ? value : null)));
      const drawn = { held, hourly, waiting: one.waiting, deserved: one.deserved };
      for (const kind of KINDS) mark(chart.lines[kind], "d", path(drawn[kind], this.top, drawn[kind] === held || drawn[kind] === hourly));
    });
    find("shares-hourly").hidden = !this.found?.hourly?.length;
    this.#captions();
  }

  /** Whether a point has means of hours: of the time before this daemon began to lead, when only what was held is known. */
  #isHourly(step) {
    return this.found?.hourly?.[step] ?? false;
  }

  /** What each chart says: the values where one points, else the last ones. */
  #captions() {
    const series = this.found?.queues ?? [];
    const steps = series[0]?.held.length ?? 0;
    const at = this.at ?? steps - 1;
    series.forEach((one, index) => {
      const chart = find("shares-figures").children[index];
      if (!chart) return;
      const told = TOLD.filter((kind) => one[kind].some((value) => value !== null));
      say(chart.told, told.map((kind) => `${kind} ${times(one[kind][at])}`).join(", "));
      const x = (((at + 0.5) / steps) * WIDTH).toFixed(1);
      mark(chart.cursor, "d", this.at === null || this.at === undefined ? "" : `M${x} 0V${HEIGHT}`);
    });
    say(find("shares-when"), this.at === null || this.at === undefined ? "" : timeOf(this.found, at));
  }

  #pointAt(event) {
    const chart = event.target.closest?.("figure")?.querySelector("svg");
    if (!chart) return this.#point(null);
    const box = chart.getBoundingClientRect();
    return this.#point(Math.floor(((event.clientX - box.left) / box.width) * this.#steps));
  }

  get #steps() {
    return this.found?.queues[0]?.held.length ?? 0;
  }

  #point(at, byKey = false) {
    this.at = at === null || !this.#steps ? null : Math.max(0, Math.min(this.#steps - 1, at));
    this.#captions();
    if (!byKey || this.at === null) return;
    const told = this.found.queues.map((one) => `${nameOf(one.queue)} held ${times(one.held[this.at])}`);
    say(find("shares-said"), `${timeOf(this.found, this.at)}: ${told.join(", ")}`);
  }

  #pressed(event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
    if (event.key === "Escape") this.#point(null);
    else if (event.key in steps) this.#point((this.at ?? this.#steps) + steps[event.key], true);
    else return;
    event.preventDefault();
  }

  #table(series) {
    const number = (name, value) => column(name, value, (row) => times(value(row)));
    this.grid.head([
      column("queue", (row) => nameOf(row.queue), (row) => nameOf(row.queue), { class: "" }),
      number("held", (row) => row.held.at(-1)),
      number("held, mean", (row) => mean(row.held)),
      number("held, most", (row) => Math.max(0, ...row.held)),
      number("deserved", (row) => row.deserved.at(-1)),
      number("waiting", (row) => row.waiting.at(-1)),
      number("waiting, mean", (row) => mean(row.waiting)),
    ]);
    this.grid.show(series.map((one) => ({ ...one, key: `queue ${one.queue}` })));
  }
}

const nameOf = (queue) => queue || "the whole cluster";

function mean(points) {
  const known = points.filter((value) => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}

function timeOf(found, at) {
  const began = found.begins + at * found.step_seconds;
  return found.span === "week" ? day(began) : clock(began);
}

function spanOf(found) {
  const each = found.step_seconds < 120 ? counted(found.step_seconds, "second") : counted(Math.round(found.step_seconds / 60), "minute");
  const left = found.left_out ? `; ${counted(found.left_out, "queue")} without a history` : "";
  const restored = found.hourly?.lastIndexOf(true) ?? -1;
  const hourly = restored < 0 ? "" : `; before ${timeOf(found, restored + 1)}, when this daemon began to lead, only hourly means of what was held are known`;
  return `from ${timeOf(found, 0)} on, ${each} a point${left}${hourly}`;
}

function drawn(name, about) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(about)) made.setAttribute(key, value);
  return made;
}

function figure(name) {
  const told = make("span", { class: "muted" });
  const svg = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const lines = Object.fromEntries(KINDS.map((kind) => [kind, drawn("path", { class: kind })]));
  const cursor = drawn("path", { class: "cursor" });
  svg.append(...Object.values(lines), cursor);
  const caption = make("figcaption", {}, make("strong", { text: nameOf(name) }), " ", told);
  return Object.assign(make("figure", {}, caption, svg), { told, lines, cursor });
}

/** A line through the points, in steps, with gaps where nothing is known; down to the ground where it is to be filled. */
function path(points, top, filled) {
  const x = (at) => ((at / points.length) * WIDTH).toFixed(1);
  const y = (value) => ((1 - Math.min(1, value / top)) * (HEIGHT - 2) + 1).toFixed(1);
  let text = "";
  for (let at = 0; at < points.length; at += 1) {
    if (points[at] === null) continue;
    const begins = at === 0 || points[at - 1] === null;
    if (begins) text += filled ? `M${x(at)} ${HEIGHT}V${y(points[at])}` : `M${x(at)} ${y(points[at])}`;
    else text += `V${y(points[at])}`;
    text += `H${x(at + 1)}`;
    if (filled && (points[at + 1] ?? null) === null) text += `V${HEIGHT}Z`;
  }
  return text;
}
