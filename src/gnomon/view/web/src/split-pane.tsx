// Two panes with a divider that is moved by mouse or keyboard.

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";

import { savePreference, loadPreference } from "./preferences";

interface Props {
  readonly name: string;
  readonly start: number;
  readonly first: ComponentChildren;
  readonly second: ComponentChildren;
}

const LEAST = 0.15;

export function SplitPane(props: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [part, set] = useState(() => Number(loadPreference(`split.${props.name}`, String(props.start))) || props.start);
  const move = (to: number) => {
    const next = Math.max(LEAST, Math.min(1 - LEAST, to));
    set(next);
    savePreference(`split.${props.name}`, next.toFixed(3));
  };
  return (
    <div class="split" ref={box} style={{ "--part": `${100 * part}%` }}>
      {props.first}
      <div
        class="split-bar"
        role="separator"
        aria-orientation="vertical"
        aria-valuenow={Math.round(100 * part)}
        aria-label="width of the panes"
        tabIndex={0}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={(event) => {
          if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
          const { left, width } = box.current!.getBoundingClientRect();
          move((event.clientX - left) / width);
        }}
        onDblClick={() => move(props.start)}
        onKeyDown={(event) => {
          if (event.key === "ArrowLeft") move(part - 0.02);
          else if (event.key === "ArrowRight") move(part + 0.02);
          else return;
          event.preventDefault();
        }}
      />
      {props.second}
    </div>
  );
}
