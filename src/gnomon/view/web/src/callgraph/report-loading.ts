// Reports of a call graph from the server: when they are asked for, and ahead, while nothing else is to do.

import { getReport, type CallGraphReport, type ReportKind, type ReportQuery } from "../api";
import { cached } from "../api-cache";
import { REPORT_TITLES } from "./report-rows";

/** After so long reports are loaded ahead, one after the other. */
const AHEAD_MS = 2500;

export function reportKey(runId: string, kind: ReportKind, query: ReportQuery): string {
  return `${runId}/report/${kind}/${JSON.stringify(query)}`;
}

/** Load all reports, so that each opens at once; returns what ends that. */
export function loadReportsAhead(runId: string, query: ReportQuery): () => void {
  const kinds = REPORT_TITLES.map(([kind]) => kind);
  const next = (): void => {
    const kind = kinds.shift();
    if (!kind) return;
    const report: Promise<CallGraphReport> = cached(reportKey(runId, kind, query), () => getReport(runId, kind, query));
    // Whoever opens it is told what is wrong.
    const go = () => void (timer = window.setTimeout(next, 50));
    report.then(go, go);
  };
  let timer = window.setTimeout(next, AHEAD_MS);
  return () => {
    kinds.length = 0;
    window.clearTimeout(timer);
  };
}
