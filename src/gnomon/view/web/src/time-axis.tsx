// Round times along what is drawn over time.

import { formatDuration } from "./format";

const APART_PX = 130;

interface Props {
  readonly beginNs: number;
  readonly endNs: number;
  /** How wide what it stands beside is, in pixels. */
  readonly width: number;
}

export function TimeAxis({ beginNs, endNs, width }: Props) {
  const times = timeTicks(beginNs, endNs, Math.max(2, Math.floor(width / APART_PX)));
  const texts = tickTexts(times);
  return (
    <div class="time-axis" aria-hidden="true" style={{ width: `${width}px` }}>
      {times.map((time, at) => (
        <span key={time} style={{ left: `${((time - beginNs) / (endNs - beginNs)) * width}px` }}>
          {texts[at]}
        </span>
      ))}
    </div>
  );
}

/** Round times within a span, about so many at most. */
export function timeTicks(begin: number, end: number, most: number): number[] {
  const least = Math.max((end - begin) / most, 1);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= least)!;
  const first = Math.ceil(begin / step);
  return Array.from({ length: Math.max(0, Math.floor(end / step) - first + 1) }, (_, at) => (first + at) * step);
}

/** Durations as everywhere; where those are too coarse to tell the times apart, more exactly. */
export function tickTexts(times: readonly number[]): readonly string[] {
  const texts = times.map((time) => (time > 0 ? formatDuration(time) : "0"));
  if (new Set(texts).size === texts.length) return texts;
  const [step, last] = [times[1]! - times[0]!, times.at(-1)!];
  const [size, unit] = ([[1e9, "s"], [1e6, "ms"], [1e3, "µs"]] as const).find(([one]) => last >= one) ?? [1, "ns"];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size)));
  return times.map((time) => `${(time / size).toFixed(digits)} ${unit}`);
}
