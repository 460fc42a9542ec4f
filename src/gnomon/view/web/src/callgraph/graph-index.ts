// Where boxes and arrows of a picture are, for questions that the pointer asks; which arrows are drawn first.

import type { GraphModel } from "./graph-model";
import { arrowWeight, fullWidth, LABEL_HEIGHT, type Arrow, type Picture, type Sketch } from "./graph-picture";

const CELL = 256;
const ROWS = 2 ** 22;

export class GraphIndex {
  private readonly boxes = new Map<number, number[]>();
  private readonly pieces = new Map<number, number[]>();

  constructor({ layout, boxes, arrows }: Picture) {
    const { points, routeStart } = layout;
    for (let at = 0; at < arrows.length; at++) {
      for (let piece = routeStart[at]!; piece + 7 < routeStart[at + 1]!; piece += 6) {
        const [left, top, right, bottom] = boundsOf(points, piece, piece + 8);
        put(this.pieces, left, top, right, bottom, at);
      }
    }
    boxes.forEach((box, at) => {
      const [x, y] = [layout.x[at]!, layout.y[at]!];
      put(this.boxes, x, y, x + fullWidth(box), y + box.height + LABEL_HEIGHT, at);
    });
  }

  /** Boxes that may be at a place. */
  boxesAt(x: number, y: number): readonly number[] {
    return this.boxes.get(cellOf(x, y)) ?? [];
  }

  /** Arrows that may be within a distance of a place. */
  arrowsNear(x: number, y: number, near: number): ReadonlySet<number> {
    const found = new Set<number>();
    for (let column = Math.floor((x - near) / CELL); column <= Math.floor((x + near) / CELL); column++) {
      for (let row = Math.floor((y - near) / CELL); row <= Math.floor((y + near) / CELL); row++) {
        for (const at of this.pieces.get(column * ROWS + row) ?? []) found.add(at);
      }
    }
    return found;
  }
}

const indices = new WeakMap<Picture, GraphIndex>();

/** The index of a picture, made once. */
export function indexOf(picture: Picture): GraphIndex {
  let index = indices.get(picture);
  if (!index) indices.set(picture, (index = new GraphIndex(picture)));
  return index;
}

const orders = new WeakMap<readonly Arrow[], Int32Array>();

/** Arrows with the most calls, or that come to most, first: these are drawn where not all can be. */
export function heaviestFirst(model: GraphModel, { arrows }: Sketch): Int32Array {
  let order = orders.get(arrows);
  if (!order) {
    const weights = Float64Array.from(arrows, (arrow) => arrowWeight(model, arrow));
    orders.set(arrows, (order = Int32Array.from(arrows.keys()).sort((a, b) => weights[b]! - weights[a]! || a - b)));
  }
  return order;
}

function cellOf(x: number, y: number): number {
  return Math.floor(x / CELL) * ROWS + Math.floor(y / CELL);
}

function put(cells: Map<number, number[]>, left: number, top: number, right: number, bottom: number, at: number): void {
  for (let column = Math.floor(left / CELL); column <= Math.floor(right / CELL); column++) {
    for (let row = Math.floor(top / CELL); row <= Math.floor(bottom / CELL); row++) {
      const key = column * ROWS + row;
      const there = cells.get(key);
      if (!there) cells.set(key, [at]);
      else if (there[there.length - 1] !== at) there.push(at);
    }
  }
}

function boundsOf(points: Float32Array, begin: number, end: number): [number, number, number, number] {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let at = begin; at < end; at += 2) {
    left = Math.min(left, points[at]!);
    right = Math.max(right, points[at]!);
    top = Math.min(top, points[at + 1]!);
    bottom = Math.max(bottom, points[at + 1]!);
  }
  return [left, top, right, bottom];
}
