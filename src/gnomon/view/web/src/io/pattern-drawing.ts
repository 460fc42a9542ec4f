// The requests of a file on a canvas, and as a file of vectors: writes, reads, and where both are.

import type { AccessPattern } from "../api";
import { themeValue } from "../theme";
import { offsetTicksOf, timeTicksOf, xOf, yOf, type Plot } from "./plot";

export const READ = 0;
export const WRITE = 1;
/** Marks of less than this are hard to see; of very many, larger ones would hide each other. */
const MARK_PX = 2;
const MARKS_MANY = 20_000;
/** From this size on a request is a line from its first byte to its last one. */
const LINE_PX = 5;

/** Where a request, or several that are alike, is on the canvas: from its first byte to its last one. */
export interface Mark {
  readonly x0: number;
  readonly y0: number;
  readonly x1: number;
  readonly y1: number;
}

export function markOf(plot: Plot, pattern: AccessPattern, at: number): Mark {
  if (pattern.isExact) {
    const start = pattern.start[at]!;
    const offset = pattern.offset[at]!;
    return {
      x0: xOf(plot, start),
      x1: xOf(plot, start + pattern.duration[at]!),
      y0: yOf(plot, offset),
      y1: yOf(plot, offset + pattern.bytes[at]!),
    };
  }
  const each = (pattern.endNs - pattern.beginNs) / pattern.columns;
  const high = (pattern.high - pattern.low) / pattern.rows;
  return {
    x0: xOf(plot, pattern.beginNs + pattern.first[at]! * each),
    x1: xOf(plot, pattern.beginNs + (pattern.last[at]! + 1) * each),
    y0: yOf(plot, pattern.low + pattern.lower[at]! * high),
    y1: yOf(plot, pattern.low + (pattern.upper[at]! + 1) * high),
  };
}

/** Which pixels have reads, writes or both: lines in the lower bits, the box that a line is in above them. */
class Raster {
  readonly bits: Uint8Array;

  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    this.bits = new Uint8Array(width * height);
  }

  fill(x0: number, y0: number, x1: number, y1: number, bit: number): void {
    const [left, right] = [Math.max(0, Math.round(x0)), Math.min(this.width, Math.round(x1))];
    const [top, bottom] = [Math.max(0, Math.round(y0)), Math.min(this.height, Math.round(y1))];
    for (let y = top; y < bottom; y++) {
      const row = y * this.width;
      for (let x = left; x < right; x++) this.bits[row + x]! |= bit;
    }
  }

  /** A line that goes to the right and upward; what is out of the picture is not walked along. */
  line(x0: number, y0: number, x1: number, y1: number, size: number, bit: number): void {
    const [dx, dy] = [x1 - x0, y1 - y0];
    const from = Math.max(0, (-size - x0) / dx, (this.height + size - y0) / dy);
    const to = Math.min(1, (this.width + size - x0) / dx, (-size - y0) / dy);
    const steps = Math.ceil(Math.max(dx, -dy) * (to - from));
    for (let step = 0; step <= steps; step++) {
      const part = from + ((to - from) * step) / Math.max(steps, 1);
      const [x, y] = [x0 + dx * part, y0 + dy * part];
      this.fill(x - size / 2, y - size / 2, x + size / 2, y + size / 2, bit);
    }
  }

  mark(mark: Mark, ratio: number, least: number, bit: number): void {
    const [x0, x1] = [mark.x0 * ratio, mark.x1 * ratio];
    const [y0, y1] = [mark.y0 * ratio, mark.y1 * ratio];
    if (x1 - x0 >= LINE_PX * ratio && y0 - y1 >= LINE_PX * ratio) {
      this.fill(x0, y1, x1, y0, bit << 2);
      this.line(x0, y0, x1, y1, least, bit);
      return;
    }
    const [wide, high] = [Math.max(x1 - x0, least), Math.max(y0 - y1, least)];
    const [left, bottom] = [Math.round(x0), Math.round(y0)];
    this.fill(left, bottom - Math.max(1, Math.round(high)), left + Math.max(1, Math.round(wide)), bottom, bit);
  }
}

type Rgba = readonly [number, number, number, number];

function parsedColour(name: string, alpha = 255): Rgba {
  const hex = /^#(..)(..)(..)$/.exec(themeValue(name)) ?? ["", "80", "80", "80"];
  return [parseInt(hex[1]!, 16), parseInt(hex[2]!, 16), parseInt(hex[3]!, 16), alpha];
}

export interface Hidden {
  readonly reads: boolean;
  readonly writes: boolean;
}

const isHidden = (hidden: Hidden, access: number): boolean => (access === WRITE ? hidden.writes : hidden.reads);

/** Draw a plot with its axes, and in it the requests of a pattern. */
export function drawPattern(pen: CanvasRenderingContext2D, plot: Plot, pattern: AccessPattern | null, hidden: Hidden): void {
  drawAxes(pen, plot);
  if (pattern) drawRequests(pen, plot, pattern, hidden);
}

export function drawAxes(pen: CanvasRenderingContext2D, plot: Plot): void {
  const { left, top, width, height } = plot;
  pen.font = `11px ${themeValue("--sans")}`;
  pen.textBaseline = "middle";
  pen.lineWidth = 1;
  pen.textAlign = "right";
  for (const { at, text } of offsetTicksOf(plot)) {
    pen.strokeStyle = themeValue("--line");
    rule(pen, left, Math.round(at) + 0.5, left + width, Math.round(at) + 0.5);
    pen.fillStyle = themeValue("--dim");
    pen.fillText(text, left - 6, Math.max(top + 6, Math.min(top + height - 5, at)));
  }
  pen.textAlign = "left";
  for (const { at, text } of timeTicksOf(plot)) {
    pen.strokeStyle = themeValue("--line");
    rule(pen, Math.round(at) + 0.5, top, Math.round(at) + 0.5, top + height + 4);
    pen.fillStyle = themeValue("--dim");
    const room = pen.measureText(text).width;
    if (at + 4 + room < left + width + 8) pen.fillText(text, at + 4, top + height + 9);
  }
  pen.strokeStyle = themeValue("--line-strong");
  pen.strokeRect(left - 0.5, top - 0.5, width + 1, height + 1);
}

function rule(pen: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
}

function drawRequests(pen: CanvasRenderingContext2D, plot: Plot, pattern: AccessPattern, hidden: Hidden): void {
  const ratio = pen.getTransform().a;
  const width = Math.max(1, Math.round(plot.width * ratio));
  const height = Math.max(1, Math.round(plot.height * ratio));
  const raster = new Raster(width, height);
  const least = (pattern.n > MARKS_MANY ? 1 : MARK_PX) * ratio;
  const inner: Plot = { ...plot, left: 0, top: 0 };
  for (let at = 0; at < pattern.n; at++) {
    const access = pattern.access[at]!;
    if (isHidden(hidden, access)) continue;
    raster.mark(markOf(inner, pattern, at), ratio, least, access === WRITE ? 1 : 2);
  }
  const image = new ImageData(width, height);
  paintBits(raster.bits, image, Math.max(1, Math.round(ratio)));
  const copy = new OffscreenCanvas(width, height);
  copy.getContext("2d")!.putImageData(image, 0, 0);
  pen.drawImage(copy, plot.left, plot.top, plot.width, plot.height);
}

function paintBits(bits: Uint8Array, image: ImageData, ratio: number): void {
  const { data, width } = image;
  const write = parsedColour("--io-write");
  const read = parsedColour("--io-read");
  const both = parsedColour("--io-both");
  const lines: readonly (Rgba | null)[] = [null, write, read, both];
  const writeBox = parsedColour("--io-write", 64);
  const readBox = parsedColour("--io-read", 88);
  for (let at = 0; at < bits.length; at++) {
    const value = bits[at]!;
    if (value === 0) continue;
    let colour = lines[value & 3] ?? null;
    if (!colour) {
      const x = at % width;
      const y = (at - x) / width;
      // Boxes of reads are hatched: they differ without colours, too.
      const isStripe = (x + y) % (6 * ratio) < 2 * ratio;
      if (value & 8 && isStripe) colour = readBox;
      else if (value & 4) colour = writeBox;
    }
    if (!colour) continue;
    data[4 * at] = colour[0];
    data[4 * at + 1] = colour[1];
    data[4 * at + 2] = colour[2];
    data[4 * at + 3] = colour[3];
  }
}

/** The request at a point of the canvas, the nearest of those within reach, -1 for none. */
export function requestAt(plot: Plot, pattern: AccessPattern, hidden: Hidden, x: number, y: number): number {
  const REACH_PX = 4;
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at < pattern.n; at++) {
    if (isHidden(hidden, pattern.access[at]!)) continue;
    const { x0, y0, x1, y1 } = markOf(plot, pattern, at);
    const aside = Math.max(x0 - x, x - Math.max(x1, x0 + MARK_PX), 0);
    const above = Math.max(Math.min(y1, y0 - MARK_PX) - y, y - y0, 0);
    if (aside > REACH_PX || above > REACH_PX) continue;
    // Of boxes upon each other the smallest one, which others would hide.
    const distance = 1000 * Math.hypot(aside, above) + Math.sqrt((x1 - x0 + 1) * (y0 - y1 + 1));
    if (distance < least) {
      least = distance;
      best = at;
    }
  }
  return best;
}

/** Mark a request that is chosen or pointed at. */
export function drawFocus(pen: CanvasRenderingContext2D, plot: Plot, mark: Mark): void {
  const left = Math.max(plot.left, mark.x0 - 3);
  const right = Math.min(plot.left + plot.width, Math.max(mark.x1, mark.x0 + MARK_PX) + 3);
  const top = Math.max(plot.top, Math.min(mark.y1, mark.y0 - MARK_PX) - 3);
  const bottom = Math.min(plot.top + plot.height, mark.y0 + 3);
  if (right <= left || bottom <= top) return;
  pen.strokeStyle = themeValue("--ink");
  pen.lineWidth = 1.5;
  pen.strokeRect(left, top, right - left, bottom - top);
}

/** The picture of a pattern as a group of SVG, at a height of the file. */
export function patternSvg(plot: Plot, pattern: AccessPattern, hidden: Hidden, title: string): string {
  const [ink, dim, line] = [themeValue("--ink"), themeValue("--dim"), themeValue("--line")];
  const parts = [`<text x="${plot.left}" y="${plot.top - 6}" fill="${ink}" font-weight="600">${escaped(title)}</text>`];
  for (const { at, text } of offsetTicksOf(plot)) {
    parts.push(`<path d="M${plot.left} ${short(at)}h${plot.width}" stroke="${line}"/>`);
    parts.push(`<text x="${plot.left - 6}" y="${short(at)}" dy="0.35em" text-anchor="end" fill="${dim}">${text}</text>`);
  }
  for (const { at, text } of timeTicksOf(plot)) {
    parts.push(`<path d="M${short(at)} ${plot.top}v${plot.height + 4}" stroke="${line}"/>`);
    parts.push(`<text x="${short(at + 4)}" y="${plot.top + plot.height + 13}" fill="${dim}">${text}</text>`);
  }
  const box = `x="${plot.left}" y="${plot.top}" width="${plot.width}" height="${plot.height}"`;
  parts.push(`<rect ${box} fill="none" stroke="${themeValue("--line-strong")}"/>`);
  const clip = `plot${Math.round(plot.top)}`;
  parts.push(`<clipPath id="${clip}"><rect ${box}/></clipPath>`);
  for (const [access, name, colour] of [[WRITE, "writes", "--io-write"], [READ, "reads", "--io-read"]] as const) {
    if (isHidden(hidden, access)) continue;
    const path: string[] = [];
    for (let at = 0; at < pattern.n; at++) {
      if (pattern.access[at] !== access) continue;
      const { x0, y0, x1, y1 } = markOf(plot, pattern, at);
      path.push(`M${short(x0)} ${short(y0)}L${short(Math.max(x1, x0 + 1))} ${short(Math.min(y1, y0 - 0.5))}`);
    }
    // Reads are thin lines, so that writes below them are seen.
    const width = access === WRITE ? 2 : 1.2;
    parts.push(`<g clip-path="url(#${clip})"><title>${name}</title><path d="${path.join("")}" fill="none" stroke="${themeValue(colour)}" stroke-width="${width}"/></g>`);
  }
  return parts.join("\n");
}

const short = (value: number): string => String(Math.round(value * 100) / 100);

export function escaped(text: string): string {
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;");
}
