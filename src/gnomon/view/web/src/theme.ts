// Bright or dark: as the system says, or as the reader chose.

import { useEffect, useState } from "preact/hooks";

import { like, liked } from "./place";

export const THEMES = ["system", "bright", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const CHANGED = "gnomon-theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function chosen(): Theme {
  const name = liked("theme", "system");
  return THEMES.find((theme) => theme === name) ?? "system";
}

export function applyTheme(theme: Theme = chosen()): void {
  const is = theme === "system" ? (dark.matches ? "dark" : "bright") : theme;
  document.documentElement.dataset["theme"] = is;
  window.dispatchEvent(new Event(CHANGED));
}

dark.addEventListener("change", () => applyTheme());

export function nextTheme(): void {
  const now = chosen();
  // From what the system says straight to the other one.
  const next: Theme =
    now === "system" ? (dark.matches ? "bright" : "dark") : now === "dark" ? "bright" : "dark";
  const isSystem = (next === "dark") === dark.matches;
  like("theme", isSystem ? "system" : next);
  applyTheme(isSystem ? "system" : next);
}

/** The theme that is shown; a component that uses it is drawn again when it changes. */
export function useTheme(): "bright" | "dark" {
  const read = () => (document.documentElement.dataset["theme"] === "dark" ? "dark" : "bright");
  const [theme, set] = useState<"bright" | "dark">(read());
  useEffect(() => {
    const listener = () => set(read());
    window.addEventListener(CHANGED, listener);
    return () => window.removeEventListener(CHANGED, listener);
  }, []);
  return theme;
}
