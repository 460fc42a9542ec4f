// What the server has told, kept: a run never changes, so nothing is asked for twice.

import { useEffect, useState } from "preact/hooks";

import * as api from "./api";
import { Tree } from "./tree-model";

export interface Loaded<T> {
  readonly value: T | null;
  readonly error: string;
  /** `value` is not yet what was asked for, but what was shown before. */
  readonly waiting: boolean;
}

// Values of a large tree are a megabyte or two: what was not looked at for longest goes first.
const KEPT = 120;
const kept = new Map<string, Promise<unknown>>();

/** The answer to a question, asked once. Failures are asked again. */
export function once<T>(key: string, load: () => Promise<T>): Promise<T> {
  const known = kept.get(key);
  if (known !== undefined) {
    kept.delete(key);
    kept.set(key, known);
    return known as Promise<T>;
  }
  const asked = load();
  kept.set(key, asked);
  asked.catch(() => kept.delete(key));
  if (kept.size > KEPT) {
    // Trees stay: they know which of their nodes are open.
    const oldest = [...kept.keys()].find((one) => !one.includes("/tree/"));
    if (oldest !== undefined) kept.delete(oldest);
  }
  return asked;
}

/** Forget the answers about something. */
export function forget(prefix: string): void {
  for (const key of [...kept.keys()]) if (key.startsWith(prefix)) kept.delete(key);
}

/** The answer to a question that may change; what was shown stays until the next is there. */
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
    let wanted = true;
    once(key, load).then(
      (value) => wanted && set({ key, value, error: "" }),
      (error: Error) => wanted && set({ key, value: null, error: error.message }),
    );
    return () => {
      wanted = false;
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
  return once(`${id}/tree/${by}`, async () => new Tree(await api.getTree(id, by)));
}
export const useTree = (id: string, by: api.Grouping) =>
  useLoaded(id ? `${id}/tree/${by}` : null, () => loadTree(id, by));

export function valuesKey(id: string, wanted: api.Wanted): string {
  const { by, metric, location, statistic } = wanted;
  return `${id}/values/${by}/${metric}/${location ?? ""}/${statistic ?? ""}`;
}
export function loadValues(id: string, wanted: api.Wanted): Promise<api.Values> {
  return once(valuesKey(id, wanted), () => api.getValues(id, wanted));
}

/** Values of several metrics, in the order in which they were asked for. */
export function useValues(id: string, wanted: readonly api.Wanted[]): Loaded<api.Values[]> {
  const key = wanted.map((one) => valuesKey(id, one)).join(" ");
  return useLoaded(id && wanted.length > 0 ? `all ${key}` : null, () =>
    Promise.all(wanted.map((one) => loadValues(id, one))),
  );
}

const STATE_CHANGED = "gnomon-state";

/** What is open; asked again after `stateChanged()`. */
export function useOpened(): Loaded<api.State> & { readonly turn: number } {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const listener = () => {
      forget("state/");
      setTurn((old) => old + 1);
    };
    window.addEventListener(STATE_CHANGED, listener);
    return () => window.removeEventListener(STATE_CHANGED, listener);
  }, []);
  return { ...useLoaded(`state/${turn}`, api.getState), turn };
}

export function stateChanged(): void {
  window.dispatchEvent(new Event(STATE_CHANGED));
}
