// Curves through passages: straight in gaps, bent in the free room between rows.

import { LabelGrid } from "./layout-labels";
import type { ArcEnds, Passages } from "./layout-passages";
import type { Routes } from "./layout-routes";

/** The steepest that curves lean, in x for each y. */
const LEANING = 1.5;
/** How far from its end of the curve's piece a label stands: the first of these where none is yet. */
const LABELS = [0.3, 0.5, 0.15, 0.7];
/** How many passages a bend may leave out that it passes anyway. */
const FURTHER = 4;
/** Passages that are taller are never left out. */
const TALL = 400;

/** A cubic curve between two heights, which it never leaves; `d` is how far its controls are. */
interface Bend {
  x0: number;
  y0: number;
  lean0: number;
  x1: number;
  y1: number;
  lean1: number;
  d: number;
}

/** Writes the curves of arcs, which come in their order. */
export class CurveWriter {
  private points = new Float32Array(1 << 12);
  private length = 0;
  private leans = new Float64Array(64);
  private readonly bend: Bend = { x0: 0, y0: 0, lean0: 0, x1: 0, y1: 0, lean1: 0, d: 0 };
  private readonly firstBend: Bend = { ...this.bend };
  private readonly lastBend: Bend = { ...this.bend };
  private readonly labels = new LabelGrid();
  private readonly routeStart: Int32Array;
  private readonly labelX: Float32Array;
  private readonly labelY: Float32Array;

  /**
   * @param tolerance How far curves may leave the room that passages give, which has a margin.
   */
  constructor(arcs: number, private readonly tolerance: number) {
    this.routeStart = new Int32Array(arcs + 1);
    this.labelX = new Float32Array(arcs);
    this.labelY = new Float32Array(arcs);
  }

  /** A loop at the right side of a box. */
  loop(arc: number, right: number, top: number, height: number, reach: number): void {
    const [high, low] = [top + height * 0.25, top + height * 0.75];
    this.begin(right, high);
    this.segment(right + reach, high, right + reach, low, right, low);
    this.routeStart[arc + 1] = this.length;
    this.labelX[arc] = right + reach * 0.75;
    this.labelY[arc] = (high + low) / 2;
    this.labels.take(this.labelX[arc]!, this.labelY[arc]!);
  }

  /**
   * A curve from the bottom of the upper box to the top of the lower one.
   *
   * @param reversed Whether it is written from below.
   * @param labelBelow Whether the label stands near the lower box.
   */
  arc(
    arc: number, bottomOfUpper: number, topOfLower: number,
    passed: Passages, { startX, endX }: ArcEnds, reversed: boolean, labelBelow: boolean,
  ): void {
    const { x, top, bottom } = passed;
    const first = passed.start[arc]!;
    const end = passed.start[arc + 1]!;
    const startY = passed.startY[arc]!;
    const endY = passed.endY[arc]!;
    const begin = this.length;
    this.begin(startX[arc]!, bottomOfUpper);
    if (startY > bottomOfUpper) this.line(startX[arc]!, startY);
    const bent = this.length;
    const leans = this.leansOf(passed, arc, startX[arc]!, endX[arc]!);
    const { bend } = this;
    bend.x0 = startX[arc]!;
    bend.y0 = startY;
    bend.lean0 = startY > bottomOfUpper ? 0 : leans[0]! / 2;
    for (let at = first; at <= end; at++) {
      // As far as one bend passes all that is between.
      for (let to = Math.min(at + FURTHER, end); to >= at; to--) {
        const height = to < end ? bottom[to]! - top[to]! : 0;
        bend.lean1 = to < end ? leans[to - first + 1]! : endY < topOfLower ? 0 : leans[to - first + 1]! / 2;
        bend.x1 = (to < end ? x[to]! : endX[arc]!) - (bend.lean1 * height) / 2;
        bend.y1 = to < end ? top[to]! : endY;
        bend.d = (bend.y1 - bend.y0) / (to > at ? 3 : 2);
        if (to > at && !this.passes(bend, passed, at, to)) continue;
        at = to;
        break;
      }
      if (this.length === bent) Object.assign(this.firstBend, bend);
      if (at === end) Object.assign(this.lastBend, bend);
      this.write(bend);
      bend.x0 = bend.x1;
      bend.y0 = bend.y1;
      bend.lean0 = bend.lean1;
      if (at < end && bottom[at]! > bend.y0) {
        bend.x0 = x[at]! + (bend.lean0 * (bottom[at]! - bend.y0)) / 2;
        bend.y0 = bottom[at]!;
        this.line(bend.x0, bend.y0);
      }
    }
    if (endY < topOfLower) this.line(endX[arc]!, topOfLower);
    this.label(arc, labelBelow, reversed);
    if (reversed) this.reverse(begin);
    this.routeStart[arc + 1] = this.length;
  }

  /** How an arc leans at its start, in each passage as far as there is room, and at its end. */
  private leansOf(passed: Passages, arc: number, startX: number, endX: number): Float64Array {
    const { x, top, bottom, low, high, gap } = passed;
    const first = passed.start[arc]!;
    const end = passed.start[arc + 1]!;
    if (this.leans.length < end - first + 2) this.leans = new Float64Array(2 * (end - first + 2));
    let x0 = startX;
    let y0 = passed.startY[arc]!;
    let before = 0;
    for (let at = first; at <= end; at++) {
      const x1 = at < end ? x[at]! : endX;
      const y1 = at < end ? (top[at]! + bottom[at]!) / 2 : passed.endY[arc]!;
      const behind = leaning(x0, y0, x1, y1);
      let lean = behind;
      if (at > first) {
        // Nowhere further aside than the passages are: no lean where the side changes.
        const most = before * behind <= 0 ? 0 : 2 * Math.min(Math.abs(before), Math.abs(behind));
        lean = limited((before + behind) / 2, most);
        const passage = at - 1;
        const room = Math.max(0, Math.min(x[passage]! - low[passage]!, high[passage]! - x[passage]!));
        const height = bottom[passage]! - top[passage]!;
        if (height > 0) lean = limited(lean, (2 * room) / height);
        // Arcs that share a trunk come together and part upright.
        const apart = passage === first || at === end || gap[passage - 1]! >= -1 || gap[at]! >= -1;
        if (gap[passage]! < -1 && apart) lean = 0;
      }
      this.leans[at - first] = lean;
      before = behind;
      x0 = x1;
      y0 = y1;
    }
    this.leans[end - first + 1] = before;
    return this.leans;
  }

  private begin(x: number, y: number): void {
    if (this.length + 2 > this.points.length) this.grow();
    this.points[this.length++] = x;
    this.points[this.length++] = y;
  }

  private segment(x1: number, y1: number, x2: number, y2: number, x3: number, y3: number): void {
    if (this.length + 6 > this.points.length) this.grow();
    const { points } = this;
    points[this.length++] = x1;
    points[this.length++] = y1;
    points[this.length++] = x2;
    points[this.length++] = y2;
    points[this.length++] = x3;
    points[this.length++] = y3;
  }

  private grow(): void {
    const larger = new Float32Array(2 * this.points.length);
    larger.set(this.points);
    this.points = larger;
  }

  private line(x: number, y: number): void {
    const x0 = this.points[this.length - 2]!;
    const y0 = this.points[this.length - 1]!;
    this.segment(x0 + (x - x0) / 3, y0 + (y - y0) / 3, x0 + (2 * (x - x0)) / 3, y0 + (2 * (y - y0)) / 3, x, y);
  }

  private write({ x0, y0, lean0, x1, y1, lean1, d }: Bend): void {
    this.segment(x0 + lean0 * d, y0 + d, x1 - lean1 * d, y1 - d, x1, y1);
  }

  /** Turn round the points from `begin`. */
  private reverse(begin: number): void {
    const { points } = this;
    for (let one = begin, other = this.length - 2; one < other; one += 2, other -= 2) {
      const x = points[one]!;
      const y = points[one + 1]!;
      points[one] = points[other]!;
      points[one + 1] = points[other + 1]!;
      points[other] = x;
      points[other + 1] = y;
    }
  }

  /** Whether a bend stays within the room of passages between its ends. */
  private passes(bend: Bend, { x, top, bottom, low, high, gap }: Passages, first: number, end: number): boolean {
    for (let at = first; at < end; at++) {
      const height = bottom[at]! - top[at]!;
      if (height > TALL) return false;
      for (let part = 0; part <= 4; part++) {
        const passed = xAt(bend, (top[at]! + (height * part) / 4 - bend.y0) / (bend.y1 - bend.y0));
        if (passed < low[at]! - this.tolerance || passed > high[at]! + this.tolerance) return false;
        // Arcs that share a trunk stay together.
        if (part === 2 && gap[at]! < -1 && Math.abs(passed - x[at]!) > this.tolerance) return false;
      }
    }
    return true;
  }

  /** Put a label onto the curve near the end that is given, or near the other one, off other labels. */
  private label(arc: number, labelBelow: boolean, reversed: boolean): void {
    for (let side = 0; side < 2; side++) {
      const isBelow = labelBelow === (side === 0);
      for (const share of LABELS) if (this.labelAt(arc, isBelow, share, true)) return;
    }
    // Where all are taken, still off that of the arc that leads back.
    this.labelAt(arc, reversed, LABELS[0]!, false);
  }

  private labelAt(arc: number, isBelow: boolean, share: number, onlyFree: boolean): boolean {
    const bend = isBelow ? this.lastBend : this.firstBend;
    const { y0, y1, d } = bend;
    const along = isBelow ? 1 - share : share;
    const x = xAt(bend, along);
    const y = cubic(y0, y0 + d, y1 - d, y1, along);
    if (onlyFree && !this.labels.isFree(x, y)) return false;
    this.labels.take(x, y);
    this.labelX[arc] = x;
    this.labelY[arc] = y;
    return true;
  }

  private bounds(): Float32Array {
    const { points, routeStart } = this;
    const bounds = new Float32Array(4 * (routeStart.length - 1));
    for (let arc = 0; arc + 1 < routeStart.length; arc++) {
      let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
      for (let at = routeStart[arc]!; at < routeStart[arc + 1]!; at += 2) {
        const x = points[at]!;
        const y = points[at + 1]!;
        if (x < left) left = x;
        if (x > right) right = x;
        if (y < top) top = y;
        if (y > bottom) bottom = y;
      }
      bounds[4 * arc] = left;
      bounds[4 * arc + 1] = top;
      bounds[4 * arc + 2] = right;
      bounds[4 * arc + 3] = bottom;
    }
    return bounds;
  }

  routes(): Routes {
    return {
      routeStart: this.routeStart,
      points: this.points.slice(0, this.length),
      bounds: this.bounds(),
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

function xAt({ x0, lean0, x1, lean1, d }: Bend, at: number): number {
  return cubic(x0, x0 + lean0 * d, x1 - lean1 * d, x1, at);
}

function cubic(a: number, b: number, c: number, d: number, t: number): number {
  const s = 1 - t;
  return s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * c + t * t * t * d;
}
