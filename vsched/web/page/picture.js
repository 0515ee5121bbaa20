/** The whole picture as the daemon sends it, kept up to date by what changes in it (`vsched/web/deltas.py`). */

const record = (names) => (values) => {
  const made = {};
  for (let at = 0; at < names.length; at += 1) made[names[at]] = values[at];
  return made;
};

/** The fields of each row, in the order of `vsched/web/overview.py`. */
export const FIELDS = {
  queues:
    "name parent state weight priority share overused allocated deserved guarantee capability jobs waiting problem",
  namespaces: "queue namespace weight share allocated waiting deserved",
  nodes: "name allocated cpu_usage memory_usage pods state group rack",
  jobs:
    "key queue phase priority min_member ready pending running created position reason message request user start start_nodes ahead_of called",
  sessions: "number at reason snapshot_ms decide_ms handover_ms binds evictions waiting actions",
};

const READ = Object.fromEntries(Object.entries(FIELDS).map(([table, names]) => [table, record(names.split(" "))]));
const DRIFT = 0.0005; // Seconds in a second by which two clocks may go apart.
const TABLES = ["queues", "namespaces", "nodes", "jobs"];

/** What an event changed: the keys of rows by table, whether anything else, and whether all of it is new. */
const nothing = () => ({
  whole: false,
  resources: false,
  sessions: false,
  policy: false,
  ...Object.fromEntries(TABLES.map((table) => [table, new Set()])),
});

/** A picture that does not follow on the one that is here. */
/** Whether a daemon of this role has sessions. */
export const decides = (role) => role === "leader" || role === "shadow";

export class Gap extends Error {}

/** Everything at one moment; tables are maps by key. */
export class Picture {
  constructor(whole) {
    this.ahead = whole.at - Date.now() / 1000;
    Object.assign(this, whole);
    for (const table of TABLES) {
      this[table] = new Map(Object.entries(whole[table]).map(([key, row]) => [key, READ[table](row)]));
    }
    this.sessions = whole.sessions.map(READ.sessions);
    this.came = Date.now();
  }

  /** What changed when everything did. */
  static get everything() {
    return { ...nothing(), whole: true, resources: true, sessions: true, policy: true };
  }

  /** The time by the daemon's clock, seconds since the epoch. */
  now() {
    return Date.now() / 1000 + this.ahead;
  }

  /** Take in a delta; returns what it changed, raises Gap where it is not about this picture. */
  apply(delta) {
    if (delta.since !== this.number) throw new Gap(`a change of picture ${delta.since}, and here is ${this.number}`);
    const changes = nothing();
    if (delta.moves) this.#move(delta.moves, changes.jobs);
    for (const [message, keys] of delta.messages ?? []) {
      for (const key of keys) {
        this.jobs.get(key).message = message;
        changes.jobs.add(key);
      }
    }
    for (const table of TABLES) this.#put(table, delta[table], changes[table]);
    if (delta.sessions || delta.sessions_gone) this.#hold(delta.sessions ?? [], delta.sessions_gone ?? []);
    changes.sessions = Boolean(delta.sessions || delta.sessions_gone);
    changes.policy = Boolean(delta.policy);
    changes.resources = Boolean(delta.resources);
    if (delta.resources) this.resources = delta.resources;
    if (delta.policy) this.policy = delta.policy;
    if (delta.role) this.role = delta.role;
    Object.assign(this.counts, delta.counts);
    this.number = delta.number;
    const ahead = delta.at - Date.now() / 1000;
    // What was on its way for long, or was told late, makes the daemon's clock seem slow, never fast. Set, it may go back.
    const drifted = this.ahead - ((Date.now() - this.came) / 1000) * DRIFT;
    this.ahead = delta.at < this.at ? ahead : Math.max(drifted, ahead);
    this.at = delta.at;
    this.came = Date.now();
    return changes;
  }

  /** A queue and all below it, by name; one that there is not stands for itself. */
  under(name) {
    const found = new Set([name]);
    for (const queue of this.queues.values()) {
      const above = [];
      for (let at = queue; at && !found.has(at.name); at = this.queues.get(at.parent)) above.push(at.name);
      if (above.length && found.has(this.queues.get(above.at(-1)).parent)) above.forEach((one) => found.add(one));
    }
    return found;
  }

  #put(table, rows, changed) {
    for (const [key, row] of Object.entries(rows?.put ?? {})) {
      this[table].set(key, READ[table](row));
      changed.add(key);
    }
    for (const key of rows?.gone ?? []) {
      this[table].delete(key);
      changed.add(key);
    }
  }

  #move(moves, changed) {
    for (const job of this.jobs.values()) {
      if (job.position === null) continue;
      const run = moves[job.queue]?.find(([first, last]) => first <= job.position && job.position <= last);
      if (!run) continue;
      job.position += run[2];
      changed.add(job.key);
    }
  }

  #hold(put, gone) {
    const replaced = new Set([...gone, ...put.map(([number]) => number)]);
    this.sessions = [...this.sessions.filter((row) => !replaced.has(row.number)), ...put.map(READ.sessions)];
  }
}
