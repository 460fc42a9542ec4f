// What a picture shows, as the address has it: names of its parameters, and what they may be.

import type { Metric, Run } from "../api";
import { setParams } from "../route";
import type { FrameOrder } from "./frames";

export const PICTURES = ["flame", "icicle", "time", "sandwich"] as const;
export type Picture = (typeof PICTURES)[number];

export const STATES = ["running", "waiting", "both"] as const;
/** Which time of threads is shown, where a run has both. */
export type ThreadState = (typeof STATES)[number];

export const SPLITS = ["together", "process", "thread"] as const;
export type Split = (typeof SPLITS)[number];

export const COLOURS = ["module", "language", "difference"] as const;
export type Colouring = (typeof COLOURS)[number];

type Params = Readonly<Record<string, string>>;

export interface PictureState {
  readonly picture: Picture;
  readonly state: ThreadState;
  readonly split: Split;
  readonly colouring: Colouring;
  readonly order: FrameOrder;
  readonly search: string;
  /** Filters of frames that are left out, and of those that are put together. */
  readonly hide: readonly string[];
  readonly fold: readonly string[];
  /** A node of the function that a sandwich is of, -1 for none. */
  readonly middle: number;
  readonly location: number | undefined;
}

const BETWEEN = "\n";

export function pictureState(params: Params): PictureState {
  const choice = <T extends string>(names: readonly T[], param: string): T =>
    names.find((name) => name === params[param]) ?? names[0]!;
  const list = (param: string) => (params[param] ?? "").split(BETWEEN).filter(Boolean);
  return {
    picture: choice(PICTURES, "picture"),
    state: choice(STATES, "state"),
    split: choice(SPLITS, "split"),
    colouring: choice(COLOURS, "colour"),
    order: params["siblings"] === "name" ? "name" : "value",
    search: params["q"] ?? "",
    hide: list("hide"),
    fold: list("fold"),
    middle: nodeNumber(params["middle"]),
    location: params["location"] ? Number(params["location"]) : undefined,
  };
}

export function nodeNumber(param: string | undefined): number {
  return param !== undefined && /^\d+$/.test(param) ? Number(param) : -1;
}

/** Change a list of filters in the address. */
export function setFilters(param: "hide" | "fold", filters: readonly string[]): void {
  setParams({ [param]: [...new Set(filters)].join(BETWEEN) || null, frame: null, zoom: null });
}

/** A filter that matches a function's name and nothing else. */
export function exactName(name: string): string {
  return `/^${name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}$/`;
}

/** A filter for all of a module. */
export function ofModule(module: string): string {
  return `module:/^${module.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}$/`;
}

/** Metrics whose values add up from function to function: those that a picture can be of. */
export function pictureMetrics(metrics: readonly Metric[]): Metric[] {
  return metrics.filter((metric) => metric.additive && metric.hasRegions && !metric.atOnce && !metric.recomputed);
}

export interface ChosenMetrics {
  readonly metric: Metric;
  /** The two that make up the time of threads, where `metric` is one of them. */
  readonly running: Metric | null;
  readonly waiting: Metric | null;
}

/** The metric of a picture: that of the address, else the first that the run shows. */
export function chosenMetrics(run: Run, metrics: readonly Metric[], name: string | undefined): ChosenMetrics | null {
  const offered = pictureMetrics(metrics);
  const metric =
    offered.find((one) => one.name === name) ??
    offered.find((one) => one.metric === run.firstMetric) ??
    offered[0];
  if (!metric) return null;
  const running = offered.find((one) => one.ofThreads === "running") ?? null;
  const waiting = offered.find((one) => one.ofThreads === "waiting") ?? null;
  const isTime = running !== null && waiting !== null && (metric === running || metric === waiting);
  return isTime ? { metric: running, running, waiting } : { metric, running: null, waiting: null };
}

/** Pictures that there can be: over time where samples have one, around a function once chosen. */
export function offeredPictures(run: Run, { middle }: PictureState): Picture[] {
  return PICTURES.filter((name) => (name !== "time" || run.sampledNs > 0) && (name !== "sandwich" || middle >= 0));
}
