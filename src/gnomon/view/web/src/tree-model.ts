// The tree as arrays: children, their order, what a filter keeps, and which rows are visible. It does
// not depend on the screen.

import type { NodeKind, Tree as TreeArrays } from "./api";
import { TreeFilter } from "./tree-filter";
import { baseName } from "./format";
import { sortOrder } from "./sort";
import { withoutReturnType } from "./name-parts";

/** Visible rows: the node and the depth of each. */
export interface Rows {
  readonly nodes: Uint32Array;
  readonly depths: Uint16Array;
}

/** A node whose largest child has less than this share of it is a hot spot itself. */
const MOST_OF_IT = 0.35;
const MATCH = 1;
const ABOVE = 2;
const BELOW = 4;

export class Tree {
  readonly n: number;
  /** The tree as it was before any nodes were added. */
  readonly first: Tree;
  /** Which nodes the reader has opened; `filtered` where a filter opened them. */
  readonly opened: Uint8Array;
  private readonly filtered: Uint8Array;
  private kept: Uint8Array | null = null;
  /** Children of node i are `child[start[i]]` to `child[start[i + 1] - 1]`; those of n are roots. */
  private readonly start: Uint32Array;
  private readonly child: Uint32Array;
  private sortedBy: Float64Array | string | null = null;
  private isDescending = false;
  private names: Float64Array | null = null;
  private lowered: string[] | null = null;

  /**
   * @param data Its nodes.
   * @param smaller The tree before nodes were added to it: what is open stays open.
   */
  constructor(
    readonly data: TreeArrays,
    smaller?: Tree,
  ) {
    const n = data.n;
    this.n = n;
    this.opened = new Uint8Array(n);
    this.filtered = new Uint8Array(n);
    this.start = new Uint32Array(n + 2);
    this.child = new Uint32Array(n);
    const given = new Uint32Array(n);
    for (let node = 0; node < n; node++) {
      this.start[this.above(node) + 1]++;
      given[node] = node;
    }
    for (let node = 0; node <= n; node++) this.start[node + 1] += this.start[node];
    this.order(given);
    this.first = smaller?.first ?? this;
    if (smaller) this.opened.set(smaller.opened);
    else for (const root of this.children(-1)) this.opened[root] = 1;
  }

  /** This tree with nodes added behind the others. */
  grown(more: TreeArrays): Tree {
    const { data } = this;
    const joined = <T extends Uint8Array | Uint32Array | Int32Array | Float64Array>(before: T, after: T): T => {
      const both = new (before.constructor as new (length: number) => T)(more.n);
      both.set(before);
      both.set(after, more.first);
      return both;
    };
    const pending = joined(data.pending, more.pending);
    for (const parent of more.parent) if (parent >= 0) pending[parent] = 0;
    return new Tree(
      {
        ...data,
        n: more.n,
        parent: joined(data.parent, more.parent),
        end: joined(data.end, more.end),
        name: joined(data.name, more.name),
        kind: joined(data.kind, more.kind),
        region: joined(data.region, more.region),
        location: joined(data.location, more.location),
        file: joined(data.file, more.file),
        module: joined(data.module, more.module),
        line: joined(data.line, more.line),
        calls: joined(data.calls, more.calls),
        pending,
      },
      this,
    );
  }

  /** Whether nodes below have yet to be asked for. */
  isPending(node: number): boolean {
    return this.data.pending[node] === 1;
  }

  /** The slot of a node's parent: n for roots. */
  private above(node: number): number {
    const parent = this.data.parent[node];
    return parent >= 0 ? parent : this.n;
  }

  children(node: number): Uint32Array {
    const slot = node < 0 ? this.n : node;
    return this.child.subarray(this.start[slot], this.start[slot + 1]);
  }

  isLeaf(node: number): boolean {
    return this.start[node] === this.start[node + 1] && !this.isPending(node);
  }

  parent(node: number): number {
    const slot = this.above(node);
    return slot === this.n ? -1 : slot;
  }

  name(node: number): string {
    return this.data.strings[this.data.name[node]] ?? "";
  }

  file(node: number): string {
    return this.data.strings[this.data.file[node]] ?? "";
  }

  kind(node: number): NodeKind {
    return this.data.kinds[this.data.kind[node]];
  }

  line(node: number): number {
    return this.data.line[node];
  }

  /** Names from the root to a node. */
  path(node: number): number[] {
    const up: number[] = [];
    for (let at = node; at >= 0 && up.length <= this.n; at = this.parent(at)) up.push(at);
    return up.reverse();
  }

  /** Put all children in the order in which `order` has them. */
  private order(order: Uint32Array): void {
    const next = this.start.slice();
    const { child, n } = this;
    const { parent } = this.data;
    for (let at = 0; at < order.length; at++) {
      const node = order[at];
      const above = parent[node];
      child[next[above >= 0 ? above : n]++] = node;
    }
  }

  /** Sort by values in the nodes' order, or by name, place or calls. */
  sort(by: Float64Array | "name" | "place" | "calls", descending: boolean): void {
    // Whoever comes back from another view finds it as it was.
    if (by === this.sortedBy && descending === this.isDescending) return;
    this.sortedBy = by;
    this.isDescending = descending;
    if (by === "name") by = this.byName();
    else if (by === "place") by = this.byPlace();
    else if (by === "calls") by = this.data.calls;
    this.order(sortOrder(by, descending));
  }

  private byName(): Float64Array {
    if (this.names === null) {
      const strings = this.data.strings;
      const lower = strings.map((string) => withoutReturnType(string).toLowerCase());
      const order = strings.map((_, at) => at);
      order.sort((a, b) => (lower[a] < lower[b] ? -1 : lower[a] > lower[b] ? 1 : 0));
      const rank = new Uint32Array(strings.length);
      order.forEach((string, at) => (rank[string] = at));
      this.names = Float64Array.from(this.data.name, (string) => rank[string]);
    }
    return this.names;
  }

  private byPlace(): Float64Array {
    const order = this.data.strings.map((_, at) => at);
    const strings = this.data.strings;
    order.sort((a, b) => (strings[a] < strings[b] ? -1 : strings[a] > strings[b] ? 1 : 0));
    const rank = new Float64Array(strings.length);
    order.forEach((string, at) => (rank[string] = at));
    const keys = new Float64Array(this.n);
    for (let node = 0; node < this.n; node++) {
      keys[node] = this.file(node)
        ? rank[this.data.file[node]] * 2 ** 24 + this.data.line[node]
        : Number.NaN;
    }
    return keys;
  }

  /** Prepare sorting by name and filtering, so that their first use is as fast as the next. */
  prepare(): void {
    this.byName();
    this.passing(TreeFilter.parse("prepare") as TreeFilter, null, 0);
  }

  private lower(): string[] {
    this.lowered ??= this.data.strings.map((string) => string.toLowerCase());
    return this.lowered;
  }

  /** Keep what a filter keeps, and return how many nodes match; null keeps everything. */
  filter(filter: TreeFilter | null, values: Float64Array | null, total: number): number {
    if (filter === null) {
      this.kept = null;
      return this.n;
    }
    const { kept, matches } = this.passing(filter, values, total);
    for (let node = 0; node < this.n; node++) this.filtered[node] = kept[node] & ABOVE ? 1 : 0;
    this.kept = kept;
    return matches;
  }

  /** What passes a filter, what is above it, and what is below. */
  private passing(
    filter: TreeFilter,
    values: Float64Array | null,
    total: number,
  ): { kept: Uint8Array; matches: number } {
    const kept = new Uint8Array(this.n);
    const passes = this.tester(filter, total);
    let matches = 0;
    for (let node = 0; node < this.n; node++) {
      const value = values === null ? Number.NaN : values[node];
      if (passes(node, value)) {
        kept[node] = MATCH;
        matches++;
      }
    }
    // Nodes come in pre-order: what is above a node has a smaller number.
    const above = this.data.parent;
    for (let node = this.n - 1; node >= 0; node--) {
      const parent = above[node];
      if (kept[node] & (MATCH | ABOVE) && parent >= 0) kept[parent] |= ABOVE;
    }
    if (filter.hasText) {
      for (let node = 0; node < this.n; node++) {
        const parent = above[node];
        if (parent >= 0 && kept[parent] & (MATCH | BELOW)) kept[node] |= BELOW;
      }
    }
    return { kept, matches };
  }

  /** A test of single nodes: whether a filter matches one with such a value. */
  tester(filter: TreeFilter, total: number): (node: number, value: number) => boolean {
    const passed = filter.matchPlaces(this.data.strings, this.lower(), this.data);
    return (node, value) => passed[node] === 1 && filter.isEnough(value, total);
  }

  matches(node: number): boolean {
    return this.kept !== null && (this.kept[node] & MATCH) !== 0;
  }

  get isFiltered(): boolean {
    return this.kept !== null;
  }

  private get open(): Uint8Array {
    return this.kept === null ? this.opened : this.filtered;
  }

  isOpen(node: number): boolean {
    return this.open[node] === 1;
  }

  set(node: number, open: boolean): void {
    this.open[node] = open ? 1 : 0;
  }

  /** Open or close a node and everything below it; -1 is the whole tree. */
  setAll(node: number, open: boolean): void {
    const value = open ? 1 : 0;
    if (node < 0) this.open.fill(value);
    else {
      const below = [node];
      for (let at = below.pop(); at !== undefined; at = below.pop()) {
        this.open[at] = value;
        for (const child of this.children(at)) below.push(child);
      }
    }
    // A tree that is closed still shows what its roots are made of.
    if (node < 0) for (const root of this.children(-1)) this.open[root] = 1;
  }

  /** Open all that is above a node. */
  reveal(node: number): void {
    for (let at = this.parent(node); at >= 0; at = this.parent(at)) this.open[at] = 1;
  }

  /** Open from a node, as long as one child has nearly all of the value. */
  follow(node: number, values: Float64Array): number {
    let at = node;
    for (;;) {
      this.set(at, true);
      let most = -1;
      for (const child of this.children(at)) if (most < 0 || values[child] > values[most]) most = child;
      if (most < 0 || !(values[most] >= MOST_OF_IT * values[at])) return at;
      at = most;
    }
  }

  /** Follow the largest values from a node, within its file if it has one, to a source line. */
  hottest(node: number, values: Float64Array): number {
    let at = node;
    while (this.line(at) === 0) {
      const file = this.file(at);
      let most = -1;
      for (const child of this.children(at)) {
        if (file && this.file(child) !== file) continue;
        if (values[child] > 0 && (most < 0 || values[child] > values[most])) most = child;
      }
      if (most < 0) break;
      at = most;
    }
    return at;
  }

  /** The node of a line: the line's own, else the last that begins above it; -1 for none. */
  at(file: string, line: number): number {
    const fileIndex = this.data.strings.indexOf(file);
    let above = -1;
    for (let node = 0; fileIndex >= 0 && node < this.n; node++) {
      if (this.data.file[node] !== fileIndex) continue;
      const begin = this.data.line[node];
      if (begin === line && line > 0) return node;
      if (begin < line && (above < 0 || begin > this.data.line[above])) above = node;
      if (line === 0 && above < 0) above = node;
    }
    return above;
  }

  /** The visible rows, from top to bottom. */
  rows(): Rows {
    const nodes = new Uint32Array(this.n);
    const depths = new Uint16Array(this.n);
    const kept = this.kept;
    const open = this.open;
    let filled = 0;
    const slots = [this.n];
    const at = [this.start[this.n]];
    while (slots.length > 0) {
      const level = slots.length - 1;
      const k = at[level]++;
      if (k >= this.start[slots[level] + 1]) {
        slots.pop();
        at.pop();
        continue;
      }
      const node = this.child[k];
      if (kept !== null && kept[node] === 0) continue;
      nodes[filled] = node;
      depths[filled++] = level;
      if (open[node] && !this.isLeaf(node)) {
        slots.push(node);
        at.push(this.start[node]);
      }
    }
    return { nodes: nodes.subarray(0, filled), depths: depths.subarray(0, filled) };
  }

  /** The sum of the roots' values: what all of the run has. */
  total(values: Float64Array): number {
    let sum = 0;
    for (const root of this.children(-1)) if (!Number.isNaN(values[root])) sum += values[root];
    return sum;
  }

  /** The next or previous node that matches, whether it is visible or not. */
  nextMatch(order: Uint32Array, from: number, step: 1 | -1): number {
    const kept = this.kept;
    if (kept === null || order.length === 0) return -1;
    for (let tried = 1; tried <= order.length; tried++) {
      const at = (((from + step * tried) % order.length) + order.length) % order.length;
      if (kept[order[at]] & MATCH) return at;
    }
    return -1;
  }

  /**
   * The nodes of another tree that are the same as this one's, -1 where there is none: by names
   * from the root and files, else, of runs that were compiled elsewhere, by the files' last names
   * where only one node of the other has them. An only root is the program, whatever its name.
   */
  same(other: Tree): Int32Array {
    const exact = new Map<string, number>();
    other.keys(false).forEach((key, node) => exact.set(key, node));
    const near = new Map<string, number>();
    other.keys(true).forEach((key, node) => near.set(key, near.has(key) ? -1 : node));
    const bare = this.keys(true);
    return Int32Array.from(this.keys(false), (key, node) => exact.get(key) ?? near.get(bare[node]) ?? -1);
  }

  private keys(isBare: boolean): string[] {
    const files = isBare ? this.data.strings.map(baseName) : this.data.strings;
    const keys = new Array<string>(this.n).fill("");
    const isAlone = this.children(-1).length === 1;
    for (let node = 0; node < this.n; node++) {
      const parent = this.data.parent[node];
      if (parent < 0 && isAlone) continue;
      const own = `${this.name(node)}\u0001${files[this.data.file[node]]}`;
      keys[node] = parent >= 0 ? `${keys[parent]}\u0002${own}` : own;
    }
    return keys;
  }
}
