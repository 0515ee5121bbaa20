/** The last evictions of all: asked for when there are others than before. */

import { count } from "./amounts.js";
import { find, say } from "./elements.js";
import { ask } from "./feed.js";
import { evictionTable } from "./pods.js";

const CALM = 3_000; // How often they are asked for at most.

/** What is below the time line. */
export class Evictions {
  constructor({ open }) {
    Object.assign(this, { open, asked: 0, mark: "" });
  }

  /** Another picture, and what changed in it. */
  show(picture, changes) {
    if (!changes.whole && !changes.sessions && this.evicted === picture.counts.evicted_total) return;
    this.evicted = picture.counts.evicted_total;
    const last = picture.sessions.findLast((session) => session.evictions)?.number ?? 0;
    const mark = `${last} ${this.evicted}`;
    if (mark === this.mark && !changes.whole) return;
    this.mark = mark;
    clearTimeout(this.timer);
    if (last || this.evicted) this.timer = setTimeout(() => this.#ask(), Math.max(0, this.asked + CALM - Date.now()));
  }

  async #ask() {
    this.asked = Date.now();
    try {
      const answer = await ask("evictions");
      if (!answer.ok) return;
      const { evictions, evictions_total: total } = await answer.json();
      find("evictions").hidden = !total;
      const shown = total > evictions.length ? `the last ${count(evictions.length)} of ${count(total)} that are remembered` : "";
      say(find("evictions-told"), shown);
      if (total) find("evictions-list").replaceChildren(evictionTable(evictions, this.open));
    } catch {
      this.mark = ""; // The connection says so itself; they are asked for with the next picture that has any.
    }
  }
}
