// What a filter leaves of a call graph: functions that are displayed, and arcs. Reports have all.

import type { GraphModel } from "./graph-model";

/** Displayed functions, in no order; `arcs` are the only ones that are displayed, null for all. */
export interface Displayed {
  readonly functions: ReadonlySet<number>;
  readonly arcs: ReadonlySet<number> | null;
}

export type NameMode = "add" | "remove" | "only";
export type Relation = "parents" | "children" | "ancestors" | "descendants" | "cycle";

const only = (functions: Iterable<number>): Displayed => ({ functions: new Set(functions), arcs: null });

const wholeTrees = new WeakMap<GraphModel, Displayed>();

/** All of a graph: always the same object, so that its picture can be there before it is asked for. */
export function wholeTree(model: GraphModel): Displayed {
  let whole = wholeTrees.get(model);
  if (!whole) wholeTrees.set(model, (whole = only(Array.from({ length: model.n }, (_, f) => f))));
  return whole;
}

/** What a filter leaves; where that is what is displayed already, or all, the same object as before. */
export function settled(model: GraphModel, before: Displayed, after: Displayed): Displayed {
  return [before, wholeTree(model)].find((other) => isAlike(other, after)) ?? after;
}

export function isAlike(before: Displayed, after: Displayed): boolean {
  return before === after || (isSame(before.functions, after.functions) && isSame(before.arcs, after.arcs));
}

function isSame(before: ReadonlySet<number> | null, after: ReadonlySet<number> | null): boolean {
  if (before === after || !before || !after) return before === after;
  if (before.size !== after.size) return false;
  for (const member of after) if (!before.has(member)) return false;
  return true;
}

export function byCpu(model: GraphModel, n: number, which: "most" | "least"): Displayed {
  const sorted = model.byTotal();
  return only(which === "most" ? sorted.slice(0, n) : sorted.slice(Math.max(sorted.length - n, 0)));
}

/** The arcs with most or least calls, of profiles without counts by what they came to. */
export function byCounts(model: GraphModel, n: number, which: "most" | "least"): Displayed {
  const { arcCalls, arcTotal, caller, callee } = model.data;
  const weight = model.hasCounts ? arcCalls : arcTotal;
  const sign = which === "most" ? -1 : 1;
  const arcs = Array.from(weight, (_, arc) => arc)
    .sort((a, b) => sign * (weight[a]! - weight[b]!) || a - b)
    .slice(0, n);
  return { functions: new Set(arcs.flatMap((arc) => [caller[arc]!, callee[arc]!])), arcs: new Set(arcs) };
}

export function withoutLibraries(model: GraphModel, shown: Displayed): Displayed {
  return only([...shown.functions].filter((f) => !model.isLibrary(f)));
}

/** Adds the library functions that displayed functions call, and no others. */
export function withLibraryCalls(model: GraphModel, shown: Displayed): Displayed {
  const called = [...shown.functions].flatMap((f) => model.children(f)).filter((f) => model.isLibrary(f));
  return only([...shown.functions, ...called]);
}

/** Functions whose names have one of the substrings, which blanks separate. */
export function named(model: GraphModel, words: string): number[] {
  const parts = words.split(/\s+/).filter(Boolean);
  return model.data.names.flatMap((name, f) => (parts.some((part) => name.includes(part)) ? [f] : []));
}

export function byName(model: GraphModel, shown: Displayed, words: string, mode: NameMode): Displayed {
  const matches = named(model, words);
  if (mode === "only") return only(matches);
  if (mode === "add") return only([...shown.functions, ...matches]);
  const gone = new Set(matches);
  return only([...shown.functions].filter((f) => !gone.has(f)));
}

export function related(model: GraphModel, f: number, relation: Relation): number[] {
  switch (relation) {
    case "parents":
      return [f, ...model.parents(f)];
    case "children":
      return [f, ...model.children(f)];
    case "ancestors":
      return model.reached(f, (one) => model.parents(one));
    case "descendants":
      return model.reached(f, (one) => model.children(one));
    case "cycle":
      return model.cycleOf(f);
  }
}

export function byRelation(model: GraphModel, shown: Displayed, f: number, relation: Relation, adds: boolean): Displayed {
  const functions = related(model, f, relation);
  return only(adds ? [...shown.functions, ...functions] : functions);
}

export function without(shown: Displayed, functions: readonly number[]): Displayed {
  const gone = new Set(functions);
  return only([...shown.functions].filter((f) => !gone.has(f)));
}

/** The arcs between displayed functions. */
export function displayedArcs(model: GraphModel, shown: Displayed): number[] {
  const { caller, callee } = model.data;
  const arcs: number[] = [];
  for (let arc = 0; arc < caller.length; arc++) {
    if (shown.arcs ? shown.arcs.has(arc) : shown.functions.has(caller[arc]!) && shown.functions.has(callee[arc]!)) arcs.push(arc);
  }
  return arcs;
}
