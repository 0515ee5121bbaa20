/** Amounts, shares and times as people read them: spelt as in the terminal. */

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

const COUNTS = new Intl.NumberFormat("en");
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("sv-SE");

/** So many significant digits, without zeros at the end. */
const digits = (value, count) => String(Number(value.toPrecision(count)));

/** An amount in base units in three digits or so; a dash for what nobody knows. */
export function amount(value, unit) {
  if (value === null || value === undefined) return "-";
  if (unit === "milli") return value < 10_000_000 ? digits(value / 1000, 4) : `${digits(value / 1_000_000, 3)}k`;
  if (unit === "one") return value < 10_000 ? String(value) : `${digits(value / 1000, 3)}k`;
  let [size, suffix] = [value, 0];
  while (size >= 1000 && suffix < BINARY.length - 1) {
    size /= 1024;
    suffix += 1;
  }
  return digits(size, 3) + BINARY[suffix];
}

/** A part of one in per cent. */
export const percent = (part) => (part === null || part === undefined ? "-" : `${Math.round(part * 100)}%`);

/** The same; from twice as much on it is told how many times. */
export const times = (part) => (part >= 2 ? `${Number(part.toPrecision(2))}×` : percent(part));

/** A count with its thousands apart. */
export const count = (value) => COUNTS.format(value ?? 0);

/** A count with its noun. */
export const counted = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/** Milliseconds in three digits. */
export const milliseconds = (value) => (value >= 1000 ? `${digits(value / 1000, 3)} s` : `${digits(value, 2)} ms`);

/** How long something has been going on, in its largest unit or two. */
export function age(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 120) return `${whole}s`;
  if (whole < 7200) return `${Math.floor(whole / 60)}m`;
  if (whole < 172_800) return `${Math.floor(whole / 3600)}h`;
  return `${Math.floor(whole / 86_400)}d`;
}

/** The time of day of a moment in seconds since the epoch, where the browser is. */
export const clock = (at) => CLOCK.format(at * 1000);

/** Day and time of a moment in seconds since the epoch, where the browser is. */
export const day = (at) => `${DAY.format(at * 1000)} ${clock(at)}`;

/** The last part of a resource's name: `gpu` of `nvidia.com/gpu`. */
export const short = (name) => name.slice(name.lastIndexOf("/") + 1);

/** The same where it tells a resource from the others that are shown, else its whole name: two kinds of `gpu` are two things. */
export function label(resource, among) {
  const name = short(resource.name);
  return among.some((other) => other.name !== resource.name && short(other.name) === name) ? resource.name : name;
}

/** Compares strings by their letters, as the daemon does. */
export const byText = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
