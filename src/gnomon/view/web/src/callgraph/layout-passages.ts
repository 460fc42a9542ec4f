// Where arcs pass the rows between their boxes: through gaps between items, or passages kept free.

import { grouped } from "./layout-graph";
import type { Item, Row } from "./layout-items";
import { spaced } from "./layout-spacing";

/** What an arc passes from its upper box to its lower one, as arrays over all arcs. */
export interface Passages {
  /** Of each arc: where its passages begin, and behind those of the last. */
  readonly start: Int32Array;
  readonly x: Float64Array;
  /** The row that is passed; equal where only x is bounded. */
  readonly top: Float64Array;
  readonly bottom: Float64Array;
  /** Between these x nothing is in the way. */
  readonly low: Float64Array;
  readonly high: Float64Array;
  /** Passages with the same number are in one gap; below -1 in one trunk; -1 is alone. */
  readonly gap: Int32Array;
  /** Where each arc leaves the rows of its upper box, and comes to those of its lower one. */
  readonly startY: Float64Array;
  readonly endY: Float64Array;
}

/** An arc between two boxes that are not the same. */
export interface Ends {
  readonly upper: Item;
  readonly lower: Item;
}

const STRAIGHTENED = 4;
const LANE = 5;
/** Arcs between which there is no room stand in a bundle at most this wide. */
const BUNDLE = 60;
/** Nearer than this there is no room between. */
const TOUCHING = 0.01;
/** More rows than these are passed at the side of their group. */
const MANY = 48;

/** Find the passages of each arc; null for arcs without rows between, as loops. */
export function passages(ends: readonly (Ends | null)[], chains: readonly (Item[] | null)[], gapX: number): Passages {
  const found = new Finder(gapX);
  const start = new Int32Array(ends.length + 1);
  const startY = new Float64Array(ends.length);
  const endY = new Float64Array(ends.length);
  ends.forEach((each, arc) => {
    if (each) [startY[arc], endY[arc]] = found.find(each, chains[arc]!);
    start[arc + 1] = found.length;
  });
  const { length } = found;
  const [x, top, bottom, low, high] = [found.x, found.top, found.bottom, found.low, found.high].map((all) => all.slice(0, length));
  return { start, x: x!, top: top!, bottom: bottom!, low: low!, high: high!, gap: found.gap.slice(0, length), startY, endY };
}

class Finder {
  length = 0;
  x = new Float64Array(1 << 12);
  top = new Float64Array(1 << 12);
  bottom = new Float64Array(1 << 12);
  low = new Float64Array(1 << 12);
  high = new Float64Array(1 << 12);
  gap = new Int32Array(1 << 12);
  // Boxes and the groups that have them, kept from arc to arc.
  private readonly above: Item[] = [];
  private readonly below: Item[] = [];
  private readonly gapsOfRow = new Map<Row, number>();
  private readonly sidesOfGroup = new Map<Item, number>();
  private readonly trunks = new Map<Item, number>();
  private gaps = 0;
  /** The first passage of the arc, and where it left its upper box's rows. */
  private first = 0;
  private startY = 0;
  // Where the arc is, and where it leads.
  private atX = 0;
  private atY = 0;
  private toX = 0;
  private toY = 0;

  constructor(private readonly gapX: number) {}

  /** Add the passages of an arc; where it leaves the rows of its upper box, where it comes to the lower. */
  find({ upper, lower }: Ends, chain: Item[] | null): [number, number] {
    const { above, below } = this;
    ancestors(upper, above);
    ancestors(lower, below);
    while (above.length > 1 && below.length > 1 && above.at(-2) === below.at(-2)) {
      above.pop();
      below.pop();
    }
    const common = above.pop()!;
    below.pop();
    this.first = this.length;
    this.atX = upper.x + upper.width / 2;
    this.atY = this.startY = bottomOfRow(upper);
    this.toX = lower.x + lower.width / 2;
    this.toY = lower.y;
    for (let step = 0; step < above.length; step++) {
      const item = above[step]!;
      if (step > 0) this.column(item, item.y + item.height, bottomOfRow(item));
      const within = above[step + 1];
      if (within) this.rows(within, item.row + 1, within.rows!.length, null);
    }
    this.rows(common, above.at(-1)!.row + 1, below.at(-1)!.row, chain);
    for (let step = below.length - 1; step > 0; step--) {
      const item = below[step]!;
      this.column(item, topOfRow(item), item.y);
      this.rows(item, 0, below[step - 1]!.row, null);
    }
    const end = topOfRow(lower);
    if (this.length === this.first || this.bottom[this.length - 1]! + TOUCHING < end) return [this.startY, end];
    // Its last column leads straight to the box.
    this.length -= 1;
    return [this.startY, this.top[this.length]!];
  }

  private rows(group: Item, first: number, end: number, chain: Item[] | null): void {
    if (first >= end) return;
    if (group.alley > 0 || end - first > MANY) {
      this.beside(group, group.rows![first]!, group.rows![end - 1]!);
      return;
    }
    for (let at = first; at < end; at++) {
      const row = group.rows![at]!;
      const passage = chain?.[at - first];
      if (passage && passage.row === at && passage.parent === group) this.trunk(passage, row);
      else this.between(group, row);
    }
  }

  /** Above or below a group that has its row not for itself. */
  private column(item: Item, top: number, bottom: number): void {
    if (this.length === this.first && top < this.startY + TOUCHING) {
      this.atY = this.startY = bottom;
      return;
    }
    const beside = this.gapX / 4;
    this.add(top, bottom, item.x - beside, item.x + item.width + beside, -1);
  }

  /** Past many rows at once, at a side of the group: stacks have room at their left. */
  private beside(group: Item, first: Row, last: Row): void {
    let gaps = this.sidesOfGroup.get(group);
    if (gaps === undefined) {
      this.sidesOfGroup.set(group, (gaps = this.gaps));
      this.gaps += 2;
    }
    const right = group.alley === 0 && this.atX + this.toX > 2 * group.x + group.width;
    const [low, high] = right
      ? [group.x + group.width + this.gapX / 8, group.x + group.width + this.gapX / 2]
      : [group.x - this.gapX / 2, group.x + group.alley - this.gapX / 8];
    this.add(first.top, last.bottom, low, high, gaps + Number(right));
  }

  private trunk(passage: Item, row: Row): void {
    const middle = passage.x + passage.width / 2;
    const group = passage.parent!;
    const [left, right] = neighbours(row, passage);
    const low = left ? left.x + left.width + this.margin(left) : group.x - this.gapX / 4;
    const high = right ? right.x - this.margin(right) : group.x + group.width + this.gapX / 4;
    let trunk = -1;
    if (passage.shared > 1) {
      trunk = this.trunks.get(passage) ?? -2 - this.trunks.size;
      this.trunks.set(passage, trunk);
    }
    this.add(row.top, row.bottom, Math.min(low, middle), Math.max(high, middle), trunk);
    // Arcs that share it stay together.
    if (trunk < -1) this.x[this.length - 1] = this.atX = middle;
  }

  private between(group: Item, row: Row): void {
    const { items } = row;
    let gaps = this.gapsOfRow.get(row);
    if (gaps === undefined) {
      this.gapsOfRow.set(row, (gaps = this.gaps));
      this.gaps += items.length + 1;
    }
    const ideal = this.ideal((row.top + row.bottom) / 2);
    // The first item that ends to the right of there.
    let first = 0;
    let end = items.length;
    while (first < end) {
      const middle = (first + end) >> 1;
      if (items[middle]!.x + items[middle]!.width <= ideal) first = middle + 1;
      else end = middle;
    }
    let index = first;
    const hit = items[first];
    if (hit && hit.x < ideal) {
      // On the side where the way is shorter, and of these the nearer.
      const way = (x: number): number => Math.abs(x - this.atX) + Math.abs(x - this.toX) + Math.abs(x - ideal) / 2;
      if (way(hit.x + hit.width) < way(hit.x)) index += 1;
    }
    const left = items[index - 1];
    const right = items[index];
    const low = left ? left.x + left.width : group.x - this.gapX / 2;
    const high = right ? right.x : group.x + group.width + this.gapX / 2;
    const margin = Math.min(this.gapX / 4, Math.max(0, high - low) / 4);
    this.add(row.top, row.bottom, low + margin, high - margin, gaps + index);
  }

  private margin(item: Item): number {
    return item.box < 0 && item.rows === null ? this.gapX / 12 : this.gapX / 4;
  }

  private add(top: number, bottom: number, low: number, high: number, gap: number): void {
    let at = this.length;
    if (at === this.x.length) this.grow();
    if (at > this.first && this.bottom[at - 1]! + TOUCHING > top) {
      // Without room to bend between them both are one.
      at -= 1;
      top = this.top[at]!;
      low = Math.max(low, this.low[at]!);
      high = Math.min(high, this.high[at]!);
      if (low > high) low = high = (low + high) / 2;
      if (gap === -1) gap = this.gap[at]!;
    }
    const ideal = this.ideal((top + bottom) / 2);
    this.x[at] = ideal < low ? low : ideal > high ? high : ideal;
    this.top[at] = top;
    this.bottom[at] = bottom;
    this.low[at] = low;
    this.high[at] = high;
    this.gap[at] = gap;
    this.atX = this.x[at]!;
    this.atY = bottom;
    this.length = at + 1;
  }

  private grow(): void {
    this.x = twice(this.x);
    this.top = twice(this.top);
    this.bottom = twice(this.bottom);
    this.low = twice(this.low);
    this.high = twice(this.high);
    const gap = new Int32Array(2 * this.gap.length);
    gap.set(this.gap);
    this.gap = gap;
  }

  private ideal(y: number): number {
    const rest = this.toY - this.atY;
    return rest > 0 ? this.atX + ((this.toX - this.atX) * (y - this.atY)) / rest : this.toX;
  }
}

function twice(values: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(2 * values.length);
  larger.set(values);
  return larger;
}

function ancestors(item: Item, into: Item[]): void {
  into.length = 0;
  for (let each: Item | null = item; each; each = each.parent) into.push(each);
}

/** The items beside one in its row. */
function neighbours({ items }: Row, item: Item): [Item | undefined, Item | undefined] {
  let first = 0;
  let end = items.length;
  while (first < end) {
    const middle = (first + end) >> 1;
    if (items[middle]!.x < item.x) first = middle + 1;
    else end = middle;
  }
  return items[first] === item ? [items[first - 1], items[first + 1]] : [undefined, undefined];
}

function topOfRow(item: Item): number {
  return item.parent?.rows?.[item.row]?.top ?? item.y;
}

function bottomOfRow(item: Item): number {
  return item.parent?.rows?.[item.row]?.bottom ?? item.y + item.height;
}

/** Where arcs begin on their upper boxes and end on their lower ones. */
export interface ArcEnds {
  readonly startX: Float64Array;
  readonly endX: Float64Array;
}

/** Pull arcs straight as far as there is room in the gaps that they pass. */
export function straighten(passed: Passages, { startX, endX }: ArcEnds): void {
  const { start, x, top, bottom, low, high, gap, startY, endY } = passed;
  for (let arc = 0; arc + 1 < start.length; arc++) {
    const first = start[arc]!;
    const last = start[arc + 1]! - 1;
    for (let round = 0; round < STRAIGHTENED; round++) {
      let change = 0;
      for (let step = first; step <= last; step++) {
        // There and back, so that both ends count alike.
        const at = round % 2 === 0 ? step : last - (step - first);
        if (gap[at]! < -1) continue;
        const x0 = at === first ? startX[arc]! : x[at - 1]!;
        const y0 = at === first ? startY[arc]! : bottom[at - 1]!;
        const x1 = at === last ? endX[arc]! : x[at + 1]!;
        const y1 = at === last ? endY[arc]! : top[at + 1]!;
        const share = y1 > y0 ? ((top[at]! + bottom[at]!) / 2 - y0) / (y1 - y0) : 0.5;
        const ideal = x0 + (x1 - x0) * share;
        const next = ideal < low[at]! ? low[at]! : ideal > high[at]! ? high[at]! : ideal;
        change += Math.abs(next - x[at]!);
        x[at] = next;
      }
      if (change < 1) break;
    }
  }
}

/** Put arcs that pass one gap beside each other. */
export function intoLanes({ start, x, low, high, gap }: Passages, ends: ArcEnds): void {
  const aside = new Float64Array(x.length);
  for (let arc = 0; arc + 1 < start.length; arc++) {
    for (let at = start[arc]!; at < start[arc + 1]!; at++) {
      aside[at] =
        (at === start[arc] ? ends.startX[arc]! : x[at - 1]!) +
        (at + 1 === start[arc + 1] ? ends.endX[arc]! : x[at + 1]!);
    }
  }
  for (const lanes of grouped(gap)) {
    if (lanes.length < 2) continue;
    lanes.sort((a, b) => x[a]! - x[b]! || aside[a]! - aside[b]! || a - b);
    let from = Infinity;
    let to = -Infinity;
    for (const at of lanes) {
      from = Math.min(from, low[at]!);
      to = Math.max(to, high[at]!);
    }
    const wanted = new Float64Array(lanes.length);
    lanes.forEach((at, index) => (wanted[index] = x[at]!));
    const lane = Math.min(LANE, Math.min(BUNDLE, Math.max(0, to - from)) / (lanes.length - 1));
    spaced(wanted, null, lane, from, to);
    lanes.forEach((at, index) => (x[at] = Math.min(Math.max(wanted[index]!, low[at]!), high[at]!)));
  }
}
