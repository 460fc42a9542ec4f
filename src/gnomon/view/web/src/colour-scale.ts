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

function mixColours(low: Colour, high: Colour, part: number): Colour {
  const mix = (at: 0 | 1 | 2) => Math.round(low[at] + (high[at] - low[at]) * part);
  return [mix(0), mix(1), mix(2)];
}

/** The colour of a value from 0 to 1. */
export function sequentialColour(part: number): Colour {
  const position = Math.max(0, Math.min(1, part)) * (CIVIDIS.length - 1);
  const low = Math.min(Math.floor(position), CIVIDIS.length - 2);
  return mixColours(CIVIDIS[low], CIVIDIS[low + 1], position - low);
}

/** The colour of a difference from -1 to 1, over a background colour. */
export function divergingColour(part: number, ground: Colour): Colour {
  return mixColours(ground, part < 0 ? LESS : MORE, Math.min(1, Math.abs(part)));
}

export function cssColour([red, green, blue]: Colour): string {
  return `rgb(${red} ${green} ${blue})`;
}

/** The text colour, dark or bright, that is readable on a colour. */
export function textColourOn([red, green, blue]: Colour): string {
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#10151a" : "#ffffff";
}
