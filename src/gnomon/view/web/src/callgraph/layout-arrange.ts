// Items with arcs between them become one group: parts, layers, order, stacks, places.

import { chained } from "./layout-chains";
import { folded, widthOfRows } from "./layout-fold";
import { type Arcs, components } from "./layout-graph";
import { type Item, group, passageItem } from "./layout-items";
import { layers } from "./layout-layers";
import { type Links, ordered } from "./layout-order";
import { packed } from "./layout-pack";
import { type Columns, placed } from "./layout-places";

export interface Settings {
  readonly gapX: number;
  readonly gapY: number;
}

export interface Arranged {
  readonly item: Item;
  /** Of each arc the passages that were made for it, from top to bottom, one in each row. */
  readonly chains: (Item[] | null)[];
}

const ASPECT = 1.6;
/** Rows of at most this width are not folded, in widths of a middling item. */
const UNFOLDED = 14;

export function arranged(items: readonly Item[], arcs: Arcs, settings: Settings): Arranged {
  const chains: (Item[] | null)[] = new Array<Item[] | null>(arcs.from.length).fill(null);
  const partArcs = new Map<number, number[]>();
  const parts = components(items.length, arcs);
  const partOf = new Int32Array(items.length);
  parts.forEach((nodes, part) => nodes.forEach((node) => (partOf[node] = part)));
  for (let arc = 0; arc < arcs.from.length; arc++) {
    const part = partOf[arcs.from[arc]!]!;
    const list = partArcs.get(part);
    if (list) list.push(arc);
    else partArcs.set(part, [arc]);
  }
  const position = new Int32Array(items.length);
  const found = parts.map((nodes, part) => {
    if (nodes.length === 1) return items[nodes[0]!]!;
    nodes.forEach((node, at) => (position[node] = at));
    const own = partArcs.get(part) ?? [];
    const inner: Arcs = {
      from: Int32Array.from(own, (arc) => position[arcs.from[arc]!]!),
      to: Int32Array.from(own, (arc) => position[arcs.to[arc]!]!),
      weight: Float64Array.from(own, (arc) => arcs.weight[arc]!),
    };
    const one = layered(nodes.map((node) => items[node]!), inner, settings);
    own.forEach((arc, at) => (chains[arc] = one.chains[at]!));
    return one.item;
  });
  return { item: packed(found, settings.gapX), chains };
}

/** A connected part in layers. */
function layered(items: readonly Item[], arcs: Arcs, { gapX, gapY }: Settings): Arranged {
  const levels = layers(items.length, arcs);
  const graph = chained(items.length, arcs, levels);
  const all = [...items];
  while (all.length < graph.count) all.push(passageItem(gapX / 6));
  for (const chain of graph.chains) for (const node of chain ?? []) all[node]!.shared += 1;
  const width = Float64Array.from(all, (item) => item.width + (item.box < 0 && !item.rows ? gapX / 3 : gapX));
  const { rows, links } = ordered(graph, levels.count, width, {
    x: Float64Array.from(all, (item) => item.previousLeft),
    y: Float64Array.from(all, (item) => item.previousTop),
  });
  const rowItems = rows.map((row) => row.map((node) => all[node]!));
  const middling = items.map((item) => item.width).sort((a, b) => a - b)[items.length >> 1]!;
  const most = widthOfRows(
    rowItems.map((row) => row.filter((item) => item.box >= 0 || item.rows)),
    gapX, gapY, ASPECT, UNFOLDED * (middling + gapX),
  );
  const stacks = rowItems.map((row) => folded(row, most, gapX, gapY));
  const whole = placed(columns(stacks, all, links), most, gapX, gapY);
  const chains = graph.chains.map((chain) => chain && chain.map((node) => all[node]!));
  return { item: group(whole.rows, whole.width, whole.height), chains };
}

/** What stands in rows, stacks being one, with links between these. */
function columns(stacks: Item[][], all: readonly Item[], { upper, lower, weight }: Links): Columns {
  const items: Item[] = [];
  const columnOf = new Map<Item, number>();
  const rows = stacks.map((row) =>
    row.map((item) => {
      const at = items.push(item) - 1;
      columnOf.set(item, at);
      if (item.box < 0) for (const inner of item.rows ?? []) for (const each of inner.items) columnOf.set(each, at);
      return at;
    }),
  );
  const ofNode = Int32Array.from(all, (item) => columnOf.get(item)!);
  return {
    items, rows, weight,
    upper: upper.map((node) => ofNode[node]!),
    lower: lower.map((node) => ofNode[node]!),
  };
}
