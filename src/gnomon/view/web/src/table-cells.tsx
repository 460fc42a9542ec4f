// What stands in a table's cells, and how wide its columns are.

import type { ComponentChildren } from "preact";

import type { Column, TablePage } from "./api";
import { change, momentOfNs, quantity } from "./format";
import { How } from "./how";
import { Name, Path } from "./name";
import { widthOf } from "./palette";

export type Cells = TablePage["rows"][number];

/** Where a row itself says of its values what unit they have and how they came to be; -1: nowhere. */
export interface Said {
  readonly unit: number;
  readonly how: number;
}

const OF_ROW = new Set(["inclusive", "exclusive", "value", "weight"]);

/** Where the rows of a table with these columns say it. */
export function saidBy(names: readonly string[]): Said {
  return { unit: names.indexOf("unit"), how: names.indexOf("how") };
}

function isOfRow(column: Column): boolean {
  return column.metric < 0 && OF_ROW.has(column.name);
}

function unitOf(column: Column, row: Cells, said: Said): string {
  return isOfRow(column) && said.unit >= 0 ? String(row[said.unit] ?? "") : column.unit;
}

export function shownCell(
  cell: string | number | null,
  column: Column,
  row: Cells,
  said: Said,
): ComponentChildren {
  if (cell === null) return <span class="is-missing">·</span>;
  if (typeof cell === "string") {
    if (column.shows === "symbol") return <Name name={cell} />;
    if (column.shows === "moment") return momentOfNs(cell);
    return column.shows === "path" ? <Path path={cell} /> : cell;
  }
  if (column.name === "line" && cell === 0) return "";
  if (column.shows === "number") return String(cell);
  const how = isOfRow(column) && said.how >= 0 ? String(row[said.how] ?? "") : column.how;
  return (
    <>
      <span class="value">{quantity(cell, unitOf(column, row, said))}</span>
      {how && <How how={how} />}
    </>
  );
}

export function changed(before: number | undefined, now: number): string {
  if (before === undefined) return "new";
  if (before === now) return "0 %";
  return before === 0 ? "from 0" : change(now / before);
}

const MOST_PX = 340;
const MOST_FILE_PX = 190;

/** A width that most of the first rows fit into, and the title. */
export function fit(column: Column, page: TablePage | undefined, at: number): number {
  const said = saidBy((page?.columns ?? []).map((one) => one.name));
  const cells = (page?.rows ?? []).map((row) => {
    const cell = row[at] ?? null;
    if (cell === null) return "";
    if (typeof cell !== "string") return quantity(cell, unitOf(column, row, said));
    return column.shows === "moment" ? momentOfNs(cell) : cell;
  });
  cells.sort((a, b) => a.length - b.length);
  // The widest of the longest; of texts but for a few that are longer than all others.
  const isText = column.type === "text";
  const longest = cells.slice(0, Math.ceil((isText ? 0.98 : 1) * cells.length)).slice(-8);
  const most = longest.reduce((found, cell) => Math.max(found, widthOf(cell)), 24);
  const sign = isText ? 0 : 20;
  const limit = column.shows === "path" ? MOST_FILE_PX : MOST_PX;
  return Math.ceil(Math.max(Math.min(most + sign + 19, limit), Math.min(widthOf(column.title) + 28, 200)));
}
