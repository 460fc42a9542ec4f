// Cached answers of the server: a run never changes, so nothing is requested twice.

import { useEffect, useState } from "preact/hooks";

import * as api from "./api";
import { Tree } from "./tree-model";

export interface Loaded<T> {
  readonly value: T | null;
  readonly error: string;
  /** `value` is still the previous answer; the one requested is on its way. */
  readonly waiting: boolean;
}

// Values of a large tree are a megabyte or two: the least recently used are dropped first.
const KEPT = 120;
const kept = new Map<string, Promise<unknown>>();

/** The result of `load`, cached under `key`; a failure is not cached. */
export function cached<T>(key: string, load: () => Promise<T>): Promise<T> {
  const hit = kept.get(key);
  if (hit !== undefined) {
    kept.delete(key);
    kept.set(key, hit);
    return hit as Promise<T>;
  }
  const answer = load();
  kept.set(key, answer);
  answer.catch(() => kept.delete(key));
  if (kept.size > KEPT) {
    // Trees stay: they know which of their nodes are open.
    const oldest = [...kept.keys()].find((one) => !one.includes("/tree/"));
    if (oldest !== undefined) kept.delete(oldest);
  }
  return answer;
}

/** Drop all cached results whose key begins with `prefix`. */
export function dropCached(prefix: string): void {
  for (const key of [...kept.keys()]) if (key.startsWith(prefix)) kept.delete(key);
}

/** The result for a key that may change; the previous value stays until the next has arrived. */
export function useLoaded<T>(key: string | null, load: () => Promise<T>): Loaded<T> {
  const [state, set] = useState<{ key: string | null; value: T | null; error: string }>({
    key: null,
    value: null,
    error: "",
  });
  useEffect(() => {
    if (key === null) {
      set({ key, value: null, error: "" });
      return;
    }
    let isCurrent = true;
    cached(key, load).then(
      (value) => isCurrent && set({ key, value, error: "" }),
      (error: Error) => isCurrent && set({ key, value: null, error: error.message }),
    );
    return () => {
      isCurrent = false;
    };
  }, [key]);
  return { value: state.value, error: state.error, waiting: state.key !== key };
}

export const useRun = (id: string) => useLoaded(id ? `${id}/run` : null, () => api.getRun(id));
export const useMetrics = (id: string) =>
  useLoaded(id ? `${id}/metrics` : null, () => api.getMetrics(id));
export const useLocations = (id: string) =>
  useLoaded(id ? `${id}/locations` : null, () => api.getLocations(id));

export function loadTree(id: string, by: api.Grouping): Promise<Tree> {
  return cached(`${id}/tree/${by}`, async () => new Tree(await api.getTree(id, by)));
}

const TREE_GREW = "gnomon-tree";

/** The tree of a grouping, again whenever nodes were added to one. */
export function useTree(id: string, by: api.Grouping): Loaded<Tree> {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const listener = () => setTurn((old) => old + 1);
    window.addEventListener(TREE_GREW, listener);
    return () => window.removeEventListener(TREE_GREW, listener);
  }, []);
  return useLoaded(id ? `grown ${id}/tree/${by}/${turn}` : null, () => loadTree(id, by));
}

let growing: Promise<unknown> = Promise.resolve();

/** The tree with what is below a node, which had yet to be asked for. One at a time: numbers of
 * nodes are given in the order in which they come. */
export function growTree(id: string, by: api.Grouping, node: number): Promise<Tree> {
  const grown = growing.then(async () => {
    const tree = await loadTree(id, by);
    if (!tree.isPending(node)) return tree;
    const larger = tree.grown(await api.getNodesBelow(id, by, node, tree.n));
    kept.set(`${id}/tree/${by}`, Promise.resolve(larger));
    dropCached(`grown ${id}/tree/${by}/`);
    window.dispatchEvent(new Event(TREE_GREW));
    return larger;
  });
  growing = grown.catch(() => null);
  return grown;
}

export function valuesKey(id: string, query: api.ValuesQuery): string {
  const { by, metric, location, statistic } = query;
  return `${id}/values/${by}/${metric}/${location ?? ""}/${statistic ?? ""}`;
}

/** Values of a tree's nodes. Of a tree that grows, `end` says how many it has: those that are
 * already here are not asked for again. */
export function loadValues(id: string, query: api.ValuesQuery): Promise<api.Values> {
  const key = valuesKey(id, query);
  const { end } = query;
  if (end === undefined) return cached(key, () => api.getValues(id, query));
  const before = (kept.get(key) as Promise<api.Values> | undefined) ?? Promise.resolve(null);
  const answer = before.then(async (values) => {
    if (values === null) return api.getValues(id, { ...query, first: 0 });
    if (values.n >= end) return values;
    const more = await api.getValues(id, { ...query, first: values.n });
    const both = (name: "inclusive" | "exclusive") => {
      const joined = new Float64Array(end);
      joined.set(values[name]);
      joined.set(more[name], values.n);
      return joined;
    };
    return { ...more, n: end, first: 0, inclusive: both("inclusive"), exclusive: both("exclusive") };
  });
  kept.delete(key);
  return cached(key, () => answer);
}

/** Values of several metrics, in the order of the queries. */
export function useValues(id: string, queries: readonly api.ValuesQuery[]): Loaded<api.Values[]> {
  const key = queries.map((one) => `${valuesKey(id, one)}/${one.end ?? ""}`).join(" ");
  return useLoaded(id && queries.length > 0 ? `all ${key}` : null, () =>
    Promise.all(queries.map((one) => loadValues(id, one))),
  );
}

const STATE_CHANGED = "gnomon-state";

/** Which runs the server has open; requested again after `notifyStateChanged()`. */
export function useServerState(): Loaded<api.State> & { readonly turn: number } {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const listener = () => {
      dropCached("state/");
      setTurn((old) => old + 1);
    };
    window.addEventListener(STATE_CHANGED, listener);
    return () => window.removeEventListener(STATE_CHANGED, listener);
  }, []);
  return { ...useLoaded(`state/${turn}`, api.getState), turn };
}

export function notifyStateChanged(): void {
  window.dispatchEvent(new Event(STATE_CHANGED));
}
