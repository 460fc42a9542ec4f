// The other run's values of a table's rows: the same row, by all of its texts.

import { getTable, type Column, type TableWanted } from "./api";
import { useLoaded } from "./data";
import { base } from "./format";
import type { Cells } from "./table-cells";

/** Rows of the baseline's table that are looked at, most of the first metric first. */
const AGAINST = 5000;

/** What tells a row of a table from the others, in whatever run: its texts, with folders or not. */
function rowKey(row: Cells, columns: readonly Column[], isBare: boolean): string {
  return columns
    .map((column, at) => {
      if (column.metric >= 0) return "";
      if (isBare && column.name === "program") return "";
      const cell = row[at] ?? "";
      return typeof cell === "string" && isBare ? base(cell) : cell;
    })
    .join("\u0001");
}

export type Before = (row: Cells, columns: readonly Column[]) => ReadonlyMap<string, number> | undefined;

export interface Against {
  /** The run to compare with; "" for none. */
  readonly baseline: string;
  readonly wanted: TableWanted;
  readonly columns: readonly Column[];
  readonly every: readonly Column[];
}

/** The baseline's same row as one of this table's: its values by the titles of columns. */
export function useBefore(props: Against): Before | null {
  const { baseline, wanted, every } = props;
  const key = baseline && wanted.name ? `${baseline}/against/${wanted.name}/${wanted.filter ?? ""}` : null;
  const loaded = useLoaded(key, async () => {
    const exact = new Map<string, Map<string, number>>();
    const near = new Map<string, Map<string, number> | null>();
    const page = await getTable(baseline, { name: wanted.name, filter: wanted.filter, limit: AGAINST });
    for (const row of page.rows) {
      const values = new Map<string, number>();
      page.columns.forEach((column, at) => {
        const cell = row[at] ?? null;
        if (column.metric >= 0 && typeof cell === "number") values.set(titleOf(column), cell);
      });
      exact.set(rowKey(row, page.columns, false), values);
      // Compiled elsewhere: by the last names of files, whatever the program's, where only one row has them.
      const bare = rowKey(row, page.columns, true);
      near.set(bare, near.has(bare) ? null : values);
    }
    return (row: Cells, all: readonly Column[]) =>
      exact.get(rowKey(row, all, false)) ?? near.get(rowKey(row, all, true)) ?? undefined;
  });
  // Rows are known by all of their texts: without the columns of these there is nothing to go by.
  const isWhole = every.every((column) => column.metric >= 0 || props.columns.includes(column));
  return isWhole ? loaded.value : null;
}

export function titleOf(column: Column): string {
  return `${column.title} ${column.kind}`;
}
