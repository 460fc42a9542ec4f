// How much there was when: a band over the time of a run, in which a part of it can be chosen.

import { useMemo } from "preact/hooks";

import { getActivity, type Activity, type Metric } from "../api";
import { useLoaded } from "../api-cache";
import { scaledContext, wholePixels } from "../canvas";
import { formatQuantity } from "../format";
import { themeValue } from "../theme";
import { TimeBand } from "../time-band";
import type { TimeWindow } from "../time-window";

export const BAND_PX = 44;
const BINS = 512;

export interface ShownMetric {
  readonly metric: Metric;
  readonly isWaiting: boolean;
}

interface Props {
  /** The number of the whole run. */
  readonly id: string;
  readonly sampledNs: number;
  /** One or two, which are drawn upon each other. */
  readonly metrics: readonly ShownMetric[];
  readonly location: number | undefined;
  readonly window: TimeWindow | null;
  readonly onWindow: (window: TimeWindow | null) => void;
}

export function ActivityBand(props: Props) {
  const { id, sampledNs, metrics, location } = props;
  const key = `${id}/activity/${metrics.map((one) => one.metric.metric).join(",")}/${location ?? ""}`;
  const loaded = useLoaded(key, () =>
    Promise.all(metrics.map(({ metric }) => getActivity(id, { metric: metric.metric, location, bins: BINS }))),
  );
  const activities = loaded.value;
  const paint = useMemo(
    () =>
      activities &&
      ((canvas: HTMLCanvasElement, width: number) =>
        paintActivity(scaledContext(canvas, width, BAND_PX), activities, metrics, [width, BAND_PX])),
    [activities],
  );
  const most = activities ? mostActive(activities) : 0;
  return (
    <TimeBand
      name={metrics.map((one) => one.metric.name).join(" and ")}
      lengthNs={sampledNs}
      window={props.window}
      onWindow={props.onWindow}
      most={most > 0 ? `up to ${busyText(most, metrics[0]!.metric, sampledNs / BINS)}` : ""}
      error={loaded.error}
      paint={paint}
    />
  );
}

/** The most that a part of the time has, of all together. */
export function mostActive(activities: readonly Activity[]): number {
  let most = 0;
  for (let bin = 0; bin < activities[0]!.n; bin++) {
    most = Math.max(most, activities.reduce((sum, one) => sum + one.value[bin]!, 0));
  }
  return most;
}

/** What the highest part of a band comes to: of a time, how many threads at once that is. */
export function busyText(most: number, metric: Metric, binNs: number): string {
  if (metric.unit !== "s") return `${formatQuantity(most, metric.unit)} each`;
  const threads = Number(((most * 1e9) / binNs).toFixed(1));
  return `${threads} ${threads === 1 ? "thread" : "threads"} at once`;
}

/** Draw activities upon each other into a box of so many pixels. */
export function paintActivity(
  pen: CanvasRenderingContext2D,
  activities: readonly Activity[],
  metrics: readonly ShownMetric[],
  [width, height]: readonly [number, number],
): void {
  const most = mostActive(activities) || 1;
  const { n } = activities[0]!;
  const wide = width / n;
  for (let bin = 0; bin < n; bin++) {
    const [x, own] = wholePixels(bin, wide);
    let y = height;
    activities.forEach((activity, at) => {
      const high = ((height - 4) * activity.value[bin]!) / most;
      pen.fillStyle = themeValue(metrics[at]!.isWaiting ? "--line-strong" : "--bar-strong");
      pen.fillRect(x, y - high, own, high);
      y -= high;
    });
  }
}
