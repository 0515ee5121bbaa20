/** Nodes as a heat map: what is allocated of a resource, or what was measured; and the same as a table. */

import * as address from "./address.js";
import { count, counted, label } from "./amounts.js";
import { scarcest } from "./bars.js";
import { fill, find, make, onceAFrame, say, style, turning } from "./elements.js";
import { Grid, column, sortedBy } from "./grid.js";
import { BLOCKS, Heat } from "./heat.js";

const GROUPS = { group: "pool", rack: "rack" };
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
    this.grouping = find("nodes-by");
    fill(this.grouping, Object.keys(GROUPS), (by) => make("option", { value: by, text: GROUPS[by] }));
    this.heat = new Heat(find("nodes-map"), {
      onPoint: (node, box, byKey) => this.#point(node, box, byKey),
      onOpen: (node) => onNode(node.name),
    });
    this.draw = onceAFrame(() => this.picture && this.#draw());
    this.#look();
    this.grid = new Grid(find("nodes-grid"), {
      label: "Nodes",
      name: "node",
      empty: "There are no nodes.",
      order: { name: "node" },
      on: { open: (row) => onNode(row.key) },
    });
    this.choice.addEventListener("change", () => this.#keep({ show: this.choice.value }));
    this.grouping.addEventListener("change", () => this.#keep({ by: this.grouping.value }));
    turning(find("nodes-as-table"), find("nodes-heat"), find("nodes-table"), () => {
      this.whole = true;
      this.draw();
    });
    address.onAddress(() => this.#look());
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

  #keep(words) {
    address.keep("nodes", words);
    this.#look();
  }

  /** What the address says is shown; what it does not say stays. */
  #look() {
    this.wanted = address.word("show", this.wanted);
    this.by = address.word("by", this.by);
    this.whole = true;
    this.draw();
  }

  #draw() {
    const { picture } = this;
    const choices = [...picture.resources.map((resource) => resource.name), ...Object.keys(USAGE)];
    const allocated = Object.fromEntries(picture.resources.map((one) => [one.name, `${label(one, picture.resources)} allocated`]));
    fill(this.choice, choices, (name) => make("option", { value: name, text: allocated[name] ?? name }));
    this.at = picture.resources.findIndex((resource) => resource.name === this.wanted);
    // What was chosen is kept for when it is there again: a daemon that has only just begun shows no resource at all.
    let chosen = this.wanted;
    if (this.at < 0 && !(chosen in USAGE)) {
      this.at = scarcest(picture.resources, this.scarcest);
      chosen = choices[Math.max(0, this.at)];
      if (this.at >= 0) this.scarcest = chosen;
    }
    this.value = this.at < 0 ? (node) => node[USAGE[chosen]] : (node) => node.allocated[this.at];
    this.choice.value = chosen;
    const by = this.#grouped();
    this.#told();
    if (find("nodes-table").hidden) {
      this.heat.show(picture.nodes, this.value, by, this.whole ? null : this.changed);
    } else this.#table();
    this.changed.clear();
    this.whole = false;
  }

  /** By what the map groups: as somebody chose, else by racks where they are known, and few enough to be told apart. */
  #grouped() {
    const racks = new Set();
    for (const node of this.picture.nodes.values()) racks.add(node.rack);
    const known = racks.size > 1 || !racks.has("");
    this.grouping.closest("label").hidden = !known;
    let by = this.by in GROUPS ? this.by : racks.size <= BLOCKS ? "rack" : "group";
    if (!known) by = "group";
    this.grouping.value = by;
    if (by !== this.heat.by) this.whole = true;
    return by;
  }

  #told() {
    const states = {};
    let [known, sum] = [0, 0];
    for (const node of this.picture.nodes.values()) {
      if (node.state) states[node.state] = (states[node.state] ?? 0) + 1;
      const value = this.value(node);
      if (value === null) continue;
      known += 1;
      sum += value;
    }
    const all = this.picture.nodes.size;
    const left = this.picture.counts.nodes_left_out;
    const parts = [left ? `${count(all)} of ${counted(all + left, "node")}: unusual ones and a sample` : counted(all, "node")];
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
    for (const name of [node.group, node.rack]) if (name) parts.push(name);
    if (node.state) parts.push(STATES[node.state] ?? node.state);
    const { resources } = this.picture;
    const shares = resources.map((resource, at) => [label(resource, resources), node.allocated[at]]);
    for (const [name, value] of shares) if (value !== null) parts.push(`${name} ${value}%`);
    parts.push(`cpu usage ${known(node.cpu_usage)}, memory usage ${known(node.memory_usage)}`);
    parts.push(counted(node.pods, "pod"));
    return parts.join(" · ");
  }

  #table() {
    const { resources } = this.picture;
    const number = (name, value, shown, more) => column(name, (row) => value(row.node), (row) => shown(value(row.node)), more);
    const told = (resource) => ({ label: resource.name === "pods" ? "pods %" : label(resource, resources), title: `${resource.name} allocated` });
    const words = (name, value) => column(name, (row) => value(row.node), undefined, { class: "text", up: true });
    this.grid.head([
      words("node", (node) => node.name),
      words("pool", (node) => node.group || "-"),
      words("rack", (node) => node.rack || "-"),
      ...resources.map((resource, at) => number(`${resource.name} allocated`, (node) => node.allocated[at], share, told(resource))),
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
