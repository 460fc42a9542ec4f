// Plots of distributions with uPlot, which is loaded when the first is drawn.

import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";

import { formatNumber, formatQuantity } from "./format";
import { themeValue, useTheme } from "./theme";

const HEIGHT_PX = 190;
const MOST_BINS = 48;
/** Steps between ticks of what is counted: whole numbers. */
const WHOLE_STEPS = Array.from({ length: 27 }, (_, at) => [1, 2, 5][at % 3]! * 10 ** Math.floor(at / 3));

interface Bins {
  readonly middles: number[];
  readonly counts: number[];
  readonly range: [number, number];
}

/** Bins of equal width between two bounds, as many as the square root of the values. */
function binValues(values: readonly number[], low: number, high: number): Bins {
  const n = Math.max(4, Math.min(MOST_BINS, Math.ceil(2 * Math.sqrt(values.length))));
  const width = (high - low) / n || Math.abs(low) / 100 || 1;
  const counts = new Array<number>(n).fill(0);
  for (const value of values) {
    const at = Math.min(n - 1, Math.floor((value - low) / width));
    counts[at] = (counts[at] ?? 0) + 1;
  }
  const middles = counts.map((_, at) => low + (at + 0.5) * width);
  return { middles, counts, range: [low - width / 4, low + (n + 0.25) * width] };
}

function measuredValues(values: Float64Array | null): number[] {
  return values ? Array.from(values).filter((value) => !Number.isNaN(value)) : [];
}

function axis(unit: string, count: boolean): uPlot.Axis {
  return {
    stroke: themeValue("--dim"),
    font: `11px ${themeValue("--sans")}`,
    grid: { stroke: themeValue("--line"), width: 1 },
    ticks: { stroke: themeValue("--line"), width: 1, size: 4 },
    values: (_, ticks) => ticks.map((tick) => (count ? (Number.isInteger(tick) ? formatNumber(tick) : "") : formatQuantity(tick, unit))),
    size: count ? 44 : 32,
    space: count ? 24 : 92,
    ...(count ? { incrs: WHOLE_STEPS } : {}),
  };
}

type Make = (Plot: typeof uPlot, width: number) => [uPlot.Options, uPlot.AlignedData];

function usePlot(make: Make, depends: readonly unknown[]) {
  const container = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let plot: uPlot | null = null;
    let isMounted = true;
    const watch = new ResizeObserver(() => {
      const width = container.current?.clientWidth ?? 0;
      if (plot && width > 0) plot.setSize({ width, height: HEIGHT_PX });
    });
    void Promise.all([import("uplot"), import("uplot/dist/uPlot.min.css")]).then(([{ default: Plot }]) => {
      if (!isMounted || !container.current) return;
      const [options, data] = make(Plot, container.current.clientWidth);
      plot = new Plot(options, data, container.current);
      watch.observe(container.current);
    });
    return () => {
      isMounted = false;
      watch.disconnect();
      plot?.destroy();
    };
  }, depends);
  return container;
}

interface HistogramProps {
  readonly values: Float64Array;
  readonly unit: string;
  /** The values of the baseline. */
  readonly before: Float64Array | null;
}

export function Histogram({ values, unit, before }: HistogramProps) {
  const theme = useTheme();
  const container = usePlot(
    (Plot, width) => {
      const own = measuredValues(values);
      const other = measuredValues(before);
      const all = [...own, ...other];
      const low = all.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY);
      const high = all.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
      const bins = binValues(own, low, high);
      const bars = Plot.paths.bars!({ size: [0.92, 100], align: 0 });
      const series: uPlot.Series[] = [
        {},
        { label: "locations", paths: bars, fill: themeValue("--bar"), stroke: themeValue("--bar-strong"), width: 1, points: { show: false } },
      ];
      const data: (number | null)[][] = [bins.middles, bins.counts];
      if (other.length > 0) {
        const n = bins.middles.length;
        const size = (high - low) / n || 1;
        const counts = new Array<number>(n).fill(0);
        for (const value of other) {
          const at = Math.min(n - 1, Math.max(0, Math.floor((value - low) / size)));
          counts[at] = (counts[at] ?? 0) + 1;
        }
        series.push({ label: "the other run", paths: Plot.paths.bars!({ size: [0.5, 60], align: 0 }), stroke: themeValue("--accent-strong"), width: 2, points: { show: false } });
        data.push(counts);
      }
      return [
        {
          width,
          height: HEIGHT_PX,
          cursor: { show: false },
          legend: { show: false },
          scales: { x: { time: false, range: bins.range }, y: { range: (_, __, most) => [0, most * 1.1] } },
          axes: [axis(unit, false), axis("", true)],
          series,
        },
        data as unknown as uPlot.AlignedData,
      ];
    },
    [values, unit, before, theme],
  );
  return (
    <figure>
      <div ref={container} class="plot" role="img" aria-label="histogram of the values of all locations" />
      <figcaption>number of locations by value</figcaption>
    </figure>
  );
}

interface LocationPlotProps {
  readonly values: Float64Array;
  readonly unit: string;
  readonly names: readonly string[];
  readonly highlighted: number;
}

/** The value of every location in ascending order: a level line means balance. */
export function LocationPlot({ values, unit, names, highlighted }: LocationPlotProps) {
  const theme = useTheme();
  const order = Array.from(values.keys())
    .filter((at) => !Number.isNaN(values[at]!))
    .sort((a, b) => values[a]! - values[b]!);
  const container = usePlot(
    (Plot, width) => {
      const marked = order.indexOf(highlighted);
      const light = order.map((_, at) => (at === marked ? values[order[at]!]! : null));
      return [
        {
          width,
          height: HEIGHT_PX,
          cursor: { show: false },
          legend: { show: false },
          scales: {
            x: { time: false, range: [-0.5, Math.max(order.length - 0.5, 0.5)] },
            y: { range: (_, least, most) => [Math.min(0, least), most * 1.08 || 1] },
          },
          axes: [{ ...axis("", true), size: 26, grid: { show: false }, values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) && tick >= 0 && tick < order.length ? formatNumber(tick + 1) : "")) }, { ...axis(unit, false), size: 78, space: 24 }],
          series: [
            {},
            {
              label: "value",
              stroke: themeValue("--bar-strong"),
              fill: themeValue("--bar"),
              width: 1.5,
              paths: order.length <= 64 ? Plot.paths.bars!({ size: [0.8, 40], align: 0 }) : Plot.paths.stepped!({ align: 1 }),
              points: { show: false },
            },
            { label: "lit", stroke: themeValue("--accent-strong"), fill: themeValue("--accent-strong"), points: { show: true, size: 8 }, width: 0 },
          ],
        },
        [order.map((_, at) => at), order.map((at) => values[at]!), light] as uPlot.AlignedData,
      ];
    },
    [values, unit, theme, highlighted],
  );
  return (
    <figure>
      <div ref={container} class="plot" role="img" aria-label="values of all locations, smallest first" />
      <figcaption>
        locations, smallest first
        {order.length > 0 && `: ${names[order[0]!] ?? ""} to ${names[order[order.length - 1]!] ?? ""}`}
      </figcaption>
    </figure>
  );
}
