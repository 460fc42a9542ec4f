// A strip chart on a canvas: a mark for each rank, or for each band of consecutive ones.

import type { RankSeries, RankValues } from "../api";
import { scaledContext } from "../canvas";
import { formatQuantity } from "../format";
import { themeValue } from "../theme";

const HIGH_LEAST = 64;
const HIGH_MOST = 190;
const CAPTION_PX = 26;
export const LEFT_PX = 84;
const RIGHT_PX = 10;
const TOP_PX = 8;
const BOTTOM_PX = 4;
const DOT_PX = 2.5;
/** Grounds of fewer pixels than this say nothing. */
const HOST_LEAST = 16;

export const stripRoom = (width: number): number => Math.max(16, width - LEFT_PX - RIGHT_PX);

/** How high each of some strips is in a box of so many pixels. */
export function stripHeight(room: number, strips: number): number {
  const each = Math.floor(room / Math.max(1, strips)) - CAPTION_PX;
  return Math.max(HIGH_LEAST, Math.min(HIGH_MOST, each));
}

/** The band at a point of the canvas, -1 for none. */
export function bandAt(values: RankValues, width: number, x: number): number {
  const band = Math.floor(((x - LEFT_PX) / stripRoom(width)) * values.n);
  return band >= 0 && band < values.n ? band : -1;
}

/** A strip's bands of one series. */
export function seriesBands(values: RankValues, series: number) {
  const part = (all: Float64Array) => all.subarray(series * values.n, (series + 1) * values.n);
  return { least: part(values.least), middle: part(values.middle), most: part(values.most) };
}

/** The band that a place is in, -1 where it is not shown. */
export function bandOf(values: RankValues, place: number): number {
  const { edges, n } = values;
  if (place < edges[0]! || place >= edges[n]!) return -1;
  let low = 0;
  let high = n;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (edges[middle]! <= place) low = middle;
    else high = middle;
  }
  return low;
}

export function drawStrip(
  canvas: HTMLCanvasElement,
  values: RankValues,
  number: number,
  [width, high]: readonly [number, number],
  isStretched: boolean,
  lit: number,
  selected: number,
): void {
  const pen = scaledContext(canvas, width, high);
  const room = stripRoom(width);
  const series = values.series[number]!;
  const { least, middle, most } = seriesBands(values, number);
  const ceiling = isStretched ? (series.max ?? 0) : Math.max(series.max ?? 0, 0);
  const floor = isStretched ? (series.min ?? 0) : Math.min(series.min ?? 0, 0);
  const span = ceiling - floor || 1;
  const y = (value: number) => TOP_PX + (1 - (value - floor) / span) * (high - TOP_PX - BOTTOM_PX);
  const x = (band: number) => LEFT_PX + (band / values.n) * room;
  const wide = room / values.n;
  drawHosts(pen, values, x, high);
  drawScale(pen, series, y, [room, high], floor, ceiling);
  const isDots = wide >= 5;
  const isBands = values.edges[values.n]! - values.edges[0]! > values.n;
  for (let band = 0; band < values.n; band++) {
    const [low, mid, top] = [least[band]!, middle[band]!, most[band]!];
    if (Number.isNaN(mid)) continue;
    const left = x(band);
    if (isBands) {
      pen.fillStyle = themeValue("--bar");
      pen.fillRect(left, y(top), Math.max(1, wide), Math.max(1, y(low) - y(top)));
      pen.fillStyle = themeValue("--bar-strong");
      pen.fillRect(left, y(mid) - 1, Math.max(1, wide), 2);
    } else {
      pen.fillStyle = themeValue("--bar");
      const stem = isDots ? 1.5 : Math.max(0.8, wide * 0.7);
      pen.fillRect(left + (wide - stem) / 2, y(mid), stem, Math.max(0, y(Math.max(floor, 0)) - y(mid)));
      pen.fillStyle = themeValue("--bar-strong");
      if (isDots) dot(pen, left + wide / 2, y(mid), DOT_PX);
      else pen.fillRect(left, y(mid) - 1, Math.max(1.5, wide), 2);
    }
  }
  pen.fillStyle = themeValue("--accent-strong");
  const median = series.median ?? 0;
  for (let band = 0; band < values.n; band++) {
    if (values.outliers[number * values.n + band] === 0) continue;
    const isHigh = most[band]! - median > median - least[band]!;
    dot(pen, x(band) + wide / 2, y(isHigh ? most[band]! : least[band]!), isDots ? DOT_PX + 1 : DOT_PX);
  }
  pen.strokeStyle = themeValue("--accent-strong");
  pen.lineWidth = 1;
  for (const band of [lit, selected]) {
    if (band < 0 || band >= values.n) continue;
    pen.setLineDash(band === selected ? [] : [3, 3]);
    const middleX = x(band) + wide / 2;
    pen.beginPath();
    pen.moveTo(middleX, 0);
    pen.lineTo(middleX, high);
    pen.stroke();
  }
  pen.setLineDash([]);
}

function dot(pen: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  pen.beginPath();
  pen.arc(x, y, size, 0, 2 * Math.PI);
  pen.fill();
}

/** Every other one of consecutive ranks of a host stands on another ground. */
function drawHosts(pen: CanvasRenderingContext2D, values: RankValues, x: (band: number) => number, high: number): void {
  if (values.hosts.length < 2) return;
  pen.fillStyle = themeValue("--raised");
  let isOther = false;
  let begin = 0;
  const turns: number[] = [];
  for (let band = 1; band <= values.n; band++) {
    if (band === values.n || values.host[band] !== values.host[band - 1]) turns.push(band);
  }
  if (x(values.n) - x(0) < HOST_LEAST * turns.length) return;
  for (const end of turns) {
    if (isOther) pen.fillRect(x(begin), 0, x(end) - x(begin), high);
    isOther = !isOther;
    begin = end;
  }
}

function drawScale(
  pen: CanvasRenderingContext2D,
  series: RankSeries,
  y: (value: number) => number,
  [room, high]: readonly [number, number],
  floor: number,
  ceiling: number,
): void {
  pen.font = `11px ${themeValue("--sans")}`;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  const median = series.median;
  const ticks: [number, string][] = [
    [ceiling, formatQuantity(ceiling, series.unit)],
    [floor, formatQuantity(floor, series.unit)],
  ];
  pen.strokeStyle = themeValue("--line");
  pen.lineWidth = 1;
  pen.fillStyle = themeValue("--dim");
  for (const [value, text] of ticks) {
    const height = Math.max(7, Math.min(high - 7, y(value)));
    pen.fillText(text, LEFT_PX - 6, height);
    pen.beginPath();
    pen.moveTo(LEFT_PX, Math.round(y(value)) + 0.5);
    pen.lineTo(LEFT_PX + room, Math.round(y(value)) + 0.5);
    pen.stroke();
  }
  if (median === null) return;
  const height = Math.round(y(median)) + 0.5;
  pen.strokeStyle = themeValue("--line-strong");
  pen.setLineDash([4, 4]);
  pen.beginPath();
  pen.moveTo(LEFT_PX, height);
  pen.lineTo(LEFT_PX + room, height);
  pen.stroke();
  pen.setLineDash([]);
}
