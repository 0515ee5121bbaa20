/** The devices of nodes as cells: what part of each is taken, and by whom; asked for while somebody looks. */

import { count, counted } from "./amounts.js";
import { find, make, mark, say, style } from "./elements.js";
import { ask, refusal } from "./feed.js";
import { linked, opening, row } from "./pods.js";

const PACE = 5_000; // How often there may be something new, milliseconds.

/** Where the devices of one node are asked for. */
export const devicesPath = (node) => `devices?node=${encodeURIComponent(node)}`;

/** What is known of a node's devices (`vsched/web/overview/devices.py`) as parts of the panel; nothing where it has none. */
export function deviceParts(found, open) {
  const [node] = found.nodes;
  if (!node || !(node.devices.length || node.counted.length)) return [];
  const heads = ["device", "taken", "held by", "memory", "computing power", "model"];
  const rows = node.devices.map((device) => row(null, device.name, ...facts(device)));
  for (const one of node.counted) rows.push(row(null, one.resource, `${count(one.held)} of ${count(one.total)}`, jobsOf(one) || "nobody", "-", "-", "-"));
  const drawn = field("Devices of the node", [{ node, cells: cellsOf(node) }], null, open);
  return [make("h3", { text: told(node) }), drawn, linked("Devices", heads, rows)];
}

/** What is below the nodes: the devices of the first of them, while somebody has it open. */
export class Devices {
  constructor({ open }) {
    Object.assign(this, { open, live: false });
    this.part = find("devices");
    this.part.addEventListener("toggle", () => this.#ask());
    document.addEventListener("visibilitychange", () => this.#ask());
  }

  /** Whether the daemon can be asked. */
  connected(live) {
    if (live === this.live) return;
    this.live = live;
    this.#ask();
  }

  async #ask() {
    clearTimeout(this.timer);
    if (!this.live || document.hidden || !this.part.open) return;
    try {
      const answer = await ask("devices");
      if (answer.ok) this.#draw(await answer.json());
      else say(find("devices-told"), `The devices are unknown: ${await refusal(answer)}`);
    } catch {
      // The head of the page says that the daemon does not answer.
    }
    this.timer = setTimeout(() => this.#ask(), PACE);
  }

  #draw({ nodes, total }) {
    const drawn = JSON.stringify(nodes);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const all = nodes.flatMap((node) => node.devices);
    const first = total > nodes.length ? `, the first ${count(nodes.length)} by name` : "";
    say(find("devices-told"), total ? `${counted(total, "node")} with devices${first}. ${sum(all)}` : "No node has devices.");
    const groups = nodes.map((node) => ({ node, cells: cellsOf(node) }));
    const list = find("devices-list");
    const at = [...list.querySelectorAll(".device")].indexOf(document.activeElement);
    list.replaceChildren(...(total ? [field("Devices of nodes", groups, this.open, this.open)] : []));
    if (at >= 0) list.querySelectorAll(".device")[at]?.focus({ preventScroll: true });
  }
}

// -- words

function told(node) {
  const whole = node.counted.map((one) => `${count(one.held)} of ${count(one.total)} ${one.resource} held`);
  return [`Devices: ${sum(node.devices)}`, ...whole].join("; ");
}

function sum(devices) {
  const free = devices.filter((one) => one.healthy && !one.parts).length;
  const ill = devices.filter((one) => !one.healthy).length;
  return `${counted(devices.length, "device")}, ${count(free)} free${ill ? `, ${count(ill)} unhealthy` : ""}`;
}

function facts(device) {
  const state = device.healthy ? `${device.taken}%` : `unhealthy, ${device.taken}%`;
  const memory = device.memory ? `${count(device.memory_held)} of ${count(device.memory)} MiB` : "-";
  return [state, holders(device) || "nobody", memory, `${device.cores_held} of ${device.cores}%`, device.model || "-"];
}

function holders(device) {
  const listed = device.holders.map((one) => {
    const parts = [];
    if (device.memory && one.memory) parts.push(`${count(one.memory)} MiB`);
    if (one.cores) parts.push(`${one.cores}%`);
    if (one.leaving) parts.push("leaving");
    return parts.length ? `${one.name} (${parts.join(", ")})` : one.name;
  });
  const more = device.holder_count - listed.length;
  return `${listed.join(", ")}${more > 0 ? ` and ${count(more)} more` : ""}`;
}

const holderOf = (one) => (one.job ? `${one.job}${one.queue ? ` in queue ${one.queue}` : ""}` : "pods without a job");

/** Who holds devices that are only counted. */
function jobsOf(counted) {
  const more = counted.holder_count - counted.holders.length;
  return `${counted.holders.map((one) => `${holderOf(one)}: ${count(one.held)}`).join(", ")}${more > 0 ? ` and ${count(more)} more` : ""}`;
}

function sentence(device) {
  const parts = [device.name];
  if (device.model) parts.push(device.model);
  if (!device.healthy) parts.push("unhealthy");
  const memory = device.memory ? `${count(device.memory_held)} of ${count(device.memory)} MiB, ` : "";
  parts.push(`${device.taken}% taken: ${memory}${device.cores_held} of ${device.cores}% of computing power`);
  parts.push(device.parts ? `held by ${holders(device)}` : "held by nobody");
  return parts.join(" · ");
}

// -- cells

/** A cell for each device, and for each of those that are only counted. */
function cellsOf(node) {
  const cells = node.devices.map((one) => ({ taken: one.taken, ill: !one.healthy, parts: one.parts, says: sentence(one) }));
  for (const one of node.counted) {
    const sum = `${one.resource}: ${count(one.held)} of ${count(one.total)} held`;
    const by = one.holders.flatMap((holder) => Array(holder.held).fill(holderOf(holder)));
    for (let at = 0; at < one.total; at += 1) {
      const says = at < one.held ? `${sum}; this one by ${by[at] ?? "another job"}` : sum;
      cells.push({ taken: at < one.held ? 100 : 0, ill: false, parts: at < one.held ? 1 : 0, says, whole: true });
    }
  }
  return cells;
}

/** Cells in a row for each node: one stop of the keyboard, arrow keys go through them; what one says is told below. */
function field(label, groups, named, open) {
  const said = make("p", { class: "muted device-said", role: "status" });
  const rows = groups.map(({ node, cells }) => {
    const drawn = cells.map((one) => cell(one, node.node, said));
    const heading = named ? [make("span", { class: "whose" }, opening(open, "node", node.node))] : [];
    return make("div", { class: "device-row", role: "group", "aria-label": node.node }, ...heading, make("span", { class: "devices" }, ...drawn));
  });
  const keys = "Arrow keys go from one device to another.";
  const made = make("div", { class: "device-field", role: "group", "aria-label": `${label}. ${keys}` }, ...rows, said);
  made.querySelector(".device")?.setAttribute("tabindex", "0");
  made.addEventListener("keydown", (event) => move(event, made));
  return made;
}

function cell(one, node, said) {
  const text = one.ill ? "✕" : one.whole ? (one.taken ? "1" : "0") : String(one.taken);
  const made = make("button", { type: "button", class: "device", tabindex: "-1", title: one.says, "aria-label": `${node}: ${one.says}`, text });
  if (one.ill) mark(made, "data-ill", "true");
  if (one.parts > 1) mark(made, "data-shared", "true");
  style(made, "--taken", `${one.taken}%`);
  for (const kind of ["focus", "click"]) made.addEventListener(kind, () => say(said, one.says));
  return made;
}

const STEPS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };

function move(event, made) {
  const rows = [...made.querySelectorAll(".device-row")].map((each) => [...each.querySelectorAll(".device")]);
  const from = rows.findIndex((cells) => cells.includes(document.activeElement));
  if (from < 0) return;
  const at = rows[from].indexOf(document.activeElement);
  const step = STEPS[event.key];
  let next = null;
  if (step) {
    const cells = rows[from + step[0]];
    next = step[0] ? cells?.[Math.min(at, cells.length - 1)] : cells[at + step[1]];
  } else if (event.key === "Home") next = rows[from][0];
  else if (event.key === "End") next = rows[from].at(-1);
  else return;
  event.preventDefault();
  if (!next) return;
  document.activeElement.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}
