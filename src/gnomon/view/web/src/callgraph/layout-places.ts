// Where items of layers stand: near those that they are linked to, in order, with room between.

import { type Incidence, incidence } from "./layout-graph";
import type { Item, Row } from "./layout-items";
import { spaced } from "./layout-spacing";

/** Rows of items, as positions in `items`, and links from higher rows to lower ones. */
export interface Columns {
  readonly items: readonly Item[];
  readonly rows: readonly (readonly number[])[];
  readonly upper: Int32Array;
  readonly lower: Int32Array;
  readonly weight: Float64Array;
}

const ROUNDS = 6;
const ROUNDS_OF_LARGE = 3;
const LARGE = 4000;
/** How much passages are drawn to each other, so that long arcs are straight. */
const STRAIGHT = 8;
const PULLS = 12;
/** Room between layers grows with how far links go sideways, up to this. */
const ROOMIEST = 2.5;

/**
 * Place items of layers.
 *
 * @param most How wide rows may be, unless their items need more.
 */
export function placed(
  columns: Columns,
  most: number,
  gapX: number,
  gapY: number,
): { rows: Row[]; width: number; height: number } {
  const { items, rows } = columns;
  const isPassage = (at: number): boolean => items[at]!.box < 0 && items[at]!.rows === null;
  const distances = rows.map((row) =>
    Float64Array.from(row, (at, index) => {
      if (index === 0) return 0;
      const before = row[index - 1]!;
      const gap = isPassage(at) ? (isPassage(before) ? gapX / 4 : gapX / 2) : isPassage(before) ? gapX / 2 : gapX;
      return (items[at]!.width + items[before]!.width) / 2 + gap;
    }),
  );
  const x = middles(columns, distances, most, isPassage);
  let [left, right] = [Infinity, -Infinity];
  items.forEach((item, at) => {
    item.x = x[at]! - item.width / 2;
    left = Math.min(left, item.x);
    right = Math.max(right, item.x + item.width);
  });
  const gaps = roomBetween(columns, x, gapY);
  const found: Row[] = [];
  let y = 0;
  rows.forEach((row, index) => {
    const height = row.reduce((tallest, at) => Math.max(tallest, items[at]!.height), 0);
    const level = row.every((at) => items[at]!.rows === null);
    for (const at of row) {
      const item = items[at]!;
      item.x -= left;
      if (isPassage(at)) item.height = height;
      item.y = y + (level ? (height - item.height) / 2 : 0);
    }
    found.push({ top: y, bottom: y + height, items: row.map((at) => items[at]!) });
    y += height + (index + 1 < rows.length ? gaps[index]! : 0);
  });
  return { rows: found, width: right - left, height: y };
}

/** The middle of each item. */
function middles(
  columns: Columns,
  distances: readonly Float64Array[],
  most: number,
  isPassage: (at: number) => boolean,
): Float64Array {
  const { items, rows, upper, lower, weight } = columns;
  const n = items.length;
  const force = Float64Array.from(weight, (each, link) => {
    const ends = Number(isPassage(upper[link]!)) + Number(isPassage(lower[link]!));
    return each * (ends === 2 ? STRAIGHT : ends === 1 ? 2 : 1);
  });
  const out = incidence(n, upper);
  const into = incidence(n, lower);
  const x = new Float64Array(n);
  const previous = Float64Array.from(items, (item) => item.previousLeft + item.width / 2);
  const known = previous.some((each) => !Number.isNaN(each));
  let widest = most;
  rows.forEach((row, index) => {
    let at = 0;
    row.forEach((each, place) => (x[each] = at += distances[index]![place]!));
    for (const each of row) x[each] = Number.isNaN(previous[each]!) ? x[each]! - at / 2 : previous[each]!;
    widest = Math.max(widest, at);
  });
  const move = (index: number, up: boolean, down: boolean): void => {
    const row = rows[index]!;
    const wanted = new Float64Array(row.length);
    const mass = new Float64Array(row.length);
    row.forEach((each, place) => {
      let sum = 0;
      let total = 0;
      if (up) {
        for (let at = into.start[each]!; at < into.start[each + 1]!; at++) {
          const link = into.arc[at]!;
          sum += force[link]! * x[upper[link]!]!;
          total += force[link]!;
        }
      }
      if (down) {
        for (let at = out.start[each]!; at < out.start[each + 1]!; at++) {
          const link = out.arc[at]!;
          sum += force[link]! * x[lower[link]!]!;
          total += force[link]!;
        }
      }
      if (known && !Number.isNaN(previous[each]!)) {
        sum += total * previous[each]! + previous[each]!;
        total += total + 1;
      }
      wanted[place] = total > 0 ? sum / total : x[each]!;
      mass[place] = total > 0 ? total : 0.1;
    });
    const half = widest / 2;
    if (known) spaced(wanted, mass, distances[index]!);
    else spaced(wanted, mass, distances[index]!, -half, half);
    row.forEach((each, place) => (x[each] = wanted[place]!));
  };
  const rounds = n > LARGE ? ROUNDS_OF_LARGE : ROUNDS;
  for (let round = 0; round < rounds; round++) {
    for (let index = 1; index < rows.length; index++) move(index, true, false);
    for (let index = rows.length - 2; index >= 0; index--) move(index, false, true);
  }
  for (let round = 0; round < rounds / 2; round++) {
    for (let index = 0; index < rows.length; index++) move(index, true, true);
    for (let index = rows.length - 1; index >= 0; index--) move(index, true, true);
  }
  straightened(rows, distances, x, isPassage, { out, into, upper, lower });
  return x;
}

/** Move passages alone, each between its neighbours in the row, to where arcs through them are straight. */
function straightened(
  rows: readonly (readonly number[])[], distances: readonly Float64Array[], x: Float64Array,
  isPassage: (at: number) => boolean,
  { out, into, upper, lower }: { out: Incidence; into: Incidence; upper: Int32Array; lower: Int32Array },
): void {
  const mean = ({ start, arc }: Incidence, ends: Int32Array, node: number): number => {
    let sum = 0;
    for (let at = start[node]!; at < start[node + 1]!; at++) sum += x[ends[arc[at]!]!]!;
    return sum / (start[node + 1]! - start[node]!);
  };
  for (let round = 0; round < PULLS; round++) {
    for (let step = 0; step < rows.length; step++) {
      const index = round % 2 === 0 ? step : rows.length - 1 - step;
      const row = rows[index]!;
      row.forEach((each, place) => {
        if (!isPassage(each)) return;
        const low = place > 0 ? x[row[place - 1]!]! + distances[index]![place]! : -Infinity;
        const high = place + 1 < row.length ? x[row[place + 1]!]! - distances[index]![place + 1]! : Infinity;
        const middle = (mean(into, upper, each) + mean(out, lower, each)) / 2;
        x[each] = Math.min(Math.max(middle, low), high);
      });
    }
  }
}

/** Room below each row. */
function roomBetween({ rows, items, upper, lower }: Columns, x: Float64Array, gapY: number): Float64Array {
  const rowOf = new Int32Array(items.length);
  rows.forEach((row, index) => row.forEach((at) => (rowOf[at] = index)));
  const sum = new Float64Array(rows.length);
  const count = new Float64Array(rows.length);
  for (let link = 0; link < upper.length; link++) {
    const top = rowOf[upper[link]!]!;
    const spans = rowOf[lower[link]!]! - top;
    const aside = Math.abs(x[upper[link]!]! - x[lower[link]!]!) / spans;
    for (let row = top; row < top + Math.min(spans, 50); row++) {
      sum[row]! += aside;
      count[row]! += 1;
    }
  }
  return sum.map((each, row) => {
    const mean = count[row]! > 0 ? each / count[row]! : 0;
    return gapY * Math.min(Math.max(mean / (4 * gapY), 1), ROOMIEST);
  });
}
