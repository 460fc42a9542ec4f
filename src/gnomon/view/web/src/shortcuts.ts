// Keyboard shortcuts of the page: `g` and a letter for a view, `/` to search, `?` for help.

import { useEffect } from "preact/hooks";

export type Shortcuts = Readonly<Record<string, (event: KeyboardEvent) => void>>;

const PATIENCE_MS = 1200;
const stack: Shortcuts[] = [];
let prefix = "";
let prefixAt = 0;

function isTyping(event: KeyboardEvent): boolean {
  const at = event.target as HTMLElement | null;
  return (
    at instanceof HTMLInputElement ||
    at instanceof HTMLTextAreaElement ||
    at instanceof HTMLSelectElement ||
    at?.closest("dialog[open]") != null
  );
}

function handleKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isTyping(event)) return;
  const now = event.timeStamp;
  const before = now - prefixAt < PATIENCE_MS ? prefix : "";
  prefix = "";
  const key = before ? `${before} ${event.key}` : event.key;
  for (let at = stack.length - 1; at >= 0; at--) {
    const act = stack[at]?.[key];
    if (act) {
      event.preventDefault();
      act(event);
      return;
    }
  }
  if (event.key === "g") {
    prefix = "g";
    prefixAt = now;
  }
}

window.addEventListener("keydown", handleKey);

/** Bind keys while a component is mounted; the component mounted last takes precedence. */
export function useShortcuts(bindings: Shortcuts): void {
  useEffect(() => {
    stack.push(bindings);
    return () => {
      stack.splice(stack.indexOf(bindings), 1);
    };
  });
}
