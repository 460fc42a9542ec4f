// A heat map of locations, drawn on a canvas for any number of them.

import { useEffect, useMemo, useRef } from "preact/hooks";

import type { Spread } from "./api";
import { useBoxSize } from "./box-size";
import { scaledContext } from "./canvas";
import { formatQuantity } from "./format";
import { cssColour, textColourOn, sequentialColour } from "./colour-scale";
import { themeValue, useTheme } from "./theme";

interface Props {
  readonly spread: Spread;
  readonly values: Float64Array;
  readonly names: readonly string[];
  readonly stretched: boolean;
  /** The highlighted location, -1 for none. */
  readonly highlighted: number;
  readonly onHighlight: (at: number) => void;
}

interface Layout {
  readonly columns: number;
  readonly rows: number;
  /** A long single column or row is folded: cells read like text. */
  readonly isFolded: boolean;
}

const LEAST_PX = 3;
const MOST_PX = 30;
const FOLD_ABOVE = 40;

function cellLayout(spread: Spread): Layout {
  const rows = Math.max(1, spread.rowNames.length);
  const columns = Math.max(1, spread.columnNames.length);
  const isLine = rows === 1 || columns === 1;
  if (!isLine || rows * columns <= FOLD_ABOVE) return { rows, columns, isFolded: false };
  const wide = Math.ceil(Math.sqrt(rows * columns * 2.4));
  // A round number of columns makes places easy to count.
  const round = [8, 16, 32, 64, 128, 256].find((one) => one >= wide / 1.4) ?? wide;
  return { rows: Math.ceil((rows * columns) / round), columns: round, isFolded: true };
}

export function HeatMap(props: Props) {
  const { spread, values, names, stretched, highlighted, onHighlight } = props;
  const theme = useTheme();
  const [box, width] = useBoxSize<HTMLDivElement>([600, 0]);
  const canvas = useRef<HTMLCanvasElement>(null);
  const shape = useMemo(() => cellLayout(spread), [spread]);
  const [least, most] = useMemo(() => valueBounds(values, stretched), [values, stretched]);

  const longest = Math.max(0, ...spread.rowNames.slice(0, 4000).map((name) => name.length));
  const left = shape.isFolded ? 44 : Math.min(170, Math.ceil(10 + 6.4 * longest));
  const top = 20;
  // Whole pixels: cells of a fraction more or less make a pattern of their own.
  const room = Math.floor((width - left - 8) / shape.columns);
  const wide = Math.max(LEAST_PX, Math.min(shape.columns <= 16 ? 72 : MOST_PX, room));
  const high = shape.rows > 60 ? Math.max(LEAST_PX, Math.min(12, Math.floor(640 / shape.rows))) : 22;

  // The location of each cell.
  const cells = useMemo(() => {
    const locationOf = new Int32Array(shape.rows * shape.columns).fill(-1);
    for (let at = 0; at < spread.n; at++) locationOf[cellOf(at)] = at;
    return locationOf;
  }, [spread, shape]);
  function cellOf(at: number): number {
    if (shape.isFolded) return Math.max(spread.row[at]!, spread.column[at]!);
    return spread.row[at]! * shape.columns + spread.column[at]!;
  }

  useEffect(() => {
    const pen = scaledContext(canvas.current!, left + shape.columns * wide + 8, top + shape.rows * high + 8);
    const gap = Math.min(wide, high) >= 10 ? 1 : 0;
    const ink = themeValue("--dim");
    pen.font = `11px ${themeValue("--sans")}`;
    pen.textBaseline = "middle";
    for (let cell = 0; cell < cells.length; cell++) {
      const at = cells[cell]!;
      if (at < 0) continue;
      const x = left + (cell % shape.columns) * wide;
      const y = top + Math.floor(cell / shape.columns) * high;
      const value = values[at]!;
      if (Number.isNaN(value)) {
        pen.strokeStyle = themeValue("--line");
        if (gap) pen.strokeRect(x + 0.5, y + 0.5, wide - 2, high - 2);
        continue;
      }
      const colour = sequentialColour(most > least ? (value - least) / (most - least) : 0.5);
      pen.fillStyle = cssColour(colour);
      pen.fillRect(x, y, wide - gap, high - gap);
      if (wide >= 62 && high >= 16) {
        pen.fillStyle = textColourOn(colour);
        pen.textAlign = "center";
        const text = formatQuantity(value, spread.unit);
        if (pen.measureText(text).width < wide - 4) pen.fillText(text, x + wide / 2, y + high / 2);
      }
    }
    pen.fillStyle = ink;
    pen.textAlign = "right";
    const everyRow = Math.max(1, Math.ceil(14 / high));
    for (let row = 0; row < shape.rows; row += everyRow) {
      const name = shape.isFolded ? String(row * shape.columns) : (spread.rowNames[row] ?? "");
      pen.fillText(shorten(pen, name, left - 8), left - 6, top + row * high + high / 2);
    }
    pen.textAlign = "left";
    let free = 0;
    for (let column = 0; column < shape.columns; column++) {
      const name = shape.isFolded ? `+${column}` : (spread.columnNames[column] ?? "");
      const x = left + column * wide;
      const room = pen.measureText(name).width;
      if (x < free || (shape.isFolded && column % 8 !== 0)) continue;
      pen.fillText(shorten(pen, name, Math.max(wide - 2, room)), x + 1, top / 2);
      free = x + Math.max(room + 8, 24);
    }
    if (highlighted >= 0 && highlighted < spread.n) {
      const cell = cellOf(highlighted);
      const x = left + (cell % shape.columns) * wide;
      const y = top + Math.floor(cell / shape.columns) * high;
      pen.lineWidth = 2;
      pen.strokeStyle = themeValue("--accent-strong");
      pen.strokeRect(x - 1, y - 1, wide + 1, high + 1);
    }
  }, [spread, values, least, most, width, highlighted, theme]);

  const find = (event: { clientX: number; clientY: number }): number => {
    const { left: x, top: y } = canvas.current!.getBoundingClientRect();
    const column = Math.floor((event.clientX - x - left) / wide);
    const row = Math.floor((event.clientY - y - top) / high);
    if (column < 0 || column >= shape.columns || row < 0 || row >= shape.rows) return -1;
    return cells[row * shape.columns + column] ?? -1;
  };
  const step = (by: number) => {
    const from = highlighted >= 0 ? cellOf(highlighted) : 0;
    for (let cell = from + by; cell >= 0 && cell < cells.length; cell += by) {
      if (cells[cell]! >= 0) return onHighlight(cells[cell]!);
    }
  };
  return (
    <div class="heat" ref={box}>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label={`heat map of ${spread.n} locations; arrows move from one to the next`}
        onMouseMove={(event) => onHighlight(find(event))}
        onMouseLeave={() => onHighlight(-1)}
        onKeyDown={(event) => {
          const steps: Record<string, number> = {
            ArrowRight: 1,
            ArrowLeft: -1,
            ArrowDown: shape.columns,
            ArrowUp: -shape.columns,
          };
          const by = steps[event.key];
          if (by === undefined) return;
          step(by);
          event.preventDefault();
        }}
      />
      <div class="heat-foot">
        <Scale least={least} most={most} unit={spread.unit} />
        <span class="heat-said" role="status">
          {highlighted >= 0 && highlighted < spread.n
            ? `${names[highlighted]}: ${Number.isNaN(values[highlighted]!) ? "not measured" : formatQuantity(values[highlighted]!, spread.unit)}`
            : ""}
        </span>
      </div>
    </div>
  );
}

function valueBounds(values: Float64Array, stretched: boolean): [number, number] {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (most < least) return [0, 0];
  return [stretched ? least : Math.min(0, least), most];
}

function Scale({ least, most, unit }: { least: number; most: number; unit: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const pen = scaledContext(canvas.current!, 160, 10);
    for (let x = 0; x < 160; x++) {
      pen.fillStyle = cssColour(sequentialColour(x / 159));
      pen.fillRect(x, 0, 1, 10);
    }
  }, []);
  return (
    <span class="scale">
      {formatQuantity(least, unit)}
      <canvas ref={canvas} aria-hidden="true" />
      {formatQuantity(most, unit)}
    </span>
  );
}

/** A pen for a canvas of so many pixels of the page, as sharp as the screen. */

function shorten(pen: CanvasRenderingContext2D, text: string, room: number): string {
  if (pen.measureText(text).width <= room) return text;
  let length = text.length;
  while (length > 1 && pen.measureText(`${text.slice(0, length)}…`).width > room) length--;
  return `${text.slice(0, length)}…`;
}
