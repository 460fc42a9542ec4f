// Colours of values. Sequential: cividis (Nunez, Anderton, Renslow 2018), made for readers with and
// without colour vision deficiency. Diverging: blue and orange around grey.

const CIVIDIS = [
  [0, 34, 78],
  [18, 53, 112],
  [59, 73, 108],
  [87, 92, 109],
  [112, 113, 115],
  [138, 134, 120],
  [165, 156, 116],
  [195, 179, 105],
  [225, 204, 85],
  [254, 232, 56],
] as const;
const LESS = [43, 108, 176] as const;
const MORE = [214, 102, 21] as const;

type Colour = readonly [number, number, number];

function between(low: Colour, high: Colour, part: number): Colour {
  const mix = (at: 0 | 1 | 2) => Math.round(low[at] + (high[at] - low[at]) * part);
  return [mix(0), mix(1), mix(2)];
}

/** The colour of a part from 0 to 1. */
export function sequential(part: number): Colour {
  const at = Math.max(0, Math.min(1, part)) * (CIVIDIS.length - 1);
  const low = Math.min(Math.floor(at), CIVIDIS.length - 2);
  return between(CIVIDIS[low], CIVIDIS[low + 1], at - low);
}

/** The colour of a difference from -1 to 1, on a ground. */
export function diverging(part: number, ground: Colour): Colour {
  return between(ground, part < 0 ? LESS : MORE, Math.min(1, Math.abs(part)));
}

export function css([red, green, blue]: Colour): string {
  return `rgb(${red} ${green} ${blue})`;
}

/** Whether dark or bright text is read better on a colour. */
export function inkOn([red, green, blue]: Colour): string {
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#10151a" : "#ffffff";
}

const ruler = document.createElement("canvas").getContext("2d")!;

/** How wide a text of the page is, in its own font. */
export function widthOf(text: string): number {
  ruler.font = `13px ${themed("--sans")}`;
  return ruler.measureText(text).width;
}

/** A colour of the theme, for what is drawn on a canvas. */
export function themed(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
