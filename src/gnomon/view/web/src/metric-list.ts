// Which metrics to show, by name: numbers differ between runs, names are what people know.

import type { Metric } from "./api";

export type Part = "inclusive" | "exclusive";

/** A column of the tree: one metric, with or without what is called from a node. */
export interface Shown {
  readonly metric: Metric;
  readonly part: Part;
}

const BETWEEN = "|";

export function keyOf(shown: Shown): string {
  return `${shown.part === "inclusive" ? "i" : "e"}:${shown.metric.name}`;
}

export function text(shown: readonly Shown[]): string {
  return shown.map(keyOf).join(BETWEEN);
}

/** The columns that an address asks for; those that the run has not are left out. */
export function parse(asked: string, metrics: readonly Metric[]): Shown[] {
  const found: Shown[] = [];
  for (const word of asked.split(BETWEEN)) {
    const metric = metrics.find((one) => one.name === word.slice(2));
    if (metric) found.push({ metric, part: word.startsWith("i:") ? "inclusive" : "exclusive" });
  }
  return found;
}

/**
 * What to show where nobody has asked: the first metric both ways, then others of its kind. Processes
 * and threads have nothing but what runs in them, and few of them a wall time.
 */
export function usual(metrics: readonly Metric[], first: number, room: number, by = "region"): Shown[] {
  const main = metrics.find((metric) => metric.metric === first) ?? metrics[0];
  if (!main) return [];
  const shown: Shown[] = [{ metric: main, part: "inclusive" }];
  const part = main.hasRegions && by !== "rank" ? "exclusive" : "inclusive";
  if (part === "exclusive") shown.push({ metric: main, part });
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
    if (shown.length >= room) break;
    shown.push({ metric, part });
  }
  return shown;
}

/** What a metric is, in a few lines, for a hint. */
export function describe(metric: Metric): string {
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
