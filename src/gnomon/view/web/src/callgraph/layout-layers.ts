// Layers of a graph: cycles opened, callers above callees, arcs short.

import { type Arcs, incidence } from "./layout-graph";

export interface Layers {
  readonly count: number;
  readonly layer: Int32Array;
  /** Arcs that close a cycle: they lead from a lower layer to a higher one. */
  readonly upward: Uint8Array;
}

/** Layers of n nodes: by the longest path, then each node where its arcs are shortest. */
export function layers(n: number, arcs: Arcs): Layers {
  const { from, to, weight } = arcs;
  const order = callOrder(n, arcs);
  const upward = new Uint8Array(from.length);
  const above = from.slice();
  const below = to.slice();
  for (let arc = 0; arc < from.length; arc++) {
    if (order.position[from[arc]!]! < order.position[to[arc]!]!) continue;
    upward[arc] = 1;
    above[arc] = to[arc]!;
    below[arc] = from[arc]!;
  }
  const out = incidence(n, above);
  const into = incidence(n, below);
  const layer = new Int32Array(n);
  for (const node of order.nodes) {
    for (let at = out.start[node]!; at < out.start[node + 1]!; at++) {
      const callee = below[out.arc[at]!]!;
      layer[callee] = Math.max(layer[callee]!, layer[node]! + 1);
    }
  }
  // A node with more callees than callers goes down to them.
  for (let at = n - 1; at >= 0; at--) {
    const node = order.nodes[at]!;
    let lowest = Infinity;
    let pull = 0;
    for (let each = out.start[node]!; each < out.start[node + 1]!; each++) {
      lowest = Math.min(lowest, layer[below[out.arc[each]!]!]! - 1);
      pull += weight[out.arc[each]!]!;
    }
    for (let each = into.start[node]!; each < into.start[node + 1]!; each++) {
      pull -= weight[into.arc[each]!]!;
    }
    if (pull > 0 && lowest > layer[node]!) layer[node] = lowest;
  }
  return { count: withoutEmpty(layer), layer, upward };
}

function withoutEmpty(layer: Int32Array): number {
  const used: number[] = [];
  for (const at of layer) used[at] = 1;
  let count = 0;
  for (let at = 0; at < used.length; at++) if (used[at]) used[at] = count++;
  for (let node = 0; node < layer.length; node++) layer[node] = used[layer[node]!]!;
  return count;
}

/**
 * Nodes in an order in which few arcs lead backwards: that in which a search in depth ends, reversed.
 *
 * It begins at nodes that nobody calls; of two arcs between the same nodes only the heavier counts.
 */
function callOrder(n: number, { from, to, weight }: Arcs): { nodes: Int32Array; position: Int32Array } {
  const arcOf = new Map<number, number>();
  for (let arc = 0; arc < from.length; arc++) arcOf.set(from[arc]! * n + to[arc]!, arc);
  const weak = new Uint8Array(from.length);
  const balance = new Float64Array(n);
  const called = new Uint8Array(n);
  for (let arc = 0; arc < from.length; arc++) {
    const back = arcOf.get(to[arc]! * n + from[arc]!);
    if (back !== undefined && weight[back]! > weight[arc]!) {
      weak[arc] = 1;
      continue;
    }
    balance[from[arc]!]! += weight[arc]!;
    balance[to[arc]!]! -= weight[arc]!;
    called[to[arc]!] = 1;
  }
  const out = incidence(n, from);
  const roots = Array.from({ length: n }, (_, node) => node).sort(
    (a, b) => called[a]! - called[b]! || (called[a] ? balance[b]! - balance[a]! : 0) || a - b,
  );
  const nodes = new Int32Array(n);
  const position = new Int32Array(n).fill(-1);
  const next = out.start.slice(0, n);
  const seen = new Uint8Array(n);
  const stack: number[] = [];
  let free = n;
  for (const root of roots) {
    if (seen[root]) continue;
    seen[root] = 1;
    stack.push(root);
    while (stack.length > 0) {
      const node = stack[stack.length - 1]!;
      if (next[node]! < out.start[node + 1]!) {
        const arc = out.arc[next[node]!++]!;
        const callee = to[arc]!;
        if (seen[callee] || weak[arc]) continue;
        seen[callee] = 1;
        stack.push(callee);
      } else {
        stack.pop();
        nodes[--free] = node;
        position[node] = free;
      }
    }
  }
  return { nodes, position };
}
