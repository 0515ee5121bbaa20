/** Of a shadow: what the scheduler in charge does there, beside what the candidate would do here. */

import { age, counted, day, percent, count } from "./amounts.js";
import { find, make, say, table } from "./elements.js";
import { ask } from "./feed.js";
import { linked, opening, row } from "./pods.js";

const PACE = 10_000; // How often there may be something new, milliseconds.
const MOST = 20; // Rows of a table; all of them are in `vsched shadow report`.

/** The section "There and here", which only a shadow has. */
export class Shadow {
  constructor({ open }) {
    Object.assign(this, { open, live: false, role: "" });
    document.addEventListener("visibilitychange", () => this.#ask());
  }

  /** Another picture. */
  show(picture) {
    if (picture.role === this.role) return;
    this.role = picture.role;
    const shown = this.role === "shadow";
    find("shadow").hidden = find("shadow-link").hidden = !shown;
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
    if (!this.live || document.hidden || this.role !== "shadow") return;
    try {
      const answer = await ask("shadow");
      if (answer.ok) this.#draw(await answer.json());
    } catch {
      // The head of the page says that the daemon does not answer.
    }
    this.timer = setTimeout(() => this.#ask(), PACE);
  }

  #draw(found) {
    const { starts, evictions } = found;
    const gaps = found.gaps ? `; ${age(found.gap_seconds)} of it not seen` : "";
    say(find("shadow-told"), `pods of ${found.schedulers.join(", ") || "-"} since ${day(found.since)}${gaps}`);
    say(find("shadow-later"), `${count(starts.later)}${starts.later ? ` (together ${age(starts.later_seconds)})` : ""}`);
    say(find("shadow-alike"), count(starts.alike));
    say(find("shadow-waits-here"), count(starts.waits_here));
    say(find("shadow-unseen"), count(starts.unseen));
    say(find("shadow-would-evict"), count(found.would_evict_pods));
    say(find("shadow-in-vain"), `${count(evictions.in_vain)} of ${count(evictions.all)}`);
    say(find("shadow-partials"), count(found.partials));
    const job = (one) => opening(this.open, "job", one.job);
    const shown = [
      this.#table("Gangs that wait there and would have started here", ["gang", "queue", "pods", "since", "waits"], found.waiting, (one) => [
        job(one), one.queue, count(one.minimum), day(one.decided), age(one.seconds),
      ]),
      this.#table("Gangs that started later there", ["gang", "queue", "pods", "started", "later"], found.later, (one) => [
        job(one), one.queue, count(one.minimum), day(one.at), age(one.at - one.decided),
      ]),
      this.#table("Gangs that started there and would wait here", ["gang", "queue", "started", "why"], found.waits_here, (one) => [
        job(one), one.queue, day(one.at), one.message || one.code,
      ]),
      this.#table("Gangs that run there and would lose pods here", ["gang", "pods", "at", "action", "for"], found.would_evict, (one) => [
        job(one), count(one.pods), day(one.at), one.action, one.beneficiary || "-",
      ]),
      this.#table("Evictions there in vain", ["gang", "pod", "node", "at"], found.in_vain, (one) => [
        job(one), one.pod, opening(this.open, "node", one.node), day(one.since),
      ]),
      this.#table("Gangs that held nodes there without their minimum", ["gang", "pods", "minimum", "since", "held"], found.partial, (one) => [
        job(one), count(one.pods), count(one.minimum), day(one.since), age(one.at - one.since),
      ]),
      ...this.#sums(found),
    ].filter(Boolean);
    find("shadow-list").replaceChildren(...shown);
    find("shadow-limits").replaceChildren(...found.limits.map((text) => make("li", { text })));
  }

  #table(name, heads, all, cells) {
    if (!all.length) return null;
    const more = all.length > MOST ? `, ${count(MOST)} of ${counted(all.length, "row")}` : "";
    const rows = all.slice(0, MOST).map((one) => row(null, ...cells(one)));
    return make("div", {}, make("h3", { text: `${name}${more}` }), linked(name, heads, rows));
  }

  /** Sums over time: idle nodes by resource, and shares of queues. */
  #sums({ idle, queues }) {
    const resources = Object.entries(idle).map(([name, seconds]) => [name, age(seconds)]);
    const shares = queues.map((one) => [one.queue, percent(one.share), age(one.short_seconds), age(one.seconds)]);
    const [nodes, held] = ["Nodes idle there that had work here", "What queues held of what they deserve here"];
    const shown = [];
    if (resources.length) shown.push(make("div", {}, make("h3", { text: nodes }), table(nodes, ["resource", "node time"], resources)));
    if (shares.length) shown.push(make("div", {}, make("h3", { text: held }), table(held, ["queue", "share", "short for", "seen for"], shares)));
    return shown;
  }
}
