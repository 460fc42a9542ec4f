// The bright or dark theme: that of the system, or the one the reader chose.

import { useEffect, useState } from "preact/hooks";

import { savePreference, loadPreference } from "./preferences";

export const THEMES = ["system", "bright", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const CHANGED = "gnomon-theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function chosenTheme(): Theme {
  const name = loadPreference("theme", "system");
  return THEMES.find((theme) => theme === name) ?? "system";
}

export function applyTheme(theme: Theme = chosenTheme()): void {
  const is = theme === "system" ? (dark.matches ? "dark" : "bright") : theme;
  document.documentElement.dataset["theme"] = is;
  window.dispatchEvent(new Event(CHANGED));
}

dark.addEventListener("change", () => applyTheme());

export function nextTheme(): void {
  const now = chosenTheme();
  // From what the system says straight to the other one.
  const next: Theme =
    now === "system" ? (dark.matches ? "bright" : "dark") : now === "dark" ? "bright" : "dark";
  const isSystem = (next === "dark") === dark.matches;
  savePreference("theme", isSystem ? "system" : next);
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

/** A colour or font of the theme, for what is drawn on a canvas. */
export function themeValue(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
