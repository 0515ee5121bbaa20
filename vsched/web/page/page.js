/** Puts the page together: the stream of pictures on one side, the sections on the other. */

import * as address from "./address.js";
import { age } from "./amounts.js";
import { find, onceAFrame, say } from "./elements.js";
import { Autoscaling } from "./autoscaling.js";
import { Devices } from "./devices.js";
import { Evictions } from "./evictions.js";
import { Feed, keepToken, token } from "./feed.js";
import { Holders } from "./holders.js";
import { Jobs } from "./jobs.js";
import { Nodes } from "./nodes.js";
import { Panel } from "./panel.js";
import { Gap, Picture } from "./picture.js";
import { showPolicy } from "./policy.js";
import { Queues } from "./queues.js";
import { Sessions } from "./sessions.js";
import { Shadow } from "./shadow.js";
import { Shares } from "./shares.js";
import { Starts } from "./starts.js";
import { showConnection, Summary } from "./summary.js";

const LATE = 5; // Seconds: what the daemon says is here sooner, unless something in between holds it back.
const REMEMBERED = 30_000; // For so long it is told that something came late.
const LANDED = 5_000; // So long sections may take to be as tall as they will be.
const MOVES = ["wheel", "touchstart", "pointerdown", "keydown", "hashchange"]; // By which somebody goes elsewhere.
const QUIET = 20_000; // The daemon says something every 15 s.

let picture = null;
let connection = { kind: "connecting", since: 0 };
let late = { by: 0, at: 0 };

const panel = new Panel({ onJobsOf: (queue) => address.go("jobs", { queue }) });
const nodes = new Nodes({ onNode: (name) => panel.open("node", name) });
const shares = new Shares();
const autoscaling = new Autoscaling({ open: (kind, key) => panel.open(kind, key) });
const shadow = new Shadow({ open: (kind, key) => panel.open(kind, key) });
const holders = new Holders({ open: (kind, key) => panel.open(kind, key) });
const devices = new Devices({ open: (kind, key) => panel.open(kind, key) });
const sections = [
  shadow,
  new Queues({
    onQueue: (name) => panel.open("queue", name),
    onWaiting: (queue, namespace) => address.go("jobs", { queue, namespace }),
  }),
  shares,
  holders,
  nodes,
  autoscaling,
  new Jobs({ onJob: (key) => panel.open("job", key) }),
  new Starts({ open: (kind, key) => panel.open(kind, key) }),
  new Sessions(),
  new Evictions({ open: (kind, key) => panel.open(kind, key) }),
  panel,
];
const summary = new Summary();
const drawHead = onceAFrame(() => {
  if (picture) summary.show(picture);
  showConnection(connection, picture, doubt());
});

const feed = new Feed("events", take, (state) => {
  const begins = state.kind === "live" && connection.kind !== "live";
  connection = state;
  shares.connected(state.kind === "live");
  shadow.connected(state.kind === "live");
  autoscaling.connected(state.kind === "live");
  holders.connected(state.kind === "live");
  devices.connected(state.kind === "live");
  askForToken(state);
  if (begins) panel.again();
  drawHead();
});

function take(kind, data) {
  if (kind === "overview") {
    const anew = picture && picture.version !== data.version;
    picture = new Picture(data);
    if (anew) find("newer").hidden = false;
    late = { by: 0, at: 0 };
    show(Picture.everything);
  } else if (kind === "delta") {
    try {
      if (!picture) throw new Gap("an update before the first data");
      show(picture.apply(data));
      const by = picture.now() - data.at;
      // What was made before this connection was could not come sooner.
      if (by > LATE && Date.now() - feed.begun > by * 1000) late = { by, at: Date.now() };
    } catch (error) {
      if (!(error instanceof Gap)) throw error;
      feed.startOver();
    }
  }
}

function show(changes) {
  for (const section of sections) section.show(picture, changes);
  if (changes.whole || changes.policy) showPolicy(picture.policy);
  if (document.body.classList.contains("seen")) return drawHead();
  document.body.classList.add("seen");
  land();
  return drawHead();
}

/** Why what is seen may not be how things are, though the connection is there; empty where nothing speaks for that. */
function doubt() {
  const now = Date.now();
  if (now - feed.heard > QUIET) return `no data for ${age((now - feed.heard) / 1000)}`;
  return now - late.at < REMEMBERED ? `data arrives ${age(late.by)} late` : "";
}

// -- who asks

function askForToken(state) {
  const form = find("token-form");
  const refused = state.kind === "refused";
  if (refused && form.hidden) {
    form.hidden = false;
    say(find("token-why"), token() ? state.text : `The daemon requires a token: ${state.text}.`);
    find("token").focus();
  } else if (refused) say(find("token-why"), state.text);
  else if (state.kind === "live") form.hidden = true;
  find("forget").hidden = !token() || refused;
}

find("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = find("token").value.trim().replace(/^bearer +/i, "");
  find("token").value = "";
  if (!/^[!-~]+$/.test(given)) return say(find("token-why"), "This is not a token: expected ASCII letters, digits and signs without spaces.");
  keepToken(given);
  return feed.start();
});
find("forget").addEventListener("click", () => {
  keepToken("");
  location.reload(); // What was seen with it is gone as well.
});
find("reconnect").addEventListener("click", () => feed.start());

// -- theme, and links within the page

const theme = find("theme");
theme.value = document.documentElement.dataset.theme ?? "";
theme.addEventListener("change", () => {
  if (theme.value) document.documentElement.dataset.theme = theme.value;
  else delete document.documentElement.dataset.theme;
  try {
    if (theme.value) localStorage.setItem("vsched-theme", theme.value);
    else localStorage.removeItem("vsched-theme");
  } catch {
    // It lasts as long as the page.
  }
  nodes.repaint();
});
for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
  matchMedia(query).addEventListener("change", () => nodes.repaint());
}

function reveal(behavior = "auto") {
  const section = address.looked() && find(address.looked());
  if (section) section.scrollIntoView({ behavior });
}
address.onAddress((elsewhere) => elsewhere && reveal());

/** Stay at the section of the address while those above it grow to what they will be, until somebody goes elsewhere. */
function land() {
  if (!address.looked()) return;
  const watch = new ResizeObserver(() => reveal("instant"));
  const over = () => {
    watch.disconnect();
    for (const kind of MOVES) removeEventListener(kind, over, true);
  };
  for (const kind of MOVES) addEventListener(kind, over, { capture: true, passive: true });
  for (const section of document.querySelectorAll("header, main > section")) watch.observe(section);
  setTimeout(over, LANDED);
}
for (const link of document.querySelectorAll("nav a, .skip")) address.stayOn(link);

setInterval(() => !document.hidden && drawHead(), 1000);
panel.follow();
feed.start();
