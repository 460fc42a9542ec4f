// Which metrics have columns.

import { useState } from "preact/hooks";

import type { Metric } from "./api";
import { How } from "./how";
import { Menu } from "./menu";
import { describe, keyOf, text, type Part, type Shown } from "./metric-list";
import { ask } from "./place";

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

/** One metric of several, where a view shows one at a time. */
export function MetricChoice({ metrics, chosen, onChoose }: ChoiceProps) {
  const [word, setWord] = useState("");
  return (
    <Menu class="picker" label={chosen} hint="choose the metric">
      {(close) => (
        <>
          <FindBox word={word} onInput={setWord} />
          <div class="picker-list">
            {grouped(metrics, word).map(([group, members]) => (
              <section key={group}>
                <h4>{group}</h4>
                {members.map((metric) => (
                  <button
                    key={metric.metric}
                    type="button"
                    class={metric.name === chosen ? "item is-here" : "item"}
                    aria-pressed={metric.name === chosen}
                    title={describe(metric)}
                    onClick={() => {
                      close();
                      onChoose(metric.name);
                    }}
                  >
                    {metric.name} {metric.how && <How how={metric.how} />}
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
  readonly shown: readonly Shown[];
}

/** Metrics under their headings, those that a word leaves. */
export function grouped(metrics: readonly Metric[], word: string): [string, Metric[]][] {
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
  const keys = new Set(shown.map(keyOf));
  const toggle = (metric: Metric, part: Part) => {
    const one = { metric, part };
    const rest = shown.filter((other) => keyOf(other) !== keyOf(one));
    const next = rest.length < shown.length ? rest : [...shown, one];
    if (next.length > 0) ask({ columns: text(next) });
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
            {grouped(metrics, word).map(([group, members]) => (
              <section key={group}>
                <h4>{group}</h4>
                {members.map((metric) => (
                  <div class="picker-row" key={metric.metric} title={describe(metric)}>
                    <span class="picker-name">
                      {metric.name} {metric.how && <How how={metric.how} />}
                      {!metric.hasRegions && <small>whole program</small>}
                    </span>
                    {(["inclusive", "exclusive"] as const).map((part) => (
                      <input
                        key={part}
                        type="checkbox"
                        aria-label={`${metric.name} ${part}`}
                        checked={keys.has(keyOf({ metric, part }))}
                        onChange={() => toggle(metric, part)}
                      />
                    ))}
                  </div>
                ))}
              </section>
            ))}
          </div>
          <button type="button" class="quiet" onClick={() => ask({ columns: null })}>
            The usual ones
          </button>
        </>
      )}
    </Menu>
  );
}
