/** The panel at the side: everything about one job, queue or node, with the daemon's own explanation. */

import * as address from "./address.js";
import { amount, counted, day, times } from "./amounts.js";
import { find, make, mark, say, table } from "./elements.js";
import { deviceParts, devicesPath } from "./devices.js";
import { explained, facts, jobFacts, queueFacts } from "./explanation.js";
import { ask, refusal } from "./feed.js";
import { isOver, limit, shareOf } from "./bars.js";
import { opening, podParts, podsPath } from "./pods.js";
import { STATES } from "./nodes.js";
import { aheadOf, calledBy, links, startsAt } from "./starts.js";

const AGES = 5_000; // How often its age is brought up to date where nothing else changes.
const CALM = 5_000; // An explanation takes the daemon up to a second of work, so it is asked for this often at most.
const PATIENCE = 45_000; // The daemon answers within 30 s; where the connection is silent, it is asked again.

const path = {
  job: (key) => `explain/${key.split("/").map(encodeURIComponent).join("/")}?kind=PodGroup`,
  queue: (key) => `explain-queue/${encodeURIComponent(key)}`,
};

/** Opens and closes it, and keeps it up to date while it is open. */
export class Panel {
  constructor({ onJobsOf }) {
    Object.assign(this, { onJobsOf, kind: "", key: "", asked: 0 });
    this.element = find("panel");
    this.leads = (kind, key) => this.open(kind, key);
    find("panel-close").addEventListener("click", () => this.close());
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.close();
    });
    address.onAddress(() => this.follow());
    setInterval(() => !document.hidden && !this.element.hidden && this.#known(), AGES);
  }

  /** Open what the address names, if it names anything. */
  follow() {
    const [kind, ...rest] = address.word("open").split(":");
    if (kind in TITLES && rest.length) this.open(kind, rest.join(":"));
    else if (!this.element.hidden) this.close();
  }

  /** Open it on one thing. */
  open(kind, key) {
    if (this.element.hidden) this.back = document.activeElement;
    Object.assign(this, { kind, key });
    // The way back closes it, as on a telephone, where it covers all else.
    address.keep("", { open: `${kind}:${key}` }, !address.word("open"));
    this.element.hidden = false;
    say(find("panel-kind"), TITLES[kind]);
    this.#put([], "");
    this.#known();
    renew(find("panel-pods"), []);
    renew(find("panel-devices"), []);
    this.#drop();
    this.#ask();
    this.element.scrollTop = 0;
    find("panel-title").focus();
  }

  /** Close it, and go back to where one was. */
  close() {
    this.element.hidden = true;
    this.#drop();
    address.keep("", { open: "" });
    if (this.back?.isConnected) this.back.focus({ preventScroll: true });
  }

  /** Another picture, and what changed in it. */
  show(picture, changes) {
    this.picture = picture;
    if (this.element.hidden) return;
    this.#known();
    if (changes.whole || changes[`${this.kind}s`].has(this.key)) this.#soon();
    else this.again();
  }

  /** The daemon is there: what it could not be asked is asked once more. */
  again() {
    if (this.failed && !this.element.hidden) this.#soon();
  }

  #title() {
    return (this.kind === "job" && this.picture?.jobs.get(this.key)?.called) || this.key;
  }

  #known() {
    say(find("panel-title"), this.#title());
    const record = this.picture?.[`${this.kind}s`].get(this.key);
    const parts = record ? this[`_${this.kind}`](record) : [make("p", { text: this.picture ? "It does not exist (any more)." : "…" })];
    const body = find("panel-known");
    const text = parts.map((part) => part.textContent).join("\n");
    if (body.told === `${this.key}\n${text}`) return;
    body.told = `${this.key}\n${text}`;
    renew(body, parts);
  }

  _job(job) {
    return [jobFacts(job, this.picture.now(), opening(this.leads, "queue", job.queue), this.#starts(job))];
  }

  /** When it starts, and who goes before whom, on nodes that are kept for planned starts. */
  #starts(job) {
    const facts = [];
    if (job.ahead_of) facts.push(["goes before", opening(this.leads, "job", job.ahead_of, calledBy(this.picture.jobs, job.ahead_of))]);
    if (job.start === null) return facts;
    facts.push(["planned start", `${startsAt(job, this.picture.now())}, on ${counted(job.start_nodes, "node")}`]);
    const before = aheadOf(this.picture.jobs).get(job.key);
    if (before) facts.push(["before it", make("span", {}, ...links(before, this.picture.jobs, this.leads))]);
    return facts;
  }

  _queue(queue) {
    const kinds = ["allocated", "deserved", "guarantee", "capability"];
    const rows = this.picture.resources.map((resource, at) => {
      const values = [...kinds.map((kind) => queue[kind][at]), limit(this.picture.queues, queue, resource, at)];
      return [resource.name, ...values.map((value) => amount(value, resource.unit))];
    });
    const part = shareOf(queue);
    const told = part === null ? "What it deserves is not set" : `Holds ${times(part)} ${part >= 2 ? "" : "of "}what it deserves`;
    const share = make("p", { text: `${told}${isOver(queue) ? ": over-used" : ""}.` });
    const jobs = make("button", { type: "button", text: `Show its ${counted(queue.waiting, "waiting job")}` });
    jobs.addEventListener("click", () => this.onJobsOf(queue.name));
    const amounts = table("Amounts by resource", ["resource", ...kinds, "at most"], rows);
    return [queueFacts(queue), share, amounts, jobs];
  }

  _node(node) {
    const shares = this.picture.resources.map((resource, at) => {
      const value = node.allocated[at];
      return [`${resource.name} allocated`, value === null ? "it has none" : `${value}%`];
    });
    return [
      facts([
        ["pool", node.group],
        ["rack", node.rack],
        ["state", STATES[node.state] ?? node.state ?? ""],
        ["pods", String(node.pods)],
        ...shares,
        ["cpu usage", node.cpu_usage === null ? "unknown" : `${node.cpu_usage}% measured`],
        ["memory usage", node.memory_usage === null ? "unknown" : `${node.memory_usage}% measured`],
      ]),
    ];
  }

  #soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#ask(), Math.max(0, this.asked + CALM - Date.now()));
  }

  /** Want no answer any more: it would be about something else. */
  #drop() {
    this.stopping?.abort();
    this.stopping = null;
    clearTimeout(this.timer);
  }

  /** One question at a time: what changes meanwhile is asked for after its answer, however long that takes. */
  async #ask() {
    this.more = Boolean(this.stopping);
    if (this.more) return;
    const stopping = new AbortController();
    Object.assign(this, { stopping, asked: Date.now(), failed: false });
    const answers = [];
    if (path[this.kind]) answers.push(this.#explain(stopping));
    if (podsPath(this.kind, this.key)) answers.push(this.#list(stopping));
    if (this.kind === "node") answers.push(this.#devices(stopping));
    await Promise.all(answers);
    if (this.stopping !== stopping) return;
    this.stopping = null;
    if (this.more) this.#soon();
  }

  /** Its pods, and who had to leave; they come apart from the explanation, which takes longer. */
  async #list(stopping) {
    const body = find("panel-pods");
    let parts;
    try {
      const answer = await ask(podsPath(this.kind, this.key), bounded(stopping));
      // What no longer exists may have been evicted.
      const found = answer.ok || answer.status === 404 ? await answer.json() : { problem: await refusal(answer) };
      parts = found.problem ? [make("p", { text: `Its pods are unknown: ${found.problem}` })] : podParts(found, this.kind, this.leads);
      this.failed ||= Boolean(found.problem);
    } catch (error) {
      this.failed = true;
      parts = [make("p", { text: `Could not ask the daemon for its pods: ${error.message}` })];
    }
    if (stopping.signal.aborted) return;
    const told = parts.map((part) => part.textContent).join("\n");
    if (body.told !== `${this.key}\n${told}` || !body.childElementCount) renew(body, parts);
    body.told = `${this.key}\n${told}`;
  }

  /** What part of its devices is taken, and by whom; nothing is said where that is not known. */
  async #devices(stopping) {
    const body = find("panel-devices");
    let found = { nodes: [] };
    try {
      const answer = await ask(devicesPath(this.key), bounded(stopping));
      if (answer.ok) found = await answer.json();
    } catch {
      this.failed = true;
    }
    if (stopping.signal.aborted) return;
    const { at, ...rest } = found;
    const told = `${this.key}\n${JSON.stringify(rest)}`;
    if (body.told !== told || !body.childElementCount) renew(body, deviceParts(found, this.leads));
    body.told = told;
  }

  async #explain(stopping) {
    const body = find("panel-explained");
    mark(body, "aria-busy", "true");
    if (!body.childElementCount) this.#put([make("p", { class: "muted", text: "Asking the daemon …" })], "");
    let found;
    try {
      const answer = await ask(path[this.kind](this.key), bounded(stopping));
      this.failed ||= !answer.ok && answer.status !== 404;
      found = answer.ok ? await answer.json() : { message: await refusal(answer) };
    } catch (error) {
      this.failed = true;
      found = { message: `Could not ask the daemon: ${error.message}` };
    }
    if (this.stopping !== stopping || stopping.signal.aborted) return;
    mark(body, "aria-busy", null);
    const { at, ...rest } = found;
    // What says the same stays as it is: somebody may be reading it, or copying from it.
    if (body.shows !== JSON.stringify(rest)) this.#put(explained(rest), JSON.stringify(rest));
    say(find("panel-at"), at ? `As of the session of ${day(at)}.` : "");
  }

  #put(parts, shows) {
    find("panel-explained").shows = shows;
    renew(find("panel-explained"), parts);
    say(find("panel-at"), "");
  }
}

/** What ends a question: that nobody wants its answer, or that none comes. */
const bounded = (stopping) => ({ signal: AbortSignal.any([stopping.signal, AbortSignal.timeout(PATIENCE)]) });

/** Other parts in place of these; whoever was in one of them with the keyboard is in the one at its place. */
function renew(body, parts) {
  const stops = () => [...body.querySelectorAll("a, button, [tabindex]")];
  const at = stops().indexOf(document.activeElement);
  body.replaceChildren(...parts);
  if (at >= 0) stops()[at]?.focus({ preventScroll: true });
}

const TITLES = { job: "Job", queue: "Queue", node: "Node" };
