// Frames of a picture: a tree of functions with the values that are their widths, as arrays.

import type { Tree } from "../tree-model";

/** Frames with their parents before them; what `ordered` gives is in the order of the picture. */
export interface Frames {
  readonly n: number;
  /** Position of the frame that called each, -1 for those at the bottom. */
  readonly parent: Int32Array;
  /** The node of the tree that each is named after; of several, the first. */
  readonly node: Int32Array;
  /** With all that a frame calls, in the metric's unit. */
  readonly value: Float64Array;
  /** Of the frame alone. */
  readonly own: Float64Array;
  /** Those parts of both that were waiting. */
  readonly waiting: Float64Array;
  readonly ownWaiting: Float64Array;
}

/** Frames as they are drawn: in pre-order, siblings from left to right. */
export interface OrderedFrames extends Frames {
  readonly depth: Uint16Array;
  /** Behind the last frame that is above each. */
  readonly end: Int32Array;
  /** Where each begins, in the metric's unit from the left edge. */
  readonly start: Float64Array;
  /** Of all that is drawn. */
  readonly total: number;
  /** Frames of each depth, from left to right. */
  readonly levels: readonly Int32Array[];
  /** The frame of each node of the tree, -1 for none. */
  readonly ofNode: Int32Array;
}

export type FrameOrder = "value" | "name";

const numbersOfTrees = new WeakMap<Tree, Int32Array>();

/** Numbers of functions: nodes of one function, wherever it is called, have the same. */
export function functionNumbers(tree: Tree): Int32Array {
  let numbers = numbersOfTrees.get(tree);
  if (!numbers) {
    const { kind, name, module, file, strings, kinds } = tree.data;
    const places = numbered(tree.n, (node) => name[node]! * strings.length + file[node]!);
    const parts = numbered(tree.n, (node) => places[node]! * strings.length + module[node]!);
    numbers = numbered(tree.n, (node) => parts[node]! * kinds.length + kind[node]!);
    numbersOfTrees.set(tree, numbers);
  }
  return numbers;
}

function numbered(n: number, keyOf: (at: number) => number): Int32Array {
  const numbers = new Int32Array(n);
  const known = new Map<number, number>();
  for (let at = 0; at < n; at++) {
    const key = keyOf(at);
    let number = known.get(key);
    if (number === undefined) known.set(key, (number = known.size));
    numbers[at] = number;
  }
  return numbers;
}

/** Frames as they come, those of one function below one frame being one. */
export class FrameBuilder {
  private readonly parents: number[] = [];
  private readonly nodes: number[] = [];
  private readonly owns: number[] = [];
  private readonly waits: number[] = [];
  private readonly known = new Map<number, number>();

  /**
   * @param functions Of each node of the tree, as `functionNumbers` gives.
   */
  constructor(private readonly functions: Int32Array) {}

  /** The frame of a node's function below another frame, -1 for none; a new one if there is none. */
  frame(parent: number, node: number): number {
    const key = (parent + 1) * this.functions.length + this.functions[node]!;
    let frame = this.known.get(key);
    if (frame === undefined) {
      frame = this.parents.push(parent) - 1;
      this.nodes.push(node);
      this.owns.push(0);
      this.waits.push(0);
      this.known.set(key, frame);
    }
    return frame;
  }

  /** Add to what a frame has of its own. */
  add(frame: number, own: number, waiting: number): void {
    this.owns[frame]! += own;
    this.waits[frame]! += waiting;
  }

  frames(): Frames {
    return summed({
      n: this.parents.length,
      parent: Int32Array.from(this.parents),
      node: Int32Array.from(this.nodes),
      own: Float64Array.from(this.owns),
      ownWaiting: Float64Array.from(this.waits),
    });
  }
}

function summed(own: Omit<Frames, "value" | "waiting">): Frames {
  const value = own.own.slice();
  const waiting = own.ownWaiting.slice();
  for (let frame = own.n - 1; frame >= 0; frame--) {
    const parent = own.parent[frame]!;
    if (parent < 0) continue;
    value[parent]! += value[frame]!;
    waiting[parent]! += waiting[frame]!;
  }
  return { ...own, value, waiting };
}

/**
 * The frames of a tree, or of what is below one of its nodes, without those that have nothing.
 *
 * @param running Values of the nodes, inclusive and exclusive; null for none.
 * @param waiting The same of what was waiting.
 * @param root The node whose frames are wanted, -1 for all.
 */
export function treeFrames(
  tree: Tree,
  running: NodeValues | null,
  waiting: NodeValues | null,
  root = -1,
): Frames {
  const first = root < 0 ? 0 : root;
  const behind = root < 0 ? tree.n : tree.data.end[root]!;
  const count = behind - first;
  const own = new Float64Array(count);
  const ownWaiting = new Float64Array(count);
  for (const values of [running, waiting]) {
    if (values === null) continue;
    const each = ownValues(tree, values, first, behind);
    for (let at = 0; at < count; at++) {
      own[at]! += each[at]!;
      if (values === waiting) ownWaiting[at] = each[at]!;
    }
  }
  const whole = own.slice();
  for (let at = count - 1; at > 0; at--) {
    const parent = tree.data.parent[first + at]! - first;
    if (parent >= 0) whole[parent]! += whole[at]!;
  }
  const place = new Int32Array(count).fill(-1);
  let n = 0;
  for (let at = 0; at < count; at++) if (whole[at]! > 0) place[at] = n++;
  const frames = {
    n,
    parent: new Int32Array(n).fill(-1),
    node: new Int32Array(n),
    own: new Float64Array(n),
    ownWaiting: new Float64Array(n),
  };
  for (let at = 0; at < count; at++) {
    const frame = place[at]!;
    if (frame < 0) continue;
    const above = tree.data.parent[first + at]! - first;
    if (above >= 0) frames.parent[frame] = place[above]!;
    frames.node[frame] = first + at;
    frames.own[frame] = own[at]!;
    frames.ownWaiting[frame] = ownWaiting[at]!;
  }
  return summed(frames);
}

export interface NodeValues {
  readonly inclusive: Float64Array;
  readonly exclusive: Float64Array;
}

/** What nodes have of their own: where that was not measured, what is left of the inclusive value. */
function ownValues(tree: Tree, values: NodeValues, first: number, behind: number): Float64Array {
  const own = new Float64Array(behind - first);
  const left = values.inclusive.slice(first, behind);
  for (let node = behind - 1; node > first; node--) {
    const parent = tree.data.parent[node]! - first;
    const value = values.inclusive[node]!;
    if (parent >= 0 && value > 0) left[parent]! -= value;
  }
  for (let at = 0; at < own.length; at++) {
    const exclusive = values.exclusive[first + at]!;
    // What is left over by rounding is nothing.
    const rest = left[at]! > 1e-9 * values.inclusive[first + at]! ? left[at]! : 0;
    own[at] = Number.isNaN(exclusive) ? rest || 0 : Math.max(0, exclusive);
  }
  return own;
}

/** Frames in the order of the picture: siblings by value, the largest first, or by name. */
export function ordered(tree: Tree, frames: Frames, order: FrameOrder): OrderedFrames {
  const { n } = frames;
  const rank = order === "name" ? nameRanks(tree) : null;
  const first = new Int32Array(n + 2);
  for (let frame = 0; frame < n; frame++) first[frames.parent[frame]! + 2]!++;
  for (let at = 0; at <= n; at++) first[at + 1]! += first[at]!;
  const children = new Int32Array(n);
  const next = first.slice(0, n + 1);
  for (let frame = 0; frame < n; frame++) children[next[frames.parent[frame]! + 1]!++] = frame;
  for (let slot = 0; slot <= n; slot++) {
    const family = children.subarray(first[slot], first[slot + 1]);
    if (family.length < 2) continue;
    if (rank) sortFamily(family, (a, b) => rank[frames.node[a]!]! - rank[frames.node[b]!]!);
    else sortFamily(family, (a, b) => frames.value[b]! - frames.value[a]! || a - b);
  }
  const from = new Int32Array(n);
  const end = new Int32Array(n);
  const parent = new Int32Array(n);
  const depth = new Uint16Array(n);
  const start = new Float64Array(n);
  const place = new Int32Array(n);
  const levels: number[][] = [];
  let filled = 0;
  let total = 0;
  // Children are put on the stack from right to left; -1 - frame closes one.
  const stack: number[] = [];
  const push = (slot: number) => {
    for (let at = first[slot + 1]! - 1; at >= first[slot]!; at--) stack.push(children[at]!);
  };
  const reached: number[] = [0];
  push(0);
  while (stack.length > 0) {
    const top = stack.pop()!;
    if (top < 0) {
      end[-1 - top] = filled;
      reached.pop();
      continue;
    }
    const above = frames.parent[top]!;
    const level = reached.length - 1;
    from[filled] = top;
    place[top] = filled;
    parent[filled] = above < 0 ? -1 : place[above]!;
    depth[filled] = level;
    start[filled] = reached[level]!;
    reached[level]! += frames.value[top]!;
    if (level === 0) total = reached[0]!;
    (levels[level] ??= []).push(filled);
    stack.push(-1 - filled);
    reached.push(start[filled]!);
    filled++;
    push(top + 1);
  }
  const moved = (values: Float64Array) => {
    const own = new Float64Array(n);
    for (let frame = 0; frame < n; frame++) own[frame] = values[from[frame]!]!;
    return own;
  };
  const node = new Int32Array(n);
  for (let frame = 0; frame < n; frame++) node[frame] = frames.node[from[frame]!]!;
  const ofNode = new Int32Array(tree.n).fill(-1);
  for (let frame = n - 1; frame >= 0; frame--) ofNode[node[frame]!] = frame;
  return {
    n,
    parent,
    node,
    value: moved(frames.value),
    own: moved(frames.own),
    waiting: moved(frames.waiting),
    ownWaiting: moved(frames.ownWaiting),
    depth,
    end,
    start,
    total,
    levels: levels.map((level) => Int32Array.from(level)),
    ofNode,
  };
}

/** Sort in place: most families are too small for what a sort of its own costs. */
function sortFamily(family: Int32Array, order: (a: number, b: number) => number): void {
  if (family.length > 16) {
    family.sort(order);
    return;
  }
  for (let at = 1; at < family.length; at++) {
    const frame = family[at]!;
    let to = at;
    while (to > 0 && order(family[to - 1]!, frame) > 0) family[to] = family[--to]!;
    family[to] = frame;
  }
}

function nameRanks(tree: Tree): Float64Array {
  const strings = tree.data.strings;
  const order = strings.map((_, at) => at);
  order.sort((a, b) => strings[a]!.localeCompare(strings[b]!));
  const rank = new Float64Array(strings.length);
  order.forEach((string, at) => (rank[string] = at));
  return Float64Array.from(tree.data.name, (string) => rank[string]!);
}

/** The frame of a level that has a value in it, -1 for none. */
export function frameAt(frames: OrderedFrames, depth: number, value: number): number {
  const level = frames.levels[depth];
  if (!level) return -1;
  const at = behindValue(frames, level, value) - 1;
  if (at < 0) return -1;
  const frame = level[at]!;
  return value < frames.start[frame]! + frames.value[frame]! ? frame : -1;
}

/** How many frames of a level begin at a value or before it; `least` of them are known to. */
export function behindValue(frames: OrderedFrames, level: Int32Array, value: number, least = 0): number {
  const begins = (at: number) => frames.start[level[at]!]! <= value;
  // Mostly it is near what is known: steps that double come there before halves of all do.
  let low = least;
  let step = 1;
  while (low + step <= level.length && begins(low + step - 1)) {
    low += step;
    step *= 2;
  }
  let high = Math.min(level.length, low + step - 1);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (begins(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
