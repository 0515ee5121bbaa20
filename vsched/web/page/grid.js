/** A table of thousands of rows of which only those in sight exist; arrow keys go through it, Enter opens a row. */

import { make, mark, onceAFrame, say, style } from "./elements.js";

const SPARE = 4; // Rows beyond those in sight, on either side: scrolling a little shows no gap.
const KEYS = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };

/**
 * Rows are objects with a `key`, and in a tree a `level` from 1 on and `expanded` (undefined where nothing is below).
 * A column has a `name`, and `put(cell, row)` that brings a cell up to date; where one may sort by it, `sort(row)` has
 * the value, and `up` says that the smallest comes first at first.
 */
export class Grid {
  /** `host` scrolls; `on` has what to do: `open(row)`, `sorted(order)`, `expand(row, whether)`. */
  constructor(host, { label, name, empty, tree = false, order = {}, on = {} }) {
    Object.assign(this, { host, name, tree, order, on, empty, rows: [], shown: [], columns: [], active: null, at: 0 });
    this.heading = make("tr", { role: "row", "aria-rowindex": 1 });
    this.above = make("tr", { class: "space", role: "presentation" }, make("td", { role: "presentation" }));
    this.below = make("tr", { class: "space", role: "presentation" }, make("td", { role: "presentation" }));
    this.body = make("tbody", { role: "rowgroup" }, this.above, this.below);
    this.table = make(
      "table",
      { role: tree ? "treegrid" : "grid", "aria-label": label, tabindex: 0, class: "grid" },
      make("thead", { role: "rowgroup" }, this.heading),
      this.body,
    );
    this.nothing = make("p", { class: "nothing", hidden: true });
    host.replaceChildren(this.table);
    host.after(this.nothing);
    this.draw = onceAFrame(() => this.#draw());
    host.addEventListener("scroll", this.draw, { passive: true });
    new ResizeObserver(this.draw).observe(host);
    this.body.addEventListener("click", (event) => this.#clicked(event));
    this.table.addEventListener("keydown", (event) => this.#pressed(event));
    this.table.addEventListener("focus", () => this.#entered());
  }

  /** Other columns; nothing happens where they are the ones that are there. */
  head(columns) {
    const names = columns.map((column) => `${column.name} ${column.class}`).join();
    this.columns = columns;
    if (this.headed === names) return;
    this.headed = names;
    this.heading.replaceChildren(...columns.map((column) => this.#headCell(column)));
    for (const row of this.shown) row.remove();
    this.shown = [];
  }

  /** Other rows, in the order in which they are to be seen where nobody has sorted them. */
  show(rows, empty = this.empty) {
    this.given = rows;
    const sort = this.columns.find((column) => column.name === this.order.name)?.sort;
    this.rows = sort ? sortedBy(rows, sort, this.order.descending) : rows;
    this.#sorted();
    say(this.nothing, empty);
    this.nothing.hidden = rows.length > 0;
    this.table.classList.toggle("bare", rows.length === 0);
    mark(this.table, "aria-rowcount", rows.length + 1);
    this.draw();
  }

  #sorted() {
    const { name, descending } = this.order;
    this.columns.forEach((column, at) => {
      const direction = column.name === name ? (descending ? "descending" : "ascending") : null;
      mark(this.heading.children[at], "aria-sort", direction);
    });
  }

  #sort(column) {
    const again = this.order.name === column.name;
    this.order = { name: column.name, descending: again ? !this.order.descending : !column.up };
    this.on.sorted?.(this.order);
    this.show(this.given, this.nothing.said);
  }

  #headCell(column) {
    const about = { role: "columnheader", scope: "col", class: column.class, title: column.title };
    if (!column.sort) return make("th", about, make("span", { text: column.label ?? column.name }));
    const button = make("button", { type: "button", text: column.label ?? column.name });
    button.addEventListener("click", () => this.#sort(this.columns.find((found) => found.name === column.name)));
    return make("th", about, button);
  }

  get #rowHeight() {
    return parseFloat(getComputedStyle(this.host).getPropertyValue("--row")) || 28;
  }

  #draw() {
    if (!this.host.offsetParent) return; // Not to be seen: drawn when it is.
    const height = this.#rowHeight;
    const inSight = Math.ceil(Math.min(this.host.clientHeight, innerHeight) / height) + 2 * SPARE;
    const most = Math.max(0, this.rows.length - inSight);
    const first = Math.min(most, Math.max(0, Math.floor(this.host.scrollTop / height) - SPARE));
    const last = Math.min(this.rows.length, first + inSight);
    this.#pool(last - first);
    for (let at = first; at < last; at += 1) this.#put(this.shown[at - first], this.rows[at], at);
    style(this.above.firstChild, "height", `${first * height}px`);
    style(this.below.firstChild, "height", `${(this.rows.length - last) * height}px`);
    this.above.hidden = first === 0;
    this.below.hidden = last === this.rows.length;
    const at = this.active === null ? -1 : this.rows.findIndex((row) => row.key === this.active);
    if (at >= 0) this.at = at;
    const drawn = at >= first && at < last;
    mark(this.table, "aria-activedescendant", drawn ? `${this.name}-${at}` : null);
  }

  #pool(count) {
    while (this.shown.length > count) this.shown.pop().remove();
    while (this.shown.length < count) {
      const cells = this.columns.map((column) => make("td", { role: "gridcell", class: column.class }));
      const row = make("tr", { role: "row" }, ...cells);
      this.below.before(row);
      this.shown.push(row);
    }
  }

  #put(element, row, at) {
    mark(element, "id", `${this.name}-${at}`);
    mark(element, "aria-rowindex", at + 2);
    const active = row.key === this.active;
    mark(element, "aria-selected", active ? "true" : null);
    mark(element, "data-kind", row.kind ?? null);
    if (this.tree) {
      mark(element, "aria-level", row.level);
      mark(element, "aria-expanded", row.expanded === undefined ? null : String(row.expanded));
      style(element, "--level", row.level - 1);
    }
    this.columns.forEach((column, index) => column.put(element.children[index], row));
  }

  #clicked(event) {
    const element = event.target.closest("tr");
    const row = element && this.rows[Number(element.getAttribute("aria-rowindex")) - 2];
    if (!row) return;
    this.active = row.key;
    this.#draw();
    if (event.target.closest(".twisty") && row.expanded !== undefined) this.on.expand?.(row, !row.expanded);
    else this.on.open?.(row);
  }

  #pressed(event) {
    if (event.target !== this.table || event.ctrlKey || event.metaKey || event.altKey) return;
    const found = this.rows.findIndex((row) => row.key === this.active);
    const row = this.rows[found];
    let step = KEYS[event.key];
    const page = Math.max(1, Math.floor(this.host.clientHeight / this.#rowHeight) - 2);
    if (event.key === "PageDown") step = page;
    if (event.key === "PageUp") step = -page;
    // Where the row has gone meanwhile, keys go on from its place, which the next one has taken.
    const at = found >= 0 ? found : Math.min(this.at, this.rows.length) - (step > 0 ? 1 : 0);
    if (step !== undefined) this.#go(Math.min(this.rows.length - 1, Math.max(0, at + step)));
    else if ((event.key === "Enter" || event.key === " ") && row) this.on.open?.(row);
    else if (event.key === "ArrowRight" && row?.expanded === false) this.on.expand?.(row, true);
    else if (event.key === "ArrowLeft" && this.tree && row) this.#back(row, at);
    else return;
    event.preventDefault();
  }

  #back(row, at) {
    if (row.expanded) this.on.expand?.(row, false);
    else if (row.level > 1) this.#go(this.rows.findLastIndex((above, index) => index < at && above.level < row.level));
  }

  #entered() {
    if (this.rows.some((row) => row.key === this.active)) this.#draw();
    else this.#go(Math.ceil(this.host.scrollTop / this.#rowHeight));
  }

  #go(at) {
    if (!this.rows[at]) return;
    this.active = this.rows[at].key;
    this.#reveal(at);
    this.#draw();
  }

  #reveal(at) {
    const height = this.#rowHeight;
    const room = this.host.clientHeight - this.heading.offsetHeight;
    const top = at * height;
    if (top < this.host.scrollTop) this.host.scrollTop = top;
    else if (top + height > this.host.scrollTop + room) this.host.scrollTop = top + height - room;
  }
}

/** A column of words or numbers: what one sorts by is what is seen, where `shown` says nothing else. */
export const column = (name, value, shown = value, more = {}) => ({
  name,
  sort: value,
  class: "number",
  put: (cell, row) => say(cell, String(shown(row) ?? "-")),
  ...more,
});

/** Sorts rows by the value that a function finds in each, equal ones as they were; what nobody knows comes last. */
export function sortedBy(rows, value, descending) {
  const sign = descending ? -1 : 1;
  const keyed = rows.map((row) => [value(row), row]);
  keyed.sort(([a], [b]) => {
    if (a === b) return 0;
    if (a === null || a === undefined) return 1;
    if (b === null || b === undefined) return -1;
    return a < b ? -sign : sign;
  });
  return keyed.map(([, row]) => row);
}
