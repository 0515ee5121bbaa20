/** Nodes that gangs have asked for by ProvisioningRequests, and the room that CapacityBuffers keep ready. */

import { clock, count, counted } from "./amounts.js";
import { find, say, table } from "./elements.js";
import { ask } from "./feed.js";
import { linked, opening, row } from "./pods.js";
import { decides } from "./picture.js";

const PACE = 10_000; // How often there may be something new, milliseconds.
const moment = (at) => (at ? clock(at) : "-");

/** What is below the nodes; nothing where no nodes are asked for and no room is kept. */
export class Autoscaling {
  constructor({ open }) {
    Object.assign(this, { open, live: false, role: "" });
    document.addEventListener("visibilitychange", () => this.#ask());
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
    if (!this.live || document.hidden || !decides(this.role)) return;
    try {
      const answer = await ask("autoscaling");
      if (answer.ok) this.#draw(await answer.json());
      this.timer = setTimeout(() => this.#ask(), PACE);
    } catch {
      this.timer = setTimeout(() => this.#ask(), PACE); // The head of the page says that the daemon does not answer.
    }
  }

  #draw({ requests, buffers }) {
    find("autoscaling").hidden = !requests.length && !buffers.length;
    const drawn = JSON.stringify([requests, buffers]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const told = [];
    if (requests.length) told.push(`nodes requested for ${counted(requests.length, "gang")}`);
    if (buffers.length) told.push(`${counted(buffers.length, "CapacityBuffer")} ${buffers.length === 1 ? "reserves" : "reserve"} capacity for ${counted(buffers.reduce((sum, one) => sum + one.pods, 0), "pod")}`);
    say(find("autoscaling-told"), told.join("; "));
    const asked = requests.map((one) =>
      row(null, opening(this.open, "job", one.gang, one.called || one.gang), one.request, count(one.attempt), one.state, moment(one.kept_until), moment(one.retry_at), one.message || "-"),
    );
    const heads = ["gang", "request", "attempt", "state", "nodes reserved until", "retry at", "autoscaler"];
    const kept = buffers.map((one) => [`${one.namespace}/${one.name}`, count(one.pods), one.of || "-", one.state, one.message || "-"]);
    const shown = [];
    if (asked.length) shown.push(linked("ProvisioningRequests", heads, asked));
    if (kept.length) shown.push(table("CapacityBuffers", ["buffer", "pods", "of", "state", "autoscaler"], kept));
    find("autoscaling-list").replaceChildren(...shown);
  }
}
