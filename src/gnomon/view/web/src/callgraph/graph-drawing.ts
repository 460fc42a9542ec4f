// Draws a call graph onto a surface: a canvas, or a file of SVG.

import { clusterTotal, fullWidth, LABEL_HEIGHT, type Arrow, type Box, type Picture } from "./graph-picture";
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
  /** A curve of cubic Bézier points with an arrowhead at its end. */
  curve(points: Float32Array, begin: number, end: number, colour: string, width: number): void;
  text(x: number, y: number, text: string, colour: string, most: number, align: "left" | "center"): void;
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
const ARROWS_MOST = 4000;

export function drawGraph(
  surface: Surface, model: GraphModel, picture: Picture, sight: Sight, colours: GraphColours, marks: Marks,
): void {
  drawClusters(surface, model, picture, sight, colours, marks);
  drawArrows(surface, picture, sight, colours, marks);
  const { layout, boxes } = picture;
  boxes.forEach((box, at) => {
    const x = layout.x[at]!;
    const y = layout.y[at]!;
    if (!isVisible(sight, x, y, 200, box.height + LABEL_HEIGHT)) return;
    drawBox(surface, model, picture, box, at, sight, colours, marks);
  });
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

function drawBox(
  surface: Surface, model: GraphModel, picture: Picture, box: Box, at: number, sight: Sight, colours: GraphColours, marks: Marks,
): void {
  const { x, y, width, height, middle } = boxRect(picture, at);
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

function drawClusters(
  surface: Surface, model: GraphModel, picture: Picture, sight: Sight, colours: GraphColours, marks: Marks,
): void {
  picture.modules.forEach((module, at) => {
    const [x, y, width, height] = [0, 1, 2, 3].map((part) => picture.layout.clusters[4 * at + part]!) as [number, number, number, number];
    if (width === 0 || !isVisible(sight, x, y, width, height)) return;
    const isChosen = [marks.chosen, marks.hover].some((one) => one?.kind === "cluster" && one.module === module);
    const { path } = model.data.modules[module]!;
    const total = labelValue(clusterTotal(model, module), model.data.unit);
    const label = `${path || "(unknown)"}: ${total}`;
    surface.box(x, y, width, height, colours.cluster, isChosen ? colours.chosen : colours.clusterLine, () => label);
    if (sight.scale >= LABEL_SCALE / 2) surface.text(x + 8, y + 12, label, colours.dim, width - 16, "left");
  });
}

function drawArrows(surface: Surface, picture: Picture, sight: Sight, colours: GraphColours, marks: Marks): void {
  const { layout, arrows } = picture;
  const chosenBoxes = [marks.chosen, marks.hover].flatMap((one) => (one?.kind === "function" ? [one.box] : []));
  let n = 0;
  const strong: number[] = [];
  arrows.forEach((arrow, at) => {
    if (n > ARROWS_MOST) return;
    const begin = layout.routeStart[at]!;
    const end = layout.routeStart[at + 1]!;
    if (!routeIsVisible(layout.points, begin, end, sight)) return;
    if (isStrong(arrow, at, chosenBoxes, marks)) {
      strong.push(at);
      return;
    }
    n++;
    surface.curve(layout.points, begin, end, colours.arc, 1);
  });
  for (const at of strong) {
    surface.curve(layout.points, layout.routeStart[at]!, layout.routeStart[at + 1]!, colours.chosen, 2.2);
  }
  if (sight.scale < ARC_LABEL_SCALE) return;
  arrows.forEach((arrow, at) => {
    const x = layout.labelX[at]!;
    const y = layout.labelY[at]!;
    if (isVisible(sight, x - 30, y - 8, 60, 16)) surface.text(x, y, arrow.label, colours.arc, 80, "center");
  });
}

function isStrong(arrow: Arrow, at: number, boxes: readonly number[], marks: Marks): boolean {
  if (boxes.includes(arrow.from) || boxes.includes(arrow.to)) return true;
  return [marks.chosen, marks.hover].some((one) => one?.kind === "arc" && one.arrow === at);
}

function routeIsVisible(points: Float32Array, begin: number, end: number, sight: Sight): boolean {
  let left = Infinity;
  let right = -Infinity;
  let top = Infinity;
  let bottom = -Infinity;
  for (let at = begin; at < end; at += 2) {
    left = Math.min(left, points[at]!);
    right = Math.max(right, points[at]!);
    top = Math.min(top, points[at + 1]!);
    bottom = Math.max(bottom, points[at + 1]!);
  }
  return isVisible(sight, left, top, right - left, bottom - top);
}

const NEAR_PX = 5;

/** What is at a place of the picture: a box with its label, else an arc, else the edge of a cluster. */
export function targetAt(picture: Picture, x: number, y: number, scale: number): Target | null {
  const { layout, boxes, arrows } = picture;
  for (let at = boxes.length - 1; at >= 0; at--) {
    const top = layout.y[at]!;
    const left = layout.x[at]!;
    if (y >= top && y <= top + boxes[at]!.height + LABEL_HEIGHT && x >= left && x <= left + fullWidth(boxes[at]!)) {
      return { kind: "function", box: at };
    }
  }
  const near = NEAR_PX / scale;
  let best: Target | null = null;
  let least = near;
  arrows.forEach((_, at) => {
    const distance = routeDistance(layout.points, layout.routeStart[at]!, layout.routeStart[at + 1]!, x, y, near);
    if (distance < least) {
      least = distance;
      best = { kind: "arc", arrow: at };
    }
  });
  if (best) return best;
  for (let at = 0; at < picture.modules.length; at++) {
    const [left, top, width, height] = [0, 1, 2, 3].map((part) => layout.clusters[4 * at + part]!) as [number, number, number, number];
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
