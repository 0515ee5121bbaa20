/** The last sessions on a time line: what they bound and evicted, and where their time went; and the same as a table. */

import { clock, count, counted, milliseconds } from "./amounts.js";
import { fill, find, make, mark, onceAFrame, say, style, turning } from "./elements.js";
import { Grid, column } from "./grid.js";

const KINDS = 8; // Colours there are for parts of a session's time.

/** The section of the sessions. */
export class Sessions {
  constructor() {
    this.bars = new Map(); // Elements by the number of the session.
    this.draw = onceAFrame(() => this.picture && this.#draw());
    this.host = find("sessions-line");
    this.tip = find("sessions-tip");
    this.grid = new Grid(find("sessions-grid"), {
      label: "Sessions",
      name: "session",
      empty: "No session has run yet.",
      order: { name: "session", descending: true },
    });
    this.host.addEventListener("pointermove", (event) => this.#point(event.target.session));
    this.host.addEventListener("pointerleave", () => this.#point());
    this.host.addEventListener("focus", () => this.#go(Infinity));
    this.host.addEventListener("blur", () => this.#point());
    this.host.addEventListener("keydown", (event) => this.#pressed(event));
    turning(find("sessions-as-table"), find("sessions-drawn"), find("sessions-table"), this.draw);
  }

  /** Another picture, and what changed in it. */
  show(picture, changes) {
    this.picture = picture;
    if (changes.whole || changes.sessions) this.draw();
  }

  #draw() {
    const { sessions } = this.picture;
    const times = sessions.map(whole).sort((a, b) => a - b);
    const within = (part) => milliseconds(times[Math.min(times.length - 1, Math.floor(part * times.length))]);
    const sum = (kind) => sessions.reduce((all, session) => all + session[kind], 0);
    const parts = [`${count(sum("binds"))} bound`, `${count(sum("evictions"))} evicted`];
    if (times.length) parts.push(`half within ${within(0.5)}, 99% within ${within(0.99)}`);
    say(find("sessions-told"), parts.join(", "));
    if (find("sessions-table").hidden) this.#line();
    else this.#table();
  }

  #line() {
    const { sessions } = this.picture;
    const kinds = kindsOf(this.picture);
    if (kinds.join() !== this.kinds?.join()) this.#forget(); // Their colours are other ones.
    this.kinds = kinds;
    fill(find("sessions-kinds"), this.kinds, (kind, at) => {
      const swatch = make("span", { class: "swatch", "aria-hidden": "true" });
      style(swatch, "background", `var(--kind-${at % KINDS})`);
      return make("li", {}, swatch, ` ${kind}`);
    });
    const most = (value) => Math.max(1, ...sessions.map(value));
    const [binds, evictions, time] = [most((session) => session.binds), most((session) => session.evictions), most(whole)];
    // Heights are parts of these, so a new largest one moves all bars at once.
    style(this.host, "--most-binds", binds);
    style(this.host, "--most-evictions", evictions);
    style(this.host, "--most-time", time);
    say(find("sessions-bound"), sessions.some((session) => session.binds) ? `bound, at most ${count(binds)}` : "bound: none");
    say(find("sessions-evicted"), sessions.some((session) => session.evictions) ? `evicted, at most ${count(evictions)}` : "evicted: none");
    say(find("sessions-time"), sessions.length ? `time, at most ${milliseconds(time)}` : "time: none");
    say(find("sessions-when"), sessions.length ? `${clock(sessions[0].at)} to ${clock(sessions.at(-1).at)}` : "");
    this.#bars(sessions);
  }

  #forget() {
    find("sessions-bars").replaceChildren();
    this.bars.clear();
  }

  #bars(sessions) {
    const shown = new Set(sessions);
    for (const [number, bar] of this.bars) {
      if (shown.has(bar.session)) continue;
      bar.remove();
      this.bars.delete(number);
    }
    const home = find("sessions-bars");
    sessions.forEach((session, at) => {
      const bar = this.bars.get(session.number) ?? this.#bar(session);
      if (home.children[at] !== bar) home.insertBefore(bar, home.children[at] ?? null);
    });
  }

  #bar(session) {
    const bar = make("span", { class: "session" });
    this.bars.set(session.number, bar);
    bar.session = session;
    for (const kind of ["binds", "evictions"]) style(bar, `--${kind}`, session[kind]);
    style(bar, "--time", whole(session));
    let passed = 0;
    const stops = partsOf(session).map(([kind, time]) => {
      const from = passed;
      passed += (100 * time) / (whole(session) || 1);
      return `var(--kind-${this.kinds.indexOf(kind) % KINDS}) ${from.toFixed(1)}% ${passed.toFixed(1)}%`;
    });
    style(bar, "--parts", `linear-gradient(to top, ${stops.join(", ")})`);
    return bar;
  }

  #go(at) {
    const { sessions } = this.picture ?? { sessions: [] };
    this.#point(sessions[Math.max(0, Math.min(sessions.length - 1, at))], true);
  }

  #point(session, byKey = false) {
    const bar = session && this.bars.get(session.number);
    mark(this.pointed ?? this.host, "data-pointed", null);
    this.tip.hidden = !bar;
    if (!bar) return;
    this.pointed = bar;
    mark(bar, "data-pointed", "true");
    const time = partsOf(session).map(([kind, spent]) => `${kind} ${milliseconds(spent)}`);
    const parts = [
      `session ${session.number} at ${clock(session.at)}, after ${session.reason === "timer" ? "the timer" : "a change"}`,
      `${count(session.binds)} bound, ${count(session.evictions)} evicted, ${counted(session.waiting, "pod")} waiting`,
      `${milliseconds(whole(session))}: ${time.join(", ")}`,
    ];
    say(this.tip, parts.join(" · "));
    if (byKey) say(find("sessions-said"), parts.join(" · "));
    style(this.tip, "left", `${Math.max(0, Math.min(bar.offsetLeft, this.host.clientWidth - this.tip.offsetWidth))}px`);
  }

  #pressed(event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
    if (event.key === "Escape") this.#point();
    else if (event.key in steps) this.#go(this.picture.sessions.indexOf(this.pointed?.session) + steps[event.key]);
    else return;
    event.preventDefault();
  }

  #table() {
    const number = (name, value) => column(name, value, (row) => count(value(row)));
    const time = (name, value) => column(name, value, (row) => milliseconds(value(row)));
    this.grid.head([
      column("session", (row) => row.number),
      column("at", (row) => row.at, (row) => clock(row.at)),
      column("after", (row) => row.reason),
      number("bound", (row) => row.binds),
      number("evicted", (row) => row.evictions),
      number("waiting", (row) => row.waiting),
      time("snapshot", (row) => row.snapshot_ms),
      ...kindsOf(this.picture).slice(1, -2).map((action) => time(action, (row) => row.actions[action] ?? 0)),
      time("decide", (row) => row.decide_ms),
      time("hand over", (row) => row.handover_ms),
    ]);
    this.grid.show(this.picture.sessions.map((session) => ({ ...session, key: session.number })));
  }
}

const whole = (session) => session.snapshot_ms + session.decide_ms + session.handover_ms;

/** Where a session's time went, in the order in which it passed. */
function partsOf(session) {
  const actions = Object.entries(session.actions);
  const rest = session.decide_ms - actions.reduce((sum, [, time]) => sum + time, 0);
  return [["snapshot", session.snapshot_ms], ...actions, ["rest", Math.max(0, rest)], ["hand over", session.handover_ms]];
}

/** All the parts there are, in the order in which they pass; actions as the policy has them, and others by name. */
function kindsOf({ sessions, policy }) {
  const found = [...new Set(sessions.flatMap((session) => Object.keys(session.actions)))].sort();
  const actions = new Set([...(policy?.actions ?? []).filter((action) => found.includes(action)), ...found]);
  return ["snapshot", ...actions, "rest", "hand over"];
}
