/** Pods of a job or on a node, and evictions: asked for while somebody looks, for pictures hold none. */

import * as address from "./address.js";
import { clock, count, counted, day } from "./amounts.js";
import { make } from "./elements.js";

const DAY = 86_400_000;

/** Where the pods of one thing are asked for; nothing for a queue. */
export const podsPath = (kind, key) => (kind === "queue" ? "" : `pods?${kind}=${encodeURIComponent(key)}`);

/** A link that opens the panel on something; `open` does it here, in another tab the address does. */
export function opening(open, kind, key, text = key) {
  const link = make("a", { href: address.withWords({ open: `${kind}:${key}` }), text });
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(kind, key);
  });
  return link;
}

/** What is known of pods and evictions (`vsched/web/pods.py`) as parts of the panel. */
export function podParts(found, kind, open) {
  const parts = found.pods ? pods(found, kind, open) : [];
  if (found.evictions?.length) {
    const more = found.evictions_total > found.evictions.length ? `, the last ${count(found.evictions.length)} of ${count(found.evictions_total)}` : "";
    parts.push(make("h3", { text: `Evictions${more}` }), evictionTable(found.evictions, open));
  }
  return parts;
}

function pods({ pods: listed, states, total }, kind, open) {
  const each = Object.entries(states).map(([state, number]) => `${count(number)} ${state.toLowerCase()}`);
  const first = total > listed.length ? `, the first ${count(listed.length)} of them` : "";
  const heading = make("h3", { text: `${counted(total, "pod")}${each.length ? `: ${each.join(", ")}` : ""}${first}` });
  if (!listed.length) return [heading];
  const heads = kind === "job" ? ["pod", "state", "node", "asks for"] : ["pod", "job", "state", "asks for"];
  const rows = listed.map((pod) => {
    const name = kind === "job" ? pod.name : `${pod.namespace}/${pod.name}`;
    const asks = Object.entries(pod.requests).map(([resource, amount]) => `${amount} ${resource}`).join(", ") || "-";
    const where = pod.node ? opening(open, "node", pod.node) : pod.nominated ? ["kept: ", opening(open, "node", pod.nominated)] : "-";
    const whose = pod.job ? opening(open, "job", pod.job, pod.called) : "of others";
    const cells = kind === "job" ? [pod.state, where, asks] : [whose, pod.state, asks];
    return row(pod.message, name, ...cells);
  });
  return [heading, linked("Pods", heads, rows)];
}

/** Evictions, the latest first: who, where, for whom, why, and what came of it. */
export function evictionTable(evictions, open) {
  const rows = evictions.map((one) => {
    const job = one.job ? [" of ", opening(open, "job", one.job, one.called)] : "";
    // Arbitration names the pod that waits, everything else its job.
    const whom = !one.beneficiary ? "-" : one.action === "arbitrate" ? one.beneficiary : opening(open, "job", one.beneficiary, one.whom);
    const why = `${one.action}: ${one.why}`;
    const result = one.message ? `${one.result}: ${one.message}` : one.result;
    return row(day(one.at), when(one.at), [one.pod, ...job], opening(open, "node", one.node), whom, why, result);
  });
  return linked("Evictions", ["when", "who", "from", "for", "why", "result"], rows);
}

const when = (at) => (Date.now() - at * 1000 < DAY ? clock(at) : day(at));

/** A row of a table of links: its heading, and cells of words and links. */
export function row(title, first, ...cells) {
  const made = cells.map((cell) => make("td", {}, ...[cell].flat()));
  return make("tr", { title: title || null }, make("th", { scope: "row" }, first), ...made);
}

/** A table of such rows that scrolls sideways where it has to. */
export function linked(label, heads, rows) {
  const head = make("tr", {}, ...heads.map((text) => make("th", { scope: "col", text })));
  const made = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
  return make("div", { class: "scroll words-in", tabindex: 0, role: "region", "aria-label": label }, made);
}
