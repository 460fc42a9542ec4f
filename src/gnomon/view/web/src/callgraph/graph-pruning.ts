// Of a large picture a few boxes go: all others can stay where they are.

import { areAlike, fullWidth, type Box, type Picture, type Sketch } from "./graph-picture";
import { pruned } from "./layout-pruned";

/** More than this share of boxes leaves gaps that are better closed. */
const FEW = 0.01;

/** The picture of a sketch that leaves out few boxes of a picture and changes no other; null for any other sketch. */
export function prunedPicture(before: Picture, sketch: Sketch): Picture | null {
  const laidOut = before.laidOut ?? before.boxes.length;
  if (!areAlike(sketch.options, before.options) || sketch.boxes.length < (1 - FEW) * laidOut) return null;
  const ofCluster = new Map(before.boxes.flatMap((box, at) => (box.f < 0 ? [[box.module, at]] : [])));
  const boxes = Int32Array.from(sketch.boxes, (box) => {
    const at = box.f < 0 ? ofCluster.get(box.module) : before.boxOf.get(box.f);
    return at !== undefined && isAlike(box, before.boxes[at]!) ? at : -1;
  });
  const n = before.boxes.length;
  const arrows = new Map(before.arrows.map((arrow, at) => [arrow.from * n + arrow.to, at]));
  const arcs = Int32Array.from(sketch.arrows, ({ from, to }) => arrows.get(boxes[from]! * n + boxes[to]!) ?? -1);
  const clusters = Int32Array.from(sketch.modules, (module) => before.modules.indexOf(module));
  if ([boxes, arcs, clusters].some((positions) => positions.includes(-1))) return null;
  return { ...sketch, layout: pruned(before.layout, { boxes, arcs, clusters }), laidOut };
}

function isAlike(box: Box, other: Box): boolean {
  return box.f === other.f && fullWidth(box) === fullWidth(other) && box.height === other.height && box.width === other.width;
}
