// What threads did in the order of time, as frames whose widths are durations.

import type { Location, TimeOrder } from "../api";
import type { Tree } from "../tree-model";
import { byPlace, placeTitle, type PanelFrames } from "./flame-panels";
import type { OrderedFrames } from "./frames";

/** A panel for each thread, in nanoseconds since the beginning of the window. */
export function timePanels(tree: Tree, order: TimeOrder, locations: readonly Location[]): PanelFrames[] {
  const known = new Map(locations.map((one) => [one.location, one]));
  const wide = (order.endNs - order.beginNs) / order.bins;
  const panels: { place: Location; panel: PanelFrames }[] = [];
  let first = 0;
  order.lanes.forEach((location, lane) => {
    let behind = first;
    while (behind < order.n && order.lane[behind] === lane) behind++;
    const place = known.get(location)!;
    const frames = laneFrames(tree, order, first, behind, wide);
    panels.push({ place, panel: { title: placeTitle(place, locations), frames, isUpward: false } });
    first = behind;
  });
  return panels.sort((a, b) => byPlace(a.place, b.place)).map((one) => one.panel);
}

function laneFrames(tree: Tree, order: TimeOrder, first: number, behind: number, wide: number): OrderedFrames {
  const n = behind - first;
  const parent = new Int32Array(n).fill(-1);
  const end = new Int32Array(n);
  const depth = new Uint16Array(n);
  const node = new Int32Array(n);
  const start = new Float64Array(n);
  const value = new Float64Array(n);
  const ofNode = new Int32Array(tree.n).fill(-1);
  const levels: number[][] = [];
  const above: number[] = [];
  for (let frame = 0; frame < n; frame++) {
    const at = first + frame;
    const level = order.depth[at]!;
    depth[frame] = level;
    node[frame] = order.node[at]!;
    start[frame] = order.first[at]! * wide;
    value[frame] = (order.last[at]! - order.first[at]!) * wide;
    for (const closed of above.splice(level)) end[closed] = frame;
    parent[frame] = above[level - 1] ?? -1;
    above[level] = frame;
    (levels[level] ??= []).push(frame);
    if (ofNode[node[frame]!]! < 0) ofNode[node[frame]!] = frame;
  }
  for (const closed of above) end[closed] = n;
  const none = new Float64Array(n);
  return {
    n, parent, end, depth, node, start, value, ofNode,
    own: order.value.slice(first, behind), waiting: none, ownWaiting: none,
    total: (order.endNs - order.beginNs),
    levels: levels.map((level) => Int32Array.from(level)),
  };
}
