// Properties of every view: the run, its metrics and locations, and the baseline run.

import type { Location, Metric, Run, RunTitle } from "./api";

export interface ViewProps {
  readonly run: Run;
  readonly metrics: readonly Metric[];
  readonly locations: readonly Location[];
  readonly baseline: RunTitle | null;
  /** The most source files that are listed before part of a name has to be typed. */
  readonly filesListedMost: number;
}
