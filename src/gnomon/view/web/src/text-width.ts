// Measures text on a canvas.

import { themeValue } from "./theme";

const ruler = document.createElement("canvas").getContext("2d")!;

/** The width of a text in the page's font, in pixels. */
export function textWidth(text: string): number {
  ruler.font = `13px ${themeValue("--sans")}`;
  return ruler.measureText(text).width;
}
