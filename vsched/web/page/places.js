/** The domains (racks, blocks) of a job that asks for closeness, as a tree with the room in each. */

import { count, counted } from "./amounts.js";
import { make, style } from "./elements.js";

const WHOLE = "<cluster-top-hypernode>"; // The name of the domain of all nodes.

const named = (name) => (name === WHOLE ? "the whole cluster" : name);
const tierOf = (tier, name) => `tier ${count(tier)}${name ? ` (${name})` : ""}`;

/** What the job asks for, where its pods are, the tree, and how many domains are not in it. */
export function places(found) {
  const names = new Map(found.tiers.map((one) => [one.tier, one.name]));
  const asks = [`It asks for ${found.asks}`];
  if (found.domain) asks.push(`; its pods are in ${named(found.domain)}, ${tierOf(found.tier, names.get(found.tier))}`);
  const made = [make("p", { text: `${asks.join("")}.` }), tree(found, names)];
  const left = found.tiers.filter((one) => one.domains > one.listed).map(leftOut);
  if (left.length) made.push(make("p", { class: "muted", text: `Not shown: ${left.join("; ")}.` }));
  if (found.sub_groups?.length) made.push(make("ul", { class: "sub-groups", "aria-label": "Sub-groups" }, ...found.sub_groups.map(subGroup)));
  const more = (found.sub_group_count ?? 0) - (found.sub_groups?.length ?? 0);
  if (more > 0) made.push(make("p", { class: "muted", text: `and ${counted(more, "more sub-group")}` }));
  return made;
}

function subGroup(one) {
  const where = one.domain ? `, in ${named(one.domain)}, tier ${count(one.tier)}` : "";
  const asks = one.asks ? `; it asks for ${one.asks}` : "";
  return make("li", {}, "sub-group ", make("strong", { text: one.name }), ` has ${counted(one.holds, "pod")} of at least ${count(one.minimum)} on nodes${where}${asks}`);
}

function leftOut(one) {
  const more = one.domains - one.listed;
  return `${counted(more, "domain")} of ${tierOf(one.tier, one.name)}`;
}

/** Lists within lists: each domain has those below it that it contains. */
function tree(found, names) {
  const top = make("ul", { class: "domains", "aria-label": "Domains" });
  const lists = [top]; // The list for domains of each depth.
  for (const one of found.domains) {
    const inner = make("ul");
    lists[one.depth].append(make("li", {}, domain(one, found, names), inner));
    lists.length = one.depth + 1;
    lists.push(inner);
  }
  return top;
}

function domain(one, found, names) {
  const parts = [make("strong", { text: named(one.name) }), make("span", { class: "muted", text: `${tierOf(one.tier, names.get(one.tier))}, ${counted(one.nodes, "node")}` })];
  if (one.holds) parts.push(make("span", { class: "badge", "data-state": "runs", text: `has ${counted(one.holds, "pod")} of it` }));
  const told = make("span", { class: "domain-name" }, ...parts.flatMap((part) => [part, " "]));
  const row = make("div", { class: "domain", "data-usable": String(one.usable) }, told);
  if (found.wanted) row.append(...room(one, found.wanted));
  return row;
}

function room(one, wanted) {
  const bar = make("span", { class: "bar", "aria-hidden": "true" });
  const part = `${((one.room / wanted) * 100).toFixed(1)}%`;
  style(bar, "--within", part);
  style(bar, "--held", part);
  const text = `room for ${count(one.room)} of ${count(wanted)}${one.usable ? "" : ", not allowed"}`;
  return [bar, make("span", { class: "told", text })];
}
