/** The heat map itself: a cell a node, groups as blocks, one canvas a block; only cells that look different are painted. */

import { count } from "./amounts.js";
import { make, say, style } from "./elements.js";

const STEPS = 10; // Shades between nothing and all.
export const BLOCKS = 40; // Groups of their own; the nodes of all smaller groups stand together.
const [SMALLEST, LARGEST] = [5, 22]; // Pixels of a cell with the gap beside it.
const ROOM = 300; // Pixels of height that the map is to need, roughly.
const UNKNOWN = STEPS + 1;

/** A colour of the style sheet as canvases take it. */
function colour(of) {
  probe ??= document.body.appendChild(make("span", { class: "probe", hidden: true }));
  probe.style.color = of;
  return getComputedStyle(probe).color;
}
let probe = null;

/** Which shade a share of 0 to 100 has; none of it and all of it have shades of their own. */
export function shade(value) {
  if (value === null || value === undefined) return UNKNOWN;
  if (value <= 0) return 0;
  if (value >= 100) return STEPS;
  return 1 + Math.min(STEPS - 2, Math.floor((value * (STEPS - 1)) / 100));
}

/** Cells in blocks, a pointer and a cursor that goes over them. */
export class Heat {
  constructor(host, { onPoint, onOpen }) {
    Object.assign(this, { host, onPoint, onOpen, blocks: [], nodes: new Map(), cursor: null, drawn: "" });
    this.frame = make("span", { class: "cursor", hidden: true, "aria-hidden": "true" });
    new ResizeObserver(() => this.#widened()).observe(host);
    host.addEventListener("keydown", (event) => this.#pressed(event));
    host.addEventListener("focus", () => this.#go(this.cursor ?? 0));
    host.addEventListener("blur", () => this.#leave());
    host.addEventListener("pointermove", (event) => this.#moved(event));
    host.addEventListener("pointerleave", () => this.onPoint(null));
    host.addEventListener("click", (event) => {
      const at = this.#under(event);
      if (at) this.onOpen(at.node);
    });
  }

  /** Show these nodes in groups by one of their fields; `changed` has the names of those that differ from before, null for all. */
  show(nodes, value, by, changed) {
    Object.assign(this, { nodes, value, by });
    const layout = changed && this.#settled(changed) ? null : this.#layout();
    if (layout && layout !== this.drawn) {
      this.drawn = layout;
      this.#build();
    } else if (layout || !changed) for (const block of this.blocks) this.#paintAll(block);
    else for (const name of changed) this.#paintOne(name);
    this.#headings();
    if (document.activeElement === this.host && this.cursor !== null) this.#go(this.cursor);
  }

  /** Colours are other ones: all has to be painted again. */
  forget() {
    this.drawn = "";
    this.palette = null;
  }

  /** Whether all of these are still in the blocks in which they were. */
  #settled(changed) {
    for (const name of changed) {
      const [node, place] = [this.nodes.get(name), this.places?.get(name)];
      if (!node || !place || place.group !== node[this.by]) return false;
    }
    return true;
  }

  /** Sorts nodes into groups and finds the size of a cell; a word that differs where the layout does. */
  #layout() {
    const groups = new Map();
    for (const node of this.nodes.values()) {
      if (!groups.has(node[this.by])) groups.set(node[this.by], []);
      groups.get(node[this.by]).push(node.name);
    }
    let all = [...groups].sort(([a, first], [b, second]) => second.length - first.length || (a < b ? -1 : 1));
    if (all.length > BLOCKS) {
      const rest = all.slice(BLOCKS - 1).flatMap(([, names]) => names);
      all = [...all.slice(0, BLOCKS - 1), [`others (${all.length - BLOCKS + 1})`, rest]];
    }
    this.width = this.host.clientWidth;
    const fitting = Math.floor(Math.sqrt((this.width * ROOM) / Math.max(1, this.nodes.size)));
    this.cell = Math.max(SMALLEST, Math.min(LARGEST, fitting));
    this.groups = all.map(([group, names]) => [group, names.sort()]);
    return JSON.stringify([this.width, this.cell, devicePixelRatio, this.groups]);
  }

  #build() {
    this.places = new Map();
    this.order = [];
    this.blocks = this.groups.map(([group, names]) => this.#block(group, names));
    this.host.replaceChildren(...this.blocks.map((block) => block.element), this.frame);
    for (const block of this.blocks) this.#paintAll(block);
    if (this.cursor !== null) this.cursor = Math.min(this.cursor, Math.max(0, this.order.length - 1));
  }

  #block(group, names) {
    const most = Math.max(1, Math.floor(this.width / this.cell));
    const wide = Math.max(Math.ceil(Math.sqrt(names.length * 3)), Math.ceil(140 / this.cell));
    const columns = Math.min(most, names.length * this.cell > this.width * 3 ? most : wide);
    const rows = Math.ceil(names.length / columns);
    const canvas = make("canvas", { width: Math.ceil(columns * this.cell * devicePixelRatio), height: Math.ceil(rows * this.cell * devicePixelRatio) });
    style(canvas, "width", `${columns * this.cell}px`);
    style(canvas, "height", `${rows * this.cell}px`);
    const told = make("span", { class: "of" });
    const name = group || (this.groups.length > 1 ? "of none" : "nodes");
    const heading = make("p", { class: "group" }, make("span", { class: "whose", text: name, title: name }), told);
    const block = { names, columns, canvas, told, element: make("div", { class: "block" }, heading, canvas) };
    canvas.block = block;
    block.pen = canvas.getContext("2d");
    block.pen.scale(devicePixelRatio, devicePixelRatio);
    block.first = this.order.length;
    names.forEach((name, at) => {
      this.places.set(name, { block, at, group: this.nodes.get(name)[this.by], look: null });
      this.order.push(name);
    });
    return block;
  }

  #headings() {
    for (const block of this.blocks) {
      const values = block.names.map((name) => this.value(this.nodes.get(name))).filter((value) => value !== null);
      const mean = values.length ? ` · ${Math.round(values.reduce((sum, value) => sum + value, 0) / values.length)}%` : "";
      say(block.told, `${count(block.names.length)}${mean}`);
    }
  }

  #colours() {
    const mixed = (part) => `color-mix(in oklab, var(--heat-full) ${100 * part}%, var(--heat-none))`;
    const shades = Array.from({ length: STEPS + 1 }, (_, step) => colour(mixed(step / STEPS)));
    return { shades, ink: colour("var(--text)"), paper: colour("var(--panel)"), line: colour("color-mix(in oklab, var(--muted) 55%, var(--panel))") };
  }

  #paintAll(block) {
    for (const name of block.names) {
      this.places.get(name).look = null;
      this.#paintOne(name);
    }
  }

  #paintOne(name) {
    const node = this.nodes.get(name);
    const place = this.places.get(name);
    const step = shade(this.value(node));
    const look = `${step} ${node.state}`;
    if (place.look === look) return;
    place.look = look;
    this.palette ??= this.#colours();
    const { pen, columns } = place.block;
    const size = this.cell - 1;
    const [x, y] = [(place.at % columns) * this.cell, Math.floor(place.at / columns) * this.cell];
    pen.clearRect(x, y, this.cell, this.cell);
    if (step === UNKNOWN) this.#outline(pen, x, y, size);
    else {
      pen.fillStyle = this.palette.shades[step];
      pen.fillRect(x, y, size, size);
    }
    if (node.state) this.#sign(pen, node.state, x, y, size);
  }

  #outline(pen, x, y, size) {
    pen.strokeStyle = this.palette.line;
    pen.lineWidth = 1;
    pen.setLineDash([2, 2]);
    pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
    pen.setLineDash([]);
  }

  /** A stroke for cordoned, a cross for not ready, a corner for tainted: shapes that need no colour. */
  #sign(pen, state, x, y, size) {
    for (const [ink, width] of [[this.palette.paper, 3], [this.palette.ink, 1.4]]) {
      pen.strokeStyle = pen.fillStyle = ink;
      pen.lineWidth = size < 9 ? width * 0.75 : width;
      pen.beginPath();
      if (state === "tainted") {
        const side = size * (width === 3 ? 0.62 : 0.45);
        pen.moveTo(x + size, y);
        pen.lineTo(x + size, y + side);
        pen.lineTo(x + size - side, y);
        pen.fill();
        continue;
      }
      pen.moveTo(x + 1, y + size - 1);
      pen.lineTo(x + size - 1, y + 1);
      if (state === "notready") {
        pen.moveTo(x + 1, y + 1);
        pen.lineTo(x + size - 1, y + size - 1);
      }
      pen.stroke();
    }
  }

  #widened() {
    if (!this.value || !this.host.clientWidth || this.width === this.host.clientWidth) return;
    this.show(this.nodes, this.value, this.by, null);
  }

  // -- pointer and cursor

  #under(event) {
    const { block } = event.target;
    if (!block) return null;
    const at = Math.floor(event.offsetY / this.cell) * block.columns + Math.floor(event.offsetX / this.cell);
    const name = block.names[at];
    return name === undefined ? null : { node: this.nodes.get(name), block, at };
  }

  #moved(event) {
    const found = this.#under(event);
    this.onPoint(found && found.node, found && this.#box(found.block, found.at));
  }

  #box(block, at) {
    const home = block.canvas.getBoundingClientRect();
    const left = home.left + (at % block.columns) * this.cell;
    const top = home.top + Math.floor(at / block.columns) * this.cell;
    return { left, top, bottom: top + this.cell };
  }

  #go(to) {
    if (!this.order?.length) return;
    this.cursor = Math.max(0, Math.min(this.order.length - 1, to));
    const { block, at } = this.places.get(this.order[this.cursor]);
    const [box, home] = [this.#box(block, at), this.host.getBoundingClientRect()];
    this.frame.hidden = false;
    style(this.frame, "left", `${box.left - home.left}px`);
    style(this.frame, "top", `${box.top - home.top}px`);
    style(this.frame, "width", `${this.cell - 1}px`);
    style(this.frame, "height", `${this.cell - 1}px`);
    this.onPoint(this.nodes.get(this.order[this.cursor]), box, true);
  }

  #leave() {
    this.frame.hidden = true;
    this.onPoint(null);
  }

  #pressed(event) {
    if (!this.order?.length) return;
    const { block } = this.places.get(this.order[this.cursor ?? 0]);
    const here = this.cursor ?? 0;
    const index = this.blocks.indexOf(block);
    const steps = {
      ArrowRight: here + 1,
      ArrowLeft: here - 1,
      ArrowDown: here + block.columns,
      ArrowUp: here - block.columns,
      Home: 0,
      End: this.order.length - 1,
      PageDown: this.blocks[index + 1]?.first ?? here,
      PageUp: (this.blocks[index - 1] ?? block).first,
    };
    if (event.key === "Enter" || event.key === " ") this.onOpen(this.nodes.get(this.order[here]));
    else if (event.key === "Escape") this.onPoint(null);
    else if (event.key in steps) this.#go(steps[event.key]);
    else return;
    event.preventDefault();
  }
}
