/** Nodes as a heat map: what is allocated of a resource, or what was measured; and the same as a table. */

import * as address from "./address.js";
import { count, counted, short } from "./amounts.js";
import { fill, find, make, onceAFrame, say, style, turning } from "./elements.js";
import { Grid, column, sortedBy } from "./grid.js";
import { Heat } from "./heat.js";

const USAGE = { "cpu usage": "cpu_usage", "memory usage": "memory_usage" };

/** What a node is marked with, in words. */
export const STATES = { cordoned: "cordoned", tainted: "tainted", notready: "not ready" };

/** The section of the nodes. */
export class Nodes {
  constructor({ onNode }) {
    this.onNode = onNode;
    this.changed = new Set();
    this.whole = true;
    this.choice = find("nodes-show");
    this.tip = find("nodes-tip");
    this.wanted = address.word("show", "cpu");
    this.heat = new Heat(find("nodes-map"), {
      onPoint: (node, box, byKey) => this.#point(node, box, byKey),
      onOpen: (node) => onNode(node.name),
    });
    this.draw = onceAFrame(() => this.picture && this.#draw());
    this.grid = new Grid(find("nodes-grid"), {
      label: "Nodes",
      name: "node",
      empty: "There are no nodes.",
      order: { name: "node" },
      on: { open: (row) => onNode(row.key) },
    });
    this.choice.addEventListener("change", () => this.#show(this.choice.value));
    turning(find("nodes-as-table"), find("nodes-heat"), find("nodes-table"), () => {
      this.whole = true;
      this.draw();
    });
    address.onAddress(() => this.#show(address.word("show", this.wanted), false));
  }

  /** Another picture, and what changed in it. */
  show(picture, changes) {
    this.picture = picture;
    this.whole ||= changes.whole || changes.resources;
    for (const key of changes.nodes) this.changed.add(key);
    if (this.whole || this.changed.size) this.draw();
  }

  /** Paint everything in the colours of another theme. */
  repaint() {
    this.whole = true;
    this.heat.forget();
    this.draw();
  }

  #show(wanted, kept = true) {
    this.wanted = wanted;
    this.whole = true;
    if (kept) address.keep("nodes", { show: wanted });
    this.draw();
  }

  #draw() {
    const { picture } = this;
    const choices = [...picture.resources.map((resource) => resource.name), ...Object.keys(USAGE)];
    fill(this.choice, choices, (name) => make("option", { value: name, text: name in USAGE ? name : `${short(name)} allocated` }));
    this.at = picture.resources.findIndex((resource) => resource.name === this.wanted);
    if (this.at < 0 && !(this.wanted in USAGE)) [this.wanted, this.at] = [choices[0], 0];
    this.choice.value = this.wanted;
    this.#told();
    if (find("nodes-table").hidden) {
      const value = this.at >= 0 ? (node) => node.allocated[this.at] : (node) => node[USAGE[this.wanted]];
      this.heat.show(picture.nodes, value, this.whole ? null : this.changed);
    } else this.#table();
    this.changed.clear();
    this.whole = false;
  }

  #told() {
    const states = {};
    let [known, sum] = [0, 0];
    for (const node of this.picture.nodes.values()) {
      if (node.state) states[node.state] = (states[node.state] ?? 0) + 1;
      const value = this.at >= 0 ? node.allocated[this.at] : node[USAGE[this.wanted]];
      if (value === null) continue;
      known += 1;
      sum += value;
    }
    const all = this.picture.nodes.size;
    const parts = [counted(all, "node")];
    if (known) parts.push(`${Math.round(sum / known)}% on average${known < all ? ` of ${count(known)}` : ""}`);
    if (known < all) parts.push(`${count(all - known)} ${this.at >= 0 ? "without any" : "unknown"}`);
    for (const [state, number] of Object.entries(states)) parts.push(`${count(number)} ${STATES[state] ?? state}`);
    say(find("nodes-told"), parts.join(", "));
  }

  #point(node, box, byKey) {
    this.tip.hidden = !node;
    if (!node) return;
    say(this.tip, this.#sentence(node));
    const home = find("nodes-heat").getBoundingClientRect();
    const left = Math.max(0, Math.min(box.left - home.left, home.width - this.tip.offsetWidth));
    style(this.tip, "left", `${left}px`);
    style(this.tip, "top", `${box.bottom - home.top + 6}px`);
    // Only who moves by keys is told aloud: a pointer crosses many nodes on its way.
    if (byKey) say(find("nodes-said"), this.#sentence(node));
  }

  #sentence(node) {
    const parts = [node.name];
    if (node.group) parts.push(node.group);
    if (node.state) parts.push(STATES[node.state] ?? node.state);
    const shares = this.picture.resources.map((resource, at) => [short(resource.name), node.allocated[at]]);
    for (const [name, value] of shares) if (value !== null) parts.push(`${name} ${value}%`);
    parts.push(`cpu usage ${known(node.cpu_usage)}, memory usage ${known(node.memory_usage)}`);
    parts.push(counted(node.pods, "pod"));
    return parts.join(" · ");
  }

  #table() {
    const number = (name, value, shown) => column(name, (row) => value(row.node), (row) => shown(value(row.node)));
    const words = (name, value) => column(name, (row) => value(row.node), undefined, { class: "text", up: true });
    this.grid.head([
      words("node", (node) => node.name),
      words("group", (node) => node.group || "-"),
      ...this.picture.resources.map((resource, at) => number(short(resource.name), (node) => node.allocated[at], share)),
      number("cpu usage", (node) => node.cpu_usage, known),
      number("memory usage", (node) => node.memory_usage, known),
      number("pods", (node) => node.pods, count),
      words("state", (node) => STATES[node.state] ?? node.state),
    ]);
    const rows = [...this.picture.nodes.values()].map((node) => ({ key: node.name, node }));
    this.grid.show(sortedBy(rows, (row) => row.key));
  }
}

const share = (value) => (value === null ? "-" : `${value}%`);
const known = (value) => (value === null ? "unknown" : `${value}%`);
