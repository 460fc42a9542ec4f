// A plot over time: where its times and offsets are on a canvas, and its axes.

import { formatQuantity } from "../format";
import { tickTexts, timeTicks } from "../time-axis";

export const LEFT_PX = 78;
/** Where rows have names. */
export const NAMES_PX = 150;
export const RIGHT_PX = 12;
const APART_X_PX = 110;
const APART_Y_PX = 46;

export interface Plot {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly beginNs: number;
  readonly endNs: number;
  readonly low: number;
  readonly high: number;
}

export const xOf = (plot: Plot, time: number): number =>
  plot.left + ((time - plot.beginNs) / (plot.endNs - plot.beginNs)) * plot.width;

/** Offsets grow upward. */
export const yOf = (plot: Plot, offset: number): number =>
  plot.top + (1 - (offset - plot.low) / (plot.high - plot.low)) * plot.height;

export const timeAt = (plot: Plot, x: number): number =>
  plot.beginNs + Math.max(0, Math.min(1, (x - plot.left) / plot.width)) * (plot.endNs - plot.beginNs);

export const offsetAt = (plot: Plot, y: number): number =>
  plot.low + Math.max(0, Math.min(1, 1 - (y - plot.top) / plot.height)) * (plot.high - plot.low);

export interface Tick {
  /** In pixels of the canvas. */
  readonly at: number;
  readonly text: string;
}

export function timeTicksOf(plot: Plot): Tick[] {
  const times = timeTicks(plot.beginNs, plot.endNs, Math.max(2, Math.floor(plot.width / APART_X_PX)));
  const texts = tickTexts(times);
  return times.map((time, at) => ({ at: xOf(plot, time), text: texts[at]! }));
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** Round offsets: 1, 2 or 5 times a power of ten of the unit that the last one is told in. */
export function offsetTicksOf(plot: Plot): Tick[] {
  const most = Math.max(2, Math.floor(plot.height / APART_Y_PX));
  const least = Math.max((plot.high - plot.low) / most, 1);
  let power = unitOf(plot.high);
  // Within a small part of a large file more digits would be needed than can be read.
  if (least < 1024 ** power / 1000) power = unitOf(least);
  const unit = 1024 ** power;
  const step = roundStep(least / unit);
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  const ticks: Tick[] = [];
  const last = Math.floor(plot.high / unit / step + 1e-9);
  for (let nth = Math.ceil(plot.low / unit / step - 1e-9); nth <= last; nth++) {
    const text = grouped((nth * step).toFixed(digits));
    ticks.push({ at: yOf(plot, nth * step * unit), text: nth === 0 ? "0" : `${text} ${UNITS[power]}` });
  }
  return ticks;
}

const unitOf = (bytes: number): number => Math.max(0, Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(bytes, 1)) / 10)));

function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((one) => one * power).find((one) => one >= least * (1 - 1e-9))!;
}

/** Digits in groups of three, as numbers are told everywhere. */
const grouped = (digits: string): string => digits.replace(/^\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, "\u202f"));

/** An offset to the byte: what a size is rounded to says nothing of whether it is aligned. */
export function exactBytes(bytes: number): string {
  const digits = grouped(String(Math.round(bytes)));
  return bytes >= 1024 ? `${digits} (${formatQuantity(bytes, "bytes")})` : `${digits} B`;
}
