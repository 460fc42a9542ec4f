// A heat map of processes or files over time: what is read and written, or how long calls take.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { getCallRates, type CallRates, type Layer } from "../api";
import { useLoaded } from "../api-cache";
import { scaledContext } from "../canvas";
import { cssColour, sequentialColour } from "../colour-scale";
import { formatDuration, formatQuantity, formatShare, plural } from "../format";
import { ColourLegend } from "../ranks/colour-legend";
import { logPart, valueBounds } from "../ranks/matrix-drawing";
import { themeValue, useTheme } from "../theme";
import type { TimeWindow } from "../time-window";
import { scaledSpan, shiftedSpan, type HeatMeasure } from "./io-state";
import type { PanelPicture } from "./pattern-panel";
import { NAMES_PX, RIGHT_PX, timeTicksOf, type Plot } from "./plot";
import { useDrag } from "./plot-drag";

const TOP_PX = 8;
const BOTTOM_PX = 20;
const ROW_MOST_PX = 52;
const NAME_PX = 13;
const CELL_PX = 3;
const MOVED_PART = 0.2;

interface Props {
  readonly id: string;
  readonly layer: Layer;
  readonly places: readonly number[];
  /** The only file that is shown, -1 for all. */
  readonly file: number;
  readonly by: "location" | "file";
  readonly measure: HeatMeasure;
  readonly lengthNs: number;
  readonly time: TimeWindow;
  readonly size: readonly [number, number];
  readonly onTime: (time: TimeWindow | null, isStep?: boolean) => void;
  /** Show the access pattern of a location or file. */
  readonly onOpen: (number: number) => void;
  readonly pictures: Map<string, PanelPicture>;
}

interface Cell {
  readonly row: number;
  readonly bin: number;
}

export function HeatPanel(props: Props) {
  const { id, layer, places, file, by, measure, time, size, lengthNs } = props;
  const [width, height] = size;
  const theme = useTheme();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [chosen, setChosen] = useState<Cell | null>(null);
  const room = Math.max(64, width - NAMES_PX - RIGHT_PX);
  const query = {
    layer, by, file: file >= 0 ? file : undefined,
    locations: places.length > 0 ? places.join(",") : undefined,
    begin: Math.floor(time.begin), end: Math.ceil(time.end),
    bins: Math.max(32, Math.floor(room / CELL_PX / 32) * 32),
    rows: Math.max(8, Math.floor((height - TOP_PX - BOTTOM_PX) / 2 / 16) * 16),
  };
  const loaded = useLoaded(`${id}/heat/${JSON.stringify(query)}`, () => getCallRates(id, query));
  const rates = loaded.value;
  const values = useMemo(() => (rates ? heatValues(rates, measure) : new Float64Array()), [rates, measure]);
  const rows = Math.max(1, rates?.rows.length ?? 1);
  const rowHigh = Math.max(1, Math.min(ROW_MOST_PX, Math.floor((height - TOP_PX - BOTTOM_PX) / rows)));
  const plot: Plot = {
    left: NAMES_PX, top: TOP_PX, width: Math.max(20, width - NAMES_PX - RIGHT_PX), height: rowHigh * rows,
    beginNs: time.begin, endNs: time.end, low: 0, high: rows,
  };
  useEffect(() => setChosen(null), [rates]);
  useEffect(() => {
    const pen = scaledContext(canvas.current!, width, plot.top + plot.height + BOTTOM_PX);
    if (rates) drawHeat(pen, plot, rates, values, rowHigh, chosen);
  }, [rates, values, width, height, chosen, theme]);
  const [box, beginDrag] = useDrag(
    plot,
    true,
    (dragged) => dragged.time && props.onTime(dragged.time),
    (x, y) => {
      const cell = cellAt(x, y);
      if (cell) open(cell);
    },
  );
  useEffect(() => {
    props.pictures.set("heat", {
      canvas: canvas.current!,
      height: plot.top + plot.height + BOTTOM_PX,
      svg: (top) => (rates ? heatSvg({ ...plot, top: plot.top + top }, rates, values, rowHigh) : ""),
    });
    return () => void props.pictures.delete("heat");
  });

  function cellAt(x: number, y: number): Cell | null {
    const row = Math.floor((y - plot.top) / rowHigh);
    const bin = Math.floor(((x - plot.left) / plot.width) * (rates?.bins ?? 0));
    if (!rates || row < 0 || row >= rows || bin < 0 || bin >= rates.bins) return null;
    return { row, bin };
  }
  function open({ row }: Cell) {
    const number = rates?.number[row] ?? -1;
    if (number >= 0) props.onOpen(number);
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (!rates || event.ctrlKey || event.metaKey || event.altKey) return;
    const far = event.shiftKey ? 10 : 1;
    const step = (down: number, right: number) => () => {
      const from = chosen ?? { row: -Math.max(down, 0), bin: -Math.max(right, 0) };
      setChosen({
        row: Math.max(0, Math.min(rows - 1, from.row + down)),
        bin: Math.max(0, Math.min(rates.bins - 1, from.bin + right)),
      });
    };
    const zoom = (factor: number) => () => {
      const centre = chosen ? time.begin + ((chosen.bin + 0.5) / rates.bins) * (time.end - time.begin) : (time.begin + time.end) / 2;
      const [begin, end] = scaledSpan(time.begin, time.end, factor, centre, lengthNs);
      props.onTime(begin <= 0 && end >= lengthNs ? null : { begin, end });
    };
    const move = (by: number) => () => {
      const [begin, end] = shiftedSpan(time.begin, time.end, by * (time.end - time.begin), lengthNs);
      props.onTime({ begin, end }, false);
    };
    const acts: Readonly<Record<string, () => void>> = {
      ArrowDown: step(far, 0), ArrowUp: step(-far, 0), ArrowRight: step(0, far), ArrowLeft: step(0, -far),
      z: zoom(0.5), "+": zoom(0.5), x: zoom(2), "-": zoom(2),
      PageUp: move(-MOVED_PART), PageDown: move(MOVED_PART),
      Enter: () => chosen && open(chosen),
    };
    const act = acts[event.key];
    if (!act) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  };
  const [least, most] = valueBounds(values);
  const unit = measure === "seconds" ? "share" : "bytes/s";
  return (
    <figure class="io-panel io-heat">
      {loaded.error && <p class="trouble">{loaded.error}</p>}
      <canvas
        ref={canvas}
        class={loaded.waiting ? "is-old" : ""}
        tabIndex={0}
        role="img"
        aria-label={`${plural(rows, "row")} of ${by === "file" ? "files" : "processes"} over ${formatDuration(time.end - time.begin)}; arrows move from cell to cell, Enter shows the requests of the row`}
        onPointerDown={beginDrag}
        onPointerMove={(event) => {
          const edge = event.currentTarget.getBoundingClientRect();
          setChosen(cellAt(event.clientX - edge.left, event.clientY - edge.top));
        }}
        onPointerLeave={() => setChosen(null)}
        onKeyDown={onKeyDown}
      />
      {box && <span class="io-drag" style={{ left: `${box.x}px`, top: `${plot.top}px`, width: `${box.width}px`, height: `${plot.height}px` }} />}
      <div class="io-heat-foot">
        <p role="status">{rates && (chosen ? cellText(rates, chosen) : `${plural(rates.rows.length, "row")}, each mark ${formatDuration((time.end - time.begin) / rates.bins)}`)}</p>
        {most > 0 && (
          <ColourLegend
            least={least}
            most={most}
            title={unit === "share" ? "part of the time in calls" : unit}
            format={(value) => (unit === "share" ? `${formatShare(value, Math.max(1, value))} %` : formatQuantity(value, unit))}
            base={unit === "share" ? 10 : 1024}
          />
        )}
      </div>
    </figure>
  );
}

/** What each cell has of a measure, per second. */
function heatValues(rates: CallRates, measure: HeatMeasure): Float64Array {
  const seconds = (rates.endNs - rates.beginNs) / rates.bins / 1e9;
  return Float64Array.from(rates.cell, (_, at) => {
    const value = measure === "moved" ? rates.read[at]! + rates.written[at]! : rates[measure][at]!;
    return value / seconds;
  });
}

function drawHeat(pen: CanvasRenderingContext2D, plot: Plot, rates: CallRates, values: Float64Array, high: number, chosen: Cell | null): void {
  const { left, top, width } = plot;
  const wide = width / rates.bins;
  const gap = high >= 9 ? 1 : 0;
  const [least, most] = valueBounds(values);
  pen.fillStyle = themeValue("--empty-cell");
  pen.fillRect(left, top, width, plot.height);
  for (let at = 0; at < rates.n; at++) {
    const value = values[at]!;
    if (value <= 0) continue;
    const cell = rates.cell[at]!;
    // Whole pixels, without gaps between parts of the time.
    const x0 = Math.floor(left + (cell % rates.bins) * wide);
    const x1 = Math.floor(left + ((cell % rates.bins) + 1) * wide);
    pen.fillStyle = cssColour(sequentialColour(logPart(value, least, most)));
    pen.fillRect(x0, top + Math.floor(cell / rates.bins) * high, Math.max(1, x1 - x0), high - gap);
  }
  pen.font = `11px ${themeValue("--sans")}`;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  pen.fillStyle = themeValue("--dim");
  const every = Math.max(1, Math.ceil(NAME_PX / high));
  for (let row = 0; row < rates.rows.length; row += every) {
    pen.fillText(fitted(pen, rates.rows[row]!, left - 10), left - 6, top + (row + 0.5) * high);
  }
  pen.textAlign = "left";
  for (const { at, text } of timeTicksOf(plot)) {
    pen.strokeStyle = themeValue("--line-strong");
    pen.beginPath();
    pen.moveTo(Math.round(at) + 0.5, top + plot.height);
    pen.lineTo(Math.round(at) + 0.5, top + plot.height + 4);
    pen.stroke();
    if (at + 4 + pen.measureText(text).width < left + width + 8) pen.fillText(text, at + 4, top + plot.height + 9);
  }
  pen.strokeStyle = themeValue("--line-strong");
  pen.strokeRect(left - 0.5, top - 0.5, width + 1, plot.height + 1);
  if (!chosen) return;
  pen.strokeStyle = themeValue("--accent-strong");
  pen.lineWidth = 1.5;
  pen.strokeRect(left + chosen.bin * wide - 1, top + chosen.row * high - 1, Math.max(wide, 2) + 2, high + 2 - gap);
  pen.lineWidth = 1;
}

function fitted(pen: CanvasRenderingContext2D, text: string, room: number): string {
  if (pen.measureText(text).width <= room) return text;
  let length = text.length;
  while (length > 1 && pen.measureText(`${text.slice(0, length)}…`).width > room) length--;
  return `${text.slice(0, length)}…`;
}

function cellText(rates: CallRates, { row, bin }: Cell): string {
  const each = (rates.endNs - rates.beginNs) / rates.bins;
  const at = rates.cell.indexOf(row * rates.bins + bin);
  const begin = rates.beginNs + bin * each;
  const place = `${rates.rows[row]}, ${formatDuration(begin)} to ${formatDuration(begin + each)}`;
  if (at < 0) return `${place}: no calls`;
  const seconds = each / 1e9;
  const rate = (bytes: number) => formatQuantity(bytes / seconds, "bytes/s");
  const moved = `read ${rate(rates.read[at]!)}, written ${rate(rates.written[at]!)}`;
  return `${place}: ${moved}, ${formatDuration(rates.seconds[at]! * 1e9)} in calls`;
}

function heatSvg(plot: Plot, rates: CallRates, values: Float64Array, high: number): string {
  const wide = plot.width / rates.bins;
  const [least, most] = valueBounds(values);
  const dim = themeValue("--dim");
  const parts = [`<rect x="${plot.left}" y="${plot.top}" width="${plot.width}" height="${plot.height}" fill="${themeValue("--empty-cell")}"/>`];
  for (let at = 0; at < rates.n; at++) {
    if (values[at]! <= 0) continue;
    const cell = rates.cell[at]!;
    const x = (plot.left + (cell % rates.bins) * wide).toFixed(2);
    const y = plot.top + Math.floor(cell / rates.bins) * high;
    const fill = cssColour(sequentialColour(logPart(values[at]!, least, most)));
    parts.push(`<rect x="${x}" y="${y}" width="${wide.toFixed(2)}" height="${high}" fill="${fill}"/>`);
  }
  const every = Math.max(1, Math.ceil(NAME_PX / high));
  rates.rows.forEach((name, row) => {
    const y = plot.top + (row + 0.5) * high;
    const text = name.replace(/&/g, "&amp;").replace(/</g, "&lt;");
    if (row % every === 0) parts.push(`<text x="${plot.left - 6}" y="${y}" dy="0.35em" text-anchor="end" fill="${dim}">${text}</text>`);
  });
  for (const { at, text } of timeTicksOf(plot)) {
    parts.push(`<text x="${at.toFixed(2)}" y="${plot.top + plot.height + 13}" fill="${dim}">${text}</text>`);
  }
  return parts.join("\n");
}
