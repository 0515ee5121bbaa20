/** The pictures of the cluster as they come: server-sent events read by fetch, which can show a token. */

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
const LASTED = 5_000; // A connection that ends after so long is made anew at once: proxies cut the best of them.
const SILENCE = 40_000; // The daemon says something every 15 s: a connection that is silent for longer is dead.
const CLOCK_STEP = 2_000; // The browser's clock that goes wrong by more than this was set, or the computer slept.
const HIDDEN_GRACE = 5_000; // A tab that is looked at again this soon keeps its connection.
const TOKEN = "vsched-token";

/** The token that was given in this tab, empty for none. */
export function token() {
  try {
    return sessionStorage.getItem(TOKEN) ?? "";
  } catch {
    return forgotten;
  }
}

let forgotten = ""; // Where a browser keeps nothing.

/** Keep a token until the tab is closed. */
export function keepToken(text) {
  forgotten = text;
  try {
    if (text) sessionStorage.setItem(TOKEN, text);
    else sessionStorage.removeItem(TOKEN);
  } catch {
    // Then it lasts as long as the page.
  }
}

/** A request to the daemon, with the token where there is one. */
export function ask(path, about = {}) {
  const headers = { ...about.headers };
  if (token()) headers.Authorization = `Bearer ${token()}`;
  return fetch(path, { ...about, headers, cache: "no-store", credentials: "same-origin" });
}

/** What an answer that is a refusal says. */
export async function refusal(answer) {
  const text = await answer.text();
  try {
    return JSON.parse(text).error || `${answer.status} ${answer.statusText}`;
  } catch {
    return `${answer.status} ${answer.statusText}`.trim();
  }
}

/** An event that could not be taken in. */
class Unreadable extends Error {}

/**
 * Follows the stream. `onEvent(kind, data)` has every event, `onState(state)` every change of the connection: `kind`
 * is `connecting`, `live`, `lost`, `refused` or `paused`, `since` when it was last live, `text` what went wrong,
 * `again` when it is tried again (milliseconds since the epoch).
 */
export class Feed {
  constructor(path, onEvent, onState) {
    Object.assign(this, { path, onEvent, onState, last: "", wait: FIRST_WAIT, state: {}, begun: 0, heard: 0, live: 0 });
    document.addEventListener("visibilitychange", () => this.#seen());
    addEventListener("online", () => this.state.kind === "lost" && this.start());
  }

  /** Connect, at once and anew. */
  start() {
    this.stop();
    if (document.hidden) return this.#tell("paused");
    this.stopping = new AbortController();
    return this.#follow(this.stopping);
  }

  /** Hang up. */
  stop() {
    clearTimeout(this.timer);
    clearInterval(this.watch);
    this.stopping?.abort();
    this.stopping = null;
  }

  /** The next connection begins with a whole picture: what is here cannot be gone on with. */
  startOver() {
    this.last = "";
    this.start();
  }

  async #follow(stopping) {
    this.#tell("connecting");
    this.#listenForSilence(stopping);
    this.begun = 0;
    let wish = 0;
    let text = "the connection has ended";
    try {
      const headers = { Accept: "text/event-stream" };
      if (this.last) headers["Last-Event-ID"] = this.last;
      const answer = await ask(this.path, { headers, signal: stopping.signal });
      if (answer.status === 401 || answer.status === 403) {
        text = await refusal(answer);
        this.stop();
        return this.#tell("refused", { status: answer.status, text });
      }
      if (!answer.ok || !answer.body) {
        wish = Number(answer.headers.get("Retry-After")) * 1000 || 0;
        text = await refusal(answer);
      } else if (!answer.headers.get("Content-Type")?.startsWith("text/event-stream")) {
        text = "the answer does not come from vsched"; // Such as somebody's page to log in.
      } else await this.#read(answer.body, stopping);
    } catch (error) {
      if (stopping.signal.aborted && this.stopping !== stopping) return undefined;
      text = this.begun ? "the connection was cut" : "the daemon does not answer";
      if (stopping.signal.reason?.silent) text = "no data for a while";
      if (error instanceof Unreadable) {
        text = `the data could not be read: ${error.message}`;
        this.last = "";
      }
    }
    return this.stopping === stopping ? this.#later(text, wish) : undefined;
  }

  async #read(body, stopping) {
    this.begun = Date.now();
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let pieces = [];
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      this.heard = Date.now();
      const end = value.lastIndexOf("\n\n");
      // An end that came in two pieces is found with the next one.
      if (end < 0 && !(value.startsWith("\n") && pieces.at(-1)?.endsWith("\n"))) pieces.push(value);
      else {
        const text = pieces.join("") + value;
        const whole = text.lastIndexOf("\n\n");
        pieces = [text.slice(whole + 2)];
        for (const block of text.slice(0, whole).split("\n\n")) {
          if (this.stopping !== stopping) return; // What came before it made this connection one too many.
          this.#take(block);
        }
      }
    }
  }

  #take(block) {
    let kind = "message";
    const data = [];
    for (const line of block.split("\n")) {
      const colon = line.indexOf(":");
      const value = line.slice(colon + 1).replace(/^ /, "");
      if (line.startsWith("data:")) data.push(value);
      else if (line.startsWith("event:")) kind = value;
      else if (line.startsWith("id:")) this.last = value;
    }
    // First words alone are news only to who has a picture already: it still holds.
    if (this.state.kind !== "live" && this.last) this.#tell("live");
    if (!data.length) return;
    try {
      this.onEvent(kind, JSON.parse(data.join("\n")));
    } catch (error) {
      reportError(error);
      throw new Unreadable(error.message);
    }
    this.wait = FIRST_WAIT;
  }

  #later(text, wish) {
    this.stop();
    if (this.begun && Date.now() - this.begun > LASTED) return this.start();
    const wait = Math.max(wish, this.wait * (0.75 + Math.random() / 2)); // Apart, after a restart of the daemon.
    this.wait = Math.min(LONGEST_WAIT, this.wait * 2);
    this.#tell("lost", { text, again: Date.now() + wait });
    this.timer = setTimeout(() => this.start(), wait);
    return undefined;
  }

  #listenForSilence(stopping) {
    this.heard = Date.now();
    const steady = () => Date.now() - performance.now();
    const before = steady();
    this.watch = setInterval(() => {
      // Only a whole picture says anew what time the daemon has.
      if (Math.abs(steady() - before) > CLOCK_STEP) this.startOver();
      else if (Date.now() - this.heard > SILENCE) stopping.abort({ silent: true });
    }, 1000);
  }

  #seen() {
    clearTimeout(this.hiding);
    if (!document.hidden) {
      if (this.state.kind === "paused") this.start();
    } else if (this.state.kind !== "refused") {
      this.hiding = setTimeout(() => {
        this.stop();
        this.#tell("paused");
      }, HIDDEN_GRACE);
    }
  }

  #tell(kind, about = {}) {
    if (this.state.kind === "live") this.live = Date.now();
    this.state = { kind, since: this.live, ...about };
    this.onState(this.state);
  }
}
