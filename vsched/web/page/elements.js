/** Making and changing elements. All text goes in as text: names come from users. */

/** A new element; `about` holds attributes, and `class`, `text`, `on…` handlers. */
export function make(tag, about = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(about)) {
    if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** The text of an element, touched only where it differs from what it was last given. */
export function say(element, text) {
  if (element.said === text) return;
  element.said = text;
  element.textContent = text;
}

/** An attribute, touched only where it differs; null takes it away. */
export function mark(element, name, value) {
  if (value === null || value === false) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** A custom property of an element's style, touched only where it differs. */
export function style(element, name, value) {
  element.styled ??= new Map();
  if (element.styled.get(name) === value) return;
  element.styled.set(name, value);
  element.style.setProperty(name, value);
}

/** The element of this id. */
export const find = (id) => document.getElementById(id);

const BUDGET = 5; // Milliseconds of drawing in one frame; what is left is drawn in the next one.
const asked = new Set();

let coming = false; // Whether a frame is on its way that draws them.

function come() {
  if (!coming) requestAnimationFrame(drawAsked);
  coming = true;
}

function drawAsked() {
  coming = false;
  const end = performance.now() + BUDGET;
  try {
    for (const draw of asked) {
      asked.delete(draw);
      draw();
      if (performance.now() > end) break;
    }
  } finally {
    if (asked.size) come(); // Also where one of them failed: the others go on.
  }
}

/** Draws before the next frame, once however often it was asked for; parts of the page take turns, so that none stutters. */
export function onceAFrame(draw) {
  return () => {
    asked.add(draw);
    come();
  };
}

/** The children of a list, made anew only where what they are made of differs. */
export function fill(list, items, draw) {
  const made = JSON.stringify(items);
  if (list.filled === made) return;
  list.filled = made;
  list.replaceChildren(...items.map(draw));
}

/** A button that shows one of two things: what is drawn, or the same as a table. */
export function turning(button, drawn, table, draw) {
  button.addEventListener("click", () => {
    const now = table.hidden;
    mark(button, "aria-pressed", String(now));
    [table.hidden, drawn.hidden] = [!now, now];
    draw();
  });
}

/** A small table that scrolls sideways where it has to; each row begins with its heading. */
export function table(label, heads, rows) {
  const head = heads.map((text) => make("th", { scope: "col", text }));
  const body = rows.map(([first, ...cells]) =>
    make("tr", {}, make("th", { scope: "row", text: first }), ...cells.map((text) => make("td", { text }))),
  );
  const made = make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
  return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, made);
}
