// Dragging over a plot: a part of the time, a part of the file, or both.

import { useState } from "preact/hooks";

import { offsetAt, timeAt, type Plot } from "./plot";

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Dragged {
  readonly time: { readonly begin: number; readonly end: number } | null;
  readonly range: { readonly low: number; readonly high: number } | null;
}

const LEAST_PX = 5;
/** What is dragged along one axis and less than this along the other is of the one axis. */
const STRAIGHT_PX = 14;

interface Points {
  readonly x0: number;
  readonly y0: number;
  readonly x1: number;
  readonly y1: number;
}

function axesOf({ x0, y0, x1, y1 }: Points, isOfTime: boolean): readonly [boolean, boolean] {
  const [wide, high] = [Math.abs(x1 - x0), Math.abs(y1 - y0)];
  if (Math.max(wide, isOfTime ? 0 : high) < LEAST_PX) return [false, false];
  return [wide >= STRAIGHT_PX || wide >= high || isOfTime, !isOfTime && (high >= STRAIGHT_PX || high > wide)];
}

/** What is dragged now, as a box of the canvas, and what begins to drag; a click ends in `onClick`. */
export function useDrag(
  plot: Plot,
  isOfTime: boolean,
  onDragged: (dragged: Dragged) => void,
  onClick: (x: number, y: number) => void,
): readonly [Box | null, (event: PointerEvent) => void] {
  const [points, setPoints] = useState<Points | null>(null);
  const begin = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const canvas = event.currentTarget as HTMLElement;
    const edge = canvas.getBoundingClientRect();
    const inside = (moved: PointerEvent): readonly [number, number] => [
      Math.max(plot.left, Math.min(plot.left + plot.width, moved.clientX - edge.left)),
      Math.max(plot.top, Math.min(plot.top + plot.height, moved.clientY - edge.top)),
    ];
    const [x0, y0] = inside(event);
    let last: Points = { x0, y0, x1: x0, y1: y0 };
    const onMove = (moved: PointerEvent) => {
      const [x1, y1] = inside(moved);
      last = { x0, y0, x1, y1 };
      setPoints(last);
    };
    const onUp = () => {
      window.removeEventListener("pointermove", onMove);
      window.removeEventListener("pointerup", onUp);
      setPoints(null);
      const [inTime, inFile] = axesOf(last, isOfTime);
      if (!inTime && !inFile) return onClick(last.x1, last.y1);
      const times = [timeAt(plot, last.x0), timeAt(plot, last.x1)].sort((one, other) => one - other);
      const offsets = [offsetAt(plot, last.y0), offsetAt(plot, last.y1)].sort((one, other) => one - other);
      onDragged({
        time: inTime ? { begin: times[0]!, end: times[1]! } : null,
        range: inFile ? { low: offsets[0]!, high: offsets[1]! } : null,
      });
    };
    window.addEventListener("pointermove", onMove);
    window.addEventListener("pointerup", onUp);
  };
  return [points && boxOf(plot, points, isOfTime), begin];
}

function boxOf(plot: Plot, points: Points, isOfTime: boolean): Box | null {
  const [inTime, inFile] = axesOf(points, isOfTime);
  if (!inTime && !inFile) return null;
  const [left, right] = [Math.min(points.x0, points.x1), Math.max(points.x0, points.x1)];
  const [top, bottom] = [Math.min(points.y0, points.y1), Math.max(points.y0, points.y1)];
  return {
    x: inTime ? left : plot.left,
    width: inTime ? right - left : plot.width,
    y: inFile ? top : plot.top,
    height: inFile ? bottom - top : plot.height,
  };
}
