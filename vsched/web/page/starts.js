/** Planned starts: jobs that room is kept for, when and on how many nodes, and who goes before them. */

import { age, byText, clock, count, counted, day } from "./amounts.js";
import { find, make, onceAFrame, say } from "./elements.js";
import { linked, opening, row } from "./pods.js";

const TIMES = 5_000; // How often times are brought up to date where nothing else changes.
const MOST = 8; // So many of those that go before a job are named.
const HALF_A_DAY = 43_200;

/** When a job starts: `14:05:00, in 12m`; with its day where that is far. */
export function startsAt(job, now) {
  const left = job.start - now;
  return `${Math.abs(left) < HALF_A_DAY ? clock(job.start) : day(job.start)}, ${left > 0 ? `in ${age(left)}` : "now"}`;
}

/** The keys of the jobs that go before each job with a planned start. */
export function aheadOf(jobs) {
  const found = new Map();
  for (const job of jobs.values()) {
    if (!job.ahead_of) continue;
    if (!found.has(job.ahead_of)) found.set(job.ahead_of, []);
    found.get(job.ahead_of).push(job.key);
  }
  for (const keys of found.values()) keys.sort(byText);
  return found;
}

/** How people know the job of a key. */
export const calledBy = (jobs, key) => jobs.get(key)?.called || key;

/** Links to the first of these jobs, and how many more there are. */
export function links(keys, jobs, open) {
  const made = keys.slice(0, MOST).flatMap((key, at) => [...(at ? [", "] : []), opening(open, "job", key, calledBy(jobs, key))]);
  return keys.length > MOST ? [...made, ` and ${count(keys.length - MOST)} more`] : made;
}

/** What is below the list of jobs. */
export class Starts {
  constructor({ open }) {
    this.open = open;
    this.draw = onceAFrame(() => this.picture && this.#draw());
    setInterval(() => !document.hidden && this.draw(), TIMES);
  }

  /** Another picture, and what changed in it. */
  show(picture, changes) {
    this.picture = picture;
    if (changes.whole || changes.jobs.size) this.draw();
  }

  #draw() {
    const now = this.picture.now();
    const found = [...this.picture.jobs.values()].filter((job) => job.start !== null);
    found.sort((a, b) => a.start - b.start || byText(a.key, b.key));
    find("starts").hidden = !found.length;
    const ahead = found.length ? aheadOf(this.picture.jobs) : new Map();
    const told = found.map((job) => [job, startsAt(job, now), ahead.get(job.key) ?? []]);
    const drawn = JSON.stringify(told.map(([job, at, keys]) => [job.key, job.queue, at, job.start_nodes, job.message, keys]));
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    say(find("starts-told"), `nodes are reserved for ${counted(found.length, "job")}; work that ends in time may start before`);
    const rows = told.map(([job, at, keys]) =>
      row(null, opening(this.open, "job", job.key, job.called || job.key), job.queue, at, count(job.start_nodes), job.message, keys.length ? links(keys, this.picture.jobs, this.open) : "-"),
    );
    const list = find("starts-list");
    const among = [...list.querySelectorAll("a")].indexOf(document.activeElement);
    list.replaceChildren(linked("Planned starts", ["job", "queue", "start", "nodes", "why it waits", "backfilled before it"], rows));
    if (among >= 0) list.querySelectorAll("a")[among]?.focus({ preventScroll: true });
  }
}
