// Values of the baseline for the rows of a table: rows are matched by all of their texts.

import { getTable, type Column, type TableQuery } from "./api";
import { useLoaded } from "./api-cache";
import { baseName } from "./format";
import type { TableRow } from "./table-cells";

/** Rows of the baseline's table that are matched, largest values of the first metric first. */
const BASELINE_ROWS_MOST = 5000;

/** The key by which a row is found in either run: its texts, with or without directories. */
function rowKey(row: TableRow, columns: readonly Column[], isBare: boolean): string {
  return columns
    .map((column, at) => {
      if (column.metric >= 0) return "";
      if (isBare && column.name === "program") return "";
      const cell = row[at] ?? "";
      return typeof cell === "string" && isBare ? baseName(cell) : cell;
    })
    .join("\u0001");
}

export type BaselineLookup = (row: TableRow, columns: readonly Column[]) => ReadonlyMap<string, number> | undefined;

export interface BaselineQuery {
  /** The run to compare with; "" for none. */
  readonly baseline: string;
  readonly query: TableQuery;
  readonly columns: readonly Column[];
  readonly allColumns: readonly Column[];
}

/** Looks up the baseline's values of a row, by the titles of columns; null while they are loaded. */
export function useTableBaseline(props: BaselineQuery): BaselineLookup | null {
  const { baseline, query, allColumns } = props;
  const key = baseline && query.name ? `${baseline}/against/${query.name}/${query.filter ?? ""}` : null;
  const loaded = useLoaded(key, async () => {
    const exact = new Map<string, Map<string, number>>();
    const near = new Map<string, Map<string, number> | null>();
    const page = await getTable(baseline, { name: query.name, filter: query.filter, limit: BASELINE_ROWS_MOST });
    for (const row of page.rows) {
      const values = new Map<string, number>();
      page.columns.forEach((column, at) => {
        const cell = row[at] ?? null;
        if (column.metric >= 0 && typeof cell === "number") values.set(columnTitle(column), cell);
      });
      exact.set(rowKey(row, page.columns, false), values);
      // Compiled elsewhere: by the last names of files, whatever the program's, where only one row has them.
      const bare = rowKey(row, page.columns, true);
      near.set(bare, near.has(bare) ? null : values);
    }
    return (row: TableRow, all: readonly Column[]) =>
      exact.get(rowKey(row, all, false)) ?? near.get(rowKey(row, all, true)) ?? undefined;
  });
  // Rows are known by all of their texts: without the columns of these there is nothing to go by.
  const isWhole = allColumns.every((column) => column.metric >= 0 || props.columns.includes(column));
  return isWhole ? loaded.value : null;
}

export function columnTitle(column: Column): string {
  return `${column.title} ${column.kind}`;
}
