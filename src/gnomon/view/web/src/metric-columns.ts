// Which metrics the tree shows as columns. The URL names them: their numbers differ between runs.

import type { Metric } from "./api";

export type ValueKind = "inclusive" | "exclusive";

/** A column of the tree: inclusive or exclusive values of one metric. */
export interface MetricColumn {
  readonly metric: Metric;
  readonly part: ValueKind;
}

const SEPARATOR = "|";
const MPI_COLUMNS = ["MPI time", "MPI bytes sent", "MPI bytes received", "MPI waiting time"];
const IO_COLUMNS = ["I/O time", "I/O bytes", "I/O bytes asked"];

export function columnKey(shown: MetricColumn): string {
  return `${shown.part === "inclusive" ? "i" : "e"}:${shown.metric.name}`;
}

export function serializeColumns(shown: readonly MetricColumn[]): string {
  return shown.map(columnKey).join(SEPARATOR);
}

/** The columns named in a URL parameter, without those that the run does not have. */
export function parseColumns(param: string, metrics: readonly Metric[]): MetricColumn[] {
  const columns: MetricColumn[] = [];
  for (const word of param.split(SEPARATOR)) {
    const metric = metrics.find((one) => one.name === word.slice(2));
    if (metric) columns.push({ metric, part: word.startsWith("i:") ? "inclusive" : "exclusive" });
  }
  return columns;
}

/**
 * The default columns: the first metric, inclusive and exclusive, then similar ones. Processes
 * and threads have nothing but what runs in them, and few of them a wall time.
 */
export function defaultColumns(metrics: readonly Metric[], first: number, room: number, by = "region"): MetricColumn[] {
  const main = metrics.find((metric) => metric.metric === first) ?? metrics[0];
  if (!main) return [];
  const [component, names] = by === "routine" ? ["mpi", MPI_COLUMNS] : ["io", main.component === "io" ? IO_COLUMNS : []];
  const ofCalls = names.length > 0 ? metrics.filter((metric) => metric.component === component && metric.hasRegions) : [];
  if (ofCalls.length > 0) {
    // Calls have what they did as a whole, and functions nothing of their own.
    const named = names.flatMap((name) => ofCalls.find((metric) => metric.name === name) ?? []);
    return (named.length > 0 ? named : ofCalls).slice(0, room).map((metric) => ({ metric, part: "inclusive" }));
  }
  const columns: MetricColumn[] = [{ metric: main, part: "inclusive" }];
  const part = main.hasRegions && by !== "rank" ? "exclusive" : "inclusive";
  if (part === "exclusive") columns.push({ metric: main, part });
  const others = metrics.filter((metric) => metric !== main && metric.hasRegions === main.hasRegions);
  // Beside what is emulated, times of the emulator come last.
  const isKin = (metric: Metric) => !main.reproducible || metric.component === main.component;
  // What a component counted is of every thread and section: CPU time before user and system time.
  const marks = [
    isKin,
    (metric: Metric) => metric.additive,
    (metric: Metric) => metric.unit === main.unit,
    (metric: Metric) => metric.component !== "",
  ];
  const difference = (a: Metric, b: Metric) =>
    marks.map((has) => Number(has(b)) - Number(has(a))).find((one) => one !== 0) ?? 0;
  others.sort(difference);
  for (const metric of others) {
    if (columns.length >= room) break;
    columns.push({ metric, part });
  }
  return columns;
}

/** A description of a metric in a few lines, for a tooltip. */
export function describeMetric(metric: Metric): string {
  const lines = [metric.name];
  if (metric.description) lines.push(metric.description);
  if (metric.formula) lines.push(`= ${metric.formula}`);
  const facts = [
    metric.unit && `unit ${metric.unit}`,
    metric.how && metric.how,
    metric.component && `component ${metric.component}`,
    metric.domain && `domain ${metric.domain}`,
    metric.scope && `per ${metric.scope}`,
  ].filter(Boolean);
  lines.push(facts.join(", "));
  return lines.join("\n");
}
