// Calls over the time of a run: bytes that are read and written, and how long calls take.

import { useMemo } from "preact/hooks";

import { getCallRates, type CallRates } from "../api";
import { useLoaded } from "../api-cache";
import { scaledContext, wholePixels } from "../canvas";
import { formatQuantity } from "../format";
import { themeValue } from "../theme";
import { TimeBand } from "../time-band";
import type { TimeWindow } from "../time-window";

export const CALL_KINDS = ["io", "mpi"] as const;
export type CallKind = (typeof CALL_KINDS)[number];

const BAND_PX = 34;
const BINS = 512;

interface Props {
  /** The number of the whole run. */
  readonly id: string;
  readonly kind: CallKind;
  readonly lengthNs: number;
  readonly window: TimeWindow | null;
  readonly onWindow: (window: TimeWindow | null) => void;
  readonly hasAxis: boolean;
}

export function CallsBand({ id, kind, lengthNs, window, onWindow, hasAxis }: Props) {
  const loaded = useLoaded(`${id}/band/${kind}`, () => getCallRates(id, { kind, bins: BINS, rows: 1 }));
  const rates = loaded.value;
  const lane = kind === "io" ? "bytes" : "seconds";
  const paint = useMemo(
    () =>
      rates &&
      ((canvas: HTMLCanvasElement, width: number) =>
        paintRates(scaledContext(canvas, width, BAND_PX), rates, lane, [width, BAND_PX])),
    [rates],
  );
  return (
    <TimeBand
      name={kind === "io" ? "bytes read and written" : "calls of MPI"}
      lengthNs={lengthNs}
      window={window}
      onWindow={onWindow}
      isLow
      hasAxis={hasAxis}
      most={rates ? `${kind === "io" ? "I/O" : "MPI"} up to ${mostText(rates, lane)}` : ""}
      error={loaded.error}
      paint={paint}
    />
  );
}

export type Lane = "bytes" | "seconds";

function mostOf(rates: CallRates, lane: Lane): number {
  let most = 0;
  for (let at = 0; at < rates.n; at++) {
    const value = lane === "bytes" ? rates.read[at]! + rates.written[at]! : rates.seconds[at]!;
    if (value > most) most = value;
  }
  return most;
}

/** The highest part of a lane, as a rate. */
export function mostText(rates: CallRates, lane: Lane): string {
  const seconds = (rates.endNs - rates.beginNs) / rates.bins / 1e9;
  const most = mostOf(rates, lane);
  if (lane === "bytes") return `${formatQuantity(most / seconds, "bytes/s")}`;
  return `${Number((most / seconds).toPrecision(2))} at once`;
}

/** Draw the only row of rates into a box of so many pixels: what is written below what is read. */
export function paintRates(
  pen: CanvasRenderingContext2D,
  rates: CallRates,
  lane: Lane,
  [width, height]: readonly [number, number],
  left = 0,
): void {
  const most = mostOf(rates, lane) || 1;
  const wide = width / rates.bins;
  const parts: readonly (readonly [Float64Array, string])[] =
    lane === "bytes"
      ? [
          [rates.written, "--io-write"],
          [rates.read, "--io-read"],
        ]
      : [[rates.seconds, "--io-time"]];
  const base = new Float64Array(rates.n);
  for (const [values, colour] of parts) {
    pen.fillStyle = themeValue(colour);
    for (let at = 0; at < rates.n; at++) {
      const value = values[at]!;
      if (value <= 0) continue;
      // However little it is, it is seen.
      const high = Math.max(1, ((height - 3) * value) / most);
      const [x, own] = wholePixels(rates.cell[at]!, wide);
      pen.fillRect(left + x, height - base[at]! - high, own, high);
      base[at]! += high;
    }
  }
}
