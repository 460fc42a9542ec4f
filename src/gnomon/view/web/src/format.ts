// Quantities as people read them: what src/gnomon/units.py does, so that a number reads the same in
// the browser and in the terminal. Whole numbers exactly, their digits in threes; everything else
// with four significant digits.

export const NOT_AVAILABLE = "n/a";
export const NOT_MEASURED = "not measured";

const DIGITS = 4;
const PREFIXES = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"];

function groupDigits(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, " ");
}

/** As Math.round, but a half goes to the even number, as in Python: page and terminal show the same. */
function rounded(value: number): number {
  const whole = Math.floor(value);
  return value - whole === 0.5 ? whole + (whole % 2 === 0 ? 0 : 1) : Math.round(value);
}

/** As toFixed, but a half goes to the even digit. */
function fixed(value: number, digits: number): string {
  const scaled = Math.abs(value) * 10 ** digits;
  const whole = Math.floor(scaled);
  // Only a number of so few binary digits is a half, and not next to it.
  const isHalf = Number.isInteger(value * 2 ** (digits + 1)) && scaled - whole === 0.5;
  return (isHalf && whole % 2 === 0 ? (Math.sign(value) * whole) / 10 ** digits : value).toFixed(digits);
}

function formatInteger(value: number): string {
  const digits = BigInt(rounded(value)).toString();
  return digits.startsWith("-") ? "-" + groupDigits(digits.slice(1)) : groupDigits(digits);
}

/** A number: whole ones exactly, others to four significant digits. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return NOT_AVAILABLE;
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 53) return formatInteger(value);
  const scientific = value.toExponential(DIGITS - 1);
  const exponent = Number(scientific.slice(scientific.indexOf("e") + 1));
  if (exponent < -4 || exponent >= 15) {
    // As Python writes it: two digits of exponent at least.
    return scientific.replace(/e([+-])(\d)$/, "e$10$2");
  }
  const [digits, fraction = ""] = fixed(Math.abs(value), Math.max(DIGITS - 1 - exponent, 0)).split(".");
  const rest = fraction.replace(/0+$/, "");
  return (value < 0 ? "-" : "") + groupDigits(digits) + (rest ? "." + rest : "");
}

/** A count as a whole number; between 0 and 10 with its fraction. */
export function formatCount(value: number): string {
  if (!Number.isFinite(value)) return NOT_AVAILABLE;
  return Math.abs(value) < 10 ? formatNumber(value) : formatInteger(value);
}

/** A duration in nanoseconds: "840 ns", "12.3 ms", "3.214 s", "12 min 3.5 s", "3 h 25 min 4 s". */
export function formatDuration(ns: number): string {
  if (!Number.isFinite(ns)) return NOT_AVAILABLE;
  if (ns < 0) return "-" + formatDuration(-ns);
  for (const [limit, size, unit] of [
    [1e3, 1, "ns"],
    [1e6, 1e3, "µs"],
    [1e9, 1e6, "ms"],
  ] as const) {
    if (ns < limit - size / 20) return `${formatNumber(ns / size)} ${unit}`;
  }
  const seconds = ns / 1e9;
  if (seconds < 59.995) return `${formatNumber(seconds)} s`;
  if (seconds < 3599.95) {
    const tenths = rounded(seconds * 10);
    return `${Math.floor(tenths / 600)} min ${formatNumber((tenths % 600) / 10)} s`;
  }
  const all = rounded(seconds);
  const minutes = Math.floor((all % 3600) / 60);
  return `${formatInteger(Math.floor(all / 3600))} h ${minutes} min ${all % 60} s`;
}

function formatBinary(value: number, unit: string): string {
  if (!Number.isFinite(value)) return NOT_AVAILABLE;
  let scaled = Math.abs(value);
  let at = 0;
  while (scaled >= 1023.5 && at < PREFIXES.length - 1) {
    scaled /= 1024;
    at++;
  }
  return `${value < 0 ? "-" : ""}${formatNumber(scaled)} ${PREFIXES[at]}${unit}`;
}

/** A value in the form that its unit asks for. */
export function formatQuantity(value: number, unit: string): string {
  if (!Number.isFinite(value)) return NOT_AVAILABLE;
  switch (unit) {
    case "ns":
      return formatDuration(value);
    case "s":
      return formatDuration(value * 1e9);
    case "bytes":
      return formatBinary(value, "B");
    case "bytes/s":
      return formatBinary(value, "B/s");
    case "":
      return formatCount(value);
    default:
      return `${formatNumber(value)} ${unit}`;
  }
}

/** A share of a total, for narrow columns: "12.3", "0.05", "<0.01". */
export function formatShare(part: number, total: number): string {
  const percent = (100 * part) / total;
  // What ranks do at the same time comes to more than the run took: it is no share of it.
  if (!Number.isFinite(percent) || percent > 100.0001) return "";
  if (percent === 0) return "0";
  if (Math.abs(percent) >= 9.995) return fixed(percent, 1);
  if (Math.abs(percent) >= 0.005) return fixed(percent, 2);
  return percent > 0 ? "<0.01" : ">-0.01";
}

/** A ratio as a change: "+12.3 %", "-4.1 %", "x 24". */
export function formatChange(ratio: number): string {
  if (!Number.isFinite(ratio) || ratio < 0) return NOT_AVAILABLE;
  if (ratio >= 10) return `x ${formatNumber(ratio)}`;
  const percent = 100 * (ratio - 1);
  if (percent === 0) return "0 %";
  const digits = Math.abs(percent) >= 10 ? 1 : 2;
  const text = fixed(percent, digits);
  return `${percent > 0 ? "+" : ""}${text} %`;
}

/** A moment in seconds since 1970, in the reader's own time zone. */
export function formatTime(seconds: number): string {
  const at = new Date(seconds * 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** A moment in nanoseconds since 1970, as digits: a number would lose some. */
export function formatTimeNs(digits: string): string {
  return `${formatTime(Number(digits.slice(0, -9)))}.${digits.slice(-9).padStart(9, "0")}`;
}

/** How many there are of something: "1 path", "2 paths". */
export function plural(n: number, one: string, more = `${one}s`): string {
  return `${formatNumber(n)} ${n === 1 ? one : more}`;
}

/** The last part of a path. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Words of a command as one would type them. */
export function shellCommand(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, `'"'"'`)}'`))
    .join(" ");
}
