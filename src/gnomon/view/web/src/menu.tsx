// A button that opens a list, for mouse and keyboard.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface Props {
  readonly label: ComponentChildren;
  readonly hint?: string;
  readonly class?: string;
  readonly children: (close: () => void) => ComponentChildren;
}

export function Menu(props: Props) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  const button = useRef<HTMLButtonElement>(null);

  // Before it is painted: who is quick to type into another field of it is not taken back.
  useLayoutEffect(() => {
    if (!isOpen) return;
    const outside = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", outside);
    box.current?.querySelector<HTMLElement>(".menu input, .menu .is-here, .menu button")?.focus();
    return () => document.removeEventListener("pointerdown", outside);
  }, [isOpen]);

  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isOpen) return;
    if (event.key === "Escape") {
      event.stopPropagation();
      event.preventDefault();
      close();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const items = [...box.current!.querySelectorAll<HTMLElement>(".menu button, .menu input")];
      const at = items.indexOf(document.activeElement as HTMLElement);
      const step = event.key === "ArrowDown" ? 1 : -1;
      items[(at + step + items.length) % items.length]?.focus();
    }
  };
  return (
    <span class={`menu-box ${props.class ?? ""}`} ref={box} onKeyDown={onKeyDown}>
      <button
        ref={button}
        type="button"
        class="menu-button"
        aria-expanded={isOpen}
        aria-haspopup="true"
        title={props.hint}
        onClick={() => setOpen(!isOpen)}
      >
        <span class="menu-label">{props.label}</span>
        <span class="menu-mark" aria-hidden="true">
          ▾
        </span>
      </button>
      {isOpen && <div class="menu">{props.children(close)}</div>}
    </span>
  );
}
