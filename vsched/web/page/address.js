/** What is looked at, in the hash of the address: `#jobs?queue=research&job=team/train`, to be kept and sent around. */

const listeners = [];
let [section, words] = read();

function read() {
  const [name, query] = location.hash.slice(1).split("?");
  return [name || "", new URLSearchParams(query || "")];
}

/** The section that is looked at; empty for the whole page. */
export const looked = () => section;

/** A word of the address, or what is there where it has none. */
export const word = (name, otherwise = "") => words.get(name) ?? otherwise;

/** Change words of the address without a step in the history; an empty value takes the word out. */
export function keep(about, changes) {
  section = about || section;
  for (const [name, value] of Object.entries(changes)) {
    if (value) words.set(name, value);
    else words.delete(name);
  }
  const query = words.toString();
  history.replaceState(null, "", section || query ? `#${section}${query ? `?${query}` : ""}` : location.pathname + location.search);
}

/** Go to a section with these words, as a link does. */
export function go(about, changes = {}) {
  const query = new URLSearchParams(Object.entries(changes).filter(([, value]) => value)).toString();
  location.hash = query ? `${about}?${query}` : about;
}

/** Hear of every address that somebody goes to. */
export const onAddress = (listener) => listeners.push(listener);

addEventListener("hashchange", () => {
  [section, words] = read();
  for (const listener of listeners) listener();
});
