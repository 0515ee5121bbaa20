/** The head of the page: the cluster's totals, the rate of sessions, and whether what is seen is what is. */

import { age, amount, clock, count, counted, label, percent } from "./amounts.js";
import { fill, find, make, mark, say, style } from "./elements.js";
import { decides } from "./picture.js";

const SAID_EVERY = 20_000; // Counts are read aloud this often at most.
const WINDOW = 30; // Seconds over which sessions are counted.
const TRYING = 20_000; // After so long without a connection what is seen is old, though one is being tried.
const STALE = 60; // Seconds after which a picture that stands still is said to be old, while it is not live.

/** What the head shows of a picture. */
export class Summary {
  constructor() {
    this.marks = []; // [when, session number] of pictures, the oldest first.
    this.saidAt = 0;
  }

  /** Another picture. */
  show(picture) {
    this.picture = picture;
    this.#totals(picture.resources);
    const { counts } = picture;
    say(find("count-nodes"), count(counts.nodes));
    say(find("count-running"), count(counts.pods_running));
    say(find("count-waiting"), count(counts.pods_waiting));
    say(find("count-jobs-running"), count(counts.jobs_running));
    say(find("count-jobs-waiting"), count(counts.jobs_waiting));
    say(find("count-bound"), count(counts.bound_total));
    say(find("count-evicted"), count(counts.evicted_total));
    say(find("count-rate"), this.#rate());
    say(find("role"), picture.role);
    mark(find("role"), "data-role", picture.role);
    say(find("version"), picture.version);
    say(find("generation"), picture.policy ? `policy ${picture.policy.generation}` : "no policy");
    mark(find("generation"), "data-ok", picture.policy ? String(picture.policy.ok) : null);
    say(find("count-rivals"), count(counts.bound_by_others));
    find("rivals").hidden = !counts.bound_by_others;
    find("idle").hidden = decides(picture.role);
    const next = emptiness(counts);
    say(find("empty"), next);
    find("empty").hidden = !next;
    this.#aloud(`${counted(counts.jobs_waiting, "job")} waiting, ${counted(counts.jobs_running, "job")} running`);
  }

  #totals(resources) {
    const names = resources.map((resource) => resource.name);
    fill(find("totals"), names, (name, at) => {
      const bar = make("span", { class: "bar total", "aria-hidden": "true" });
      const parts = [make("span", { class: "what", text: label(resources[at], resources), title: name }), bar, make("span", { class: "told" })];
      return make("li", {}, ...parts);
    });
    resources.forEach((resource, at) => {
      const { children } = find("totals").children[at];
      const part = resource.total ? resource.held / resource.total : 0;
      style(children[1], "--held", percent(Math.min(1, part)));
      style(children[1], "--within", percent(Math.min(1, part)));
      say(children[2], `${amount(resource.held, resource.unit)} of ${amount(resource.total, resource.unit)} · ${percent(part)}`);
    });
  }

  #rate() {
    const { sessions } = this.picture;
    if (!sessions.length) return "-";
    const last = sessions.at(-1);
    const now = this.picture.now(); // Not when the picture was made: where nothing happens none is made.
    // Sessions that did nothing are not listed, but they are counted.
    const before = sessions.filter((session) => session.at <= now - WINDOW).at(-1) ?? sessions[0];
    const passed = now - before.at;
    const rate = passed > 0 ? (last.number - before.number) / passed : 0;
    return rate >= 10 ? rate.toFixed(0) : rate.toFixed(1);
  }

  #aloud(text) {
    const now = Date.now();
    if (text === this.said || now - this.saidAt < SAID_EVERY) return;
    [this.said, this.saidAt] = [text, now];
    say(find("said"), text);
  }
}

/** What somebody can do who sees a cluster with nothing in it; empty for others. */
function emptiness(counts) {
  if (!counts.nodes) return "No nodes are known here. Is this the right cluster, and may vsched list nodes (vsched rbac writes the roles that it needs)?";
  if (counts.pods_running + counts.pods_waiting + counts.jobs_running + counts.jobs_waiting) return "";
  return "No work yet. Give pods the scheduler of this daemon (spec.schedulerName, vsched unless --scheduler-name says otherwise) and submit them, as a Job, a vcjob or a PodGroup with pods; they appear here at once.";
}

/** Says in the head how the connection is, how old what is seen, and what makes one doubt that it is how things are. */
export function showConnection(state, picture, doubt) {
  const words = {
    connecting: "connecting",
    live: doubt ? "late" : "live",
    lost: "reconnecting",
    refused: "not allowed",
    paused: "paused while hidden",
  };
  const box = find("connection");
  mark(box, "data-kind", state.kind);
  say(find("connection-kind"), words[state.kind]);
  say(find("connection-told"), told(state, picture, doubt));
  mark(box, "data-doubt", Boolean(doubt));
  find("reconnect").hidden = state.kind !== "lost";
  const gone = ["lost", "refused"].includes(state.kind);
  const trying = state.kind === "connecting" && Date.now() - state.since > TRYING;
  document.body.classList.toggle("stale", Boolean(picture) && (gone || trying));
}

function told(state, picture, doubt) {
  const seconds = picture ? (Date.now() - picture.came) / 1000 : 0;
  const old = picture ? `data ${age(seconds)} old` : "no data yet";
  if (state.kind === "live" && doubt) return doubt;
  if (state.kind === "live") return picture && seconds > STALE ? `nothing has changed for ${age(seconds)}` : "";
  if (state.kind === "lost") {
    const again = Math.max(0, Math.ceil((state.again - Date.now()) / 1000));
    const since = state.since ? `since ${clock(state.since / 1000)}: ` : "";
    return `${since}${state.text}; ${old}; again in ${again}s`;
  }
  const told = picture ? old : "";
  return state.kind === "refused" ? [state.text, told].filter(Boolean).join("; ") : told;
}
