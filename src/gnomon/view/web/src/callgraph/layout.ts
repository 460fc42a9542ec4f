// A layered picture of a call graph: callers above callees, clusters as rectangles, arcs as curves
// that go round boxes. Without randomness and clocks: the same graph has the same picture.

import { arranged, type Settings } from "./layout-arrange";
import { mergedArcs } from "./layout-graph";
import { type Item, boxItem, place } from "./layout-items";
import { routed } from "./layout-routes";
import { padded } from "./layout-pack";

export interface LayoutInput {
  /** Of each of n boxes; what stands below a box is part of it. */
  readonly width: Float64Array;
  readonly height: Float64Array;
  /** Of the box itself, whose label may be wider: arcs end there. The whole width if absent. */
  readonly inner?: Float64Array;
  /** Arcs, as positions of boxes; those of a box to itself are loops. */
  readonly from: Int32Array;
  readonly to: Int32Array;
  /** Of each box, -1 for none. */
  readonly cluster: Int32Array;
  readonly nClusters: number;
  /** Where each box was before, NaN for new ones: their order within layers is kept. */
  readonly previous?: { readonly x: Float64Array; readonly y: Float64Array };
  readonly gapX: number;
  readonly gapY: number;
  readonly clusterPadding: number;
  readonly clusterHeader: number;
}

export interface Layout {
  /** Top left corner of each box. */
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** Of the whole. */
  readonly width: number;
  readonly height: number;
  /** Four numbers each: x, y, width, height; all 0 for a cluster without boxes. */
  readonly clusters: Float64Array;
  /** Where the points of each arc begin, and behind those of the last. */
  readonly routeStart: Int32Array;
  /** x and y of control points of cubic Bezier curves: the start, then three for each segment. */
  readonly points: Float32Array;
  /** Left, top, right and bottom of the points of each arc. */
  readonly bounds: Float32Array;
  /** Of each arc, where its label covers no box. */
  readonly labelX: Float32Array;
  readonly labelY: Float32Array;
}

/** Lay out boxes and arcs; the time is about linear in both. */
export function layOut(input: LayoutInput): Layout {
  const n = input.width.length;
  const boxes = boxItems(input);
  const settings: Settings = { gapX: input.gapX, gapY: input.gapY };
  const chains: (Item[] | null)[] = new Array<Item[] | null>(input.from.length).fill(null);

  const members: number[][] = Array.from({ length: input.nClusters }, () => []);
  const loose: number[] = [];
  for (let box = 0; box < n; box++) (members[input.cluster[box]!] ?? loose).push(box);

  const frames: (Item | null)[] = members.map((group) => {
    if (group.length === 0) return null;
    const items = group.map((box) => boxes[box]!);
    const inner = subgraph(input, group, items, chains, settings);
    return padded(inner, input.clusterPadding, input.clusterHeader);
  });
  const whole = outer(input, boxes, loose, frames, chains, settings);
  place(whole, 0, 0);

  const x = Float64Array.from(boxes, (item) => item.x);
  const y = Float64Array.from(boxes, (item) => item.y);
  const clusters = new Float64Array(4 * input.nClusters);
  frames.forEach((frame, at) => {
    if (frame) clusters.set([frame.x, frame.y, frame.width, frame.height], 4 * at);
  });
  const routes = routed(input, boxes, chains);
  return { x, y, width: whole.width, height: whole.height, clusters, ...routes };
}

function boxItems({ width, height, from, to, previous, gapX }: LayoutInput): Item[] {
  const loops = new Uint8Array(width.length);
  for (let arc = 0; arc < from.length; arc++) if (from[arc] === to[arc]) loops[from[arc]!] = 1;
  return Array.from(width, (each, box) => {
    const item = boxItem(box, each + (loops[box] ? gapX : 0), height[box]!);
    if (previous) {
      item.previousLeft = previous.x[box]!;
      item.previousTop = previous.y[box]!;
    }
    return item;
  });
}

/** Boxes of one cluster with the arcs between them. */
function subgraph(
  input: LayoutInput,
  group: readonly number[],
  items: readonly Item[],
  chains: (Item[] | null)[],
  settings: Settings,
): Item {
  const position = new Map(group.map((box, at) => [box, at]));
  return arrangedWith(input, items, (box) => position.get(box) ?? -1, chains, settings);
}

/** Clusters and boxes outside of all of them. */
function outer(
  input: LayoutInput,
  boxes: readonly Item[],
  loose: readonly number[],
  frames: readonly (Item | null)[],
  chains: (Item[] | null)[],
  settings: Settings,
): Item {
  const items: Item[] = [];
  const ofBox = new Int32Array(boxes.length).fill(-1);
  const ofCluster = frames.map((frame) => (frame ? items.push(frame) - 1 : -1));
  for (const box of loose) ofBox[box] = items.push(boxes[box]!) - 1;
  const position = (box: number): number => ofCluster[input.cluster[box]!] ?? ofBox[box]!;
  // Many arcs go between clusters.
  const wide = items.length > loose.length ? { gapX: 2 * settings.gapX, gapY: 1.5 * settings.gapY } : settings;
  return padded(arrangedWith(input, items, position, chains, wide), input.gapX, 0);
}

function arrangedWith(
  input: LayoutInput,
  items: readonly Item[],
  position: (box: number) => number,
  chains: (Item[] | null)[],
  settings: Settings,
): Item {
  const { arcs, merged } = mergedArcs(input.from, input.to, items.length, position);
  const found = arranged(items, arcs, settings);
  for (let arc = 0; arc < merged.length; arc++) {
    if (merged[arc]! >= 0) chains[arc] = found.chains[merged[arc]!] ?? null;
  }
  return found.item;
}
