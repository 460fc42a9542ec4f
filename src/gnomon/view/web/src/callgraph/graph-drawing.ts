// Draws a call graph onto a surface: a canvas, or a file of SVG.

import { heaviestFirst, indexOf } from "./graph-index";
import { drawLandmarks } from "./graph-landmarks";
import { arrowLabel, clusterTotal, fullWidth, LABEL_HEIGHT, type Arrow, type Box, type Picture } from "./graph-picture";
import { labelValue, type GraphModel } from "./graph-model";

export interface GraphColours {
  readonly box: string;
  readonly hidden: string;
  readonly arc: string;
  readonly ink: string;
  readonly dim: string;
  readonly cluster: string;
  readonly clusterLine: string;
  readonly located: string;
  readonly chosen: string;
  readonly ground: string;
  /** Of a function where two runs are compared; null elsewhere. */
  readonly ofFunction: ((f: number) => string) | null;
}

export interface Surface {
  box(x: number, y: number, width: number, height: number, fill: string, line: string, title: () => string): void;
  /** A curve of cubic Bézier points, if wanted with an arrowhead at its end. */
  curve(points: Float32Array, begin: number, end: number, colour: string, width: number, hasHead: boolean): void;
  text(x: number, y: number, text: string, colour: string, most: number, align: "left" | "center"): void;
  /** A text of so many units for a pixel, with a margin of the ground's colour. */
  name(x: number, y: number, text: string, colour: string, ground: string, unit: number, align: "left" | "center"): void;
  /** Ends what is drawn. */
  done(): void;
}

/** Where one looks: the part of the picture that is visible, in its units, and pixels of a unit. */
export interface Sight {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly scale: number;
}

export type Target =
  | { readonly kind: "function"; readonly box: number }
  | { readonly kind: "arc"; readonly arrow: number }
  | { readonly kind: "cluster"; readonly module: number };

export interface Marks {
  readonly chosen: Target | null;
  readonly hover: Target | null;
  /** Functions that were located: red. */
  readonly located: ReadonlySet<number>;
}

const LABEL_SCALE = 0.45;
const ARC_LABEL_SCALE = 0.7;
const HEAD_SCALE = 0.2;
const ARROWS_MOST = 3000;
/** What boxes and arrows measure at least: less where there are more of them than this. */
const BOX_LEAST_PX = 2.5;
const ARROW_LEAST_PX = 0.6;
const MANY = 500;
const NO_MARKS: Marks = { chosen: null, hover: null, located: new Set() };

/** All but the marks. */
export function drawGraph(surface: Surface, model: GraphModel, picture: Picture, sight: Sight, colours: GraphColours): void {
  drawClusters(surface, model, picture, sight, colours);
  drawArrows(surface, model, picture, sight, colours);
  const { layout, boxes } = picture;
  boxes.forEach((box, at) => {
    const x = layout.x[at]!;
    const y = layout.y[at]!;
    if (!isVisible(sight, x, y, 200, box.height + LABEL_HEIGHT)) return;
    drawBox(surface, model, picture, box, at, sight, colours, NO_MARKS);
  });
  if (sight.scale < LABEL_SCALE) drawLandmarks(surface, model, picture, sight, colours);
  surface.done();
}

/** What is chosen, under the pointer or located, over the picture: it alone changes when these do. */
export function drawMarks(
  surface: Surface, model: GraphModel, picture: Picture, sight: Sight, colours: GraphColours, marks: Marks,
): void {
  const { layout, arrows, boxes, boxOf } = picture;
  const targets = [marks.chosen, marks.hover].filter((one) => one !== null);
  const width = 2.2 * Math.max(1, ARROW_LEAST_PX / sight.scale);
  const ends = targets.flatMap((one) => (one.kind === "function" ? [one.box] : []));
  arrows.forEach((arrow, at) => {
    if (isStrong(arrow, at, ends, marks)) {
      surface.curve(layout.points, layout.routeStart[at]!, layout.routeStart[at + 1]!, colours.chosen, width, true);
    }
  });
  for (const target of targets) {
    if (target.kind !== "cluster") continue;
    const at = picture.modules.indexOf(target.module);
    if (at < 0) continue;
    const [x, y, wide, high] = clusterRect(picture, at);
    surface.box(x, y, wide, high, "transparent", colours.chosen, () => "");
  }
  const located = [...marks.located].flatMap((f) => boxOf.get(f) ?? []);
  for (const at of new Set([...located, ...ends])) {
    const box = boxes[at];
    if (box) drawBox(surface, model, picture, box, at, sight, colours, marks);
  }
  surface.done();
}

function isVisible(sight: Sight, x: number, y: number, width: number, height: number): boolean {
  return x < sight.x + sight.width && x + width > sight.x && y < sight.y + sight.height && y + height > sight.y;
}

/** The rectangle of a box itself, without its label, above which it is centred. */
export function boxRect(picture: Picture, at: number): { x: number; y: number; width: number; height: number; middle: number } {
  const box = picture.boxes[at]!;
  const middle = picture.layout.x[at]! + fullWidth(box) / 2;
  return { x: middle - box.width / 2, y: picture.layout.y[at]!, width: box.width, height: box.height, middle };
}

/** A share of what marks measure at least, so that many of them do not hide each other. */
function thinned(n: number): number {
  return Math.max(0.3, Math.min(1, Math.sqrt(MANY / Math.max(n, 1))));
}

/** A box at least so large that it can be seen. */
function seenRect(picture: Picture, at: number, scale: number): ReturnType<typeof boxRect> {
  const own = boxRect(picture, at);
  const least = (BOX_LEAST_PX * thinned(picture.boxes.length)) / scale;
  const width = Math.max(own.width, least);
  const height = Math.max(own.height, least);
  return { x: own.middle - width / 2, y: own.y + own.height / 2 - height / 2, width, height, middle: own.middle };
}

function drawBox(
  surface: Surface, model: GraphModel, picture: Picture, box: Box, at: number, sight: Sight, colours: GraphColours, marks: Marks,
): void {
  const { x, y, width, height, middle } = seenRect(picture, at, sight.scale);
  const isGrey = box.f >= 0 && !model.data.isShown[box.f];
  const isLocated = box.f >= 0 && marks.located.has(box.f);
  const own = colours.ofFunction && box.f >= 0 ? colours.ofFunction(box.f) : colours.box;
  const fill = isLocated ? colours.located : isGrey ? colours.hidden : box.f < 0 ? colours.cluster : own;
  const isChosen = (target: Target | null) => target?.kind === "function" && target.box === at;
  const line = isChosen(marks.chosen) || isChosen(marks.hover) ? colours.chosen : box.f < 0 ? colours.clusterLine : fill;
  surface.box(x, y, width, height, fill, line, () => `${box.label}\n${box.values}`);
  if (sight.scale < LABEL_SCALE) return;
  const most = fullWidth(box) + 14;
  surface.text(middle, y + height + 8, box.label, isGrey ? colours.dim : colours.ink, most, "center");
  surface.text(middle, y + height + 21, box.values, colours.dim, most, "center");
}

function clusterRect(picture: Picture, at: number): [number, number, number, number] {
  return [0, 1, 2, 3].map((part) => picture.layout.clusters[4 * at + part]!) as [number, number, number, number];
}

function drawClusters(surface: Surface, model: GraphModel, picture: Picture, sight: Sight, colours: GraphColours): void {
  picture.modules.forEach((module, at) => {
    const [x, y, width, height] = clusterRect(picture, at);
    if (width === 0 || !isVisible(sight, x, y, width, height)) return;
    const { path } = model.data.modules[module]!;
    const total = labelValue(clusterTotal(model, module), model.data.unit);
    const label = `${path || "(unknown)"}: ${total}`;
    surface.box(x, y, width, height, colours.cluster, colours.clusterLine, () => label);
    if (sight.scale >= LABEL_SCALE) surface.text(x + 8, y + 12, label, colours.dim, width - 16, "left");
  });
}

function drawArrows(surface: Surface, model: GraphModel, picture: Picture, sight: Sight, colours: GraphColours): void {
  const { layout, arrows } = picture;
  const { bounds } = layout;
  const width = Math.max(1, (ARROW_LEAST_PX * thinned(arrows.length)) / sight.scale);
  const hasHead = sight.scale >= HEAD_SCALE;
  let n = 0;
  for (const at of heaviestFirst(model, picture)) {
    if (n >= ARROWS_MOST && sight.scale < 1) break;
    const [left, top, right, bottom] = [bounds[4 * at]!, bounds[4 * at + 1]!, bounds[4 * at + 2]!, bounds[4 * at + 3]!];
    if (!isVisible(sight, left, top, right - left, bottom - top)) continue;
    n++;
    surface.curve(layout.points, layout.routeStart[at]!, layout.routeStart[at + 1]!, colours.arc, width, hasHead);
  }
  if (sight.scale < ARC_LABEL_SCALE) return;
  arrows.forEach((arrow, at) => {
    const x = layout.labelX[at]!;
    const y = layout.labelY[at]!;
    if (isVisible(sight, x - 30, y - 8, 60, 16)) surface.text(x, y, arrowLabel(model, arrow), colours.arc, 80, "center");
  });
}

function isStrong(arrow: Arrow, at: number, boxes: readonly number[], marks: Marks): boolean {
  if (boxes.includes(arrow.from) || boxes.includes(arrow.to)) return true;
  return [marks.chosen, marks.hover].some((one) => one?.kind === "arc" && one.arrow === at);
}

const NEAR_PX = 5;

/** What is at a place of the picture: a box with its label, else an arc, else the edge of a cluster. */
export function targetAt(picture: Picture, x: number, y: number, scale: number): Target | null {
  const { layout, boxes } = picture;
  const index = indexOf(picture);
  for (const at of index.boxesAt(x, y)) {
    const top = layout.y[at]!;
    const left = layout.x[at]!;
    if (y >= top && y <= top + boxes[at]!.height + LABEL_HEIGHT && x >= left && x <= left + fullWidth(boxes[at]!)) {
      return { kind: "function", box: at };
    }
  }
  const near = NEAR_PX / scale;
  let best: Target | null = null;
  let least = near;
  for (const at of index.arrowsNear(x, y, near)) {
    const distance = routeDistance(layout.points, layout.routeStart[at]!, layout.routeStart[at + 1]!, x, y, near);
    if (distance >= least) continue;
    least = distance;
    best = { kind: "arc", arrow: at };
  }
  if (best) return best;
  for (let at = 0; at < picture.modules.length; at++) {
    const [left, top, width, height] = clusterRect(picture, at);
    const isInside = x >= left - near && x <= left + width + near && y >= top - near && y <= top + height + near;
    const isEdge = x < left + near || x > left + width - near || y < top + 20 || y > top + height - near;
    if (isInside && isEdge) return { kind: "cluster", module: picture.modules[at]! };
  }
  return null;
}

const STEPS = 12;

function routeDistance(points: Float32Array, begin: number, end: number, x: number, y: number, near: number): number {
  let least = Infinity;
  for (let at = begin; at + 7 < end; at += 6) {
    const xs = [points[at]!, points[at + 2]!, points[at + 4]!, points[at + 6]!] as const;
    const ys = [points[at + 1]!, points[at + 3]!, points[at + 5]!, points[at + 7]!] as const;
    if (x < Math.min(...xs) - near || x > Math.max(...xs) + near || y < Math.min(...ys) - near || y > Math.max(...ys) + near) continue;
    let [lastX, lastY] = [xs[0], ys[0]];
    for (let step = 1; step <= STEPS; step++) {
      const t = step / STEPS;
      const u = 1 - t;
      const weights = [u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t] as const;
      const nextX = weights[0] * xs[0] + weights[1] * xs[1] + weights[2] * xs[2] + weights[3] * xs[3];
      const nextY = weights[0] * ys[0] + weights[1] * ys[1] + weights[2] * ys[2] + weights[3] * ys[3];
      least = Math.min(least, segmentDistance(x, y, lastX, lastY, nextX, nextY));
      [lastX, lastY] = [nextX, nextY];
    }
  }
  return least;
}

function segmentDistance(x: number, y: number, x1: number, y1: number, x2: number, y2: number): number {
  const length = (x2 - x1) ** 2 + (y2 - y1) ** 2;
  const t = length === 0 ? 0 : Math.max(0, Math.min(1, ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length));
  return Math.hypot(x - x1 - t * (x2 - x1), y - y1 - t * (y2 - y1));
}
