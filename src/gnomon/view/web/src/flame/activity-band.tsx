// How much there was when: a band over the time of a run, in which a part of it can be chosen.

import { useEffect, useRef, useState } from "preact/hooks";

import { getActivity, type Activity, type Metric } from "../api";
import { useLoaded } from "../api-cache";
import { useBoxSize } from "../box-size";
import { scaledContext } from "../canvas";
import { formatDuration, formatQuantity } from "../format";
import { themeValue, useTheme } from "../theme";
import type { TimeWindow } from "../time-window";
import { TimeAxis } from "./time-axis";

const HEIGHT_PX = 44;
const BINS = 512;
const LEAST_PX = 4;

interface Props {
  /** The number of the whole run. */
  readonly id: string;
  readonly sampledNs: number;
  /** One or two, which are drawn upon each other. */
  readonly metrics: readonly { readonly metric: Metric; readonly isWaiting: boolean }[];
  readonly location: number | undefined;
  readonly window: TimeWindow | null;
  readonly onWindow: (window: TimeWindow | null) => void;
}

export function ActivityBand(props: Props) {
  const { id, sampledNs, metrics, location } = props;
  const theme = useTheme();
  const [box, width] = useBoxSize<HTMLDivElement>([800, 0]);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [dragged, setDragged] = useState<TimeWindow | null>(null);
  const key = `${id}/activity/${metrics.map((one) => one.metric.metric).join(",")}/${location ?? ""}`;
  const loaded = useLoaded(key, () =>
    Promise.all(metrics.map(({ metric }) => getActivity(id, { metric: metric.metric, location, bins: BINS }))),
  );
  const shown = dragged ?? props.window;
  useEffect(() => {
    if (loaded.value) paint(canvas.current!, loaded.value, metrics, width);
  }, [loaded.value, width, theme]);

  const timeAt = (event: PointerEvent): number => {
    const edge = box.current!.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - edge.left) / edge.width)) * sampledNs;
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
      props.onWindow(Math.abs(moved.clientX - began) < LEAST_PX ? null : spanOf(moved));
    };
    window.addEventListener("pointermove", onMove);
    window.addEventListener("pointerup", onUp);
  };
  const place = (time: number) => `${(100 * time) / sampledNs}%`;
  const { begin, end } = shown ?? { begin: 0, end: sampledNs };
  const onKeyDown = (event: KeyboardEvent, isEnd: boolean) => {
    const step = sampledNs * (event.shiftKey ? 0.1 : 0.01);
    const moves: Readonly<Record<string, number>> = { ArrowLeft: -step, ArrowRight: step, Home: -sampledNs, End: sampledNs };
    const by = moves[event.key];
    if (by !== undefined) {
      const least = sampledNs * 0.001;
      const next = isEnd
        ? { begin, end: Math.max(begin + least, Math.min(sampledNs, end + by)) }
        : { begin: Math.min(end - least, Math.max(0, begin + by)), end };
      props.onWindow(next.begin <= 0 && next.end >= sampledNs ? null : next);
    } else if (event.key === "Escape") props.onWindow(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const most = loaded.value ? largest(loaded.value) : 0;
  const names = metrics.map((one) => one.metric.name).join(" and ");
  return (
    <div
      ref={box}
      class="activity"
      role="group"
      aria-label={`${names} over ${formatDuration(sampledNs)}`}
      title={`${names} over time: drag to choose a part of it, click for all of it`}
      onPointerDown={(event) => drag(event, timeAt(event))}
    >
      <canvas ref={canvas} aria-hidden="true" />
      <TimeAxis beginNs={0} endNs={sampledNs} width={width} />
      {loaded.error && <span class="trouble">{loaded.error}</span>}
      {most > 0 && <span class="activity-most">{busy(most, metrics[0]!.metric, sampledNs)}</span>}
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
          aria-valuemax={Math.round(sampledNs / 1000)}
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

function largest(activities: readonly Activity[]): number {
  let most = 0;
  for (let bin = 0; bin < activities[0]!.n; bin++) {
    most = Math.max(most, activities.reduce((sum, one) => sum + one.value[bin]!, 0));
  }
  return most;
}

/** The highest part of the band: of a time, how many threads at once that is. */
function busy(most: number, metric: Metric, sampledNs: number): string {
  if (metric.unit !== "s") return `at most ${formatQuantity(most, metric.unit)} each`;
  const threads = Number(((most * 1e9 * BINS) / sampledNs).toFixed(1));
  return `up to ${threads} ${threads === 1 ? "thread" : "threads"} at once`;
}

function paint(
  canvas: HTMLCanvasElement,
  activities: readonly Activity[],
  metrics: Props["metrics"],
  width: number,
): void {
  const pen = scaledContext(canvas, width, HEIGHT_PX);
  const most = largest(activities) || 1;
  const { n } = activities[0]!;
  const wide = width / n;
  for (let bin = 0; bin < n; bin++) {
    let y = HEIGHT_PX;
    activities.forEach((activity, at) => {
      const high = ((HEIGHT_PX - 4) * activity.value[bin]!) / most;
      pen.fillStyle = themeValue(metrics[at]!.isWaiting ? "--line-strong" : "--bar-strong");
      pen.fillRect(bin * wide, y - high, Math.max(wide, 1), high);
      y -= high;
    });
  }
}
