// The order of nodes within layers: few crossings, or as it was before.

import { type Incidence, incidence } from "./layout-graph";
import type { Chained } from "./layout-chains";

/** A graph in layers, each with its nodes from left to right. */
export interface Ordered {
  readonly rows: number[][];
  readonly links: Links;
}

/** Links of each node to layers above (by `into`) and below (by `out`). */
export interface Links {
  readonly upper: Int32Array;
  readonly lower: Int32Array;
  readonly weight: Float64Array;
  readonly out: Incidence;
  readonly into: Incidence;
}

/** Left and upper edges of nodes in the picture before. */
interface Previous {
  readonly x: Float64Array;
  readonly y: Float64Array;
}

const SWEEPS = 12;
const SWEEPS_OF_LARGE = 4;
const LARGE = 8000;
const SWAPS_MOST = 3000;
/** Neighbours with many links are not swapped: it would take long to see whether that is better. */
const SWAP_DEGREES = 400;

/**
 * Order nodes within layers by sweeps: each goes to the middle of those that it is linked to.
 *
 * @param previous Where each node was, NaN for those that were not there: the others keep their order.
 */
export function ordered(graph: Chained, layerCount: number, width: Float64Array, previous: Previous): Ordered {
  const { upper, lower, weight, count } = graph;
  const links = { upper, lower, weight, out: incidence(count, upper), into: incidence(count, lower) };
  const rows = initialRows(graph, layerCount, links);
  const at = new Float64Array(count);
  for (const row of rows) spread(row, width, at);
  const known = previous.x.some((x) => !Number.isNaN(x));
  if (known) {
    keepOrder(rows, links, previous, at);
    return { rows, links };
  }
  let best = rows.map((row) => row.slice());
  let fewest = crossings(rows, links, graph.layer);
  const sweeps = upper.length > LARGE ? SWEEPS_OF_LARGE : SWEEPS;
  for (let sweep = 0; sweep < sweeps && fewest > 0; sweep++) {
    const down = sweep % 2 === 0;
    for (let step = 1; step < layerCount; step++) {
      const row = rows[down ? step : layerCount - 1 - step]!;
      for (const node of row) {
        const middle = down ? meanOf(node, links.into, upper, weight, at) : meanOf(node, links.out, lower, weight, at);
        if (!Number.isNaN(middle)) at[node] = middle;
      }
      row.sort((a, b) => at[a]! - at[b]!);
      spread(row, width, at);
    }
    if (upper.length <= SWAPS_MOST) swapNeighbours(rows, links, width, at);
    const now = crossings(rows, links, graph.layer);
    if (now < fewest) {
      fewest = now;
      best = rows.map((row) => row.slice());
    }
  }
  return { rows: best, links };
}

/** Layers filled in the order of a search in depth from the top. */
function initialRows({ count, layer, lower }: Chained, layerCount: number, { out }: Links): number[][] {
  const rows: number[][] = Array.from({ length: layerCount }, () => []);
  const seen = new Uint8Array(count);
  const tops = Array.from({ length: count }, (_, node) => node).sort((a, b) => layer[a]! - layer[b]! || a - b);
  for (const top of tops) {
    const stack = [top];
    for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
      if (seen[node]) continue;
      seen[node] = 1;
      rows[layer[node]!]!.push(node);
      for (let at = out.start[node + 1]! - 1; at >= out.start[node]!; at--) stack.push(lower[out.arc[at]!]!);
    }
  }
  return rows;
}

/** Nodes of a row side by side, around 0. */
function spread(row: readonly number[], width: Float64Array, at: Float64Array): void {
  let x = 0;
  for (const node of row) {
    at[node] = x + width[node]! / 2;
    x += width[node]!;
  }
  for (const node of row) at[node]! -= x / 2;
}

function meanOf(
  node: number,
  { start, arc }: Incidence,
  ends: Int32Array,
  weight: Float64Array,
  at: Float64Array,
): number {
  let sum = 0;
  let total = 0;
  for (let each = start[node]!; each < start[node + 1]!; each++) {
    sum += weight[arc[each]!]! * at[ends[arc[each]!]!]!;
    total += weight[arc[each]!]!;
  }
  return total > 0 ? sum / total : NaN;
}

/** Rows in the order of before; what is new goes to the middle of what it is linked to. */
function keepOrder(
  rows: number[][],
  { upper, lower, weight, out, into }: Links,
  previous: Previous,
  at: Float64Array,
): void {
  for (let node = 0; node < at.length; node++) if (!Number.isNaN(previous.x[node]!)) at[node] = previous.x[node]!;
  for (let round = 0; round < 6; round++) {
    for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
      for (const node of row) {
        if (!Number.isNaN(previous.x[node]!)) continue;
        const above = meanOf(node, into, upper, weight, at);
        const below = meanOf(node, out, lower, weight, at);
        if (Number.isNaN(above) && Number.isNaN(below)) continue;
        at[node] = Number.isNaN(above) ? below : Number.isNaN(below) ? above : (above + below) / 2;
      }
    }
  }
  // What was in one stack keeps its order there.
  for (const row of rows) row.sort((a, b) => at[a]! - at[b]! || previous.y[a]! - previous.y[b]! || 0);
}

/** How many links between neighbouring layers cross. */
function crossings(rows: readonly (readonly number[])[], { lower, out }: Links, layer: Int32Array): number {
  let total = 0;
  const place = new Int32Array(layer.length);
  for (let at = 0; at + 1 < rows.length; at++) {
    const below = rows[at + 1]!;
    below.forEach((node, index) => (place[node] = index));
    // Ends to the right of each place, counted in a Fenwick tree.
    const tree = new Int32Array(below.length + 1);
    let seen = 0;
    const ends: number[] = [];
    for (const node of rows[at]!) {
      ends.length = 0;
      for (let each = out.start[node]!; each < out.start[node + 1]!; each++) {
        const end = lower[out.arc[each]!]!;
        if (layer[end] === at + 1) ends.push(place[end]!);
      }
      for (const end of ends) {
        let left = 0;
        for (let index = end + 1; index > 0; index -= index & -index) left += tree[index]!;
        total += seen - left;
      }
      for (const end of ends) {
        for (let index = end + 1; index <= below.length; index += index & -index) tree[index]! += 1;
      }
      seen += ends.length;
    }
  }
  return total;
}

/** Swap neighbours in a row where fewer links cross then. */
function swapNeighbours(rows: number[][], links: Links, width: Float64Array, at: Float64Array): void {
  const { upper, lower, out, into } = links;
  for (const row of rows) {
    for (let index = 0; index + 1 < row.length; index++) {
      const one = row[index]!;
      const other = row[index + 1]!;
      if (degree(one, links) * degree(other, links) > SWAP_DEGREES) continue;
      const change =
        crossed(one, other, into, upper, at) - crossed(other, one, into, upper, at) +
        crossed(one, other, out, lower, at) - crossed(other, one, out, lower, at);
      if (change > 0) [row[index], row[index + 1]] = [other, one];
    }
    spread(row, width, at);
  }
}

function degree(node: number, { out, into }: Links): number {
  return out.start[node + 1]! - out.start[node]! + into.start[node + 1]! - into.start[node]!;
}

/** Crossings of the links of two neighbours, the first to the left of the second. */
function crossed(left: number, right: number, { start, arc }: Incidence, ends: Int32Array, at: Float64Array): number {
  let count = 0;
  for (let one = start[left]!; one < start[left + 1]!; one++) {
    const x = at[ends[arc[one]!]!]!;
    for (let other = start[right]!; other < start[right + 1]!; other++) {
      if (x > at[ends[arc[other]!]!]!) count += 1;
    }
  }
  return count;
}
