// Values of ranks beside each other: a strip of marks for each value, in an order of the reader's.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { getRanks, type RankValues } from "../api";
import { useLoaded } from "../api-cache";
import { useBoxSize } from "../box-size";
import { formatNumber, formatQuantity, plural } from "../format";
import { HowBadge } from "../how-badge";
import { groupMetrics } from "../metric-picker";
import { Menu } from "../menu";
import { navigate, setParams, useRoute } from "../route";
import { useShortcuts } from "../shortcuts";
import { SplitPane } from "../split-pane";
import { useTheme } from "../theme";
import type { ViewProps } from "../view-props";
import { RankSites } from "./rank-sites";
import { bandAt, bandOf, drawStrip, seriesBands, stripHeight, stripRoom } from "./strip-drawing";

interface Props extends ViewProps {
  readonly choice: ComponentChildren;
}

interface Window {
  readonly begin: number;
  readonly end: number;
}

function parseWindow(text: string | undefined): Window | null {
  const found = /^(\d+)-(\d+)$/.exec(text ?? "");
  if (!found) return null;
  const [begin, end] = [Number(found[1]), Number(found[2])];
  return begin < end ? { begin, end } : null;
}

export function StripView(props: Props) {
  const { run, choice } = props;
  const { params } = useRoute();
  const sort = params["rsort"] ?? "rank";
  const descending = params["rorder"] === "down";
  const part = parseWindow(params["rpart"]);
  const isStretched = params["rstretch"] === "1";
  const [box, width, room] = useBoxSize<HTMLDivElement>();
  const query = {
    series: params["strips"],
    sort,
    order: descending ? ("descending" as const) : ("ascending" as const),
    begin: part?.begin,
    end: part?.end,
    // Room that changes a little asks for no other bands.
    bands: Math.max(64, Math.floor(stripRoom(width) / 64) * 64),
  };
  const key = width > 0 ? `${run.id}/ranks/${JSON.stringify(query)}` : null;
  const loaded = useLoaded(key, () => getRanks(run.id, query));
  const values = loaded.value;
  const location = params["rank"] ? Number(params["rank"]) : -1;
  const [lit, setLit] = useState(-1);
  useEffect(() => setLit(-1), [values]);
  const whole = () => navigate("ranks", { rpart: null });
  useShortcuts({ Backspace: whole, Escape: whole });

  const open = (band: number) => {
    if (!values || band < 0) return;
    const [begin, end] = [values.edges[band]!, values.edges[band + 1]!];
    if (end - begin > 1) navigate("ranks", { rpart: `${begin}-${end}` });
    else setParams({ rank: values.location[band] });
  };
  const picture = (
    <section class="pane strip-pane" aria-label="values of ranks">
      <div class="tools">
        {choice}
        <label class="dim">
          sort by{" "}
          <select value={sort} onChange={(event) => setParams({ rsort: event.currentTarget.value, rpart: null })}>
            <option value="rank">{values?.what ?? "rank"}</option>
            <option value="host">node</option>
            {values?.series.map((one) => (
              <option key={one.key} value={one.key}>
                {one.title}
              </option>
            ))}
          </select>
        </label>
        <button
          type="button"
          class="quiet"
          aria-pressed={descending}
          title="turn the order around"
          onClick={() => setParams({ rorder: descending ? null : "down", rpart: null })}
        >
          {descending ? "descending" : "ascending"}
        </button>
        <StripPicker {...props} values={values} />
        <label class="toggle" title="from the least to the most, instead of from 0">
          <input type="checkbox" checked={isStretched} onChange={() => setParams({ rstretch: isStretched ? null : "1" })} /> stretch
        </label>
        <button type="button" class="quiet" disabled={!part} title="all of them (Backspace)" onClick={whole}>
          All
        </button>
      </div>
      {loaded.error && <p class="trouble">{loaded.error}</p>}
      {!values && !loaded.error && <p class="waiting">reading the values</p>}
      <div class="strip-box" ref={box}>
        {values && values.ranks > 0 && <Strips values={values} size={[width, stripHeight(room, values.series.length)]} isStretched={isStretched} location={location} lit={lit} onLight={setLit} onOpen={open} />}
      </div>
      {values?.ranks === 0 && <p class="waiting">This run has no ranks and no processes with values of their own.</p>}
      {values && values.ranks > 0 && <p class="strip-foot" role="status">{bandText(values, lit)}</p>}
    </section>
  );
  return (
    <SplitPane
      name="strips"
      start={0.62}
      first={picture}
      second={
        <section class="pane list-pane" aria-label="ranks in numbers">
          {values && values.ranks > 0 && <Outliers values={values} location={location} />}
          {location >= 0 && <RankSites {...props} location={location} />}
        </section>
      }
    />
  );
}

function bandTitle(values: RankValues, band: number): string {
  const [begin, end] = [values.edges[band]!, values.edges[band + 1]!];
  const host = values.hosts[values.host[band]!];
  const single = `${values.what} ${values.rank[band]! >= 0 ? values.rank[band] : begin + 1}${host ? ` on ${host}` : ""}`;
  if (end - begin === 1) return single;
  return `${formatNumber(end - begin)} ${values.what === "rank" ? "ranks" : "processes"} from ${single}`;
}

function bandText(values: RankValues, band: number): string {
  if (band < 0 || band >= values.n) {
    const shown = values.edges[values.n]! - values.edges[0]!;
    const bands = shown > values.n ? `, some ${formatNumber(Math.round(shown / values.n))} in each mark: from the least to the most of them, and the median` : "";
    return `${formatNumber(shown)} of ${formatNumber(values.ranks)} ${values.what === "rank" ? "ranks" : "processes"}${bands}`;
  }
  const parts = values.series.map((one, number) => {
    const { least, middle, most } = seriesBands(values, number);
    const quantity = (value: number) => formatQuantity(value, one.unit);
    if (Number.isNaN(middle[band]!)) return `${one.title} not measured`;
    if (values.edges[band + 1]! - values.edges[band]! === 1) return `${one.title} ${quantity(middle[band]!)}`;
    return `${one.title} ${quantity(least[band]!)} to ${quantity(most[band]!)}, median ${quantity(middle[band]!)}`;
  });
  return `${bandTitle(values, band)}: ${parts.join("; ")}`;
}

interface StripsProps {
  readonly values: RankValues;
  /** Pixels of each strip. */
  readonly size: readonly [number, number];
  readonly isStretched: boolean;
  /** Of the chosen rank, -1 for none. */
  readonly location: number;
  readonly lit: number;
  readonly onLight: (band: number) => void;
  readonly onOpen: (band: number) => void;
}

function Strips({ values, size, isStretched, location, lit, onLight, onOpen }: StripsProps) {
  const theme = useTheme();
  const box = useRef<HTMLDivElement>(null);
  const selected = location < 0 ? -1 : selectedBand(values, location);
  useEffect(() => {
    box.current?.querySelectorAll("canvas").forEach((canvas, number) => {
      drawStrip(canvas, values, number, size, isStretched, lit, selected);
    });
  }, [values, size[0], size[1], isStretched, lit, selected, theme]);
  return (
    <div ref={box}>
      {values.series.map((one) => (
        <figure class="strip" key={one.key}>
          <figcaption>
            <b>{one.title}</b> <HowBadge how={one.how} />
            {one.median !== null && <span class="dim">median {formatQuantity(one.median, one.unit)}</span>}
            {one.outliers > 0 && <span class="is-outlier">{plural(one.outliers, "outlier")}</span>}
            {one.median === null && <span class="dim">not measured for single ranks</span>}
          </figcaption>
          <canvas
            tabIndex={0}
            role="img"
            aria-label={`${one.title} of ${plural(values.ranks, values.what)}; arrows move from mark to mark, Enter opens one`}
            onMouseMove={(event) => onLight(bandAt(values, size[0], event.clientX - event.currentTarget.getBoundingClientRect().left))}
            onMouseLeave={() => onLight(-1)}
            onClick={(event) => onOpen(bandAt(values, size[0], event.clientX - event.currentTarget.getBoundingClientRect().left))}
            onKeyDown={(event) => {
              const far = event.shiftKey ? 10 : 1;
              const to = { ArrowRight: lit + far, ArrowLeft: lit - far, Home: 0, End: values.n - 1 }[event.key];
              if (to !== undefined) onLight(Math.max(0, Math.min(values.n - 1, to)));
              else if (event.key === "Enter") onOpen(lit);
              else return;
              event.preventDefault();
            }}
          />
        </figure>
      ))}
    </div>
  );
}

function selectedBand(values: RankValues, location: number): number {
  const single = values.location.indexOf(location);
  if (single >= 0) return single;
  const outlier = values.outlierLocation.indexOf(location);
  return outlier >= 0 ? bandOf(values, values.outlierPlace[outlier]!) : -1;
}

function StripPicker({ metrics, values }: ViewProps & { readonly values: RankValues | null }) {
  const shown = values?.series.map((one) => one.key) ?? [];
  const toggle = (key: string) => {
    const next = shown.includes(key) ? shown.filter((one) => one !== key) : [...shown, key];
    if (next.length > 0) setParams({ strips: next.join(",") });
  };
  return (
    <Menu class="picker" label={`Values (${shown.length})`} hint="choose the strips">
      {() => (
        <>
          <div class="picker-list">
            {groupMetrics(metrics, "").map(([group, members]) => (
              <section key={group}>
                <h4>{group}</h4>
                {members.map((metric) => (
                  <label class="picker-row" key={metric.metric}>
                    <span class="picker-name">{metric.name}</span>
                    <input
                      type="checkbox"
                      checked={shown.includes(String(metric.metric))}
                      onChange={() => toggle(String(metric.metric))}
                    />
                  </label>
                ))}
              </section>
            ))}
          </div>
          <button type="button" class="quiet" onClick={() => setParams({ strips: null })}>
            The usual ones
          </button>
        </>
      )}
    </Menu>
  );
}

/** Of each value: those farthest from the median. */
const LISTED = 12;

function Outliers({ values, location }: { values: RankValues; location: number }) {
  const all = Array.from(values.outlierPlace, (_, at) => at);
  const before = new Map<number, number>();
  const rows = all.filter((at) => {
    const count = (before.get(values.outlierSeries[at]!) ?? 0) + 1;
    before.set(values.outlierSeries[at]!, count);
    return count <= LISTED;
  });
  const total = values.series.reduce((sum, one) => sum + one.outliers, 0);
  return (
    <div class="matrix-facts">
      <h3>Outliers</h3>
      <p class="description">
        Ranks that differ from the median by more than 5 times the usual, estimated from the median absolute deviation.
      </p>
      {rows.length === 0 && <p class="dim">No rank stands out.</p>}
      {rows.length > 0 && (
        <table class="plain outliers">
          <thead>
            <tr>
              <th scope="col">{values.what}</th>
              <th scope="col">value</th>
              <th scope="col" class="number" />
              <th scope="col" class="number">of the median</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((at) => {
              const series = values.series[values.outlierSeries[at]!]!;
              const value = values.outlierValue[at]!;
              return (
                <tr key={at} class={values.outlierLocation[at] === location ? "is-here" : ""}>
                  <td>
                    <button type="button" class="link" title="show from where it calls MPI" onClick={() => setParams({ rank: values.outlierLocation[at] })}>
                      {values.outlierRank[at]! >= 0 ? values.outlierRank[at] : `at place ${values.outlierPlace[at]! + 1}`}
                    </button>
                  </td>
                  <td>{series.title}</td>
                  <td class="number">{formatQuantity(value, series.unit)}</td>
                  <td class="number">{series.median ? `${formatNumber(Number((value / series.median).toPrecision(3)))} ×` : ""}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
      {total > rows.length && <p class="dim">{plural(total - rows.length, "more outlier")}: sort by the value to see them.</p>}
    </div>
  );
}
