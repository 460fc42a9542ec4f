// The reports of a call graph as rows of cells, which stand for functions, calls or libraries.

import type { CallGraphReport, EntryCall, FileSpread, GraphEntry, ReportKind, StatisticsRow } from "../api";
import { formatNumber, formatQuantity } from "../format";
import type { GraphModel } from "./graph-model";

export interface ReportColumn {
  readonly title: string;
  readonly isText?: boolean;
}

export interface ReportRow {
  /** Numbers sort as such; null is what nobody counted. */
  readonly keys: readonly (string | number | null)[];
  /** Made for rows that are seen. */
  readonly cells: () => readonly string[];
  /** What a search looks in. */
  readonly name: string;
  /** The function and the arc that the row stands for, -1 for none. */
  readonly f: number;
  readonly arc: number;
  /** In the call graph profile: the index of the entry to which the name leads, and whose entry it is. */
  readonly leadsTo: number;
  readonly entry: number;
}

export interface ReportTable {
  readonly columns: readonly ReportColumn[];
  readonly rows: readonly ReportRow[];
  readonly isSortable: boolean;
}

export const REPORT_TITLES: readonly (readonly [ReportKind, string])[] = [
  ["flat", "Flat Profile"], ["graph", "Call Graph Profile"], ["index", "Function Index"],
  ["calls", "Function Call Summary"], ["libraries", "Library Statistics"], ["statistics", "Function Level Statistics"],
];

const NONE = { f: -1, arc: -1, leadsTo: -1, entry: -1 };
const number = (title: string): ReportColumn => ({ title });
const words = (title: string): ReportColumn => ({ title, isText: true });
const count = (calls: number | null) => (calls === null ? "" : formatNumber(calls));
const percent = (share: number | null) => (share === null ? "" : (100 * share).toFixed(2));

export function reportTable(report: CallGraphReport, kind: ReportKind, model: GraphModel): ReportTable {
  const { data } = model;
  const functions = new Map(Array.from(data.index, (index, f) => [index, f]));
  const ofIndex = (index: number) => functions.get(index) ?? -1;
  const value = (amount: number) => formatQuantity(amount, data.unit);
  switch (kind) {
    case "flat":
      return {
        isSortable: true,
        columns: [number("% of all"), number("self"), number("total"), number("calls"), number("index"), words("function"), words("library")],
        rows: report.flat.map((row) => {
          const share = data.whole ? row.self / data.whole : null;
          return {
            ...NONE, name: row.function, f: ofIndex(row.index),
            keys: [share, row.self, row.total, row.calls, row.index, row.function, row.module],
            cells: () => [percent(share), value(row.self), value(row.total), count(row.calls), `[${row.index}]`, row.function, row.module],
          };
        }),
      };
    case "index":
      return {
        isSortable: true,
        columns: [number("index"), words("function")],
        rows: report.index.map((row) => ({
          ...NONE, name: row.function, f: ofIndex(row.index), keys: [row.index, row.function],
          cells: () => [row.has_entry ? `[${row.index}]` : `(${row.index})`, row.function],
        })),
      };
    case "calls":
      return {
        isSortable: true,
        columns: [number("% of all"), number("calls"), words("caller"), words("callee")],
        rows: report.calls.map((row) => ({
          ...NONE, name: `${row.caller} ${row.callee}`, arc: arcOf(model, ofIndex(row.caller_index), ofIndex(row.callee_index)),
          f: ofIndex(row.callee_index), keys: [row.share, row.calls, row.caller, row.callee],
          cells: () => [percent(row.share), count(row.calls), `${row.caller} [${row.caller_index}]`, `${row.callee} [${row.callee_index}]`],
        })),
      };
    case "libraries":
      return {
        isSortable: true,
        columns: [number("% of all"), number("self"), number("calls into"), number("calls within"), number("calls out of"), words("library")],
        rows: report.libraries.map((row) => ({
          ...NONE, name: row.library,
          keys: [row.share, row.self, row.calls_into, row.calls_within, row.calls_out, row.library],
          cells: () => [percent(row.share), value(row.self), count(row.calls_into), count(row.calls_within), count(row.calls_out), row.library || "(unknown)"],
        })),
      };
    case "statistics":
      return {
        isSortable: true,
        columns: [
          words("function"), words("of"), number("sum"), number("average"), number("std dev"), number("maximum"), words("file of it"),
          number("minimum"), words("file of it "),
        ],
        rows: report.statistics.flatMap((row) => [
          spreadRow(row, ofIndex, `${data.metric} with descendants`, row.total, row.total_spread, value),
          spreadRow(row, ofIndex, `${data.metric} itself`, row.self, row.self_spread, value),
          ...(row.calls_spread ? [spreadRow(row, ofIndex, "calls", row.calls_spread.average * report.files, row.calls_spread, rounded)] : []),
        ]),
      };
    case "graph":
      return {
        isSortable: false,
        columns: [number("index"), number("% of all"), number("self"), number("children"), number("calls"), words("function")],
        rows: report.graph.flatMap((entry) => entryRows(entry, report.graph, model, ofIndex, value)),
      };
  }
}

const rounded = (calls: number) => formatNumber(Math.round(10 * calls) / 10);

function spreadRow(
  row: StatisticsRow, ofIndex: (index: number) => number, what: string, sum: number, spread: FileSpread,
  value: (amount: number) => string,
): ReportRow {
  const largest = spread.maximum_file.replace(/^.*\//, "");
  const smallest = spread.minimum_file.replace(/^.*\//, "");
  return {
    ...NONE, name: row.function, f: ofIndex(row.index),
    keys: [row.function, what, sum, spread.average, spread.deviation, spread.maximum, largest, spread.minimum, smallest],
    cells: () => [
      `${row.function} [${row.index}]`, what, value(sum), value(spread.average), value(spread.deviation), value(spread.maximum), largest,
      value(spread.minimum), smallest,
    ],
  };
}

function entryRows(
  entry: GraphEntry, entries: readonly GraphEntry[], model: GraphModel,
  ofIndex: (index: number) => number, value: (amount: number) => string,
): ReportRow[] {
  const f = ofIndex(entry.index);
  const { counted } = model.data;
  const cycle = (at: number) => (at >= 0 && model.data.cycle[at] ? ` <cycle ${model.data.cycle[at]}>` : "");
  const other = (call: EntryCall, arrow: string, arc: number): ReportRow => ({
    ...NONE, name: call.function, f: ofIndex(call.index), arc, leadsTo: call.index, keys: [],
    cells: () => ["", "", value(call.self), value(call.children), count(call.calls), `${arrow} ${call.function}${cycle(ofIndex(call.index))} [${call.index}]`],
  });
  const calls = entry.self_calls ? `${count(entry.calls)}+${count(entry.self_calls)}` : count(entry.calls);
  const share = counted ? (entry.self + entry.children) / counted : null;
  const members = entry.members.length ? entries.filter((one) => entry.members.includes(one.index)) : [];
  return [
    ...entry.callers.map((call) => other(call, "from", arcOf(model, ofIndex(call.index), f))),
    {
      ...NONE, name: entry.function, f, entry: entry.index, keys: [],
      cells: () => [`[${entry.index}]`, percent(share), value(entry.self), value(entry.children), calls, `${entry.function}${cycle(f)}`],
    },
    ...entry.callees.map((call) => other(call, "to", arcOf(model, f, ofIndex(call.index)))),
    ...members.map((member) => other(member, "has", -1)),
  ];
}

function arcOf(model: GraphModel, caller: number, callee: number): number {
  if (caller < 0 || callee < 0) return -1;
  return model.arcsFrom(caller).find((arc) => model.data.callee[arc] === callee) ?? -1;
}

/** Positions of rows by a column; rows without a value come last. */
export function sortedRows(rows: readonly ReportRow[], column: number, descending: boolean): ReportRow[] {
  const sign = descending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [a.keys[column]!, b.keys[column]!];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return x < y ? -sign : x > y ? sign : 0;
  });
}
