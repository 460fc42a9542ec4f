// What differs between two runs, by how much, and how sure that is: what `gnomon compare` says.

import { useMemo, useState } from "preact/hooks";

import { getComparison, type RunTitle } from "./api";
import { useLoaded } from "./data";
import { base, change, many, number, quantity } from "./format";
import { How } from "./how";
import { ask, go, usePlace } from "./place";
import { VirtualRows } from "./rows";
import type { Sight } from "./sight";

/** A row of `gnomon compare --json`. */
interface Row {
  readonly place?: Readonly<Record<string, string | number>>;
  readonly metric: string;
  readonly unit: string;
  readonly how: string;
  readonly worse_is: string;
  readonly before: number | null;
  readonly after: number | null;
  readonly samples: readonly [number, number];
  /** Shares: 0.05 for 5 %. */
  readonly change: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly p: number | null;
  readonly at_least: number;
  readonly verdict: string;
  readonly sure: boolean;
  readonly not_judged: string;
}

interface Side {
  readonly name: string;
  readonly executions: number;
  readonly command: readonly string[];
}

interface Document {
  readonly baseline: Side;
  readonly comparisons: readonly {
    readonly side: Side;
    readonly metrics: readonly Row[];
    readonly places: readonly Row[];
    readonly places_left_out: number;
    readonly notes: readonly string[];
  }[];
}

const PER = ["", "function", "file", "line", "process", "thread", "rank"] as const;

export function CompareView(sight: Sight & { readonly runs: readonly RunTitle[] }) {
  const { run, runs, baseline } = sight;
  const { asked } = usePlace();
  const per = PER.find((name) => name === asked["per"]) ?? "";
  const others = runs.filter((one) => one.id !== run.id);
  const found = useLoaded(baseline ? `compare/${baseline.id}/${run.id}/${per}` : null, () =>
    getComparison(baseline!.id, run.id, per),
  );
  const document = found.value as unknown as Document | null;
  const one = document?.comparisons[0];
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
      {baseline && !document && !found.error && <p class="waiting">comparing</p>}
      {baseline && document && one && <Result {...sight} document={document} per={per} />}
    </section>
  );
}

const GRID = "minmax(240px, 1fr) 150px 150px minmax(210px, 320px) 78px 150px 76px";
const LEAST_PX = 1060;

function Result(props: Sight & { document: Document; per: string }) {
  const { document, per } = props;
  const one = document.comparisons[0]!;
  const [word, setWord] = useState("");
  const [isAll, setAll] = useState(false);
  const all = per ? one.places : one.metrics;
  const judged = all.filter((row) => row.verdict !== "");
  const rows = useMemo(() => {
    const lower = word.toLowerCase();
    return all.filter(
      (row) =>
        (isAll || row.not_judged === "" || row.change !== null) &&
        `${title(row)} ${row.metric}`.toLowerCase().includes(lower),
    );
  }, [all, word, isAll]);
  // One scale for all bars, wide enough for what is sure and not for a wild interval.
  const widest = Math.min(
    2,
    Math.max(
      0.02,
      ...all.map((row) => 1.2 * Math.abs(row.change ?? 0)),
      ...judged.map((row) => Math.max(Math.abs(row.low ?? 0), Math.abs(row.high ?? 0))),
    ),
  );
  const count = (verdict: string) => all.filter((row) => row.verdict === verdict).length;
  const hidden = all.length - all.filter((row) => row.not_judged === "" || row.change !== null).length;
  return (
    <>
      <div class="verdicts">
        <span>
          <b>{document.baseline.name}</b> ({times(document.baseline.executions)}) to <b>{one.side.name}</b> (
          {times(one.side.executions)})
        </span>
        <span class="is-worse">▲ {number(count("worse"))} worse</span>
        <span class="is-better">▼ {number(count("better"))} better</span>
        <span>{many(count("more") + count("less"), "other difference")}</span>
        <span>{number(all.length - judged.length)} not different, or not to be judged</span>
        <input
          type="search"
          class="filter"
          placeholder="filter"
          aria-label="filter"
          value={word}
          onInput={(event) => setWord(event.currentTarget.value)}
        />
        {hidden > 0 && (
          <label class="toggle">
            <input type="checkbox" checked={isAll} onChange={() => setAll(!isAll)} /> {hidden} that only one run has
          </label>
        )}
      </div>
      {one.notes.length > 0 && (
        <ul class="notes">
          {one.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      <VirtualRows
        class="compare-rows"
        count={rows.length}
        height={24}
        headHeight={30}
        empty="nothing to show"
        attributes={{ role: "grid", style: { "--grid": GRID, "--least": `${LEAST_PX}px` } }}
        head={
          <div class="compare-head" role="row">
            <span>{per || "metric"}</span>
            <span class="number">before</span>
            <span class="number">after</span>
            <span class="interval-head">
              <i>less</i>
              <i>change, with its 95 % interval</i>
              <i>more</i>
            </span>
            <span class="number">change</span>
            <span>verdict</span>
            <span class="number" title="adjusted for the number of comparisons">
              p
            </span>
          </div>
        }
        row={(at) => {
          const row = rows[at]!;
          return (
            <div key={at} class="compare-row" role="row" title={hint(row)} onDblClick={() => toSource(row)}>
              <span class="cell is-text">
                {title(row)}
                {per && <small>{row.metric}</small>}
              </span>
              <Cell value={row.before} row={row} />
              <Cell value={row.after} row={row} />
              <Interval row={row} widest={widest} />
              <span class={`cell number change ${tone(row)}`}>
                {row.change === null ? "·" : change(1 + row.change)}
              </span>
              <span class={`cell is-text verdict ${tone(row)}`}>{verdict(row)}</span>
              <span class="cell number dim">{row.p === null ? "" : row.p < 0.0001 ? "<0.0001" : row.p.toFixed(4)}</span>
            </div>
          );
        }}
      />
      {one.places_left_out > 0 && per && (
        <footer class="status">
          {number(one.places_left_out)} more have too little of the metric to matter and were not compared
        </footer>
      )}
    </>
  );
}

function times(executions: number): string {
  return many(executions, "execution");
}

function title(row: Row): string {
  if (!row.place) return row.metric;
  const { program, name, file, line } = row.place;
  const where = file ? `${base(String(file))}${line ? `:${line}` : ""}` : line ? String(line) : "";
  return [name ?? program, where].filter(Boolean).join("  ") || "whole run";
}

function verdict(row: Row): string {
  if (row.not_judged) return row.not_judged;
  if (!row.verdict) return "no difference shown";
  return `${row.verdict}${row.sure ? "" : ", likely"}`;
}

function tone(row: Row): string {
  return row.verdict === "worse" ? "is-worse" : row.verdict === "better" ? "is-better" : "";
}

function hint(row: Row): string {
  const lines = [title(row), row.metric];
  if (row.low !== null && row.high !== null) {
    lines.push(`95 % interval: ${change(1 + row.low)} to ${change(1 + row.high)}`);
  }
  lines.push(`${row.samples[0]} and ${row.samples[1]} samples`);
  lines.push(`differences up to ${number(100 * row.at_least)} % count as none`);
  if (row.worse_is) lines.push(`${row.worse_is} is worse`);
  if (row.not_judged) lines.push(`not judged: ${row.not_judged}`);
  return lines.join("\n");
}

function toSource(row: Row): void {
  const file = row.place?.["file"];
  if (file) go("tree", { file, line: row.place?.["line"] ?? null, node: null });
}

function Cell({ value, row }: { value: number | null; row: Row }) {
  if (value === null) return <span class="cell number is-missing">·</span>;
  return (
    <span class="cell number">
      <span class="value">{quantity(value, row.unit)}</span>
      <How how={row.how} />
    </span>
  );
}

/** The change as a mark on a line around zero, its interval as a bar. */
function Interval({ row, widest }: { row: Row; widest: number }) {
  const at = (share: number) => 50 + 50 * Math.max(-1, Math.min(1, share / widest));
  const low = row.low ?? row.change;
  const high = row.high ?? row.change;
  return (
    <span class="cell interval" aria-hidden="true">
      <span class="interval-zero" />
      {low !== null && high !== null && (
        <span
          class={`interval-bar ${tone(row)}`}
          style={{ left: `${at(low)}%`, width: `${Math.max(0, at(high) - at(low))}%` }}
        />
      )}
      {row.change !== null && <span class={`interval-mark ${tone(row)}`} style={{ left: `${at(row.change)}%` }} />}
    </span>
  );
}
