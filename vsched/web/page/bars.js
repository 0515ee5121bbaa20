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
 * Bring a cell up to date. `row` has `allocated` and, as far as they are known, `deserved`, `guarantee` and
 * `capability` by position; `scale` is the amount that fills the bar, `at` the position of the resource.
 */
export function putBar(cell, row, resource, at, scale) {
  const { bar, told } = barCell(cell);
  const held = row.allocated?.[at] ?? null;
  const [deserved, guarantee, capability] = [row.deserved, row.guarantee, row.capability].map((all) => all?.[at] ?? null);
  const most = limit(resource, capability);
  const part = (value) => `${Math.min(100, scale ? (value / scale) * 100 : 0).toFixed(2)}%`;
  const within = deserved === null ? held : Math.min(held, deserved);
  style(bar, "--within", part(within));
  style(bar, "--held", part(held));
  style(bar, "--deserved", deserved === null ? "0%" : part(deserved));
  style(bar, "--guarantee", guarantee ? part(guarantee) : "0%");
  style(bar, "--capability", capability === null ? "100%" : part(capability));
  mark(bar, "data-deserved", deserved !== null);
  mark(bar, "data-guarantee", Boolean(guarantee));
  mark(bar, "data-capability", capability !== null && capability <= scale);
  bar.classList.toggle("unused", !scale || held === null);
  say(told, row.capability ? `${amount(held, resource.unit)}/${amount(most, resource.unit)}` : amount(held, resource.unit));
  mark(cell, "title", sentence(row, resource, at));
}

/** What a queue may hold at most: its capability, or else the cluster. */
export const limit = (resource, capability) =>
  capability === null || capability === undefined ? resource.total : Math.min(resource.total, capability);

/** What a queue holds of what it deserves; null where it deserves nothing, as a root does, whatever is held below it. */
export const shareOf = (queue) => (queue.deserved.every((value) => value === null) ? null : queue.share);

/** Whether a queue holds more than it deserves: one that holds just that, were it nothing, is over-used as well. */
export const isOver = (queue) => queue.overused && queue.share > 1;

/** The amount that fills the bars of rows that stand side by side, so that their lengths can be compared. */
export function scaleOf(rows, resource, at) {
  let most = 0;
  for (const row of rows) {
    for (const kind of ["allocated", "deserved", "guarantee"]) most = Math.max(most, row[kind]?.[at] ?? 0);
    const capability = row.capability?.[at];
    if (capability !== null && capability !== undefined) most = Math.max(most, limit(resource, capability));
  }
  return most;
}

function sentence(row, resource, at) {
  const told = [`${short(resource.name)}: ${amount(row.allocated?.[at], resource.unit)} allocated`];
  for (const kind of ["deserved", "guarantee", "capability"]) {
    const value = row[kind]?.[at];
    if (value !== null && value !== undefined) told.push(`${kind} ${amount(value, resource.unit)}`);
  }
  return told.join(", ");
}
