// A report of the call graph below its picture: a table that leads to boxes, arrows and sources.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { getReport, reportUrl, type ReportKind, type ReportQuery } from "../api";
import { useLoaded } from "../api-cache";
import { formatNumber, plural } from "../format";
import { SplitBar } from "../split-pane";
import type { Hidden } from "./graph-hidden";
import type { GraphModel } from "./graph-model";
import { reportKey } from "./report-loading";
import { REPORT_TITLES, reportTable, sortedRows, type ReportRow } from "./report-rows";

interface Props {
  readonly runId: string;
  readonly kind: ReportKind;
  readonly query: ReportQuery;
  readonly model: GraphModel;
  /** Why the picture has no box or arrow of a row; null if it has. */
  readonly whyHidden: (row: ReportRow) => Hidden | null;
  /** Goes to the box or arrow of a row; of one that is hidden, it is added to the picture. */
  readonly onLocate: (row: ReportRow) => void;
  readonly onSource: (f: number) => void;
  readonly onClose: () => void;
  /** The share of the page that the report has. */
  readonly share: number;
  readonly onShare: (share: number) => void;
}

/** What the report has of the page at first. */
export const REPORT_SHARE = 0.42;
const ROW_HEIGHT = 24;
const SPARE_ROWS = 8;

export function ReportPane(props: Props) {
  const { runId, kind, query, model } = props;
  const loaded = useLoaded(reportKey(runId, kind, query), () => getReport(runId, kind, query));
  const table = useMemo(() => (loaded.value ? reportTable(loaded.value, kind, model) : null), [loaded.value, kind, model]);
  const [sorting, setSorting] = useState<{ column: number; descending: boolean } | null>(null);
  const [words, setWords] = useState("");
  const [hit, setHit] = useState(-1);
  const [here, setHere] = useState(-1);
  const [hidden, setHidden] = useState<(Hidden & { row: ReportRow }) | null>(null);
  const [range, setRange] = useState({ first: 0, n: 40 });
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => (table && sorting ? sortedRows(table.rows, sorting.column, sorting.descending) : table?.rows ?? []), [table, sorting]);
  const hits = useMemo(() => {
    const part = words.toLowerCase();
    return part ? rows.flatMap((row, at) => (row.name.toLowerCase().includes(part) ? [at] : [])) : [];
  }, [rows, words]);
  const measure = () => {
    const area = scroller.current;
    if (area) setRange({ first: Math.floor(area.scrollTop / ROW_HEIGHT), n: Math.ceil(area.clientHeight / ROW_HEIGHT) });
  };
  useLayoutEffect(measure, [rows, props.share]);

  const show = (at: number) => {
    setHere(at);
    const area = scroller.current;
    if (area) area.scrollTop = Math.max(0, at * ROW_HEIGHT - area.clientHeight / 3);
    measure();
  };
  const next = (step: number) => {
    if (hits.length === 0) return;
    const to = (Math.max(hit, step > 0 ? -1 : 0) + step + hits.length) % hits.length;
    setHit(to);
    show(hits[to]!);
  };
  const act = (row: ReportRow, at: number) => {
    if (row.f < 0 && row.arc < 0) return;
    setHere(at);
    const reason = props.whyHidden(row);
    setHidden(reason && { ...reason, row });
    if (!reason) props.onLocate(row);
  };
  const jump = (index: number) => {
    const to = rows.findIndex((row) => row.entry === index);
    if (to >= 0) show(to);
  };
  const sort = (column: number) =>
    setSorting(sorting?.column === column ? { column, descending: !sorting.descending } : { column, descending: !table!.columns[column]!.isText });

  const title = REPORT_TITLES.find(([name]) => name === kind)![1];
  const begin = Math.max(0, range.first - SPARE_ROWS);
  const end = Math.min(rows.length, range.first + range.n + SPARE_ROWS);
  const nameColumn = kind === "flat" ? 5 : kind === "calls" ? 3 : kind === "statistics" ? 0 : (table?.columns.length ?? 1) - 1;
  const pane = useRef<HTMLElement>(null);
  const shareAt = (event: PointerEvent) =>
    (pane.current!.getBoundingClientRect().bottom - event.clientY) / pane.current!.parentElement!.clientHeight;
  return (
    <section class="graph-report" aria-label={title} ref={pane}>
      <SplitBar label="height of the report" isLevel share={props.share} shareAt={shareAt} onMove={props.onShare} onReset={() => props.onShare(REPORT_SHARE)} />
      <div class="tools">
        <b>{title}</b>
        <input
          type="search" class="filter" aria-label="Search in the report" placeholder="name" value={words} spellcheck={false}
          onInput={(event) => { setWords(event.currentTarget.value); setHit(-1); }}
          onKeyDown={(event) => {
            if (event.key === "Enter") next(event.shiftKey ? -1 : 1);
            else if (event.key === "Escape") props.onClose();
            else return;
            event.preventDefault();
          }}
        />
        <span class="dim report-hits" role="status">{words && (hit >= 0 ? `${formatNumber(hit + 1)} of ${plural(hits.length, "hit")}` : plural(hits.length, "hit"))}</span>
        <span class="tools-rest" />
        <a class="link" download href={reportUrl(runId, kind, query, "text")}>Save as text</a>
        {kind !== "graph" && <a class="link" download href={reportUrl(runId, kind, query, "csv")}>Save as CSV</a>}
        <button type="button" class="quiet" aria-label="Close the report" onClick={props.onClose}>✕</button>
      </div>
      {hidden && (
        <p class="report-hidden" role="alert">
          {hidden.why}{" "}
          <button type="button" class="link" onClick={() => { props.onLocate(hidden.row); setHidden(null); }}>{hidden.remedy}</button>
        </p>
      )}
      {loaded.error && <p class="trouble">{loaded.error}</p>}
      {!table && !loaded.error && <p class="waiting">reading the report</p>}
      {table && (
        <div class="report-rows" ref={scroller} tabIndex={0} role="region" aria-label={`${title}: rows`} onScroll={measure}>
          <table aria-rowcount={rows.length + 1}>
            <thead>
              <tr>
                {table.columns.map((column, at) => (
                  <th key={column.title} scope="col" class={column.isText ? "is-text" : ""} aria-sort={!table.isSortable ? undefined : sorting?.column !== at ? "none" : sorting.descending ? "descending" : "ascending"}>
                    {table.isSortable ? <button type="button" onClick={() => sort(at)}>{column.title}{sorting?.column === at && (sorting.descending ? " ▼" : " ▲")}</button> : column.title}
                  </th>
                ))}
                {kind !== "libraries" && <th scope="col">code</th>}
              </tr>
            </thead>
            <tbody>
              {begin > 0 && <tr aria-hidden="true" style={{ height: `${begin * ROW_HEIGHT}px` }} />}
              {rows.slice(begin, end).map((row, step) => {
                const at = begin + step;
                const isRelative = kind === "graph" && row.entry < 0;
                return (
                  <tr key={at} aria-rowindex={at + 2} class={`${at === here ? "is-here" : ""} ${isRelative ? "is-relative" : ""} ${row.entry >= 0 ? "is-entry" : ""}`} onClick={() => act(row, at)}>
                    {row.cells().map((cell, column) => (
                      <td key={column} class={table.columns[column]!.isText ? "is-text" : ""} title={cell}>
                        {column !== nameColumn || (row.f < 0 && row.leadsTo < 0) ? cell : (
                          <button type="button" onClick={(event) => { if (isRelative) { event.stopPropagation(); jump(row.leadsTo); } }}>{cell}</button>
                        )}
                      </td>
                    ))}
                    {kind !== "libraries" && (
                      <td>
                        {row.f >= 0 && model.data.sources[model.data.source[row.f]!] && (
                          <button type="button" class="link" aria-label={`source of ${model.data.names[row.f]}`} onClick={(event) => { event.stopPropagation(); props.onSource(row.f); }}>source</button>
                        )}
                      </td>
                    )}
                  </tr>
                );
              })}
              {end < rows.length && <tr aria-hidden="true" style={{ height: `${(rows.length - end) * ROW_HEIGHT}px` }} />}
            </tbody>
          </table>
          {rows.length === 0 && <p class="hint">{kind === "calls" && !model.hasCounts ? "Calls were not counted: samples do not tell how many there were." : "There are no rows."}</p>}
        </div>
      )}
    </section>
  );
}
