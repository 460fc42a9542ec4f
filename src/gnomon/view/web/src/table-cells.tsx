// Cells of a table and the widths of its columns.

import type { ComponentChildren } from "preact";

import type { Column, TablePage } from "./api";
import { formatChange, formatTimeNs, formatQuantity } from "./format";
import { HowBadge } from "./how-badge";
import { SymbolName, FilePath } from "./symbol-name";
import { textWidth } from "./text-width";

export type TableRow = TablePage["rows"][number];

/** Columns in which a row gives the unit and `how` of its values; -1 if it has none. */
export interface RowColumns {
  readonly unit: number;
  readonly how: number;
}

const OF_ROW = new Set(["inclusive", "exclusive", "value", "weight"]);

/** Find them among the names of columns. */
export function rowColumns(names: readonly string[]): RowColumns {
  return { unit: names.indexOf("unit"), how: names.indexOf("how") };
}

function isOfRow(column: Column): boolean {
  return column.metric < 0 && OF_ROW.has(column.name);
}

function unitOf(column: Column, row: TableRow, rowColumn: RowColumns): string {
  return isOfRow(column) && rowColumn.unit >= 0 ? String(row[rowColumn.unit] ?? "") : column.unit;
}

export function renderCell(
  cell: string | number | null,
  column: Column,
  row: TableRow,
  said: RowColumns,
): ComponentChildren {
  if (cell === null) return <span class="is-missing">·</span>;
  if (typeof cell === "string") {
    if (column.shows === "symbol") return <SymbolName name={cell} />;
    if (column.shows === "moment") return formatTimeNs(cell);
    return column.shows === "path" ? <FilePath path={cell} /> : cell;
  }
  if (column.name === "line" && cell === 0) return "";
  if (column.shows === "number") return String(cell);
  const how = isOfRow(column) && said.how >= 0 ? String(row[said.how] ?? "") : column.how;
  return (
    <>
      <span class="value">{formatQuantity(cell, unitOf(column, row, said))}</span>
      {how && <HowBadge how={how} />}
    </>
  );
}

export function changeText(before: number | undefined, now: number): string {
  if (before === undefined) return "new";
  if (before === now) return "0 %";
  return before === 0 ? "from 0" : formatChange(now / before);
}

const MOST_PX = 340;
const MOST_FILE_PX = 190;

/** A width in which most of the first rows and the title fit. */
export function fittingWidth(column: Column, page: TablePage | undefined, at: number): number {
  const said = rowColumns((page?.columns ?? []).map((one) => one.name));
  const cells = (page?.rows ?? []).map((row) => {
    const cell = row[at] ?? null;
    if (cell === null) return "";
    if (typeof cell !== "string") return formatQuantity(cell, unitOf(column, row, said));
    return column.shows === "moment" ? formatTimeNs(cell) : cell;
  });
  cells.sort((a, b) => a.length - b.length);
  // The widest of the longest; of texts but for a few that are longer than all others.
  const isText = column.type === "text";
  const longest = cells.slice(0, Math.ceil((isText ? 0.98 : 1) * cells.length)).slice(-8);
  const most = longest.reduce((found, cell) => Math.max(found, textWidth(cell)), 24);
  const sign = isText ? 0 : 20;
  const limit = column.shows === "path" ? MOST_FILE_PX : MOST_PX;
  return Math.ceil(Math.max(Math.min(most + sign + 19, limit), Math.min(textWidth(column.title) + 28, 200)));
}
