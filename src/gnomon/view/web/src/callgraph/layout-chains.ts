// Room for arcs that pass layers: passages, one in each layer, which arcs to one callee share.

import type { Arcs } from "./layout-graph";
import type { Layers } from "./layout-layers";

/** Nodes, passages behind them, and the links between neighbouring ones. */
export interface Chained {
  readonly count: number;
  readonly layer: Int32Array;
  /** Links from a higher layer to a lower one, further than one layer where there is no room. */
  readonly upper: Int32Array;
  readonly lower: Int32Array;
  readonly weight: Float64Array;
  /** Of each arc the passages from top to bottom; null if it has none. */
  readonly chains: readonly (readonly number[] | null)[];
}

/** At most so many passages, so that arcs do not take more room than boxes. */
function mostPassages(n: number): number {
  return Math.min(4 * n, 1500 + n / 4);
}

/** Nodes with passages for arcs, the shortest arcs first, for as long as there is room. */
export function chained(n: number, arcs: Arcs, { layer, upward }: Layers): Chained {
  const layerOf = Array.from(layer);
  const most = n + mostPassages(n);
  const m = arcs.from.length;
  const links = new Map<number, number>();
  const upper: number[] = [];
  const lower: number[] = [];
  const weight: number[] = [];
  const link = (one: number, other: number, heavy: number): void => {
    const key = one * (most + m) + other;
    const at = links.get(key);
    if (at !== undefined) {
      weight[at]! += heavy;
      return;
    }
    links.set(key, upper.length);
    upper.push(one);
    lower.push(other);
    weight.push(heavy);
  };
  const high = (arc: number): number => (upward[arc] ? arcs.to[arc]! : arcs.from[arc]!);
  const low = (arc: number): number => (upward[arc] ? arcs.from[arc]! : arcs.to[arc]!);
  const span = Int32Array.from({ length: m }, (_, arc) => layer[low(arc)]! - layer[high(arc)]!);
  const order = Array.from({ length: m }, (_, arc) => arc).sort((a, b) => span[a]! - span[b]! || a - b);
  const trunks = new Map<number, number[]>();
  const chains: (number[] | null)[] = new Array<number[] | null>(m).fill(null);
  for (const arc of order) {
    const passed = span[arc]! - 1;
    const bottom = low(arc);
    const key = 2 * bottom + upward[arc]!;
    let trunk = trunks.get(key);
    if (!trunk) trunks.set(key, (trunk = []));
    const heavy = Math.min(arcs.weight[arc]!, 4);
    if (passed > trunk.length && layerOf.length + passed - trunk.length > most) {
      link(high(arc), bottom, heavy);
      continue;
    }
    while (trunk.length < passed) {
      trunk.push(layerOf.push(layer[bottom]! - trunk.length - 1) - 1);
    }
    const chain = trunk.slice(0, passed).reverse();
    let last = high(arc);
    for (const each of [...chain, bottom]) {
      link(last, each, heavy);
      last = each;
    }
    if (passed > 0) chains[arc] = chain;
  }
  return {
    count: layerOf.length,
    layer: Int32Array.from(layerOf),
    upper: Int32Array.from(upper),
    lower: Int32Array.from(lower),
    weight: Float64Array.from(weight),
    chains,
  };
}
