// Times in ticks of 0.01 s, as gprof and Xprofiler count them: beside the lines and instructions of a function.

import { useState } from "preact/hooks";

import type { Metric, Run } from "./api";
import { formatNumber, formatQuantity } from "./format";
import { loadPreference, savePreference } from "./preferences";

export const TICKS = "ticks";
const TICK_SECONDS = 0.01;

export function hasTicks(metric: Metric | undefined): boolean {
  return metric?.unit === "s" && metric.how === "sampled";
}

/** Whether times are in ticks: of a gmon.out file from the start, of other runs when that is chosen. */
export function useTicks(run: Run): [boolean, (inTicks: boolean) => void] {
  const isGprof = run.head["producer"] === "gprof";
  const key = isGprof ? "ticks.gprof" : "ticks";
  const [inTicks, set] = useState(() => loadPreference(key, isGprof ? "yes" : "no") === "yes");
  return [
    inTicks,
    (next) => {
      set(next);
      savePreference(key, next ? "yes" : "no");
    },
  ];
}

export function TicksChoice({ inTicks, onChange }: { inTicks: boolean; onChange: (inTicks: boolean) => void }) {
  return (
    <label title="times in ticks of 0.01 s, as gprof and Xprofiler count them">
      <input type="checkbox" checked={inTicks} onChange={(event) => onChange(event.currentTarget.checked)} />
      ticks
    </label>
  );
}

/** A number of ticks as the terminal has it: a bin that two functions share is divided between them. */
export function formatTicks(ticks: number): string {
  return formatNumber(Math.round(100 * ticks) / 100);
}

/** A value of a metric for a narrow column, whose head says what is in ticks. */
export function formatValue(value: number, metric: Metric, inTicks: boolean): string {
  return inTicks && hasTicks(metric) ? formatTicks(value / TICK_SECONDS) : formatQuantity(value, metric.unit);
}
