/** Puts the page together: the stream of pictures on one side, the sections on the other. */

import * as address from "./address.js";
import { find, onceAFrame, say } from "./elements.js";
import { Feed, keepToken, token } from "./feed.js";
import { Jobs } from "./jobs.js";
import { Nodes } from "./nodes.js";
import { Panel } from "./panel.js";
import { Gap, Picture } from "./picture.js";
import { showPolicy } from "./policy.js";
import { Queues } from "./queues.js";
import { Sessions } from "./sessions.js";
import { showConnection, Summary } from "./summary.js";

let picture = null;
let connection = { kind: "connecting", since: 0 };

const panel = new Panel({ onJobsOf: (queue) => address.go("jobs", { queue }) });
const nodes = new Nodes({ onNode: (name) => panel.open("node", name) });
const sections = [
  new Queues({
    onQueue: (name) => panel.open("queue", name),
    onWaiting: (queue, namespace) => address.go("jobs", { queue, text: `${namespace}/` }),
  }),
  nodes,
  new Jobs({ onJob: (key) => panel.open("job", key) }),
  new Sessions(),
  panel,
];
const summary = new Summary();
const drawHead = onceAFrame(() => {
  if (picture) summary.show(picture);
  showConnection(connection, picture);
});

const feed = new Feed("events", take, (state) => {
  connection = state;
  askForToken(state);
  drawHead();
});

function take(kind, data) {
  if (kind === "overview") {
    const anew = picture && picture.version !== data.version;
    picture = new Picture(data);
    if (anew) find("newer").hidden = false;
    show(Picture.everything);
  } else if (kind === "delta") {
    try {
      if (!picture) throw new Gap("a change before the first picture");
      show(picture.apply(data));
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
  requestAnimationFrame(() => requestAnimationFrame(reveal)); // Once the sections are as tall as they will be.
  return drawHead();
}

// -- who asks

function askForToken(state) {
  const form = find("token-form");
  const refused = state.kind === "refused";
  if (refused && form.hidden) {
    form.hidden = false;
    say(find("token-why"), token() ? state.text : `The daemon wants to know who you are: ${state.text}.`);
    find("token").focus();
  } else if (refused) say(find("token-why"), state.text);
  else if (state.kind === "live") form.hidden = true;
  find("forget").hidden = !token() || refused;
}

find("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  keepToken(find("token").value.trim());
  find("token").value = "";
  feed.start();
});
find("forget").addEventListener("click", () => {
  keepToken("");
  feed.startOver();
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

function reveal() {
  const section = address.looked() && find(address.looked());
  if (section) section.scrollIntoView();
}
address.onAddress((elsewhere) => elsewhere && reveal());
for (const link of document.querySelectorAll("nav a, .skip")) address.stayOn(link);

setInterval(() => !document.hidden && drawHead(), 1000);
panel.follow();
feed.start();
