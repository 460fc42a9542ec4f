// Arcs as curves: where they begin and end at boxes, what they pass, loops, places for labels.

import { CurveWriter } from "./layout-curves";
import { grouped } from "./layout-graph";
import type { Item } from "./layout-items";
import { type ArcEnds, type Ends, type Passages, intoLanes, passages, straighten } from "./layout-passages";
import { spaced } from "./layout-spacing";

interface Graph {
  readonly width: Float64Array;
  readonly height: Float64Array;
  readonly inner?: Float64Array;
  readonly from: Int32Array;
  readonly to: Int32Array;
  readonly gapX: number;
}

export interface Routes {
  readonly routeStart: Int32Array;
  readonly points: Float32Array;
  readonly bounds: Float32Array;
  readonly labelX: Float32Array;
  readonly labelY: Float32Array;
}

/** How far towards the other end of an arc its end is from the middle of the box. */
const TOWARDS = 0.3;
/** The part of a box's side that arcs use, and the most between two of them. */
const SIDE = 0.7;
const APART = 12;

/** Curves of all arcs between boxes that have their places. */
export function routed(graph: Graph, boxes: readonly Item[], chains: readonly (Item[] | null)[]): Routes {
  const { from, to, width, gapX } = graph;
  const m = from.length;
  const upward = new Uint8Array(m);
  const ends: (Ends | null)[] = Array.from(from, (tail, arc) => {
    const head = to[arc]!;
    if (tail === head) return null;
    upward[arc] = Number(below(boxes[tail]!, boxes[head]!));
    const [upper, lower] = upward[arc] ? [head, tail] : [tail, head];
    return { upper: boxes[upper]!, lower: boxes[lower]! };
  });
  const middle = (item: Item): number => item.x + width[item.box]! / 2;
  const arcEnds: ArcEnds = {
    startX: Float64Array.from(ends, (each) => (each ? middle(each.upper) : 0)),
    endX: Float64Array.from(ends, (each) => (each ? middle(each.lower) : 0)),
  };
  const passed = passages(ends, chains, gapX);
  straighten(passed, arcEnds);
  ports(ends, passed, arcEnds, width, graph.inner ?? width);
  straighten(passed, arcEnds);
  intoLanes(passed, arcEnds);

  const writer = new CurveWriter(m, gapX / 8);
  const callees = new Int32Array(boxes.length);
  const callers = new Int32Array(boxes.length);
  for (let arc = 0; arc < m; arc++) {
    callees[from[arc]!]! += 1;
    callers[to[arc]!]! += 1;
  }
  const loops = new Int32Array(boxes.length);
  for (let arc = 0; arc < m; arc++) {
    const each = ends[arc];
    const [tail, head] = [from[arc]!, to[arc]!];
    if (!each) {
      const box = boxes[tail]!;
      writer.loop(arc, box.x + width[tail]!, box.y, box.height, gapX * 0.8 ** loops[tail]!++);
      continue;
    }
    // Where fewer arcs come together its label has more room.
    const atHead = callees[tail]! >= callers[head]!;
    const reversed = upward[arc] === 1;
    const lowerEnd = atHead !== reversed;
    writer.arc(arc, each.upper.y + each.upper.height, each.lower.y, passed, arcEnds, reversed, lowerEnd);
  }
  return writer.routes();
}

/** Whether one box is in a lower row than another, of the group that has both. */
function below(one: Item, other: Item): boolean {
  const difference = depth(one) - depth(other);
  for (let step = 0; step < difference; step++) one = one.parent!;
  for (let step = difference; step < 0; step++) other = other.parent!;
  while (one.parent !== other.parent) {
    one = one.parent!;
    other = other.parent!;
  }
  return one.row > other.row;
}

function depth(item: Item): number {
  let found = 0;
  for (let each = item.parent; each; each = each.parent) found += 1;
  return found;
}

/** Give each arc its places on the sides of its boxes, in the order of where it goes. */
function ports(
  ends: readonly (Ends | null)[],
  { start, x, gap }: Passages,
  arcEnds: ArcEnds,
  width: Float64Array,
  inner: Float64Array,
): void {
  // Two for each arc: at the bottom of its upper box, at the top of its lower one.
  const box = new Int32Array(2 * ends.length).fill(-1);
  const aside = new Float64Array(2 * ends.length);
  const trunk = new Int32Array(2 * ends.length);
  ends.forEach((each, arc) => {
    if (!each) return;
    const [first, last] = [start[arc]!, start[arc + 1]! - 1];
    const none = last < first;
    box[2 * arc] = 2 * each.upper.box;
    box[2 * arc + 1] = 2 * each.lower.box + 1;
    aside[2 * arc] = none ? arcEnds.endX[arc]! : x[first]!;
    aside[2 * arc + 1] = none ? arcEnds.startX[arc]! : x[last]!;
    trunk[2 * arc] = none ? 0 : Math.min(gap[first]!, 0);
    trunk[2 * arc + 1] = none ? 0 : Math.min(gap[last]!, 0);
  });
  for (const order of grouped(box)) {
    const side = box[order[0]!]!;
    // The label is at the bottom: at the top there is nothing beside the box to end at.
    const wide = (side % 2 === 0 ? width : inner)[side >> 1]!;
    const half = (SIDE * wide) / 2;
    const xs = side % 2 === 0 ? arcEnds.startX : arcEnds.endX;
    const middle = xs[order[0]! >> 1]!;
    const wantedAt = (port: number): number =>
      Math.min(Math.max(middle + TOWARDS * (aside[port]! - middle), middle - half), middle + half);
    if (order.length === 1) {
      xs[order[0]! >> 1] = wantedAt(order[0]!);
      continue;
    }
    order.sort((a, b) => aside[a]! - aside[b]! || trunk[a]! - trunk[b]! || a - b);
    const groups: number[][] = [];
    for (const port of order) {
      const last = groups.at(-1);
      if (last && trunk[port]! < -1 && trunk[last[0]!] === trunk[port]) last.push(port);
      else groups.push([port]);
    }
    const wanted = Float64Array.from(groups, (group) => wantedAt(group[0]!));
    const apart = Math.min(APART, (2 * half) / Math.max(1, groups.length - 1));
    spaced(wanted, null, apart, middle - half, middle + half);
    groups.forEach((group, index) => {
      for (const port of group) xs[port >> 1] = wanted[index]!;
    });
  }
}
