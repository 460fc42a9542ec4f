// Panes with a divider between them that is moved by mouse or keyboard.

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
const STEP = 0.02;

/** The share of a pane, kept in this browser, and what changes it. */
export function useShare(name: string, start: number): [number, (to: number) => void] {
  const [share, set] = useState(() => Number(loadPreference(`split.${name}`, String(start))) || start);
  const move = (to: number) => {
    const next = Math.max(LEAST, Math.min(1 - LEAST, to));
    set(next);
    savePreference(`split.${name}`, next.toFixed(3));
  };
  return [share, move];
}

interface BarProps {
  readonly label: string;
  readonly share: number;
  /** Of panes one above the other; the share is that of the lower one, else of the left one. */
  readonly isLevel?: boolean;
  readonly shareAt: (event: PointerEvent) => number;
  readonly onMove: (to: number) => void;
  readonly onReset: () => void;
}

export function SplitBar({ label, share, isLevel, shareAt, onMove, onReset }: BarProps) {
  const [less, more] = isLevel ? ["ArrowDown", "ArrowUp"] : ["ArrowLeft", "ArrowRight"];
  return (
    <div
      class={isLevel ? "split-bar is-level" : "split-bar"}
      role="separator"
      aria-orientation={isLevel ? "horizontal" : "vertical"}
      aria-valuenow={Math.round(100 * share)}
      aria-valuemin={100 * LEAST}
      aria-valuemax={100 * (1 - LEAST)}
      aria-label={label}
      tabIndex={0}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) onMove(shareAt(event));
      }}
      onDblClick={onReset}
      onKeyDown={(event) => {
        if (event.key === less) onMove(share - STEP);
        else if (event.key === more) onMove(share + STEP);
        else return;
        event.preventDefault();
      }}
    />
  );
}

export function SplitPane(props: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [share, move] = useShare(props.name, props.start);
  const shareAt = (event: PointerEvent) => {
    const { left, width } = box.current!.getBoundingClientRect();
    return (event.clientX - left) / width;
  };
  return (
    <div class="split" ref={box} style={{ "--part": `${100 * share}%` }}>
      {props.first}
      <SplitBar label="width of the panes" share={share} shareAt={shareAt} onMove={move} onReset={() => move(props.start)} />
      {props.second}
    </div>
  );
}
