// A logarithmic scale of colours, with its ends and round values between them.

import { useEffect, useRef } from "preact/hooks";

import { scaledContext } from "../canvas";
import { cssColour, sequentialColour } from "../colour-scale";
import { logPart } from "./matrix-drawing";

interface Props {
  readonly least: number;
  readonly most: number;
  /** What the value is. */
  readonly title: string;
  readonly format: (value: number) => string;
  /** By which factor round values are apart. */
  readonly base: number;
}

const WIDTH = 220;
const LABELS_MOST = 4;

export function ColourLegend({ least, most, title, format, base }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const pen = scaledContext(canvas.current!, WIDTH, 10);
    for (let x = 0; x < WIDTH; x++) {
      pen.fillStyle = cssColour(sequentialColour(x / (WIDTH - 1)));
      pen.fillRect(x, 0, 1, 10);
    }
  }, []);
  const ticks: number[] = [];
  if (least > 0 && most > least) {
    const first = Math.ceil(Math.log(least) / Math.log(base) - 1e-9);
    const last = Math.floor(Math.log(most) / Math.log(base) + 1e-9);
    const step = Math.max(1, Math.ceil((last - first + 1) / LABELS_MOST));
    for (let power = first; power <= last; power += step) ticks.push(base ** power);
  }
  return (
    <span class="colour-legend">
      <span class="dim">{title}, a logarithmic scale</span>
      <span>{format(least)}</span>
      <span class="legend-bar">
        <canvas ref={canvas} aria-hidden="true" />
        {ticks.map((tick) => {
          const part = logPart(tick, least, most);
          if (part < 0.12 || part > 0.88) return null;
          return (
            <small key={tick} style={{ left: `${100 * part}%` }}>
              {format(tick)}
            </small>
          );
        })}
      </span>
      <span>{format(most)}</span>
      <span class="legend-none">none</span>
    </span>
  );
}
