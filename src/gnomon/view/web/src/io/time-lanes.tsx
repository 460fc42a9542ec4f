// What happened beside the requests, on their time axis: CPU time and waits, bytes, calls on files, MPI.

import { useEffect, useRef } from "preact/hooks";

import { getActivity, getCallRates, type Activity, type CallRates, type Layer, type Metric } from "../api";
import { useLoaded } from "../api-cache";
import { scaledContext } from "../canvas";
import { busyText, mostActive, paintActivity, type ShownMetric } from "../flame/activity-band";
import { chosenMetrics } from "../flame/picture-state";
import { themeValue, useTheme } from "../theme";
import type { TimeWindow } from "../time-window";
import type { ViewProps } from "../view-props";
import { mostText, paintRates, type Lane } from "./calls-band";
import { RIGHT_PX, type Plot } from "./plot";
import { useDrag } from "./plot-drag";

const LANE_PX = 30;

interface Props extends ViewProps {
  readonly layer: Layer;
  readonly places: readonly number[];
  readonly time: TimeWindow;
  readonly width: number;
  /** Where their time begins, in pixels. */
  readonly left: number;
  readonly onTime: (time: TimeWindow) => void;
}

export function TimeLanes(props: Props) {
  const { run } = props;
  const shown = run.sampledNs > 0 ? sampledMetrics(props) : [];
  return (
    <div class="io-lanes" role="group" aria-label="beside the requests, over the same time">
      {shown.map((one) => (
        <SampleLane {...props} key={one.metric.metric} shown={one} />
      ))}
      <CallLane {...props} kind="io" lane="bytes" title="bytes" />
      <CallLane {...props} kind="io" lane="seconds" title="in I/O calls" />
      {run.tracedCalls.includes("mpi") && <CallLane {...props} kind="mpi" lane="seconds" title="in MPI" />}
    </div>
  );
}

/** The metrics of samples that are shown over time: running and waiting, or the first that has a time. */
function sampledMetrics(props: ViewProps): ShownMetric[] {
  const chosen = chosenMetrics(props.run, props.metrics, undefined);
  if (chosen?.running && chosen.waiting) {
    return [
      { metric: chosen.running, isWaiting: false },
      { metric: chosen.waiting, isWaiting: true },
    ];
  }
  const sampled = (metric: Metric) => metric.sampleWeight !== null;
  const metric = props.metrics.find((one) => one.ofThreads === "running" && sampled(one)) ?? props.metrics.find(sampled);
  return metric ? [{ metric, isWaiting: false }] : [];
}

const bins = (room: number) => Math.max(64, Math.floor((room - RIGHT_PX) / 64) * 64);

function SampleLane(props: Props & { readonly shown: ShownMetric }) {
  const { run, time, width, left, shown } = props;
  const query = { bins: bins(width - left), begin: Math.floor(time.begin), end: Math.ceil(time.end) };
  const { metric } = shown;
  const loaded = useLoaded(`${run.id}/lane/${metric.metric}/${JSON.stringify(query)}`, () =>
    getActivity(run.id, { metric: metric.metric, ...query }),
  );
  const activity: Activity | null = loaded.value;
  const most = activity ? mostActive([activity]) : 0;
  const note = most > 0 ? busyText(most, metric, (query.end - query.begin) / query.bins).replace(" at once", "") : "";
  return (
    <LaneBox
      {...props}
      title={shown.isWaiting ? "waiting" : metric.name}
      note={note}
      paint={(pen, size) => {
        if (!activity) return;
        pen.translate(left, 0);
        paintActivity(pen, [activity], [shown], size);
        pen.translate(-left, 0);
      }}
      drawn={activity}
    />
  );
}

function CallLane(props: Props & { readonly kind: "io" | "mpi"; readonly lane: Lane; readonly title: string }) {
  const { run, layer, places, time, width, left, kind, lane } = props;
  const query = {
    kind, layer, bins: bins(width - left), rows: 1, begin: Math.floor(time.begin), end: Math.ceil(time.end),
    locations: places.length > 0 ? places.join(",") : undefined,
  };
  const loaded = useLoaded(`${run.id}/lane/${JSON.stringify(query)}`, () => getCallRates(run.id, query));
  const rates: CallRates | null = loaded.value;
  return (
    <LaneBox
      {...props}
      note={rates && rates.n > 0 ? mostText(rates, lane) : ""}
      paint={(pen, size) => rates && paintRates(pen, rates, lane, size, left)}
      drawn={rates}
    />
  );
}

interface LaneProps {
  readonly title: string;
  readonly note: string;
  readonly width: number;
  readonly left: number;
  readonly time: TimeWindow;
  readonly onTime: (time: TimeWindow) => void;
  readonly paint: (pen: CanvasRenderingContext2D, size: readonly [number, number]) => void;
  /** What is painted: painted anew when it is another. */
  readonly drawn: unknown;
}

function LaneBox({ title, note, width, left, time, onTime, paint, drawn }: LaneProps) {
  const theme = useTheme();
  const canvas = useRef<HTMLCanvasElement>(null);
  const plot: Plot = {
    left, top: 0, width: Math.max(20, width - left - RIGHT_PX), height: LANE_PX,
    beginNs: time.begin, endNs: time.end, low: 0, high: 1,
  };
  useEffect(() => {
    const pen = scaledContext(canvas.current!, width, LANE_PX);
    paint(pen, [plot.width, LANE_PX]);
    pen.strokeStyle = themeValue("--line");
    pen.strokeRect(left - 0.5, -0.5, plot.width + 1, LANE_PX);
  }, [drawn, width, left, theme]);
  const [box, beginDrag] = useDrag(plot, true, (dragged) => dragged.time && onTime(dragged.time), () => undefined);
  return (
    <div class="io-lane">
      <span class="io-lane-title" style={{ width: `${left - 6}px` }} title={note ? `${title}: up to ${note}` : title}>
        {title}
        {note && <small>{note}</small>}
      </span>
      <canvas ref={canvas} role="img" aria-label={note ? `${title}: up to ${note}` : `${title}: none`} onPointerDown={beginDrag} />
      {box && <span class="io-drag" style={{ left: `${box.x}px`, top: 0, width: `${box.width}px`, height: `${LANE_PX}px` }} />}
    </div>
  );
}
