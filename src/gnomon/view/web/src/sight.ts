// What every view is given: the run, its metrics and places, and the run it is compared with.

import type { Location, Metric, Run, RunTitle } from "./api";

export interface Sight {
  readonly run: Run;
  readonly metrics: readonly Metric[];
  readonly locations: readonly Location[];
  readonly baseline: RunTitle | null;
  /** So many source files are listed before the reader is asked for a part of the name. */
  readonly asking: number;
}
