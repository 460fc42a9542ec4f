// What differs between two runs, by how much, and how sure that is: what `gnomon compare` says.

import { useEffect, useMemo, useRef } from "preact/hooks";

import { getComparison, type RunTitle } from "./api";
import { Comparison } from "./comparison";
import { useLoaded } from "./data";
import { MetricChoice } from "./picker";
import { ask, go, usePlace } from "./place";
import type { Sight } from "./sight";

const PER = ["", "region", "function", "file", "line", "process", "thread", "rank"] as const;

export function CompareView(sight: Sight & { readonly runs: readonly RunTitle[] }) {
  const { run, runs, baseline } = sight;
  const { asked } = usePlace();
  const per = PER.find((name) => name === asked["per"]) ?? "";
  const others = runs.filter((one) => one.id !== run.id);
  const measure = per ? (asked["measure"] ?? "") : "";
  const found = useLoaded(baseline ? `compare/${baseline.id}/${run.id}/${per}/${measure}` : null, () =>
    getComparison(baseline!.id, run.id, per, measure || undefined),
  );
  const sections = useMemo(
    () => new Set(run.regionKinds.filter((one) => one.is_section).map((one) => one.kind)),
    [run],
  );
  const document = found.value;
  const one = document?.comparisons[0];
  // The choice stays while the document of another metric comes.
  const last = useRef<readonly string[]>([]);
  if (one) last.current = one.place_metrics;
  const known = last.current;
  const isStrange = one !== undefined && measure !== "" && known.length > 0 && !known.includes(measure);
  useEffect(() => {
    if (isStrange) ask({ measure: null });
  }, [isStrange]);
  return (
    <section class="pane compare-view" aria-label="compare">
      <div class="tools">
        <label>
          from
          <select
            value={baseline?.id ?? ""}
            aria-label="baseline"
            onChange={(event) => ask({ vs: event.currentTarget.value || null })}
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
          onClick={() => baseline && go("compare", { run: baseline.id, vs: run.id, node: null })}
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
              onClick={() => ask({ per: name || null })}
            >
              {name ? `by ${name}` : "whole run"}
            </button>
          ))}
        </span>
        {per && known.length > 0 && (
          <MetricChoice
            metrics={sight.metrics.filter((metric) => known.includes(metric.name))}
            chosen={measure || one?.places[0]?.metric || known[0]!}
            onChoose={(name) => ask({ measure: name })}
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
            <button key={other.id} type="button" class="item" onClick={() => ask({ vs: other.id })}>
              <b>{other.title}</b> <small>{other.command}</small>
            </button>
          ))}
        </div>
      )}
      {found.error && <p class="trouble">{found.error}</p>}
      {baseline && (!document || found.waiting) && !found.error && <p class="waiting">comparing</p>}
      {baseline && document && one && !found.waiting && <Comparison key={`${per} ${measure}`} document={document} per={per} sections={sections} />}
    </section>
  );
}
