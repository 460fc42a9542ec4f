// The current view and its parameters, kept in the URL's hash: a URL restores what is shown, and the
// browser's back and forward keys work.

import { useEffect, useState } from "preact/hooks";

export const VIEWS = ["tree", "flame", "callgraph", "table", "metrics", "ranks", "io", "compare", "run"] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  readonly view: View;
  readonly params: Readonly<Record<string, string>>;
}

/** Parameters that name something of one run: of another they mean nothing. */
export const OF_ONE_RUN = Object.fromEntries(
  ["node", "of", "file", "line", "location", "window", "iotime", "iofiles", "ioplaces", "iorange", "iosearch", "frame", "zoom", "panel", "middle", "mzoom", "rpart", "rank", "rsort", "strips", "locate", "max", "e", "E", "f", "F", "gmetric", "brief", "unused", "load"].map((name) => [name, null]),
);

type ParamChanges = Readonly<Record<string, string | number | null | undefined>>;

function parseLocation(): Route {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const view = VIEWS.find((name) => name === path) ?? "tree";
  return { view, params: Object.fromEntries(new URLSearchParams(query)) };
}

let current = parseLocation();
const listeners = new Set<() => void>();

function notify(): void {
  for (const listener of listeners) listener();
}

window.addEventListener("hashchange", () => {
  current = parseLocation();
  notify();
});

// Browsers limit how often the URL may change: while a key is held down only the last one is kept.
const PATIENCE_MS = 200;
let pendingTimer = 0;

function replaceUrl(): void {
  window.clearTimeout(pendingTimer);
  pendingTimer = 0;
  history.replaceState(null, "", routeUrl(current.view, {}));
}

/** The URL of a view with parameters changed, for links. */
export function routeUrl(view: View, changes: ParamChanges): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries({ ...current.params, ...changes })) {
    if (value !== null && value !== undefined && value !== "") query.set(key, String(value));
  }
  const text = query.toString();
  return `#/${view}${text ? "?" + text : ""}`;
}

/** Go to a view with some parameters changed; null removes a parameter. */
export function navigate(view: View, changes: ParamChanges = {}, kept: "step" | "replace" = "step"): void {
  const next = routeUrl(view, changes);
  if (next === routeUrl(current.view, {})) return;
  if (kept === "step") {
    if (pendingTimer) replaceUrl();
    history.pushState(null, "", next);
  } else if (!pendingTimer) {
    pendingTimer = window.setTimeout(replaceUrl, PATIENCE_MS);
  }
  const query = next.includes("?") ? next.slice(next.indexOf("?") + 1) : "";
  current = { view, params: Object.fromEntries(new URLSearchParams(query)) };
  notify();
}

/** Change parameters of this view, without a step in the browser's history. */
export function setParams(changes: ParamChanges): void {
  navigate(current.view, changes, "replace");
}

export function currentRoute(): Route {
  return current;
}

export function useRoute(): Route {
  const [route, set] = useState(current);
  useEffect(() => {
    const listener = () => set(current);
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return route;
}
