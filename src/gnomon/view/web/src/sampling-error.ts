// What the number of samples says of how sure a value is.

import type { Metric } from "./api";
import { formatNumber, formatQuantity, plural } from "./format";

/** "± 12 ms (1 404 samples)": the standard error of a sum of samples; nothing for other values. */
export function samplingError(metric: Metric, value: number | null): string | undefined {
  const weight = metric.sampleWeight;
  if (weight === null || value === null || !(value > 0)) return undefined;
  const error = formatQuantity(Number(Math.sqrt(value * weight).toPrecision(2)), metric.unit);
  return `± ${error}: standard error of ${plural(Math.round(value / weight), "sample")}`;
}

/** The same in a few characters: "± 12 ms". */
export function shortSamplingError(metric: Metric, value: number | null): string {
  const weight = metric.sampleWeight;
  if (weight === null || value === null || !(value > 0)) return "";
  return `± ${formatNumber(Number(((100 * Math.sqrt(weight)) / Math.sqrt(value)).toPrecision(2)))} %`;
}
