/** The bar of one resource in one queue: what is held, and marks for what is deserved, guaranteed and allowed. */

import { amount, short } from "./amounts.js";
import { make, mark, say, style } from "./elements.js";

/** The parts of a cell that shows one resource. */
export function barCell(cell) {
  if (cell.bar) return cell;
  cell.bar = make("span", { class: "bar", "aria-hidden": "true" });
  cell.told = make("span", { class: "told" });
  cell.replaceChildren(cell.bar, cell.told);
  return cell;
}

/**
 * Bring a cell up to date. `row` has `allocated` and, as far as they are known, `deserved` and `guarantee` by position;
 * `at` is the position of the resource, `scale` the amount that fills the bar, `most` what the row may hold at most (null
 * where that is not told), `of` what its figure is to be compared with, which the bar shows as well (null for nothing).
 */
export function putBar(cell, row, resource, at, { scale, most, of }) {
  const { bar, told } = barCell(cell);
  const held = row.allocated?.[at] ?? null;
  const [deserved, guarantee] = [row.deserved, row.guarantee].map((all) => all?.[at] ?? null);
  const part = (value) => `${Math.min(100, scale ? (value / scale) * 100 : 0).toFixed(2)}%`;
  const within = deserved === null ? held : Math.min(held, deserved);
  style(bar, "--within", part(within));
  style(bar, "--held", part(held));
  style(bar, "--deserved", deserved === null ? "0%" : part(deserved));
  style(bar, "--guarantee", guarantee ? part(guarantee) : "0%");
  style(bar, "--capability", most === null ? "100%" : part(most));
  mark(bar, "data-deserved", deserved !== null);
  mark(bar, "data-guarantee", Boolean(guarantee));
  mark(bar, "data-capability", most !== null && most < scale);
  bar.classList.toggle("unused", !scale || held === null);
  say(told, of === null ? amount(held, resource.unit) : `${amount(held, resource.unit)}/${amount(of, resource.unit)}`);
  mark(cell, "title", sentence(row, resource, at));
}

/** What a queue may hold at most: the least of the cluster, its own capability and those of the queues above it. */
export function limit(queues, queue, resource, at) {
  let most = resource.total;
  const seen = new Set();
  for (let one = queue; one && !seen.has(one.name); one = queues.get(one.parent)) {
    seen.add(one.name);
    most = Math.min(most, one.capability[at] ?? most);
  }
  return most;
}

/** What a queue holds of what it deserves; null where nothing says what that is, as for the root, whose is all there is. */
export const shareOf = (queue) => (queue.deserved.every((value) => value === null) ? null : queue.share);

/** Whether a queue holds more than it deserves, by a part that can be told: the same that its bars show. */
export const isOver = (queue) => Math.round((shareOf(queue) ?? 0) * 100) > 100;

/** The largest part that a queue holds of any resource of the cluster. */
export const ofCluster = (queue, resources) =>
  Math.max(0, ...resources.map((resource, at) => (resource.total ? queue.allocated[at] / resource.total : 0)));

const CLEARLY = 0.1; // So much more of another resource is held before that is called the scarcest.

/** Where the resource is of which the largest part is held; the one before, unless another one is clearly scarcer. */
export function scarcest(resources, before) {
  const parts = resources.map((resource) => (resource.total ? resource.held / resource.total : 0));
  const most = parts.indexOf(Math.max(...parts));
  const kept = resources.findIndex((resource) => resource.name === before);
  return kept >= 0 && parts[most] < parts[kept] + CLEARLY ? kept : most;
}

/** The amount that fills the bars of queues that stand side by side: the most that any of them holds or is to have. */
export function scaleOf(rows, at) {
  let scale = 0;
  for (const row of rows) scale = Math.max(scale, ...["allocated", "deserved", "guarantee"].map((kind) => row[kind][at] ?? 0));
  return scale;
}

function sentence(row, resource, at) {
  const told = [`${short(resource.name)}: ${amount(row.allocated?.[at], resource.unit)} allocated`];
  for (const kind of ["deserved", "guarantee", "capability"]) {
    const value = row[kind]?.[at];
    if (value !== null && value !== undefined) told.push(`${kind} ${amount(value, resource.unit)}`);
  }
  return told.join(", ");
}
