// One metric over ranks and threads: as a heat map, as a distribution, with its extremes.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import {
  getLocations,
  getMetrics,
  getNode,
  getSpread,
  type Grouping,
  type Metric,
  type Spread,
  type Summary,
} from "./api";
import { cached, useLoaded, useTree } from "./api-cache";
import { formatChange, plural, formatNumber, formatQuantity } from "./format";
import { HeatMap } from "./heat-map";
import { HowBadge, HowLegend, howMeaning } from "./how-badge";
import { useShortcuts } from "./shortcuts";
import { describeMetric, type ValueKind } from "./metric-columns";
import { TopContributors } from "./top-contributors";
import { groupMetrics } from "./metric-picker";
import { setParams, useRoute } from "./route";
import { Histogram, LocationPlot } from "./histograms";
import { locationTitles } from "./location-picker";
import { SearchBox } from "./search-box";
import type { ViewProps } from "./view-props";
import { SplitPane } from "./split-pane";
import { useTheme } from "./theme";
import { defaultGrouping } from "./tree-view";
import { InlinedChoice } from "./inlined-choice";

const ENOUGH_FOR_BINS = 8;

export function MetricsView(props: ViewProps) {
  const { run, metrics } = props;
  const { params } = useRoute();
  const groupings = run.groupings.map((grouping) => grouping.by);
  const by = groupings.find((name) => name === params["by"]) ?? defaultGrouping(props);
  const tree = useTree(run.id, by);
  // What was asked for by "Ranks and threads"; whoever just comes here sees the whole run.
  const requestedNode = params["of"] === undefined ? -1 : Number(params["of"]);
  const node = tree.value && requestedNode >= 0 && requestedNode < tree.value.n ? requestedNode : (tree.value?.children(-1)[0] ?? 0);
  const isWhole = !tree.value || tree.value.parent(node) < 0;
  const metric =
    metrics.find((one) => one.name === params["metric"]) ??
    metrics.find((one) => one.metric === run.firstMetric) ??
    metrics[0];
  const part: ValueKind = params["part"] === "exclusive" ? "exclusive" : "inclusive";

  useShortcuts({
    e: () => setParams({ part: part === "exclusive" ? null : "exclusive" }),
  });
  if (!metric) return <p class="nothing">This run has no metrics.</p>;
  if (tree.error) return <p class="trouble">{tree.error}</p>;
  return (
    <div class="metrics-view">
      <SplitPane
        name="metrics"
        start={0.34}
        first={<MetricList {...props} by={by} node={node} metric={metric} part={part} />}
        second={
          <section class="pane metric-pane" aria-label="metric">
            <div class="tools">
              <span class="segments" role="group" aria-label="part">
                {(["inclusive", "exclusive"] as const).map((name) => (
                  <button
                    key={name}
                    type="button"
                    class={name === part ? "is-here" : ""}
                    aria-pressed={name === part}
                    title={`${name === "inclusive" ? "with all that it calls" : "without what it calls"} (e)`}
                    onClick={() => setParams({ part: name === "exclusive" ? name : null })}
                  >
                    {name}
                  </button>
                ))}
              </span>
              <InlinedChoice run={run} />
              <span class="node-name" title={tree.value?.path(node).map((at) => tree.value!.name(at)).join(" › ")}>
                {tree.value ? tree.value.name(node) : ""}
              </span>
              {!isWhole && (
                <button type="button" class="quiet" onClick={() => setParams({ of: null })}>
                  Whole run
                </button>
              )}
            </div>
            <MetricPane key={`${by} ${node} ${metric.metric}`} {...props} by={by} node={node} metric={metric} part={part} />
          </section>
        }
      />
    </div>
  );
}

interface MetricProps extends ViewProps {
  readonly by: Grouping;
  readonly node: number;
  readonly metric: Metric;
  readonly part: ValueKind;
}

function MetricList(props: MetricProps) {
  const { run, metrics, by, node, metric, part, baseline } = props;
  const [word, setWord] = useState("");
  const details = useLoaded(`${run.id}/node/${by}/${node}/`, () => getNode(run.id, { by, node }));
  const before = useBaselineTotals(props);
  const groups = groupMetrics(metrics, word);
  const flat = groups.flatMap(([, members]) => members);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => list.current?.focus({ preventScroll: true }), []);
  useEffect(() => list.current?.querySelector(".is-here")?.scrollIntoView({ block: "nearest" }), [metric.metric]);
  const step = (to: number) => {
    const at = flat.findIndex((one) => one.metric === metric.metric);
    const next = flat[Math.max(0, Math.min(flat.length - 1, at + to))];
    if (next) setParams({ metric: next.name });
  };
  return (
    <section class="pane list-pane" aria-label="metrics">
      <div class="tools">
        <SearchBox
          value={word}
          placeholder="find a metric"
          label="find a metric"
          onInput={setWord}
          onEnter={() => flat[0] && word && setParams({ metric: flat[0].name })}
          onLeave={() => list.current?.focus()}
        />
      </div>
      <div
        ref={list}
        class="metric-list"
        tabIndex={0}
        role="listbox"
        aria-label="metrics"
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") step(1);
          else if (event.key === "ArrowUp") step(-1);
          else return;
          event.preventDefault();
        }}
      >
        {groups.map(([group, members]) => (
          <section key={group} role="group" aria-label={group}>
            <h4 role="presentation">{group}</h4>
            {members.map((one) => {
              const found = details.value?.values.find((value) => value.metric === one.metric);
              const value = found?.[part] ?? null;
              const was = before?.get(one.name) ?? null;
              return (
                <button
                  key={one.metric}
                  type="button"
                  role="option"
                  tabIndex={-1}
                  aria-selected={one.metric === metric.metric}
                  class={one.metric === metric.metric ? "metric-row is-here" : "metric-row"}
                  title={describeMetric(one)}
                  onClick={() => setParams({ metric: one.name })}
                >
                  <span class="metric-name">
                    {one.name}
                    {one.dilated && <small> of the emulation</small>}
                  </span>
                  <span class={value === null ? "number is-missing" : "number"}>
                    {value === null ? "·" : formatQuantity(value, one.unit)}
                  </span>
                  {one.how ? <HowBadge how={one.how} /> : <span />}
                  {baseline && (
                    <span class="change">{value !== null && was ? formatChange(value / was) : ""}</span>
                  )}
                </button>
              );
            })}
          </section>
        ))}
      </div>
      <footer class="status">
        <span>{plural(flat.length, "metric")}</span>
        <HowLegend hows={metrics.map((one) => one.how)} />
      </footer>
    </section>
  );
}

/** The baseline's values by metric name, when the whole program is selected. */
function useBaselineTotals({ baseline, by, node, part }: MetricProps): Map<string, number> | null {
  const key = baseline && node === 0 ? `${baseline.id}/totals/${by}/${part}` : null;
  const loaded = useLoaded(key, async () => {
    const [metrics, root] = await Promise.all([
      cached(`${baseline!.id}/metrics`, () => getMetrics(baseline!.id)),
      getNode(baseline!.id, { by, node: 0 }),
    ]);
    const names = new Map(metrics.map((metric) => [metric.metric, metric.name]));
    return new Map(root.values.map((one) => [names.get(one.metric) ?? "", one[part] ?? 0]));
  });
  return loaded.value;
}

function MetricPane(props: MetricProps) {
  const { run, locations, by, node, metric, part, baseline } = props;
  useTheme();
  const { params } = useRoute();
  const spread = useLoaded(`${run.id}/spread/${by}/${node}/${metric.metric}`, () =>
    getSpread(run.id, { by, node, metric: metric.metric }),
  );
  const other = useBaselineSpread(props);
  const [highlighted, setHighlighted] = useState(-1);
  const value = spread.value;
  const values = value?.[part] ?? null;
  const names = useMemo(() => (value ? cellTitles(value, locations) : []), [value, locations]);
  const stretched = params["stretch"] === "1";
  return (
    <div class="one">
      <h2>
        {metric.name} <HowBadge how={metric.how} />
        <small>{metric.how || "mixed"}</small>
      </h2>
      {metric.description && <p class="description">{metric.description}</p>}
      {metric.formula && (
        <p class="formula" title="how it is worked out">
          = {metric.formula}
        </p>
      )}
      <p class="description">
        {[
          howMeaning(metric.how),
          metric.component && `component ${metric.component}`,
          metric.domain && `domain ${metric.domain}`,
          metric.scope && `per ${metric.scope}`,
          metric.worse && `${metric.worse} is worse`,
        ]
          .filter(Boolean)
          .join("; ")}
      </p>
      {spread.error && <p class="trouble">{spread.error}</p>}
      {!value && !spread.error && <p class="waiting">reading</p>}
      {value && values && (
        <>
          {value.summary[part] === null ? (
            <TopContributors run={run.id} by={by} metric={metric} part={part} />
          ) : (
            <>
              <SummaryLine
                summary={value.summary[part]!}
                before={other?.summary[part] ?? null}
                baseline={baseline?.title ?? ""}
                unit={value.unit}
                how={value.how}
                additive={metric.additive && !metric.atOnce}
                title={(location) => names[value.location.indexOf(location)] ?? `location ${location}`}
                onPlace={(location) => setHighlighted(value.location.indexOf(location))}
              />
              {values.length > 1 && <section class="figure">
                <h3>
                  {heatMapTitle(value)}
                  <label class="toggle" title="colours from min to max instead of from 0">
                    <input
                      type="checkbox"
                      checked={stretched}
                      onChange={() => setParams({ stretch: stretched ? null : "1" })}
                    />
                    stretch colours
                  </label>
                </h3>
                <HeatMap spread={value} values={values} names={names} stretched={stretched} highlighted={highlighted} onHighlight={setHighlighted} />
              </section>}
              {values.length > 1 && (
                <section class="figure">
                  <h3>distribution over {formatNumber(values.filter((one) => one === one).length)} locations</h3>
                  <div class="plots">
                    {values.length >= ENOUGH_FOR_BINS && (
                      <Histogram values={values} unit={value.unit} before={other?.[part] ?? null} />
                    )}
                    <LocationPlot values={values} unit={value.unit} names={names} highlighted={highlighted} />
                  </div>
                </section>
              )}
            </>
          )}
        </>
      )}
    </div>
  );
}

/** The baseline's distribution, when the whole program is selected. */
function useBaselineSpread({ baseline, by, node, metric }: MetricProps): Spread | null {
  const key = baseline && node === 0 ? `${baseline.id}/spread/${by}/0/of ${metric.name}` : null;
  const loaded = useLoaded(key, async () => {
    const metrics = await cached(`${baseline!.id}/metrics`, () => getMetrics(baseline!.id));
    const same = metrics.find((one) => one.name === metric.name && one.unit === metric.unit);
    await cached(`${baseline!.id}/locations`, () => getLocations(baseline!.id));
    return same ? getSpread(baseline!.id, { by, node: 0, metric: same.metric }) : null;
  });
  return loaded.value;
}

function heatMapTitle({ rows, columns, rowNames, columnNames }: Spread): string {
  if (rowNames.length <= 1) return columns ? `by ${columns}` : "by location";
  if (columnNames.length <= 1 || !columns) return rows ? `by ${rows}` : "by location";
  return `${rows} by ${columns}`;
}

function cellTitles(spread: Spread, locations: ViewProps["locations"]): string[] {
  const known = locationTitles(locations);
  return Array.from(spread.location, (location) => known.get(location) ?? `location ${location}`);
}

interface SummaryProps {
  readonly summary: Summary;
  readonly before: Summary | null;
  readonly baseline: string;
  readonly unit: string;
  readonly how: string;
  /** Whether values of locations add up; ratios do not. */
  readonly additive: boolean;
  readonly title: (location: number) => string;
  readonly onPlace: (location: number) => void;
}

function SummaryLine(props: SummaryProps) {
  const { summary, before, unit, how, title } = props;
  const isOne = summary.places === 1;
  const all: [string, number | null, number, number | null | undefined][] = [
    ["min", summary.min, summary.minLocation, before?.min],
    ["median", summary.median, summary.medianLocation, before?.median],
    ["max", summary.max, summary.maxLocation, before?.max],
    ["mean", summary.mean, -1, before?.mean],
    ["total", summary.total, -1, before?.total],
    ["deviation", summary.deviation, -1, before?.deviation],
  ];
  const cells = all.filter(([name]) => (isOne ? name === "total" : props.additive || name !== "total"));
  return (
    <dl class="summary">
      {cells.map(([name, value, location, was]) => (
        <div key={name}>
          <dt>{isOne ? title(summary.minLocation) : name}</dt>
          <dd>
            {formatQuantity(value ?? Number.NaN, unit)} <HowBadge how={how} />
          </dd>
          {location >= 0 && summary.places > 1 && (
            <dd>
              <button type="button" class="link" onClick={() => props.onPlace(location)} title="show it in the figures">
                {title(location)}
              </button>
            </dd>
          )}
          {was !== undefined && was !== null && (
            <dd class="change" title={`${props.baseline}: ${formatQuantity(was, unit)}`}>
              {was !== 0 && value !== null ? formatChange(value / was) : ""}
            </dd>
          )}
        </div>
      ))}
      {summary.imbalance !== null && summary.places > 1 && (
        <div title="the max over the mean, less 1: what perfect balance would save">
          <dt>imbalance</dt>
          <dd>{formatNumber(100 * summary.imbalance)} %</dd>
        </div>
      )}
    </dl>
  );
}
