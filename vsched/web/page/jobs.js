/** Jobs that wait, with position and reason; thousands of them, to sort and to filter. */

import * as address from "./address.js";
import { age, amount, byText, count, counted, label } from "./amounts.js";
import { fill, find, make, mark, onceAFrame, say } from "./elements.js";
import { Grid, column } from "./grid.js";
import { startsAt } from "./starts.js";

const AGES = 5_000; // How often ages are brought up to date where nothing else changes.
const MOST_REASONS = 12;
const NO_REASON = "none";
const WANTED = ["queue", "namespace", "user", "reason"]; // By which jobs are chosen, as the address has them.

const namespaceOf = (job) => job.key.slice(0, job.key.indexOf("/"));

/** Whether a job waits: for its minimum, or with some of its pods. */
const waits = (job) => job.pending > 0 || (job.ready < job.min_member && job.phase !== "Completed");

/** The first of every queue before the second of any; those without a position last. */
const asTried = (a, b) =>
  (a.position ?? Infinity) - (b.position ?? Infinity) || byText(a.queue, b.queue) || byText(a.key, b.key);

/** The section of the jobs. */
export class Jobs {
  constructor({ onJob }) {
    this.draw = onceAFrame(() => this.picture && this.#draw());
    this.grid = new Grid(find("jobs-grid"), {
      label: "Jobs",
      name: "job",
      empty: "No job waits.",
      on: { open: (row) => onJob(row.key), sorted: () => this.#keep() },
    });
    this.text = find("jobs-text");
    this.queue = find("jobs-queue");
    this.namespace = find("jobs-namespace");
    this.user = find("jobs-user");
    this.which = find("jobs-which");
    this.reasons = find("jobs-reasons");
    this.text.addEventListener("input", () => this.#keep());
    for (const choice of [this.queue, this.namespace, this.user, this.which]) choice.addEventListener("change", () => this.#keep());
    find("jobs-filters").addEventListener("submit", (event) => event.preventDefault());
    address.onAddress(() => this.#follow());
    this.#follow();
    setInterval(() => !document.hidden && this.grid.draw(), AGES);
  }

  /** Another picture, and what changed in it. */
  show(picture, changes) {
    this.picture = picture;
    if (changes.whole || changes.jobs.size || changes.resources) this.draw();
  }

  #follow() {
    this.text.value = address.word("text");
    this.wanted = Object.fromEntries(WANTED.map((name) => [name, address.word(name)]));
    this.which.value = address.word("which") === "all" ? "all" : "waiting";
    const sort = address.word("sort", "position");
    this.grid.order = { name: sort.replace(/^-/, ""), descending: sort.startsWith("-") };
    this.draw();
  }

  #keep() {
    for (const name of ["queue", "namespace", "user"]) this.wanted[name] = this[name].value;
    const { name, descending } = this.grid.order;
    const sort = descending ? `-${name}` : name;
    address.keep("jobs", {
      text: this.text.value.trim(),
      ...this.wanted,
      which: this.which.value === "all" ? "all" : "",
      sort: sort === "position" ? "" : sort,
    });
    this.draw();
  }

  #draw() {
    const { picture } = this;
    this.grid.head(this.#columns());
    this.#choices();
    const text = this.text.value.trim().toLowerCase();
    const queues = this.wanted.queue ? picture.under(this.wanted.queue) : null;
    const namespace = text.indexOf("/") === text.length - 1; // All of one namespace, not of those whose names end alike.
    const reasons = new Map();
    let [among, more] = [0, 0];
    const rows = [];
    for (const job of picture.jobs.values()) {
      const waiting = waits(job);
      if (this.which.value === "waiting" && !waiting) continue;
      if (queues && !queues.has(job.queue)) continue;
      if (this.wanted.namespace && namespaceOf(job) !== this.wanted.namespace) continue;
      if (this.wanted.user && job.user !== this.wanted.user) continue;
      if (text && !(namespace ? job.key.startsWith(text) : `${job.key} ${job.called} ${job.user} ${job.message}`.toLowerCase().includes(text))) continue;
      among += 1;
      const reason = job.reason || (waiting ? NO_REASON : "");
      if (reason) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      if (this.wanted.reason && reason !== this.wanted.reason) continue;
      rows.push(job);
      if (waiting && job.ready >= job.min_member) more += 1;
    }
    this.#chips(reasons, among);
    this.grid.show(rows.sort(asTried), this.#nothing());
    const left = picture.counts.jobs_left_out ? `; ${count(picture.counts.jobs_left_out)} more are not listed` : "";
    const begun = more ? `; ${count(more)} of these ${more === 1 ? "has its" : "have their"} minimum and wait${more === 1 ? "s" : ""} for more pods` : "";
    say(find("jobs-told"), `${counted(rows.length, "job")} shown of ${count(picture.jobs.size)}${left}${begun}`);
  }

  #nothing() {
    const filtered = this.text.value.trim() || Object.values(this.wanted).some(Boolean);
    if (filtered) return "No job matches these filters.";
    return this.which.value === "all" ? "There are no jobs." : "No job waits.";
  }

  #choices() {
    const [namespaces, users] = [new Set(), new Set()];
    for (const job of this.picture.jobs.values()) {
      namespaces.add(namespaceOf(job));
      if (job.user) users.add(job.user);
    }
    this.#choice("queue", this.picture.queues.keys(), "all queues");
    this.#choice("namespace", namespaces, "all namespaces");
    this.#choice("user", users, "all users");
    find("jobs-users").hidden = !users.size && !this.wanted.user;
  }

  #choice(which, found, all) {
    const names = [...found].sort();
    const wanted = this.wanted[which];
    if (wanted && !names.includes(wanted)) names.push(wanted);
    fill(this[which], ["", ...names], (name) => make("option", { value: name, text: name || all }));
    this[which].value = wanted;
  }

  #chips(reasons, among) {
    const listed = [...reasons].sort(([a, first], [b, second]) => second - first || (a < b ? -1 : 1)).slice(0, MOST_REASONS);
    const wanted = this.wanted.reason;
    if (wanted && !listed.some(([reason]) => reason === wanted)) listed.push([wanted, reasons.get(wanted) ?? 0]);
    const wish = [["", among], ...listed];
    // Chips stay where they are while their counts change: a finger may be on its way to one.
    const names = wish.map(([reason]) => reason).sort();
    fill(this.reasons, names, (reason) => {
      const number = make("span", { class: "of" });
      const chip = make("button", { type: "button", class: "chip", "data-reason": reason }, reason || "all reasons", " ", number);
      chip.addEventListener("click", () => {
        this.wanted.reason = this.wanted.reason === reason ? "" : reason;
        this.#keep();
      });
      return chip;
    });
    const counts = new Map(wish);
    for (const chip of this.reasons.children) {
      const { reason } = chip.dataset;
      say(chip.lastElementChild, count(counts.get(reason)));
      mark(chip, "aria-pressed", String(wanted === reason));
    }
  }

  #columns() {
    const { resources } = this.picture;
    const told = (name, value, more) => column(name, value, value, { class: name, up: true, ...more });
    const start = (job) => (job.start === null ? "-" : startsAt(job, this.picture.now()));
    const starts = column("start", (job) => job.start ?? Infinity, start, { class: "start", up: true, title: "its planned start" });
    const anyStarts = [...this.picture.jobs.values()].some((job) => job.start !== null);
    return [
      told("job", (job) => job.called || job.key, { put: putName }),
      told("queue", (job) => job.queue),
      column("position", (job) => job.position, undefined, { class: "number position", up: true, title: "in the order of its queue", put: putPosition }),
      ...(anyStarts ? [starts] : []),
      told("phase", (job) => job.phase, { class: "phase" }),
      column("priority", (job) => job.priority, undefined, { class: "number rank" }),
      column("min", (job) => job.min_member),
      column("ready", (job) => job.ready, undefined, { class: "number few" }),
      column("pending", (job) => job.pending, undefined, { class: "number few" }),
      column("running", (job) => job.running, undefined, { class: "number few" }),
      column("age", (job) => this.picture.now() - job.created, (job) => age(this.picture.now() - job.created)),
      told("reason", (job) => job.reason, {
        put: (cell, job) => {
          say(cell, job.reason || (job.message ? "" : "-"));
          const asks = resources.map((resource, at) => [resource, job.request[at]]).filter(([, value]) => value);
          const asked = asks.map(([resource, value]) => `${amount(value, resource.unit)} ${label(resource, resources)}`);
          mark(cell, "title", asked.length ? `its waiting pods ask for ${asked.join(", ")}` : null);
        },
      }),
      told("message", (job) => job.message, { put: putMessage }),
    ];
  }
}

/** A place says of which queue it is: beside the queue by its title, and in words where there is no room for the queue. */
function putPosition(cell, job) {
  if (!cell.firstChild) cell.append(make("span"), make("span", { class: "whose muted" }));
  const known = job.position !== null;
  say(cell.firstChild, known ? count(job.position) : "-");
  say(cell.lastChild, known ? ` of ${job.queue}` : "");
  mark(cell, "title", known ? `${count(job.position)} in the order of queue ${job.queue}` : null);
}

function putMessage(cell, job) {
  if (!cell.firstChild) cell.append(make("span", { class: "two-lines" }));
  say(cell.firstChild, job.message);
  mark(cell, "title", job.message || null);
}

function putName(cell, job) {
  if (!cell.firstChild) cell.append(make("span", { class: "whole" }));
  say(cell.firstChild, job.called || job.key);
  mark(cell, "title", job.key);
}
