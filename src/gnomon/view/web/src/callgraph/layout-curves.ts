// Curves through passages: straight in gaps, bent in the free room between rows.

import type { ArcEnds, Passages } from "./layout-passages";
import type { Routes } from "./layout-routes";

/** The steepest that curves lean, in x for each y. */
const LEANING = 1.5;
/** How far from the end of its piece of the curve a label stands. */
const LABEL = 0.3;
/** How many passages a bend may leave out that it passes anyway. */
const FURTHER = 6;
/** Passages that are taller are never left out. */
const TALL = 400;

/** A cubic curve between two heights, which it never leaves; `d` is how far its controls are. */
interface Bend {
  readonly x0: number;
  readonly y0: number;
  readonly lean0: number;
  readonly x1: number;
  readonly y1: number;
  readonly lean1: number;
  readonly d: number;
}

/** Writes the curves of arcs, which come in their order. */
export class CurveWriter {
  private points = new Float32Array(1 << 12);
  private length = 0;
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
    const [first, end] = [passed.start[arc]!, passed.start[arc + 1]!];
    const [startY, endY] = [passed.startY[arc]!, passed.endY[arc]!];
    const begin = this.length;
    this.begin(startX[arc]!, bottomOfUpper);
    if (startY > bottomOfUpper) this.line(startX[arc]!, startY);
    const bent = this.length;
    const toX = (at: number): number => (at < first ? startX[arc]! : at < end ? x[at]! : endX[arc]!);
    const toTop = (at: number): number => (at < end ? top[at]! : endY);
    const toBottom = (at: number): number => (at < first ? startY : bottom[at]!);
    const leanAt = (at: number): number => {
      const before = Math.max(at - 1, first - 1);
      const behind = Math.min(at + 1, end);
      const lean = leaning(toX(before), toBottom(before), toX(behind), toTop(behind));
      if (at < first) return startY > bottomOfUpper ? 0 : lean / 2;
      if (at === end) return endY < topOfLower ? 0 : lean / 2;
      const height = bottom[at]! - top[at]!;
      const room = Math.min(x[at]! - passed.low[at]!, passed.high[at]! - x[at]!);
      return height > 0 ? limited(lean, (2 * Math.max(0, room)) / height) : lean;
    };
    let [x0, y0, lean0] = [startX[arc]!, startY, leanAt(first - 1)];
    for (let at = first; at <= end; at++) {
      let bend = { x0, y0, lean0, x1: 0, y1: 0, lean1: 0, d: 0 };
      // As far as one bend passes all that is between.
      for (let to = Math.min(at + FURTHER, end); to >= at; to--) {
        const lean1 = leanAt(to);
        const height = to < end ? bottom[to]! - top[to]! : 0;
        const [x1, y1] = [toX(to) - (lean1 * height) / 2, toTop(to)];
        bend = { x0, y0, lean0, x1, y1, lean1, d: (y1 - y0) / (to > at ? 3 : 2) };
        if (to > at && !this.passes(bend, passed, at, to)) continue;
        at = to;
        break;
      }
      if (this.length === bent && !labelBelow) this.label(arc, bend, LABEL);
      if (at === end && labelBelow) this.label(arc, bend, 1 - LABEL);
      this.bend(bend);
      [x0, y0, lean0] = [bend.x1, bend.y1, bend.lean1];
      if (at < end && bottom[at]! > y0) {
        x0 = x[at]! + (lean0 * (bottom[at]! - y0)) / 2;
        y0 = bottom[at]!;
        this.line(x0, y0);
      }
    }
    if (endY < topOfLower) this.line(endX[arc]!, topOfLower);
    if (reversed) this.reverse(begin);
    this.routeStart[arc + 1] = this.length;
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

  private bend({ x0, y0, lean0, x1, y1, lean1, d }: Bend): void {
    this.segment(x0 + lean0 * d, y0 + d, x1 - lean1 * d, y1 - d, x1, y1);
  }

  /** Turn round the points from `begin`. */
  private reverse(begin: number): void {
    const { points } = this;
    for (let one = begin, other = this.length - 2; one < other; one += 2, other -= 2) {
      const [x, y] = [points[one]!, points[one + 1]!];
      points[one] = points[other]!;
      points[one + 1] = points[other + 1]!;
      points[other] = x;
      points[other + 1] = y;
    }
  }

  /** Whether a bend stays within the room of passages between its ends. */
  private passes(bend: Bend, { top, bottom, low, high }: Passages, first: number, end: number): boolean {
    for (let at = first; at < end; at++) {
      const height = bottom[at]! - top[at]!;
      if (height > TALL) return false;
      for (let part = 0; part <= 4; part++) {
        const x = xAt(bend, (top[at]! + (height * part) / 4 - bend.y0) / (bend.y1 - bend.y0));
        if (x < low[at]! - this.tolerance || x > high[at]! + this.tolerance) return false;
      }
    }
    return true;
  }

  private label(arc: number, bend: Bend, at: number): void {
    const { y0, y1, d } = bend;
    this.labelX[arc] = xAt(bend, at);
    this.labelY[arc] = cubic(y0, y0 + d, y1 - d, y1, at);
  }

  routes(): Routes {
    return {
      routeStart: this.routeStart,
      points: this.points.slice(0, this.length),
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
