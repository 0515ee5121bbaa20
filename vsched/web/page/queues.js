/** Queues as a tree with a bar for each resource, and what namespaces hold in them. */

import { byText, count, label, percent, times } from "./amounts.js";
import { isOver, limit, ofCluster, putBar, scaleOf, scarcest, shareOf } from "./bars.js";
import { find, make, mark, onceAFrame, say } from "./elements.js";
import { Grid } from "./grid.js";

const OPENED_AT_FIRST = 60; // Rows; in a larger tree queues begin closed, but for a root that has all others below it.

/** The section of the queues. */
export class Queues {
  constructor({ onQueue, onWaiting }) {
    this.onWaiting = onWaiting;
    this.turned = new Map(); // What somebody opened or closed, by key.
    this.draw = onceAFrame(() => this.picture && this.#draw());
    this.grid = new Grid(find("queues-grid"), {
      label: "Queues and the namespaces in them",
      name: "queue",
      empty: "There are no queues.",
      tree: true,
      on: {
        open: (row) => (row.kind === "queue" ? onQueue(row.key) : onWaiting(row.queue, row.namespace)),
        expand: (row, whether) => {
          this.turned.set(row.key, whether);
          this.draw();
        },
      },
    });
  }

  /** Another picture, and what changed in it. */
  show(picture, changes) {
    this.picture = picture;
    if (changes.whole || changes.resources || changes.queues.size || changes.namespaces.size) this.draw();
  }

  #draw() {
    const { resources } = this.picture;
    this.below = this.#tree();
    this.scales = new Map();
    this.grid.head(this.#columns(resources));
    this.grid.show(this.#rows());
    const over = [...this.picture.queues.values()].filter(isOver).length;
    const wrong = [...this.picture.queues.values()].filter((queue) => queue.problem).length;
    const { size } = this.picture.queues;
    const { queues_left_out: left, namespaces_left_out: leftNamespaces } = this.picture.counts;
    const parts = [left ? `${count(size)} of ${count(size + left)}: those with others below them first, then those with jobs` : `${count(size)} in all`];
    if (over) parts.push(`${count(over)} over what they deserve`);
    if (wrong) parts.push(`${count(wrong)} with a problem`);
    if (leftNamespaces) parts.push(`${count(leftNamespaces)} namespaces that hold little are not listed`);
    say(find("queues-told"), parts.join(", "));
  }

  /** The rows below every row, by key; those above all others below the empty one. */
  #tree() {
    const below = new Map([["", []]]);
    const push = (key, row) => (below.get(key) ?? below.set(key, []).get(key)).push(row);
    const { queues, namespaces } = this.picture;
    for (const queue of [...queues.values()].sort((a, b) => byText(a.name, b.name))) {
      const parent = queues.has(queue.parent) ? queue.parent : "";
      push(parent, { ...queue, kind: "queue", key: queue.name });
    }
    for (const [key, held] of [...namespaces].sort(([a], [b]) => byText(a, b))) {
      push(held.queue, { ...held, kind: "namespace", key: `ns:${key}`, name: held.namespace });
    }
    return below;
  }

  #rows() {
    const rows = [];
    const all = this.picture.queues.size + this.picture.namespaces.size;
    const walk = (parent, level) => {
      const here = this.below.get(parent) ?? [];
      for (const row of here) {
        const leads = row.kind === "queue" && this.below.has(row.key);
        row.level = level;
        row.besides = parent;
        const root = parent === "" && here.length === 1;
        if (leads) row.expanded = this.turned.get(row.key) ?? (root || all <= OPENED_AT_FIRST);
        rows.push(row);
        if (row.expanded) walk(row.key, level + 1);
      }
    };
    walk("", 1);
    return rows;
  }

  /** How a row stands among those that it is compared with. */
  #measure(row, resource, at) {
    const { queues } = this.picture;
    // Namespaces share out what their queue holds, so their bars together are as long as its bar is.
    const queue = row.kind === "namespace" ? queues.get(row.queue) : row;
    const parent = queue && queues.has(queue.parent) ? queue.parent : "";
    const key = `${parent} ${at}`;
    const besides = this.below.get(parent).filter((other) => other.kind === "queue");
    // One above all others has nobody to be compared with but the cluster.
    const alone = parent === "" && besides.length === 1;
    if (!this.scales.has(key)) this.scales.set(key, Math.max(scaleOf(besides, at), alone ? resource.total : 0));
    const scale = this.scales.get(key);
    if (row.kind === "namespace") return { scale, most: null, of: null };
    return { scale, most: limit(queues, row, resource, at), of: alone ? resource.total : row.deserved[at] };
  }

  /** The order in which resources stay where there is little room: the most contested first, the others as they come. */
  #ranks(resources) {
    const first = scarcest(resources, this.contested);
    this.contested = resources[first]?.name;
    return resources.map((_, at) => (at === first ? 0 : at < first ? at + 1 : at));
  }

  #columns(resources) {
    const ranks = this.#ranks(resources);
    const text = (name, value, more = {}) => ({ name, put: (cell, row) => say(cell, value(row)), class: "number", ...more });
    return [
      { name: "queue", put: putName, class: "name" },
      { name: "state", put: putState, class: "state" },
      text("weight", (row) => String(row.weight), { class: "number rank" }),
      text("priority", (row) => (row.kind === "queue" ? String(row.priority) : ""), { class: "number rank" }),
      { name: "of cluster", title: "held of the cluster, of the resource of which it is most", class: "number whole-share", put: (cell, row) => say(cell, percent(row.kind === "queue" ? ofCluster(row, resources) : row.share)) },
      { name: "of deserved", title: "held of what a queue deserves, of the resource of which it is most", put: putShare, class: "number share" },
      ...resources.map((resource, at) => ({
        name: resource.name,
        label: label(resource, resources),
        title: resource.name,
        class: `amount r${ranks[at]}`,
        put: (cell, row) => putBar(cell, row, resource, at, this.#measure(row, resource, at)),
      })),
      text("jobs", (row) => (row.kind === "queue" ? count(row.jobs) : ""), { class: "number jobs" }),
      text("waiting", (row) => count(row.waiting), { class: "number waiting" }),
    ];
  }
}

function putName(cell, row) {
  if (!cell.twisty) {
    cell.twisty = make("span", { class: "twisty", "aria-hidden": "true" });
    cell.named = make("span", { class: "named" });
    cell.problem = make("span", { class: "problem", text: "! problem" });
    cell.replaceChildren(cell.twisty, cell.named, cell.problem);
  }
  say(cell.named, row.name);
  mark(cell, "title", row.problem ? `${row.name}: ${row.problem}` : row.name);
  cell.problem.hidden = !row.problem;
}

function putState(cell, row) {
  say(cell, row.kind === "queue" ? row.state || "-" : row.kind);
  mark(cell, "data-state", row.kind === "queue" ? row.state : null);
}

function putShare(cell, row) {
  const share = row.kind === "queue" ? shareOf(row) : null;
  const over = row.kind === "queue" && isOver(row);
  say(cell, row.kind === "queue" ? times(share) : "");
  cell.classList.toggle("over", over);
  const told = share === null ? "what it deserves is not set" : `${percent(share)} of what it deserves`;
  mark(cell, "title", row.kind === "queue" ? `${told}${over ? ": over-used" : ""}` : null);
}
