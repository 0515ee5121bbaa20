/** Who holds each resource: cells by job, with its queue; asked for while somebody looks. */

import * as address from "./address.js";
import { amount, count, counted, percent, short } from "./amounts.js";
import { fill, find, make, mark, say, style } from "./elements.js";
import { ask, refusal } from "./feed.js";
import { opening } from "./pods.js";
import { decides } from "./picture.js";

const PACE = 10_000; // How often there may be something new, milliseconds.
const ROWS = 12; // Jobs with a row of their own; others share one.
const [FEWEST, CELLS] = [32, 64]; // Devices that are as wide as a row at least, and those that can be told apart in it.

/** The section of the holders. */
export class Holders {
  constructor({ open }) {
    Object.assign(this, { open, live: false, seen: false, resources: [] });
    this.choice = find("holders-of");
    this.choice.addEventListener("change", () => {
      address.keep("holders", { of: this.choice.value });
      this.#draw();
    });
    address.onAddress(() => this.#draw());
    document.addEventListener("visibilitychange", () => this.#ask());
    new IntersectionObserver((entries) => {
      this.seen = entries.at(-1).isIntersecting; // Oldest first: a busy page is told of several changes at once.
      this.#ask();
    }).observe(find("holders"));
  }

  /** Another picture. */
  show(picture) {
    if (picture.role === this.role) return;
    this.role = picture.role;
    this.#ask();
  }

  /** Whether the daemon can be asked. */
  connected(live) {
    if (live === this.live) return;
    this.live = live;
    this.#ask();
  }

  async #ask() {
    clearTimeout(this.timer);
    if (this.asking || !this.live || !this.seen || document.hidden || !decides(this.role)) return;
    this.asking = true;
    try {
      const answer = await ask("devices?only=resources");
      this.problem = answer.ok ? "" : `Unknown: ${await refusal(answer)}`;
      if (answer.ok) ({ resources: this.resources } = await answer.json());
      this.#draw();
    } catch {
      // The head of the page says that the daemon does not answer.
    }
    this.asking = false;
    this.timer = setTimeout(() => this.#ask(), PACE);
  }

  #draw() {
    const names = this.resources.map((one) => one.resource);
    fill(this.choice, names, (name) => make("option", { value: name, text: name }));
    const wanted = address.word("of");
    const one = this.resources.find((each) => each.resource === wanted) ?? this.resources[0];
    this.choice.closest("label").hidden = !one;
    if (one) this.choice.value = one.resource;
    say(find("holders-told"), this.problem || (one ? told(one) : "No node holds anything yet."));
    fill(find("holders-list"), one ? rowsOf(one) : [], (row) => this.#row(row));
  }

  #row({ job, called, text, queue, says, cells, part, free }) {
    const name = make("span", { class: "whose" }, job ? opening(this.open, "job", job, called) : text);
    const bar = make("span", { class: "cells", "aria-hidden": "true" });
    style(bar, "--part", `${(100 * part).toFixed(2)}%`);
    if (cells) style(bar, "--cells", String(cells));
    mark(bar, "data-free", Boolean(free));
    return make("li", {}, name, make("span", { class: "muted", text: queue }), make("span", { class: "told", text: says }), bar);
  }
}

function told(one) {
  const free = Math.max(0, one.total - one.held);
  return `${amount(one.held, one.unit)} of ${amount(one.total, one.unit)} ${short(one.resource)} held by ${counted(one.holder_count, "job")}, ${amount(free, one.unit)} free`;
}

/** A row for each of those who hold most, one for all others, and one for what is free. */
function rowsOf(one) {
  const first = one.holders.slice(0, ROWS);
  const free = Math.max(0, one.total - one.held);
  const isDevice = one.resource.includes("/");
  const widest = Math.max(isDevice ? FEWEST * 1000 : 1, free, ...first.map((holder) => holder.held));
  const rest = one.held - first.reduce((sum, holder) => sum + holder.held, 0);
  const row = (value, about) => {
    const devices = isDevice ? Math.round(value / 1000) : 0;
    const says = `${amount(value, one.unit)} · ${percent(one.total ? value / one.total : 0)}`;
    return { says, cells: devices <= CELLS ? devices : 0, part: Math.min(1, value / widest), queue: "", ...about };
  };
  const rows = first.map((holder) =>
    row(holder.held, holder.job ? { job: holder.job, called: holder.called || holder.job, queue: holder.queue ? `queue ${holder.queue}` : "no PodGroup" } : { text: "pods without a job" }),
  );
  if (one.holder_count > first.length) rows.push(row(rest, { text: `${count(one.holder_count - first.length)} others` }));
  rows.push(row(free, { text: "free", free: true }));
  return rows;
}
