// Where the reader is: the view and all that it was asked to show, kept in the address's hash, so
// that an address is all one needs to come back, and the browser's own keys go back and forth.

import { useEffect, useState } from "preact/hooks";

export const VIEWS = ["tree", "table", "metrics", "compare", "run"] as const;
export type View = (typeof VIEWS)[number];

export interface Place {
  readonly view: View;
  readonly asked: Readonly<Record<string, string>>;
}

type Change = Readonly<Record<string, string | number | null | undefined>>;

function read(): Place {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const view = VIEWS.find((name) => name === path) ?? "tree";
  return { view, asked: Object.fromEntries(new URLSearchParams(query)) };
}

let here = read();
const listeners = new Set<() => void>();

function told(): void {
  for (const listener of listeners) listener();
}

window.addEventListener("hashchange", () => {
  here = read();
  told();
});

// Browsers refuse to note every step of a key held down; the last one is what counts.
const PATIENCE_MS = 200;
let pending = 0;

function note(): void {
  window.clearTimeout(pending);
  pending = 0;
  history.replaceState(null, "", address(here.view, {}));
}

/** The address of a place, for links. */
export function address(view: View, asked: Change): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries({ ...here.asked, ...asked })) {
    if (value !== null && value !== undefined && value !== "") query.set(key, String(value));
  }
  const text = query.toString();
  return `#/${view}${text ? "?" + text : ""}`;
}

/** Go to another view, or ask for other things in this one; null forgets what was asked. */
export function go(view: View, asked: Change = {}, kept: "step" | "replace" = "step"): void {
  const next = address(view, asked);
  if (next === address(here.view, {})) return;
  if (kept === "step") {
    if (pending) note();
    history.pushState(null, "", next);
  } else if (!pending) {
    pending = window.setTimeout(note, PATIENCE_MS);
  }
  const query = next.includes("?") ? next.slice(next.indexOf("?") + 1) : "";
  here = { view, asked: Object.fromEntries(new URLSearchParams(query)) };
  told();
}

/** Ask for other things in this view, without a step in the browser's history. */
export function ask(asked: Change): void {
  go(here.view, asked, "replace");
}

export function place(): Place {
  return here;
}

export function usePlace(): Place {
  const [at, set] = useState(here);
  useEffect(() => {
    const listener = () => set(here);
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return at;
}

/** What the reader likes, kept in this browser where that is allowed. */
export function liked(key: string, otherwise: string): string {
  try {
    return localStorage.getItem(`gnomon.${key}`) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function like(key: string, value: string): void {
  try {
    localStorage.setItem(`gnomon.${key}`, value);
  } catch {
    // A browser that keeps nothing still shows everything.
  }
}
