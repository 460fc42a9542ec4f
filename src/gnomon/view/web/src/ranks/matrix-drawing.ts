// The matrix of messages on a canvas: cells, names of some rows and columns, the chosen cell.

import type { MessageMatrix } from "../api";
import { scaledContext } from "../canvas";
import { cssColour, sequentialColour } from "../colour-scale";
import { themeValue } from "../theme";

export interface Layout {
  readonly left: number;
  readonly top: number;
  readonly rows: number;
  readonly columns: number;
  /** Pixels of a cell. */
  readonly wide: number;
  readonly high: number;
}

const CELL_MOST = 88;
const NAME_MOST = 130;
const GAP_ABOVE = 9;
const LINE_PX = 15;

/** The name of a cell on an axis: ranks by their numbers alone. */
export function shortName(name: string): string {
  const ranks = /^ranks? (\d+)/.exec(name) ?? /^\d+ of the ranks (\d+)/.exec(name);
  return ranks ? ranks[1]! : name.replace(/^community /, "").split(" to ")[0]!;
}

export function matrixLayout(matrix: MessageMatrix, width: number, height: number): Layout {
  const longest = matrix.rows.reduce((most, name) => Math.max(most, shortName(name).length), 3);
  const left = Math.min(NAME_MOST, 26 + Math.ceil(6.6 * longest));
  const top = 38;
  const rows = Math.max(1, matrix.rows.length);
  const columns = Math.max(1, matrix.columns.length);
  // Whole pixels: cells of a fraction more or less make a pattern of their own.
  const fit = (room: number, cells: number) => Math.max(1, Math.min(CELL_MOST, Math.floor(room / cells)));
  const wide = fit(width - left - 2, columns);
  const high = fit(height - top - 2, rows);
  const isLike = rows === columns;
  const side = Math.min(wide, high);
  return { left, top, rows, columns, wide: isLike ? side : wide, high: isLike ? side : high };
}

/** Where a value is on the scale, from 0 to 1; `least` and `most` are those of the picture. */
export function logPart(value: number, least: number, most: number): number {
  if (!(most > least) || least <= 0) return 1;
  return Math.log(value / least) / Math.log(most / least);
}

/** The values that have a colour of their own: none is 0. */
export function valueBounds(values: Float64Array): [number, number] {
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (const value of values) {
    if (value > 0 && value < least) least = value;
    if (value > most) most = value;
  }
  return most > 0 ? [least, most] : [0, 0];
}

export interface Chosen {
  readonly row: number;
  readonly column: number;
}

export function drawMatrix(
  canvas: HTMLCanvasElement,
  matrix: MessageMatrix,
  values: Float64Array,
  layout: Layout,
  chosen: Chosen | null,
  dragged: readonly [Chosen, Chosen] | null,
): void {
  const { left, top, rows, columns, wide, high } = layout;
  const pen = scaledContext(canvas, left + columns * wide + 2, top + rows * high + 2);
  const [least, most] = valueBounds(values);
  const gap = Math.min(wide, high) >= GAP_ABOVE ? 1 : 0;
  pen.fillStyle = themeValue("--empty-cell");
  pen.fillRect(left, top, columns * wide, rows * high);
  for (let at = 0; at < matrix.n; at++) {
    const cell = matrix.cell[at]!;
    const value = values[at]!;
    pen.fillStyle = value > 0 ? cssColour(sequentialColour(logPart(value, least, most))) : themeValue("--line-strong");
    pen.fillRect(left + (cell % columns) * wide, top + Math.floor(cell / columns) * high, wide - gap, high - gap);
  }
  drawNames(pen, matrix, layout);
  pen.strokeStyle = themeValue("--line-strong");
  pen.lineWidth = 1;
  pen.strokeRect(left - 0.5, top - 0.5, columns * wide + 1, rows * high + 1);
  const first = dragged ? dragged[0] : chosen;
  const last = dragged ? dragged[1] : chosen;
  if (!first || !last) return;
  const x = left + Math.min(first.column, last.column) * wide;
  const y = top + Math.min(first.row, last.row) * high;
  const width = (Math.abs(first.column - last.column) + 1) * wide;
  const height = (Math.abs(first.row - last.row) + 1) * high;
  pen.strokeStyle = themeValue("--ink");
  pen.lineWidth = 3;
  pen.strokeRect(x - 1.5, y - 1.5, width + 2 - gap, height + 2 - gap);
  pen.strokeStyle = themeValue("--accent-strong");
  pen.lineWidth = 1.5;
  pen.strokeRect(x - 1.5, y - 1.5, width + 2 - gap, height + 2 - gap);
}

function drawNames(pen: CanvasRenderingContext2D, matrix: MessageMatrix, layout: Layout): void {
  const { left, top, rows, columns, wide, high } = layout;
  pen.font = `11px ${themeValue("--sans")}`;
  pen.textBaseline = "middle";
  pen.fillStyle = themeValue("--dim");
  pen.textAlign = "right";
  const step = roundStep(Math.ceil(LINE_PX / high));
  for (let row = 0; row < rows; row += step) {
    pen.fillText(fitted(pen, shortName(matrix.rows[row] ?? ""), left - 24), left - 6, top + (row + 0.5) * high);
  }
  const widest = matrix.columns.reduce((most, name) => Math.max(most, pen.measureText(shortName(name)).width), 0);
  const every = roundStep(Math.ceil((Math.min(widest, 80) + 8) / wide));
  pen.textAlign = "center";
  for (let column = 0; column < columns; column += every) {
    const x = left + (column + 0.5) * wide;
    pen.fillText(fitted(pen, shortName(matrix.columns[column] ?? ""), Math.max(every * wide - 4, 12)), x, top - 9);
  }
  pen.fillStyle = themeValue("--ink");
  pen.textAlign = "left";
  pen.fillText("receivers →", left, 9);
  pen.save();
  pen.translate(8, top);
  pen.rotate(-Math.PI / 2);
  pen.textAlign = "right";
  pen.fillText("← senders", 0, 0);
  pen.restore();
}

/** Every so many cells have a name: a number that is easily counted on. */
function roundStep(least: number): number {
  let step = 1;
  while (step < least) step *= 2;
  return step;
}

function fitted(pen: CanvasRenderingContext2D, text: string, room: number): string {
  if (pen.measureText(text).width <= room) return text;
  let length = text.length;
  while (length > 1 && pen.measureText(`${text.slice(0, length)}…`).width > room) length--;
  return `${text.slice(0, length)}…`;
}

/** The cell at a point of the canvas, null for none. */
export function cellAt(layout: Layout, x: number, y: number): Chosen | null {
  const column = Math.floor((x - layout.left) / layout.wide);
  const row = Math.floor((y - layout.top) / layout.high);
  if (row < 0 || row >= layout.rows || column < 0 || column >= layout.columns) return null;
  return { row, column };
}
