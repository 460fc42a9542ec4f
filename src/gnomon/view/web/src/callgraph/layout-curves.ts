// Curves through passages: straight in gaps, bent in the free room between rows.

import type { ArcEnds, Passages } from "./layout-passages";
import type { Routes } from "./layout-routes";

/** The steepest that curves lean, in x for each y. */
const LEANING = 1.5;
/** How far from the end of its piece of the curve a label stands. */
const LABEL = 0.3;

/** Writes the curves of arcs, which come in their order. */
export class CurveWriter {
  private readonly points: number[] = [];
  private readonly routeStart: Int32Array;
  private readonly labelX: Float32Array;
  private readonly labelY: Float32Array;

  constructor(arcs: number) {
    this.routeStart = new Int32Array(arcs + 1);
    this.labelX = new Float32Array(arcs);
    this.labelY = new Float32Array(arcs);
  }

  /** A loop at the right side of a box. */
  loop(arc: number, right: number, top: number, height: number, reach: number): void {
    const [high, low] = [top + height * 0.25, top + height * 0.75];
    this.points.push(right, high, right + reach, high, right + reach, low, right, low);
    this.routeStart[arc + 1] = this.points.length;
    this.labelX[arc] = right + reach * 0.75;
    this.labelY[arc] = (high + low) / 2;
  }

  /**
   * A curve from the bottom of the upper box to the top of the lower one.
   *
   * @param reversed Whether it is written from below.
   * @param labelBelow Whether the label stands near the lower box.
   */
  arc(
    arc: number, bottomOfUpper: number, topOfLower: number,
    { start, x, top, bottom, low, high }: Passages, { startX, startY, endX, endY }: ArcEnds,
    reversed: boolean, labelBelow: boolean,
  ): void {
    const route: number[] = [startX[arc]!, bottomOfUpper];
    let [x0, y0, lean0] = [startX[arc]!, startY[arc]!, 0];
    if (y0 > bottomOfUpper) line(route, x0, y0);
    const [first, end] = [start[arc]!, start[arc + 1]!];
    const label = (x1: number, y1: number, lean1: number, at: number): void => {
      const d = (y1 - y0) / 2;
      this.labelX[arc] = cubic(x0, x0 + lean0 * d, x1 - lean1 * d, x1, at);
      this.labelY[arc] = cubic(y0, y0 + d, y1 - d, y1, at);
    };
    const firstX = first < end ? x[first]! : endX[arc]!;
    const firstY = first < end ? top[first]! : endY[arc]!;
    if (y0 === bottomOfUpper) lean0 = leaning(x0, y0, firstX, firstY) / 2;
    for (let at = first; at < end; at++) {
      const last = at === end - 1;
      const height = bottom[at]! - top[at]!;
      const lean = limited(
        leaning(at === first ? x0 : x[at - 1]!, at === first ? y0 : bottom[at - 1]!,
          last ? endX[arc]! : x[at + 1]!, last ? endY[arc]! : top[at + 1]!),
        height > 0 ? (2 * Math.max(0, Math.min(x[at]! - low[at]!, high[at]! - x[at]!))) / height : LEANING,
      );
      const [x1, x2] = [x[at]! - (lean * height) / 2, x[at]! + (lean * height) / 2];
      if (at === first && !labelBelow) label(x1, top[at]!, lean, LABEL);
      bend(route, x0, y0, lean0, x1, top[at]!, lean);
      if (height > 0) line(route, x2, bottom[at]!);
      [x0, y0, lean0] = [x2, bottom[at]!, lean];
    }
    const lean = endY[arc] === topOfLower ? leaning(x0, y0, endX[arc]!, endY[arc]!) / 2 : 0;
    if (labelBelow) label(endX[arc]!, endY[arc]!, lean, 1 - LABEL);
    else if (first === end) label(endX[arc]!, endY[arc]!, lean, LABEL);
    bend(route, x0, y0, lean0, endX[arc]!, endY[arc]!, lean);
    if (endY[arc]! < topOfLower) line(route, endX[arc]!, topOfLower);
    if (reversed) for (let at = route.length - 2; at >= 0; at -= 2) this.points.push(route[at]!, route[at + 1]!);
    else for (const each of route) this.points.push(each);
    this.routeStart[arc + 1] = this.points.length;
  }

  routes(): Routes {
    return {
      routeStart: this.routeStart,
      points: Float32Array.from(this.points),
      labelX: this.labelX,
      labelY: this.labelY,
    };
  }
}

function leaning(x0: number, y0: number, x1: number, y1: number): number {
  return y1 > y0 ? limited((x1 - x0) / (y1 - y0), LEANING) : 0;
}

function limited(value: number, most: number): number {
  return Math.min(Math.max(value, -most), most);
}

function line(route: number[], x: number, y: number): void {
  const [x0, y0] = [route.at(-2)!, route.at(-1)!];
  route.push(x0 + (x - x0) / 3, y0 + (y - y0) / 3, x0 + (2 * (x - x0)) / 3, y0 + (2 * (y - y0)) / 3, x, y);
}

/** A bend that stays between y0 and y1, where nothing is in the way. */
function bend(route: number[], x0: number, y0: number, lean0: number, x1: number, y1: number, lean1: number): void {
  const d = (y1 - y0) / 2;
  route.push(x0 + lean0 * d, y0 + d, x1 - lean1 * d, y1 - d, x1, y1);
}

function cubic(a: number, b: number, c: number, d: number, t: number): number {
  const s = 1 - t;
  return s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * c + t * t * t * d;
}
