// The comparison of two runs, as `gnomon compare` computes it.

import { useEffect, useMemo, useRef } from "preact/hooks";

import { getComparison, type RunTitle } from "./api";
import { ComparisonTable } from "./comparison-table";
import { useLoaded } from "./api-cache";
import { MetricChoice } from "./metric-picker";
import { setParams, navigate, useRoute } from "./route";
import type { ViewProps } from "./view-props";

const PER = ["", "region", "function", "file", "line", "process", "thread", "rank"] as const;

export function CompareView(props: ViewProps & { readonly runs: readonly RunTitle[] }) {
  const { run, runs, baseline } = props;
  const { params } = useRoute();
  const per = PER.find((name) => name === params["per"]) ?? "";
  const others = runs.filter((one) => one.id !== run.id);
  const measure = per ? (params["measure"] ?? "") : "";
  const loaded = useLoaded(baseline ? `compare/${baseline.id}/${run.id}/${per}/${measure}` : null, () =>
    getComparison(baseline!.id, run.id, per, measure || undefined),
  );
  const sections = useMemo(
    () => new Set(run.regionKinds.filter((one) => one.is_section).map((one) => one.kind)),
    [run],
  );
  const document = loaded.value;
  const comparison = document?.comparisons[0];
  // The choice stays while the document of another metric comes.
  const lastMeasures = useRef<readonly string[]>([]);
  if (comparison) lastMeasures.current = comparison.place_metrics;
  const measures = lastMeasures.current;
  const isStrange = comparison !== undefined && measure !== "" && measures.length > 0 && !measures.includes(measure);
  useEffect(() => {
    if (isStrange) setParams({ measure: null });
  }, [isStrange]);
  return (
    <section class="pane compare-view" aria-label="compare">
      <div class="tools">
        <label>
          from
          <select
            value={baseline?.id ?? ""}
            aria-label="baseline"
            onChange={(event) => setParams({ vs: event.currentTarget.value || null })}
          >
            <option value="">choose a run</option>
            {others.map((other) => (
              <option key={other.id} value={other.id}>
                {other.title}
              </option>
            ))}
          </select>
        </label>
        <button
          type="button"
          class="quiet"
          disabled={!baseline}
          title="compare the other way round"
          onClick={() => baseline && navigate("compare", { run: baseline.id, vs: run.id, node: null })}
        >
          Swap
        </button>
        <span class="compared-with">
          to <b>{run.title}</b>
        </span>
        <span class="segments" role="group" aria-label="compare">
          {PER.map((name) => (
            <button
              key={name}
              type="button"
              class={name === per ? "is-here" : ""}
              aria-pressed={name === per}
              onClick={() => setParams({ per: name || null })}
            >
              {name ? `by ${name}` : "whole run"}
            </button>
          ))}
        </span>
        {per && measures.length > 0 && (
          <MetricChoice
            metrics={props.metrics.filter((metric) => measures.includes(metric.name))}
            chosen={measure || comparison?.places[0]?.metric || measures[0]!}
            onChoose={(name) => setParams({ measure: name })}
          />
        )}
      </div>
      {others.length === 0 && (
        <div class="nothing">
          <p>Only one run is open. Open another one (o) to compare it with this one.</p>
        </div>
      )}
      {others.length > 0 && !baseline && (
        <div class="nothing">
          <p>Choose the run to compare with: differences are of {run.title} against it.</p>
          {others.map((other) => (
            <button key={other.id} type="button" class="item" onClick={() => setParams({ vs: other.id })}>
              <b>{other.title}</b> <small>{other.command}</small>
            </button>
          ))}
        </div>
      )}
      {loaded.error && <p class="trouble">{loaded.error}</p>}
      {baseline && (!document || loaded.waiting) && !loaded.error && <p class="waiting">comparing</p>}
      {baseline && document && comparison && !loaded.waiting && <ComparisonTable key={`${per} ${measure}`} document={document} per={per} sections={sections} />}
    </section>
  );
}
