// The table of a comparison: before, after, change with confidence interval, verdict.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { ComparedMetric, ComparedPlace, ComparisonDocument } from "./api";
import { baseName, formatChange, plural, formatNumber, formatQuantity } from "./format";
import { HowBadge } from "./how-badge";
import { SymbolName } from "./symbol-name";
import { textWidth } from "./text-width";
import { navigate } from "./route";
import { rowShortcuts, VirtualRows, type RowsHandle } from "./virtual-rows";
import { SearchBox } from "./search-box";

/** A metric, of a place or of the whole command. */
export type ComparisonRow = ComparedMetric & Partial<Pick<ComparedPlace, "place">>;

const NAME_PX = 210;
const INTERVAL_PX = 250;
const CHANGE_PX = 78;
const P_PX = 76;
const NO_P_PX = 40;

/** A column for texts: the widest of them between two bounds. */
function boundedWidth(texts: readonly string[], least: number, most: number): number {
  return Math.ceil(Math.max(least, Math.min(most, Math.max(0, ...texts.map(textWidth)) + 36)));
}

function gridTemplate(rows: readonly ComparisonRow[]): { grid: string; least: string } {
  const values = rows.flatMap((row) => [row.before, row.after].map((value) => [value, row.unit] as const));
  const texts = new Set(values.map(([value, unit]) => (value === null ? "" : formatQuantity(value, unit))));
  const number = boundedWidth(longestTexts(texts), 110, 200);
  const verdicts = boundedWidth(longestTexts(new Set(rows.map(verdict))), 150, 284);
  const p = rows.some((row) => row.p !== null) ? P_PX : NO_P_PX;
  return {
    grid: `minmax(${NAME_PX}px, 1.3fr) ${number}px ${number}px minmax(${INTERVAL_PX}px, 1fr) ${CHANGE_PX}px ${verdicts}px ${p}px`,
    least: `${NAME_PX + 2 * number + INTERVAL_PX + CHANGE_PX + verdicts + p + 20}px`,
  };
}

/** The longest texts, which are the only ones whose width is measured. */
function longestTexts(texts: ReadonlySet<string>): string[] {
  return [...texts].sort((a, b) => b.length - a.length).slice(0, 8);
}

interface ComparisonProps {
  readonly document: ComparisonDocument;
  readonly per: string;
  /** Kinds of regions that are sections: what most places are, and is not said of them. */
  readonly sections: ReadonlySet<string>;
}

export function ComparisonTable({ document, per, sections }: ComparisonProps) {
  const comparison = document.comparisons[0]!;
  const [word, setWord] = useState("");
  const [selected, setSelected] = useState(0);
  const handle = useRef<RowsHandle>(null);
  const [isAll, setAll] = useState(false);
  const all: readonly ComparisonRow[] = per ? comparison.places : comparison.metrics;
  const judged = all.filter((row) => row.verdict !== "");
  const rows = useMemo(() => {
    const lower = word.toLowerCase();
    return all.filter(
      (row) =>
        (isAll || row.not_judged === "" || row.change !== null) &&
        `${rowTitle(row, sections)} ${row.metric}`.toLowerCase().includes(lower),
    );
  }, [all, word, isAll, sections]);
  const { grid, least } = useMemo(() => gridTemplate(all), [all]);
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
  const unjudged = all.filter((row) => row.not_judged !== "").length;
  const same = all.length - judged.length - unjudged;
  const hidden = all.length - all.filter((row) => row.not_judged === "" || row.change !== null).length;
  const move = (to: number) => {
    const row = Math.max(0, Math.min(rows.length - 1, to));
    setSelected(row);
    handle.current?.show(row);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const acts: Record<string, () => void> = {
      ...rowShortcuts(selected, rows.length, handle.current?.page() ?? 20, move),
      Enter: () => rows[selected] && openSource(rows[selected]),
    };
    const act = acts[event.key];
    if (!act) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  };
  useEffect(() => {
    if (!globalThis.document.activeElement?.matches("input, select, button")) handle.current?.focus();
  }, []);
  return (
    <>
      <div class="verdicts">
        <span>
          <b>{document.baseline.name}</b> ({executionsText(document.baseline.executions)}) to <b>{comparison.side.name}</b> (
          {executionsText(comparison.side.executions)})
        </span>
        <span class="is-worse">▲ {formatNumber(count("worse"))} worse</span>
        <span class="is-better">▼ {formatNumber(count("better"))} better</span>
        <span>{plural(count("more") + count("less"), "other difference")}</span>
        {count("machine") > 0 && (
          <span title="what others on the machine explain">{formatNumber(count("machine"))} the machine's</span>
        )}
        <span>{formatNumber(same)} not different</span>
        {unjudged > 0 && <span title="why stands beside each">{formatNumber(unjudged)} not judged</span>}
        <SearchBox
          value={word}
          placeholder="filter"
          label="filter"
          onInput={setWord}
          onLeave={() => handle.current?.focus()}
        />
        {hidden > 0 && (
          <label class="toggle">
            <input type="checkbox" checked={isAll} onChange={() => setAll(!isAll)} /> {hidden} that only one run has
          </label>
        )}
      </div>
      {comparison.notes.length > 0 && (
        <ul class="notes">
          {comparison.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      <VirtualRows
        class="compare-rows"
        handle={handle}
        count={rows.length}
        height={24}
        headHeight={30}
        empty="nothing to show"
        attributes={{
          role: "grid",
          "aria-label": per ? `comparison by ${per}` : "comparison of the whole run",
          "aria-rowcount": rows.length,
          onKeyDown,
          style: { "--grid": grid, "--least": least },
        }}
        head={
          <div class="compare-head" role="row">
            <span role="columnheader">{per || "metric"}</span>
            <span role="columnheader" class="number">
              before
            </span>
            <span role="columnheader" class="number">
              after
            </span>
            <span role="columnheader" class="interval-head">
              <i>less</i>
              <i>change, with its 95 % interval</i>
              <i>more</i>
            </span>
            <span role="columnheader" class="number">
              change
            </span>
            <span role="columnheader">verdict</span>
            <span
              role="columnheader"
              class="number"
              title="how likely such values are if nothing changed, adjusted for the number of comparisons"
            >
              p
            </span>
          </div>
        }
        row={(at) => {
          const row = rows[at]!;
          return (
            <div
              key={at}
              class={`compare-row ${at === selected ? "is-selected" : ""}`}
              role="row"
              aria-selected={at === selected}
              title={rowHint(row, sections)}
              onClick={() => setSelected(at)}
              onDblClick={() => openSource(row)}
            >
              <span class="cell is-text place" role="gridcell">
                <span class="place-name">
                  {row.place ? <SymbolName name={rowName(row.place)} /> : row.metric}
                </span>
                {row.place && rowLocation(row.place, sections) && <small>{rowLocation(row.place, sections)}</small>}
              </span>
              <Cell value={row.before} row={row} />
              <Cell value={row.after} row={row} />
              <Interval row={row} widest={widest} />
              <span class={`cell number change ${verdictClass(row)}`} role="gridcell">
                {row.change === null ? "·" : formatChange(1 + row.change)}
              </span>
              <span class={`cell is-text verdict ${row.verdict ? verdictClass(row) : "dim"}`} role="gridcell">
                {verdict(row)}
              </span>
              <span class="cell number dim" role="gridcell">{row.p === null ? "" : row.p < 0.0001 ? "<0.0001" : row.p.toFixed(4)}</span>
            </div>
          );
        }}
      />
      {comparison.places_left_out > 0 && per && (
        <footer class="status">
          {formatNumber(comparison.places_left_out)} more have too little of the metric to matter and were not compared
        </footer>
      )}
    </>
  );
}

function executionsText(executions: number): string {
  return plural(executions, "execution");
}

function rowTitle(row: ComparisonRow, sections: ReadonlySet<string>): string {
  return row.place ? [rowName(row.place), rowLocation(row.place, sections)].filter(Boolean).join(" ") : row.metric;
}

type Place = NonNullable<ComparisonRow["place"]>;

function rowName({ program, name, file, line }: Place): string {
  if (name === "rank") return `rank ${line ?? 0}`;
  return String(name ?? (file ? baseName(String(file)) : program ? "(unknown)" : "whole run"));
}

/** What identifies a row beside its name: file and line, number, kind. */
function rowLocation({ program, name, file, line, kind }: Place, sections: ReadonlySet<string>): string {
  if (name === "rank") return "";
  if (!name && !file) return String(program ?? "");
  if (file && name) return `${baseName(String(file))}${line ? `:${line}` : ""}`;
  if (file) return String(file);
  if (line) return Number(line) > 1 ? `#${line}` : "";
  return kind && !sections.has(String(kind)) ? String(kind) : "";
}

function verdict(row: ComparisonRow): string {
  if (row.not_judged) return row.not_judged;
  if (!row.verdict) return "no difference shown";
  if (row.verdict === "machine") return "the machine's";
  return `${row.verdict}${row.sure ? "" : ", likely"}`;
}

function verdictClass(row: ComparisonRow): string {
  return row.verdict === "worse" ? "is-worse" : row.verdict === "better" ? "is-better" : "";
}

function rowHint(row: ComparisonRow, sections: ReadonlySet<string>): string {
  const lines = [rowTitle(row, sections), row.metric];
  if (row.low !== null && row.high !== null) {
    lines.push(`95 % interval: ${formatChange(1 + row.low)} to ${formatChange(1 + row.high)}`);
  }
  lines.push(`${row.samples[0]} and ${row.samples[1]} samples`);
  lines.push(`differences up to ${formatNumber(100 * row.at_least)} % count as none`);
  if (row.worse_is) lines.push(`${row.worse_is} is worse`);
  if (row.not_judged) lines.push(`not judged: ${row.not_judged}`);
  return lines.join("\n");
}

function openSource(row: ComparisonRow): void {
  const file = row.place?.["file"];
  if (file) navigate("tree", { file, line: row.place?.["line"] ?? null, node: null });
}

function Cell({ value, row }: { value: number | null; row: ComparisonRow }) {
  if (value === null) {
    return (
      <span class="cell number is-missing" role="gridcell">
        ·
      </span>
    );
  }
  return (
    <span class="cell number" role="gridcell">
      <span class="value">{formatQuantity(value, row.unit)}</span>
      <HowBadge how={row.how} />
    </span>
  );
}

/** The change as a mark on a line around zero, its interval as a bar. */
function Interval({ row, widest }: { row: ComparisonRow; widest: number }) {
  const at = (share: number) => 50 + 50 * Math.max(-1, Math.min(1, share / widest));
  const low = row.low ?? row.change;
  const high = row.high ?? row.change;
  return (
    <span class="cell interval" aria-hidden="true">
      <span class="interval-zero" />
      {low !== null && high !== null && (
        <span
          class={`interval-bar ${verdictClass(row)}`}
          style={{ left: `${at(low)}%`, width: `${Math.max(0, at(high) - at(low))}%` }}
        />
      )}
      {row.change !== null && <span class={`interval-mark ${verdictClass(row)}`} style={{ left: `${at(row.change)}%` }} />}
    </span>
  );
}
