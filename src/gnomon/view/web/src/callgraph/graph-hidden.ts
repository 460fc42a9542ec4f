// Why a row of a report has no box or arrow in the picture, and what would give it one.

import type { GraphModel } from "./graph-model";
import type { Picture } from "./graph-picture";
import type { ReportRow } from "./report-rows";

export interface Hidden {
  readonly why: string;
  readonly remedy: string;
}

/** Null for a row whose box or arrow is displayed. */
export function hiddenBy(model: GraphModel, picture: Picture, { f, arc }: ReportRow): Hidden | null {
  const { names, caller, callee, module, modules } = model.data;
  const ends = arc >= 0 ? [caller[arc]!, callee[arc]!] : [f];
  const name = ends.map((end) => names[end]).join(" → ");
  const isLeft = ends.every((end) => picture.shown.functions.has(end)) && (arc < 0 || (picture.shown.arcs?.has(arc) ?? true));
  if (!isLeft) return { why: `A filter hides ${name}.`, remedy: "Add it to the picture" };
  if (arc >= 0 ? arrowOf(picture, arc) >= 0 : isBox(picture, f)) return null;
  const library = modules[module[ends[0]!]!]!.path || "(unknown)";
  return { why: `${name} is inside the collapsed cluster ${library}.`, remedy: "Expand the cluster" };
}

/** The arrow that an arc is drawn as, -1 for none. */
export function arrowOf(picture: Picture, arc: number): number {
  return arc < 0 ? -1 : picture.arrows.findIndex((arrow) => arrow.arcs.includes(arc));
}

/** Whether a function has a box of its own. */
export function isBox(picture: Picture, f: number): boolean {
  const at = picture.boxOf.get(f);
  return at !== undefined && picture.boxes[at]!.f === f;
}
