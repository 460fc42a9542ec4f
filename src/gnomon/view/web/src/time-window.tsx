// The part of a run's time that views show the values of: all of it, or a window chosen in the band.

import type { Metric } from "./api";
import { formatDuration } from "./format";
import { setParams, useRoute } from "./route";

/** From and to, in nanoseconds since the first sample began. */
export interface TimeWindow {
  readonly begin: number;
  readonly end: number;
}

type Params = Readonly<Record<string, string>>;

/** The window of the address, null for all of the time. */
export function timeWindow(params: Params): TimeWindow | null {
  const parts = /^(\d{1,19})-(\d{1,19})$/.exec(params["window"] ?? "");
  return parts ? { begin: Number(parts[1]), end: Number(parts[2]) } : null;
}

export function setTimeWindow(window: TimeWindow | null): void {
  setParams({ window: window && `${Math.floor(window.begin)}-${Math.ceil(window.end)}`, frame: null, zoom: null });
}

/** The number under which the server has what a run had within the window of the address. */
export function windowedId(id: string, params: Params): string {
  const window = timeWindow(params);
  return window ? `${id}@${window.begin}-${window.end}` : id;
}

/** The number of the run with all of its time. */
export function wholeId(id: string): string {
  return id.replace(/@.*/, "");
}

interface Props {
  /** How long the run was sampled; absent where that is not known. */
  readonly sampledNs?: number;
  /** What there are values of within the window. */
  readonly metrics?: readonly Metric[];
}

/** Says that what is shown is of a part of the time, and of what; nothing for all of it. */
export function WindowBar({ sampledNs, metrics }: Props) {
  const { params } = useRoute();
  const window = timeWindow(params);
  if (!window) return null;
  return (
    <p class="window-bar" role="status">
      <span>
        {formatDuration(window.begin)} to {formatDuration(window.end)}
        {sampledNs ? ` of ${formatDuration(sampledNs)}` : ""}
        {metrics && `, of what has times: ${metrics.map((metric) => metric.name).join(", ")}`}
      </span>
      <button type="button" class="quiet" onClick={() => setTimeWindow(null)}>
        All of the time
      </button>
    </p>
  );
}
