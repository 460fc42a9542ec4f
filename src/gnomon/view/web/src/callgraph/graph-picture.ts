// The picture of a call graph: boxes of functions and collapsed clusters, and the arcs between them, laid out.

import { displayedArcs, type Displayed } from "./graph-filters";
import { functionLabel, labelValue, valuesLabel, type GraphModel } from "./graph-model";
import { layOut, type Layout, type LayoutInput } from "./layout";

export interface PictureOptions {
  readonly isClustered: boolean;
  /** Modules whose cluster is one box. */
  readonly collapsed: ReadonlySet<number>;
  /** The largest side of a box. */
  readonly largest: number;
}

export function areAlike(some: PictureOptions, others: PictureOptions): boolean {
  return some.isClustered === others.isClustered && some.collapsed === others.collapsed && some.largest === others.largest;
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
}

/** What is laid out: all of a picture but where it is. */
export interface Sketch {
  readonly shown: Displayed;
  readonly options: PictureOptions;
  readonly boxes: readonly Box[];
  readonly arrows: readonly Arrow[];
  /** How many arcs of the graph are displayed. */
  readonly nArcs: number;
  /** Modules of the clusters of the layout. */
  readonly modules: readonly number[];
  readonly boxOf: ReadonlyMap<number, number>;
}

export interface Picture extends Sketch {
  readonly layout: Layout;
  /** How many boxes were laid out, where some have gone since. */
  readonly laidOut?: number;
}

/** What the smallest box measures: the chapter's "smallest allowable size". */
export const SMALLEST = 8;
export const LABEL_HEIGHT = 30;
const LABEL_LETTER = 6.1;
const LABEL_MOST = 190;
const GAPS = { gapX: 22, gapY: 46, clusterPadding: 16, clusterHeader: 24 };

export function makePicture(model: GraphModel, shown: Displayed, options: PictureOptions, before: Picture | null): Picture {
  const sketch = sketched(model, shown, options);
  return { ...sketch, layout: layOut(layoutInput(sketch, before)) };
}

export function sketched(model: GraphModel, shown: Displayed, options: PictureOptions): Sketch {
  const boxes: Box[] = [];
  const boxOf = new Map<number, number>();
  const { module } = model.data;
  const functions = model.byTotal().filter((f) => shown.functions.has(f));
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
  const arcs = displayedArcs(model, shown);
  const arrows = arrowsOf(model, arcs, boxOf, boxes.length);
  const modules = options.isClustered ? [...new Set(boxes.filter((box) => box.f >= 0).map((box) => box.module))] : [];
  return { shown, options, boxes, arrows, nArcs: arcs.length, modules, boxOf };
}

export function layoutInput({ boxes, arrows, modules }: Sketch, before: Picture | null): LayoutInput {
  const clusterOf = new Map(modules.map((module, at) => [module, at]));
  return {
    width: Float64Array.from(boxes, fullWidth),
    inner: Float64Array.from(boxes, (box) => box.width),
    height: Float64Array.from(boxes, (box) => box.height + LABEL_HEIGHT),
    from: Int32Array.from(arrows, (arrow) => arrow.from),
    to: Int32Array.from(arrows, (arrow) => arrow.to),
    cluster: Int32Array.from(boxes, (box) => (box.f >= 0 ? (clusterOf.get(box.module) ?? -1) : -1)),
    nClusters: modules.length,
    ...(before ? { previous: formerPlaces(boxes, before) } : {}),
    ...GAPS,
  };
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
  const { labels, values } = textsOf(model);
  return {
    f,
    module: module[f]!,
    width: side(total[f]!),
    height: side(own[f]!),
    label: labels[f]!,
    values: values[f]!,
  };
}

interface Texts {
  readonly labels: readonly string[];
  readonly values: readonly string[];
}

const textsKnown = new WeakMap<GraphModel, Texts>();

/** What stands below the boxes of all functions: the same in every picture of a graph. */
function textsOf(model: GraphModel): Texts {
  let texts = textsKnown.get(model);
  if (!texts) {
    const all = Array.from({ length: model.n }, (_, f) => f);
    texts = { labels: all.map((f) => functionLabel(model, f)), values: all.map((f) => valuesLabel(model, f)) };
    textsKnown.set(model, texts);
  }
  return texts;
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

function arrowsOf(model: GraphModel, arcs: readonly number[], boxOf: ReadonlyMap<number, number>, nBoxes: number): Arrow[] {
  const { caller, callee } = model.data;
  const byPair = new Map<number, number[]>();
  const arrows: Arrow[] = [];
  for (const arc of arcs) {
    const from = boxOf.get(caller[arc]!);
    const to = boxOf.get(callee[arc]!);
    if (from === undefined || to === undefined) continue;
    // What is called within a collapsed cluster is within its box.
    if (from === to && caller[arc] !== callee[arc]) continue;
    const key = from * nBoxes + to;
    const same = byPair.get(key);
    if (same) {
      same.push(arc);
      continue;
    }
    const own = [arc];
    byPair.set(key, own);
    arrows.push({ from, to, arcs: own });
  }
  return arrows;
}

/** How many calls an arrow stands for; of profiles without counts, what they came to. */
export function arrowWeight(model: GraphModel, { arcs }: Arrow): number {
  const weights = model.hasCounts ? model.data.arcCalls : model.data.arcTotal;
  let sum = 0;
  for (const arc of arcs) sum += weights[arc]!;
  return sum;
}

export function arrowLabel(model: GraphModel, arrow: Arrow): string {
  const weight = arrowWeight(model, arrow);
  return model.hasCounts ? String(weight) : labelValue(weight, model.data.unit);
}

/** Where boxes were in the picture before, NaN for new ones, so that they keep their order. */
function formerPlaces(boxes: readonly Box[], before: Picture): { x: Float64Array; y: Float64Array } {
  const ofCluster = new Map(before.boxes.flatMap((box, at) => (box.f < 0 ? [[box.module, at]] : [])));
  const [x, y] = [new Float64Array(boxes.length).fill(NaN), new Float64Array(boxes.length).fill(NaN)];
  boxes.forEach((box, at) => {
    const former = box.f >= 0 ? before.boxOf.get(box.f) : ofCluster.get(box.module);
    // A function may have been in the box of its cluster.
    if (former === undefined || before.boxes[former]!.f !== box.f) return;
    x[at] = before.layout.x[former]!;
    y[at] = before.layout.y[former]!;
  });
  return { x, y };
}
