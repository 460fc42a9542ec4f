// A source file as text, with what its lines took.

import type { Source } from "./api";
import type { LineMark } from "./source-editor";

/** Its lines, each with its number and the values of some columns before it; titles first. */
export function annotatedSource(source: Source, titles: readonly string[], marks: readonly (readonly LineMark[])[]): string[] {
  const wide = titles.map((title, column) => Math.max(title.length, ...(marks[column] ?? []).map((mark) => mark.text.length)));
  const values = marks.map((column) => new Map(column.map((mark) => [mark.line, mark.text])));
  const row = (number: string, cells: readonly string[], text: string) =>
    `${number.padStart(6)} ${cells.map((cell, column) => cell.padStart(wide[column]!)).join(" ")}  ${text}`.trimEnd();
  return [
    row("line", titles, source.path),
    ...(source.text ?? "").split("\n").map((text, at) => row(String(at + 1), titles.map((_, column) => values[column]?.get(at + 1) ?? ""), text)),
  ];
}
