// Graphs as arrays: arcs merged, arcs of each node, connected parts.

export interface Arcs {
  readonly from: Int32Array;
  readonly to: Int32Array;
  /** How many arcs each stands for. */
  readonly weight: Float64Array;
}

/** The arcs of each node, in their order: those of `node` from `start[node]` in `arc`. */
export interface Incidence {
  readonly start: Int32Array;
  readonly arc: Int32Array;
}

/**
 * Arcs between n things, those from one to another being one.
 *
 * @param position Where what an arc's end belongs to stands, negative for an end outside.
 * @returns With `merged`, of each arc what became of it: -1 for one with an end outside or no length.
 */
export function mergedArcs(
  from: Int32Array,
  to: Int32Array,
  n: number,
  position: (end: number) => number,
): { arcs: Arcs; merged: Int32Array } {
  const merged = new Int32Array(from.length).fill(-1);
  const known = new Map<number, number>();
  const tails: number[] = [];
  const heads: number[] = [];
  const weights: number[] = [];
  for (let arc = 0; arc < from.length; arc++) {
    const tail = position(from[arc]!);
    const head = position(to[arc]!);
    if (tail < 0 || head < 0 || tail === head) continue;
    const key = tail * n + head;
    let at = known.get(key);
    if (at === undefined) {
      known.set(key, (at = tails.push(tail) - 1));
      heads.push(head);
      weights.push(0);
    }
    weights[at]! += 1;
    merged[arc] = at;
  }
  return {
    arcs: { from: Int32Array.from(tails), to: Int32Array.from(heads), weight: Float64Array.from(weights) },
    merged,
  };
}

/** Which arcs have each of n nodes at the end that is given. */
export function incidence(n: number, end: Int32Array): Incidence {
  const start = new Int32Array(n + 1);
  for (let arc = 0; arc < end.length; arc++) start[end[arc]! + 1]! += 1;
  for (let node = 0; node < n; node++) start[node + 1]! += start[node]!;
  const next = start.slice();
  const arc = new Int32Array(end.length);
  for (let at = 0; at < end.length; at++) arc[next[end[at]!]!++] = at;
  return { start, arc };
}

/** Connected parts of a graph: of each, its nodes in their order. */
export function components(n: number, arcs: Arcs): number[][] {
  const root = Int32Array.from({ length: n }, (_, node) => node);
  const find = (node: number): number => {
    while (root[node] !== node) node = root[node] = root[root[node]!]!;
    return node;
  };
  for (let arc = 0; arc < arcs.from.length; arc++) {
    const one = find(arcs.from[arc]!);
    const other = find(arcs.to[arc]!);
    // The first node stands for all, so that parts come in the order of their first nodes.
    if (one !== other) root[Math.max(one, other)] = Math.min(one, other);
  }
  const parts: number[][] = [];
  const partOf = new Int32Array(n).fill(-1);
  for (let node = 0; node < n; node++) {
    const first = find(node);
    if (partOf[first]! < 0) partOf[first] = parts.push([]) - 1;
    parts[partOf[first]!]!.push(node);
  }
  return parts;
}

/** Positions with the same number together, in their order; without those below 0. */
export function grouped(numbers: Int32Array): Int32Array[] {
  let most = -1;
  for (const each of numbers) most = Math.max(most, each);
  const start = new Int32Array(most + 2);
  for (const each of numbers) if (each >= 0) start[each + 1]! += 1;
  for (let at = 0; at <= most; at++) start[at + 1]! += start[at]!;
  const next = start.slice();
  const positions = new Int32Array(start[most + 1] ?? 0);
  for (let at = 0; at < numbers.length; at++) if (numbers[at]! >= 0) positions[next[numbers[at]!]!++] = at;
  const found: Int32Array[] = [];
  for (let at = 0; at <= most; at++) {
    if (start[at]! < start[at + 1]!) found.push(positions.subarray(start[at]!, start[at + 1]!));
  }
  return found;
}
