// A layout of which boxes and arcs go, and all that is left stays where it is.

import type { Layout } from "./layout";

/** What is left: of each box, arc and cluster of the new layout its position in the one before. */
export interface Left {
  readonly boxes: Int32Array;
  readonly arcs: Int32Array;
  readonly clusters: Int32Array;
}

export function pruned(before: Layout, { boxes, arcs, clusters }: Left): Layout {
  const routeStart = new Int32Array(arcs.length + 1);
  arcs.forEach((arc, at) => (routeStart[at + 1] = routeStart[at]! + before.routeStart[arc + 1]! - before.routeStart[arc]!));
  const points = new Float32Array(routeStart[arcs.length]!);
  arcs.forEach((arc, at) => points.set(before.points.subarray(before.routeStart[arc]!, before.routeStart[arc + 1]!), routeStart[at]!));
  const fours = <T extends Float32Array | Float64Array>(into: T, all: T, kept: Int32Array): T => {
    kept.forEach((old, at) => into.set(all.subarray(4 * old, 4 * old + 4), 4 * at));
    return into;
  };
  return {
    x: Float64Array.from(boxes, (box) => before.x[box]!),
    y: Float64Array.from(boxes, (box) => before.y[box]!),
    width: before.width,
    height: before.height,
    clusters: fours(new Float64Array(4 * clusters.length), before.clusters, clusters),
    routeStart, points,
    bounds: fours(new Float32Array(4 * arcs.length), before.bounds, arcs),
    labelX: Float32Array.from(arcs, (arc) => before.labelX[arc]!),
    labelY: Float32Array.from(arcs, (arc) => before.labelY[arc]!),
  };
}
