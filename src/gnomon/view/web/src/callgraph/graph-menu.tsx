// The menu of a function, an arc or a cluster, where it was asked for.

import { useLayoutEffect, useRef } from "preact/hooks";

export interface MenuItem {
  readonly label: string;
  readonly isOff?: boolean;
  readonly act: () => void;
}

interface Props {
  readonly title: string;
  readonly x: number;
  readonly y: number;
  readonly items: readonly (MenuItem | null)[];
  readonly onClose: () => void;
}

/** Items one below the other, a line where one is null. */
export function GraphMenu({ title, x, y, items, onClose }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    const menu = box.current!;
    // Within the picture, however near its edge it was asked for.
    const room = menu.parentElement!.getBoundingClientRect();
    menu.style.left = `${Math.max(0, Math.min(x, room.width - menu.offsetWidth - 4))}px`;
    menu.style.top = `${Math.max(0, Math.min(y, room.height - menu.offsetHeight - 4))}px`;
    menu.querySelector<HTMLElement>("button:not(:disabled)")?.focus();
    const outside = (event: Event) => {
      if (!menu.contains(event.target as Node)) onClose();
    };
    document.addEventListener("pointerdown", outside);
    return () => {
      document.removeEventListener("pointerdown", outside);
      if (menu.contains(document.activeElement)) before?.focus();
    };
  }, []);
  const move = (step: number) => {
    const buttons = [...box.current!.querySelectorAll<HTMLElement>("button:not(:disabled)")];
    const at = buttons.indexOf(document.activeElement as HTMLElement);
    buttons[(at + step + buttons.length) % buttons.length]?.focus();
  };
  return (
    <div
      ref={box}
      class="graph-menu menu"
      role="menu"
      aria-label={title}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
        else if (event.key === "ArrowDown") move(1);
        else if (event.key === "ArrowUp") move(-1);
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      <h4>{title}</h4>
      {items.map((item, at) =>
        item ? (
          <button
            key={item.label}
            type="button"
            role="menuitem"
            class="item"
            disabled={item.isOff}
            onClick={() => {
              onClose();
              item.act();
            }}
          >
            {item.label}
          </button>
        ) : (
          <hr key={at} />
        ),
      )}
    </div>
  );
}
