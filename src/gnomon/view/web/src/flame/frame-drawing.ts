// Draws frames on a surface: a canvas, or an SVG. What is narrower than half a pixel is drawn
// together with its neighbours, so that a picture costs what its pixels do, however many frames.

import { splitName } from "../name-parts";
import { behindValue, type OrderedFrames } from "./frames";

export const ROW_PX = 18;
export const TITLE_PX = 22;
const TEXT_FROM_PX = 26;
const PADDING_PX = 4;
const NARROW_PX = 0.5;

/** Where rectangles and texts go. */
export interface Surface {
  rect(x: number, y: number, width: number, height: number, look: Look): void;
  text(x: number, y: number, text: string, colour: string, isStrong?: boolean): void;
  widthOf(text: string): number;
}

export interface Look {
  readonly fill: string;
  readonly isHatched?: boolean;
  /** Said by an SVG where the pointer rests. */
  readonly title?: () => string;
}

export interface DrawingColours {
  readonly ground: string;
  readonly ink: string;
  readonly dim: string;
  /** What is too narrow to have a colour of its own. */
  readonly several: string;
  readonly line: string;
  readonly mark: string;
}

/** One forest of frames, and how it is shown. */
export interface Panel {
  /** "" for none. */
  readonly title: string;
  readonly frames: OrderedFrames;
  /** Upwards as flames, or downwards as icicles. */
  readonly isUpward: boolean;
  readonly fillOf: (frame: number) => string;
  readonly nameOf: (frame: number) => string;
  readonly isHatched: (frame: number) => boolean;
  readonly describe: (frame: number) => string;
  readonly isSearched: boolean;
  /** 1 for frames that a search has found. */
  readonly matches: Uint8Array;
  /** The value that is as wide as the picture: that of the largest panel. */
  readonly scale: number;
}

/** The part of a panel that is shown, in the metric's unit. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export function panelHeight(panel: Panel): number {
  return (panel.title ? TITLE_PX : 0) + panel.frames.levels.length * ROW_PX;
}

/** The room for the title: of flames it is below them, where they begin. */
function titleAbove(panel: Panel): number {
  return panel.title && !panel.isUpward ? TITLE_PX : 0;
}

/** The top of a level, from the top of its panel. */
export function levelTop(panel: Panel, depth: number): number {
  const rows = panel.frames.levels.length;
  return titleAbove(panel) + (panel.isUpward ? rows - 1 - depth : depth) * ROW_PX;
}

/** The level at a height below a panel's top, -1 for none. */
export function levelAt(panel: Panel, y: number): number {
  const rows = panel.frames.levels.length;
  const row = Math.floor((y - titleAbove(panel)) / ROW_PX);
  if (row < 0 || row >= rows) return -1;
  return panel.isUpward ? rows - 1 - row : row;
}

type Visit = (frame: number, x: number, width: number, isSeveral: boolean) => void;

/**
 * Frames of a level that a span shows in part or in whole; what is too narrow, with what is beside it.
 *
 * @param isAlike Whether two narrow frames may be drawn as one.
 */
export function visitLevel(
  frames: OrderedFrames,
  depth: number,
  span: Span,
  width: number,
  isAlike: (a: number, b: number) => boolean,
  visit: Visit,
): void {
  const level = frames.levels[depth]!;
  const scale = width / (span.to - span.from);
  const narrow = NARROW_PX / scale;
  let at = Math.max(0, behindValue(frames, level, span.from) - 1);
  // Narrow frames that go on where the ones before them end: the first, and where they are.
  let run = -1;
  let runFrom = 0;
  let runTo = 0;
  const flush = () => {
    if (run >= 0) visit(run, (runFrom - span.from) * scale, Math.max((runTo - runFrom) * scale, NARROW_PX), true);
    run = -1;
  };
  for (; at < level.length; at++) {
    const frame = level[at]!;
    const start = frames.start[frame]!;
    if (start >= span.to) break;
    const end = start + frames.value[frame]!;
    if (end <= span.from) continue;
    const left = Math.max(start, span.from);
    if (end - start >= narrow) {
      flush();
      visit(frame, (left - span.from) * scale, (Math.min(end, span.to) - left) * scale, false);
      continue;
    }
    // The frames that begin within this half pixel, in one; only the last of them can be wider.
    let next = behindValue(frames, level, start + narrow, at + 1);
    if (next > at + 1 && frames.value[level[next - 1]!]! >= narrow) next--;
    const last = level[next - 1]!;
    if (run >= 0 && (left > runTo + narrow || !isAlike(run, frame))) flush();
    if (run < 0) {
      run = frame;
      runFrom = left;
    }
    runTo = Math.min(frames.start[last]! + frames.value[last]!, span.to);
    at = next - 1;
  }
  flush();
}

/** Where a panel is drawn, and what of it. */
export interface Place {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly span: Span;
  /** Heights between which anything is to be drawn. */
  readonly from: number;
  readonly to: number;
  /** Frames above it are those that a picture was narrowed to; -1 for none. */
  readonly zoom: number;
}

export function drawPanel(surface: Surface, panel: Panel, place: Place, colours: DrawingColours): void {
  const { frames } = panel;
  const titleTop = place.top + (panel.isUpward ? panelHeight(panel) - TITLE_PX : 0);
  if (panel.title && titleTop + TITLE_PX > place.from && titleTop < place.to) {
    surface.text(place.left + PADDING_PX, titleTop + TITLE_PX / 2 + 1, fitted(surface, panel.title, place.width - 2 * PADDING_PX), colours.ink, true);
  }
  // The same steps with a search and without one: what the browser has compiled, it need not compile
  // again for the first letter.
  const { matches, isSearched } = panel;
  const { line, mark, several } = colours;
  const isAlike = (a: number, b: number) => matches[a] === matches[b];
  const zoomDepth = place.zoom < 0 ? -1 : frames.depth[place.zoom]!;
  for (let depth = 0; depth < frames.levels.length; depth++) {
    const y = place.top + levelTop(panel, depth);
    if (y + ROW_PX < place.from || y > place.to) continue;
    visitLevel(frames, depth, place.span, place.width, isAlike, (frame, begin, wide, isSeveral) => {
      const x = place.left + begin;
      const isMatch = matches[frame] === 1;
      const isDim = isMatch !== isSearched || depth < zoomDepth;
      const gap = wide > 3 ? 1 : 0;
      const fill = isDim ? line : isMatch ? mark : isSeveral ? several : panel.fillOf(frame);
      surface.rect(x, y, wide - gap, ROW_PX - 1, {
        fill,
        isHatched: panel.isHatched(frame) && !isSeveral,
        title: () => panel.describe(frame),
      });
      if (wide < TEXT_FROM_PX) return;
      const text = fitted(surface, panel.nameOf(frame), wide - 2 * PADDING_PX);
      if (text) surface.text(x + PADDING_PX, y + ROW_PX / 2, text, colours.ink);
    });
  }
}

/** As much of a name as there is room for: its own part first, without namespaces. */
function fitted(surface: Surface, name: string, room: number): string {
  const { begin, own } = splitName(name);
  const whole = name.slice(begin);
  if (surface.widthOf(whole) <= room) return whole;
  const short = name.slice(own);
  if (surface.widthOf(short) <= room) return short;
  let low = 0;
  let high = short.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (surface.widthOf(short.slice(0, middle) + "…") <= room) low = middle;
    else high = middle - 1;
  }
  return low > 1 ? short.slice(0, low) + "…" : "";
}
