// The picture of a call graph: boxes of functions and collapsed clusters, and the arcs between them, laid out.

import { displayedArcs, type Displayed } from "./graph-filters";
import { functionLabel, labelValue, valuesLabel, type GraphModel } from "./graph-model";
import { layOut, type Layout } from "./layout";

export interface PictureOptions {
  readonly isClustered: boolean;
  /** Modules whose cluster is one box. */
  readonly collapsed: ReadonlySet<number>;
  /** The largest side of a box. */
  readonly largest: number;
}

/** A box: of function `f`, or, if that is -1, of all displayed functions of a module. */
export interface Box {
  readonly f: number;
  readonly module: number;
  readonly width: number;
  readonly height: number;
  readonly label: string;
  readonly values: string;
}

/** Arcs of the graph that are drawn as one: of a collapsed cluster all that lead to the same box. */
export interface Arrow {
  readonly from: number;
  readonly to: number;
  readonly arcs: readonly number[];
  readonly label: string;
}

export interface Picture {
  readonly boxes: readonly Box[];
  readonly arrows: readonly Arrow[];
  readonly layout: Layout;
  /** Modules of the clusters of the layout. */
  readonly modules: readonly number[];
  readonly boxOf: ReadonlyMap<number, number>;
}

/** What the smallest box measures: the chapter's "smallest allowable size". */
export const SMALLEST = 8;
export const LABEL_HEIGHT = 30;
const LABEL_LETTER = 6.1;
const LABEL_MOST = 190;
const GAPS = { gapX: 22, gapY: 46, clusterPadding: 16, clusterHeader: 24 };

export function makePicture(model: GraphModel, shown: Displayed, options: PictureOptions, before: Picture | null): Picture {
  const boxes: Box[] = [];
  const boxOf = new Map<number, number>();
  const { module } = model.data;
  const functions = [...shown.functions].sort((a, b) => model.data.index[a]! - model.data.index[b]!);
  const isCollapsed = (f: number) => options.isClustered && options.collapsed.has(module[f]!);
  const largestOf = largestTotals(model, functions, options.isClustered);
  const collapsedBox = new Map<number, number>();
  for (const f of functions) {
    const own = module[f]!;
    if (!isCollapsed(f)) {
      boxOf.set(f, boxes.length);
      boxes.push(functionBox(model, f, largestOf(f), options.largest));
      continue;
    }
    let at = collapsedBox.get(own);
    if (at === undefined) {
      at = boxes.length;
      collapsedBox.set(own, at);
      boxes.push(clusterBox(model, own, functions));
    }
    boxOf.set(f, at);
  }
  const arrows = arrowsOf(model, displayedArcs(model, shown), boxOf);
  const modules = options.isClustered ? [...new Set(boxes.filter((box) => box.f >= 0).map((box) => box.module))] : [];
  const clusterOf = new Map(modules.map((one, at) => [one, at]));
  const width = Float64Array.from(boxes, fullWidth);
  const previous = before ? formerPlaces(boxes, before) : undefined;
  const layout = layOut({
    width,
    inner: Float64Array.from(boxes, (box) => box.width),
    height: Float64Array.from(boxes, (box) => box.height + LABEL_HEIGHT),
    from: Int32Array.from(arrows, (arrow) => arrow.from),
    to: Int32Array.from(arrows, (arrow) => arrow.to),
    cluster: Int32Array.from(boxes, (box) => (box.f >= 0 ? (clusterOf.get(box.module) ?? -1) : -1)),
    nClusters: modules.length,
    ...(previous ? { previous } : {}),
    ...GAPS,
  });
  return { boxes, arrows, layout, modules, boxOf };
}

/** The width of a box with the label below it. */
export function fullWidth(box: Box): number {
  return Math.max(box.width, Math.min(Math.max(box.label.length, box.values.length) * LABEL_LETTER, LABEL_MOST));
}

/** Of a function what the largest one it is compared with has: of its cluster, else of all. */
function largestTotals(model: GraphModel, functions: readonly number[], isClustered: boolean): (f: number) => number {
  const { module, total } = model.data;
  const largest = new Map<number, number>();
  for (const f of functions) {
    const key = isClustered ? module[f]! : -1;
    largest.set(key, Math.max(largest.get(key) ?? 0, total[f]!));
  }
  return (f) => largest.get(isClustered ? module[f]! : -1) ?? 0;
}

function functionBox(model: GraphModel, f: number, whole: number, largest: number): Box {
  const { own, total, module, isShown } = model.data;
  const side = (value: number) => (whole > 0 && isShown[f] ? Math.max(SMALLEST, (largest * value) / whole) : SMALLEST);
  return {
    f,
    module: module[f]!,
    width: side(total[f]!),
    height: side(own[f]!),
    label: functionLabel(model, f),
    values: valuesLabel(model, f),
  };
}

export function clusterTotal(model: GraphModel, module: number): number {
  const { own } = model.data;
  return model.data.module.reduce((sum, one, f) => (one === module ? sum + own[f]! : sum), 0);
}

function clusterBox(model: GraphModel, module: number, functions: readonly number[]): Box {
  const n = functions.filter((f) => model.data.module[f] === module).length;
  const { modules, unit } = model.data;
  return {
    f: -1,
    module,
    width: 110,
    height: 36,
    label: modules[module]!.path || "(unknown)",
    values: `${labelValue(clusterTotal(model, module), unit)}, ${n} functions`,
  };
}

function arrowsOf(model: GraphModel, arcs: readonly number[], boxOf: ReadonlyMap<number, number>): Arrow[] {
  const { caller, callee, arcCalls, arcTotal, unit } = model.data;
  const byPair = new Map<number, number[]>();
  for (const arc of arcs) {
    const from = boxOf.get(caller[arc]!);
    const to = boxOf.get(callee[arc]!);
    if (from === undefined || to === undefined) continue;
    // What is called within a collapsed cluster is within its box.
    if (from === to && caller[arc] !== callee[arc]) continue;
    const key = from * 2 ** 26 + to;
    const same = byPair.get(key);
    if (same) same.push(arc);
    else byPair.set(key, [arc]);
  }
  return [...byPair].map(([key, same]) => {
    const sum = (column: Float64Array) => same.reduce((total, arc) => total + column[arc]!, 0);
    const label = model.hasCounts ? String(sum(arcCalls)) : labelValue(sum(arcTotal), unit);
    return { from: Math.floor(key / 2 ** 26), to: key % 2 ** 26, arcs: same, label };
  });
}

/** Where boxes were in the picture before, so that they keep their order. */
function formerPlaces(boxes: readonly Box[], before: Picture): { x: Float64Array; y: Float64Array } {
  const at = new Map(before.boxes.map((box, number) => [box.f >= 0 ? `f${box.f}` : `m${box.module}`, number]));
  const former = boxes.map((box) => at.get(box.f >= 0 ? `f${box.f}` : `m${box.module}`));
  const place = (column: Float64Array) => Float64Array.from(former, (number) => (number === undefined ? NaN : column[number]!));
  return { x: place(before.layout.x), y: place(before.layout.y) };
}
