/** What is looked at, in the hash of the address: `#jobs?queue=research&open=job:team/train`, to be kept and sent around. */

const listeners = [];
const STEP = "panel"; // The state of the step in the history that the panel takes; closed and opened again it takes no other.
let staying = false; // Whether somebody is on their way to a section only, so that the other words hold.
let [section, words] = read();

function read() {
  const [name, query] = location.hash.slice(1).split("?");
  return [name || "", new URLSearchParams(query || "")];
}

/** The section that is looked at; empty for the whole page. */
export const looked = () => section;

/** A word of the address, or what is there where it has none. */
export const word = (name, otherwise = "") => words.get(name) ?? otherwise;

/** Change words of the address; an empty value takes the word out. A step in the history only where one is asked for. */
export function keep(about, changes, step = false) {
  section = about || section;
  for (const [name, value] of Object.entries(changes)) {
    if (value) words.set(name, value);
    else words.delete(name);
  }
  const query = words.toString();
  const address = section || query ? `#${section}${query ? `?${query}` : ""}` : location.pathname + location.search;
  if (step && history.state !== STEP) history.pushState(STEP, "", address);
  else history.replaceState(history.state, "", address);
}

/** The address of what is looked at now, with other words. */
export function withWords(changes) {
  const query = new URLSearchParams({ ...Object.fromEntries(words), ...changes });
  return `#${section}?${query}`;
}

/** Go to a section with these words, as a link does. */
export function go(about, changes = {}) {
  staying = false;
  const query = new URLSearchParams(Object.entries(changes).filter(([, value]) => value)).toString();
  location.hash = query ? `${about}?${query}` : about;
}

/** Links to sections of the page leave everything else as it is: filters, what is open. */
export function stayOn(link) {
  link.addEventListener("click", (event) => {
    // With these it is another tab or window that goes there.
    staying = !(event.ctrlKey || event.metaKey || event.shiftKey) && link.hash !== location.hash;
  });
}

/** Hear of every address that somebody goes to, and whether it leads elsewhere than to the panel and back. */
export const onAddress = (listener) => listeners.push(listener);

addEventListener("hashchange", () => {
  const [from, before] = [section, words];
  [section, words] = read();
  if (staying) words = before;
  if (staying) keep(section, {});
  staying = false;
  const elsewhere = from !== section || beside(before) !== beside(words);
  for (const listener of listeners) listener(elsewhere);
});

/** What an address says besides what is open. */
function beside(all) {
  const rest = new URLSearchParams(all);
  rest.delete("open");
  return rest.toString();
}
