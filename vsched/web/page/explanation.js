/** An explanation as a piece of the page: what binds, the place in the order, what would help, and what was found. */

import { age, count, counted } from "./amounts.js";
import { make, table } from "./elements.js";
import { places } from "./places.js";

const STATES = {
  waits: "waits",
  never: "cannot start as things are",
  starting: "starting",
  runs: "runs",
  finished: "finished",
};

/** The parts of an explanation (`vsched/explain/records.py`), most telling first; absent ones are left out. */
export function explained(found) {
  const parts = [];
  const state = make("span", { class: "badge", "data-state": found.state, text: STATES[found.state] ?? found.state ?? "" });
  const binds = (found.constraints ?? []).find((one) => one.repeats);
  const code = binds ? [make("strong", { text: binds.code }), " "] : [];
  const said = found.message || "Nothing blocks it.";
  parts.push(make("p", { class: "headline" }, ...(found.state ? [state, " "] : []), ...code, said));
  if (found.changes?.length) parts.push(...changes(found.changes));
  if (found.start) parts.push(heading("Estimated start"), make("p", { text: found.start.message }));
  if (found.place) parts.push(...place(found.place));
  if (found.notes?.length) parts.push(heading("Notes"), make("ul", { class: "notes" }, ...found.notes.map((text) => make("li", { text }))));
  const others = (found.constraints ?? []).filter((one) => !one.repeats);
  if (others.length) parts.push(heading("Other constraints"), constraints(others));
  if (found.places) parts.push(heading("Domains by free capacity"), ...places(found.places));
  if (found.claims?.length) parts.push(heading("Claims"), claims(found.claims));
  const groups = Object.entries(found.groups ?? {});
  if (groups.length) parts.push(heading("Nodes by group and reason"), groupTable(groups));
  else if (Object.keys(found.reasons ?? {}).length) parts.push(heading("Nodes by reason"), countTable(found.reasons, "nodes"));
  if (Object.keys(found.pods ?? {}).length) parts.push(heading("Waiting pods by reason"), countTable(podsOf(found), "pods"));
  return parts;
}

/** Pods by what each is told; why their gang waits is above already. */
function podsOf(found) {
  const gang = `its gang ${found.called || found.key} waits: `;
  return Object.fromEntries(Object.entries(found.pods).map(([told, number]) => [told.startsWith(gang) ? "its gang waits" : told, number]));
}

const heading = (text) => make("h3", { text });

function changes(all) {
  const listed = all.map((change) => {
    const parts = [make("p", { text: change.message })];
    if (change.command) parts.push(make("pre", {}, make("code", { text: change.command })));
    return make("li", {}, ...parts);
  });
  const title = all.length === 1 ? "The smallest change that would admit it" : "What would admit it, the smallest change first";
  return [heading(title), make("ol", { class: "changes" }, ...listed)];
}

function place(found) {
  const own = found.message || `${count(found.position)} of ${count(found.of)} in its queue`;
  const text = `${own}; ${count(found.overall)} of ${count(found.overall_of)} of all that wait.`;
  const made = [heading("Place in the order"), make("p", { text })];
  if (found.ahead?.length) made.push(make("p", { class: "muted", text: `Directly before it: ${found.ahead.join(", ")}` }));
  return made;
}

function constraints(all) {
  const listed = all.map((one) => {
    const parts = [make("strong", { text: one.code }), ` ${one.message}`];
    if (one.lasting) parts.push(make("span", { class: "badge", "data-state": "never", text: "waiting does not help" }));
    return make("li", {}, ...parts);
  });
  return make("ol", { class: "constraints" }, ...listed);
}

/** A line for claims that are in the same state: which, what each asks for, and what has become of them. */
function claims(all) {
  const listed = all.map((one) => {
    const more = one.count > one.names.length ? ` and ${count(one.count - one.names.length)} more` : "";
    const kind = one.count === 1 ? one.kind : `${count(one.count)} ${one.kind}s`;
    const parts = [`${kind} `, make("strong", { text: one.names.join(", ") }), `${more}${one.asks ? ` (${one.asks})` : ""} ${one.state}${one.missing ? `; ${one.missing}` : ""}`];
    return make("li", one.usable ? {} : { class: "unusable" }, ...parts);
  });
  return make("ul", { class: "claims" }, ...listed);
}

/** Reasons down, groups across; the most frequent reason first. */
function groupTable(groups) {
  const sums = new Map();
  for (const [, found] of groups) {
    for (const [reason, number] of Object.entries(found)) sums.set(reason, (sums.get(reason) ?? 0) + number);
  }
  const reasons = [...sums].sort(([, first], [, second]) => second - first).map(([reason]) => reason);
  const rows = reasons.map((reason) => [reason, ...groups.map(([, found]) => (found[reason] ? count(found[reason]) : "·"))]);
  return table("Nodes by group and reason", ["reason", ...groups.map(([group]) => group || "no group")], rows);
}

function countTable(counts, of) {
  const sorted = Object.entries(counts).sort(([, first], [, second]) => second - first);
  return table(`${of} by reason`, ["reason", of], sorted.map(([reason, number]) => [reason, count(number)]));
}

/** Facts as a list of terms and what they are; what is not known is left out. */
export function facts(pairs) {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return make("dl", { class: "facts" }, ...known.flatMap(([term, value]) => [make("dt", { text: term }), make("dd", {}, value)]));
}

/** What the picture knows of a job. */
export function jobFacts(job, now, queue, starts) {
  return facts([
    ["queue", queue],
    ["user", job.user],
    ["phase", job.phase],
    ["priority", String(job.priority)],
    ["pods", `${count(job.pending)} pending, ${count(job.running)} running, ${count(job.ready)} ready of at least ${count(job.min_member)}`],
    ["age", age(now - job.created)],
    ["position", job.position === null ? null : `${count(job.position)} in the order of queue ${job.queue}`],
    ...starts,
  ]);
}

/** What the picture knows of a queue. */
export function queueFacts(queue) {
  return facts([
    ["state", queue.state],
    ["parent", queue.parent],
    ["weight", String(queue.weight)],
    ["priority", String(queue.priority)],
    ["jobs", `${counted(queue.jobs, "job")}, ${count(queue.waiting)} waiting`],
    ["problem", queue.problem],
  ]);
}
