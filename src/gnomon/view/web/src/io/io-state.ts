// What the page of I/O shows, as the address has it: names of its parameters, and what they may be.

import type { Layer, Run } from "../api";
import { navigate, setParams } from "../route";
import { timeWindow, type TimeWindow } from "../time-window";

type Params = Readonly<Record<string, string>>;

export const PICTURES = [
  ["pattern", "Access pattern", "where in a file requests are, over time"],
  ["processes", "Processes", "a row for each process, coloured by what it moves when"],
  ["files", "Files", "a row for each file, in the order of their first use, coloured by what is moved when"],
] as const;
export type Picture = (typeof PICTURES)[number][0];

export const MEASURES = [
  ["moved", "read and written", "bytes per second that are read and written"],
  ["read", "read", "bytes per second that are read"],
  ["written", "written", "bytes per second that are written"],
  ["seconds", "time in calls", "the share of the time that is spent in calls"],
] as const;
export type HeatMeasure = (typeof MEASURES)[number][0];

export interface ByteRange {
  readonly low: number;
  readonly high: number;
}

export interface IoState {
  readonly picture: Picture;
  readonly measure: HeatMeasure;
  readonly layer: Layer;
  /** Numbers of the files that are chosen; [] for that of which most was moved. */
  readonly files: readonly number[];
  /** Numbers of the locations that are chosen; [] for all. */
  readonly places: readonly number[];
  readonly isSplit: boolean;
  /** The part of a file that is shown, and of which one. */
  readonly range: ByteRange | null;
  readonly rangeFile: number;
  readonly hidesReads: boolean;
  readonly hidesWrites: boolean;
  readonly search: string;
}

export function ioState(params: Params): IoState {
  const list = (param: string) => (params[param] ?? "").split(",").filter((text) => /^\d+$/.test(text)).map(Number);
  const range = /^(\d{1,15}):(\d{1,16})-(\d{1,16})$/.exec(params["iorange"] ?? "");
  return {
    picture: PICTURES.find(([name]) => name === params["iopicture"])?.[0] ?? "pattern",
    measure: MEASURES.find(([name]) => name === params["ioheat"])?.[0] ?? "moved",
    layer: params["iolayer"] === "stdio" ? "stdio" : "posix",
    files: list("iofiles"),
    places: list("ioplaces"),
    isSplit: params["iosplit"] === "process",
    range: range && Number(range[2]) < Number(range[3]) ? { low: Number(range[2]), high: Number(range[3]) } : null,
    rangeFile: range ? Number(range[1]) : -1,
    hidesReads: params["iohide"] === "reads",
    hidesWrites: params["iohide"] === "writes",
    search: params["iosearch"] ?? "",
  };
}

/** The parameter of the chosen time: that of all views where the run has samples, which they can show parts of. */
const timeParam = (run: Run): "window" | "iotime" => (run.sampledNs > 0 ? "window" : "iotime");

/** The chosen part of the run's time, null for all of it. */
export function ioWindow(run: Run, params: Params, lengthNs: number): TimeWindow | null {
  const text = params[timeParam(run)];
  const chosen = timeWindow(text === undefined ? {} : { window: text });
  const end = Math.min(chosen?.end ?? 0, lengthNs);
  return chosen && chosen.begin < end ? { begin: chosen.begin, end } : null;
}

/** Show a part of the time, and of a file: null for all of it, absent for what is shown now. */
export function zoomTo(
  run: Run,
  zoom: { readonly time?: TimeWindow | null; readonly range?: ByteRange | null; readonly file?: number },
  isStep = true,
): void {
  const changes: Record<string, string | null> = {};
  if (zoom.time !== undefined) {
    changes[timeParam(run)] = zoom.time && `${Math.floor(zoom.time.begin)}-${Math.ceil(zoom.time.end)}`;
    changes["frame"] = changes["zoom"] = null;
  }
  if (zoom.range !== undefined) {
    changes["iorange"] = zoom.range && `${zoom.file ?? 0}:${Math.floor(zoom.range.low)}-${Math.ceil(zoom.range.high)}`;
  }
  if (isStep) navigate("io", changes);
  else setParams(changes);
}

/** A span made longer or shorter around a point, within bounds. */
export function scaledSpan(begin: number, end: number, factor: number, centre: number, most: number): [number, number] {
  const length = Math.min(most, Math.max(1, (end - begin) * factor));
  const part = (centre - begin) / (end - begin);
  return shiftedSpan(centre - part * length, centre - part * length + length, 0, most);
}

/** A span moved, within bounds. */
export function shiftedSpan(begin: number, end: number, by: number, most: number): [number, number] {
  const length = Math.min(end - begin, most);
  const first = Math.max(0, Math.min(most - length, begin + by));
  return [first, first + length];
}
