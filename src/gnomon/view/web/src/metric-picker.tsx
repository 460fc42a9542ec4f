// Selects the metrics that are shown.

import { useState } from "preact/hooks";

import type { Metric } from "./api";
import { HowBadge } from "./how-badge";
import { Menu } from "./menu";
import { describeMetric, columnKey, serializeColumns, type ValueKind, type MetricColumn } from "./metric-columns";
import { setParams } from "./route";

function FindBox({ word, onInput }: { word: string; onInput: (word: string) => void }) {
  return (
    <input
      type="search"
      placeholder="find a metric"
      aria-label="find a metric"
      value={word}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  );
}

interface ChoiceProps {
  readonly metrics: readonly Metric[];
  readonly chosen: string;
  readonly onChoose: (name: string) => void;
}

/** Selects one metric, for views that show one at a time. */
export function MetricChoice({ metrics, chosen, onChoose }: ChoiceProps) {
  const [word, setWord] = useState("");
  return (
    <Menu class="picker" label={chosen} hint="choose the metric">
      {(close) => (
        <>
          <FindBox word={word} onInput={setWord} />
          <div class="picker-list">
            {groupMetrics(metrics, word).map(([group, members]) => (
              <section key={group}>
                <h4>{group}</h4>
                {members.map((metric) => (
                  <button
                    key={metric.metric}
                    type="button"
                    class={metric.name === chosen ? "item is-here" : "item"}
                    aria-pressed={metric.name === chosen}
                    title={describeMetric(metric)}
                    onClick={() => {
                      close();
                      onChoose(metric.name);
                    }}
                  >
                    {metric.name} {metric.how && <HowBadge how={metric.how} />}
                  </button>
                ))}
              </section>
            ))}
          </div>
        </>
      )}
    </Menu>
  );
}

interface Props {
  readonly metrics: readonly Metric[];
  readonly shown: readonly MetricColumn[];
}

/** Metrics that contain a word, by group. */
export function groupMetrics(metrics: readonly Metric[], word: string): [string, Metric[]][] {
  const groups = new Map<string, Metric[]>();
  const lower = word.toLowerCase();
  for (const metric of metrics) {
    if (!`${metric.name} ${metric.description}`.toLowerCase().includes(lower)) continue;
    const group = groups.get(metric.group);
    if (group) group.push(metric);
    else groups.set(metric.group, [metric]);
  }
  return [...groups];
}

export function MetricPicker({ metrics, shown }: Props) {
  const [word, setWord] = useState("");
  const keys = new Set(shown.map(columnKey));
  const toggle = (metric: Metric, part: ValueKind) => {
    const one = { metric, part };
    const rest = shown.filter((other) => columnKey(other) !== columnKey(one));
    const next = rest.length < shown.length ? rest : [...shown, one];
    if (next.length > 0) setParams({ columns: serializeColumns(next) });
  };
  return (
    <Menu class="picker" label={`Metrics (${new Set(shown.map((one) => one.metric)).size})`} hint="choose the columns">
      {() => (
        <>
          <FindBox word={word} onInput={setWord} />
          <div class="picker-list">
            <div class="picker-head">
              <span />
              <span title="with all that it calls">incl.</span>
              <span title="without what it calls">excl.</span>
            </div>
            {groupMetrics(metrics, word).map(([group, members]) => (
              <section key={group}>
                <h4>{group}</h4>
                {members.map((metric) => (
                  <div class="picker-row" key={metric.metric} title={describeMetric(metric)}>
                    <span class="picker-name">
                      {metric.name} {metric.how && <HowBadge how={metric.how} />}
                      {!metric.hasRegions && <small>whole program</small>}
                    </span>
                    {(["inclusive", "exclusive"] as const).map((part) => (
                      <input
                        key={part}
                        type="checkbox"
                        aria-label={`${metric.name} ${part}`}
                        checked={keys.has(columnKey({ metric, part }))}
                        onChange={() => toggle(metric, part)}
                      />
                    ))}
                  </div>
                ))}
              </section>
            ))}
          </div>
          <button type="button" class="quiet" onClick={() => setParams({ columns: null })}>
            The usual ones
          </button>
        </>
      )}
    </Menu>
  );
}
