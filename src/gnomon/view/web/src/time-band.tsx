// A band over all of a run's time, in which a part of it can be chosen by mouse and keyboard.

import { useEffect, useRef, useState } from "preact/hooks";

import { useBoxSize } from "./box-size";
import { formatDuration } from "./format";
import { useTheme } from "./theme";
import { TimeAxis } from "./time-axis";
import type { TimeWindow } from "./time-window";

const LEAST_PX = 4;

interface Props {
  /** What is shown over time. */
  readonly name: string;
  readonly lengthNs: number;
  readonly window: TimeWindow | null;
  readonly onWindow: (window: TimeWindow | null) => void;
  readonly isLow?: boolean;
  readonly hasAxis?: boolean;
  /** What the highest part of it comes to. */
  readonly most: string;
  readonly error: string;
  /** Draws it; null while there is nothing to draw yet. */
  readonly paint: ((canvas: HTMLCanvasElement, width: number) => void) | null;
}

export function TimeBand({ name, lengthNs, window: chosen, onWindow, paint, ...props }: Props) {
  const theme = useTheme();
  const [box, width] = useBoxSize<HTMLDivElement>([800, 0]);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [dragged, setDragged] = useState<TimeWindow | null>(null);
  const shown = dragged ?? chosen;
  useEffect(() => paint?.(canvas.current!, width), [paint, width, theme]);

  const timeAt = (event: PointerEvent): number => {
    const edge = box.current!.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - edge.left) / edge.width)) * lengthNs;
  };
  /** Drag from one time to another; `fixed` is the end that stays. */
  const drag = (event: PointerEvent, fixed: number) => {
    if (event.button !== 0) return;
    event.preventDefault();
    event.stopPropagation();
    const began = event.clientX;
    const spanOf = (moved: PointerEvent): TimeWindow => {
      const other = timeAt(moved);
      return { begin: Math.min(fixed, other), end: Math.max(fixed, other) };
    };
    const onMove = (moved: PointerEvent) => setDragged(spanOf(moved));
    const onUp = (moved: PointerEvent) => {
      window.removeEventListener("pointermove", onMove);
      window.removeEventListener("pointerup", onUp);
      setDragged(null);
      // A click is no window: it takes the one that is there back.
      onWindow(Math.abs(moved.clientX - began) < LEAST_PX ? null : spanOf(moved));
    };
    window.addEventListener("pointermove", onMove);
    window.addEventListener("pointerup", onUp);
  };
  const place = (time: number) => `${(100 * time) / lengthNs}%`;
  const { begin, end } = shown ?? { begin: 0, end: lengthNs };
  const onKeyDown = (event: KeyboardEvent, isEnd: boolean) => {
    const step = lengthNs * (event.shiftKey ? 0.1 : 0.01);
    const moves: Readonly<Record<string, number>> = { ArrowLeft: -step, ArrowRight: step, Home: -lengthNs, End: lengthNs };
    const by = moves[event.key];
    if (by !== undefined) {
      const least = lengthNs * 0.001;
      const next = isEnd
        ? { begin, end: Math.max(begin + least, Math.min(lengthNs, end + by)) }
        : { begin: Math.min(end - least, Math.max(0, begin + by)), end };
      onWindow(next.begin <= 0 && next.end >= lengthNs ? null : next);
    } else if (event.key === "Escape") onWindow(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      ref={box}
      class={`activity${props.isLow ? " is-low" : ""}${props.hasAxis === false ? "" : " has-times"}`}
      role="group"
      aria-label={`${name} over ${formatDuration(lengthNs)}`}
      title={`${name} over time: drag to choose a part of it, click for all of it`}
      onPointerDown={(event) => drag(event, timeAt(event))}
    >
      <canvas ref={canvas} aria-hidden="true" />
      {props.hasAxis !== false && <TimeAxis beginNs={0} endNs={lengthNs} width={width} />}
      {props.error && <span class="trouble">{props.error}</span>}
      {props.most && <span class="activity-most">{props.most}</span>}
      {shown && <span class="activity-out" style={{ left: 0, width: place(begin) }} />}
      {shown && <span class="activity-out" style={{ left: place(end), right: 0 }} />}
      {([false, true] as const).map((isEnd) => (
        <span
          key={String(isEnd)}
          class={isEnd ? "activity-edge is-end" : "activity-edge"}
          role="slider"
          tabIndex={0}
          aria-label={isEnd ? "end of the window" : "beginning of the window"}
          aria-valuemin={0}
          aria-valuemax={Math.round(lengthNs / 1000)}
          aria-valuenow={Math.round((isEnd ? end : begin) / 1000)}
          aria-valuetext={formatDuration(isEnd ? end : begin)}
          style={{ left: place(isEnd ? end : begin) }}
          onPointerDown={(event) => drag(event, isEnd ? begin : end)}
          onKeyDown={(event) => onKeyDown(event, isEnd)}
        />
      ))}
    </div>
  );
}
