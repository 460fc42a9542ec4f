// The panels of a picture: what is left of a tree after hiding and folding, split by place, or
// turned around one function.

import { useMemo } from "preact/hooks";

import type { Location, Metric, Values } from "../api";
import { formatQuantity, formatShare } from "../format";
import { lastResult } from "../last-result";
import { TreeFilter } from "../tree-filter";
import type { Tree } from "../tree-model";
import type { FramePlace } from "./flame-canvas";
import { isWait } from "./frame-colours";
import type { Panel } from "./frame-drawing";
import { calleesOf, callersOf, folded, hidden, type NodeTest } from "./frame-transforms";
import {
  functionNumbers,
  ordered,
  treeFrames,
  type Frames,
  type OrderedFrames,
} from "./frames";
import type { PictureState, Split } from "./picture-state";

export const PANELS_MOST = 64;

export interface PanelFrames {
  readonly title: string;
  readonly frames: OrderedFrames;
  readonly isUpward: boolean;
}

export interface PictureFrames {
  readonly panels: readonly PanelFrames[];
  /** The value that is as wide as the picture. */
  readonly scale: number;
  /** Of all, before anything was hidden. */
  readonly total: number;
  /** Of what the picture is of. */
  readonly shownTotal: number;
  readonly hiddenValue: number;
  readonly notes: readonly string[];
  readonly error: string;
}

/** Values of nodes that a picture adds up. */
export interface PictureValues {
  readonly running: Values | null;
  readonly waiting: Values | null;
}

interface PlaceFrames {
  readonly root: number;
  readonly frames: Frames;
}

// To lay out 100,000 frames takes a quarter of the time in which a view that was left should be back.
const lastWholes = lastResult<readonly PlaceFrames[] | null>();
const lastPicture = lastResult<PictureFrames | null>();

export function pictureFrames(
  tree: Tree | null,
  values: PictureValues,
  state: PictureState,
  locations: readonly Location[],
  unit: string,
): PictureFrames | null {
  const { running, waiting } = values;
  const wholes = lastWholes(() => {
    if (!tree || !(running || waiting)) return null;
    const places = placeNodes(tree, state.split, locations);
    const roots = places.length > 0 ? places : [-1];
    return roots.map((root) => ({ root, frames: treeFrames(tree, running, waiting, root) }));
  }, [tree, running, waiting, state.split, locations]);
  const { hide, fold, picture, middle, order } = state;
  const filters = `${hide.join("\n")}\u0000${fold.join("\n")}`;
  return lastPicture(() => {
    if (!tree || !wholes) return null;
    const meant = (words: readonly string[]) => nodeTest(tree, words);
    const isHidden = meant(hide);
    const isFolded = meant(fold);
    const error = [isHidden, isFolded].find((one) => typeof one === "string");
    const changed = wholes.map(({ root, frames }) => {
      let left = frames;
      if (typeof isHidden === "function") left = hidden(left, functionNumbers(tree), isHidden);
      if (typeof isFolded === "function") left = folded(left, functionNumbers(tree), isFolded);
      return { root, frames: left };
    });
    const total = sum(wholes.map((one) => one.frames));
    const rest = sum(changed.map((one) => one.frames));
    const common = { total, shownTotal: rest, hiddenValue: total - rest, error: typeof error === "string" ? error : "" };
    if (picture === "sandwich") {
      const functions = functionNumbers(tree);
      const wanted = middle >= 0 && middle < tree.n ? functions[middle]! : -1;
      const all = changed[0]!.frames;
      const name = middle >= 0 && middle < tree.n ? tree.name(middle) : "";
      const callers = ordered(tree, callersOf(all, functions, wanted), order);
      const callees = ordered(tree, calleesOf(all, functions, wanted), order);
      const { total: scale } = callees;
      const share = formatShare(scale, total);
      const panels = [
        { title: `callers of ${name}`, frames: callers, isUpward: true },
        { title: `${name}: ${formatQuantity(scale, unit)}, ${share} % of all, and what it calls`, frames: callees, isUpward: false },
      ];
      return { ...common, shownTotal: scale, panels, scale, notes: [] };
    }
    const isUpward = picture === "flame" && changed.length === 1;
    const panels = changed
      .map(({ root, frames }) => ({ root, frames: ordered(tree, frames, order) }))
      .filter(({ root, frames }) => root < 0 || frames.total > 0)
      .map(({ root, frames }) => ({
        title: root < 0 ? "" : `${nodeTitle(tree, root, locations)}: ${formatQuantity(frames.total, unit)}`,
        frames,
        isUpward: isUpward || (picture === "flame" && root >= 0),
      }));
    const notes = [];
    if (panels.length > PANELS_MOST) {
      panels.sort((a, b) => b.frames.total - a.frames.total);
      notes.push(`the ${PANELS_MOST} with most of ${panels.length}`);
      panels.length = PANELS_MOST;
    }
    return { ...common, panels, scale: Math.max(0, ...panels.map((one) => one.frames.total)), notes };
  }, [tree, wholes, filters, picture, middle, order, unit]);
}

function sum(all: readonly Frames[]): number {
  let value = 0;
  for (const { n, parent, value: values } of all) {
    for (let frame = 0; frame < n; frame++) if (parent[frame]! < 0) value += values[frame]!;
  }
  return value;
}

/** A test for what any of several filters matches; null without any, or what is wrong with one. */
function nodeTest(tree: Tree, words: readonly string[]): NodeTest | string | null {
  const tests = [];
  for (const word of words) {
    const filter = TreeFilter.parse(word);
    if (typeof filter === "string") return filter;
    if (filter) tests.push(tree.tester(filter, Number.NaN));
  }
  if (tests.length === 0) return null;
  const meant = new Uint8Array(tree.n);
  for (let node = 0; node < tree.n; node++) {
    if (tree.parent(node) >= 0 && tests.some((test) => test(node, Number.NaN))) meant[node] = 1;
  }
  return (node) => meant[node] === 1;
}

const PROCESSES = new Set(["rank", "process"]);

/** Nodes of processes and ranks, the outermost of them, or of the innermost places. */
export function placeNodes(tree: Tree, split: Split, locations: readonly Location[]): number[] {
  if (split === "together") return [];
  const known = new Map(locations.map((one) => [one.location, one]));
  const isPlace = (node: number) => tree.data.location[node]! >= 0;
  const kindOf = (node: number) => known.get(tree.data.location[node]!)?.kind ?? "";
  const nodes: number[] = [];
  for (let node = 0; node < tree.n; node++) {
    // A function has the location of the thread that it ran in: places are those above.
    if (!isPlace(node) || tree.kind(node).name !== kindOf(node)) continue;
    if (split === "process") {
      const above = tree.path(node).slice(0, -1);
      if (PROCESSES.has(kindOf(node)) && !above.some((one) => isPlace(one) && PROCESSES.has(kindOf(one)))) nodes.push(node);
    } else if (!tree.children(node).some((child) => isPlace(child) && tree.kind(child).name === kindOf(child))) {
      nodes.push(node);
    }
  }
  return nodes.sort((a, b) => byPlace(known.get(tree.data.location[a]!)!, known.get(tree.data.location[b]!)!));
}

/** The order of places: by rank, process and thread. */
export function byPlace(a: Location, b: Location): number {
  return a.rank - b.rank || a.pid - b.pid || a.tid - b.tid || a.location - b.location;
}

function nodeTitle(tree: Tree, node: number, locations: readonly Location[]): string {
  const location = locations.find((one) => one.location === tree.data.location[node]);
  return location?.kind === "thread" ? placeTitle(location, locations) : tree.name(node);
}

/** The name of a place, and before that of a thread its rank where it has one. */
export function placeTitle(location: Location, locations: readonly Location[]): string {
  const above = locations.find((one) => one.location === location.parent);
  return location.kind === "thread" && above && above.rank >= 0 ? `${above.title}, ${location.title}` : location.title;
}

/** What a search finds in a panel: the frames, and the value of the lowest of them. */
interface SearchHits {
  readonly matches: Uint8Array;
  readonly count: number;
  readonly value: number;
}

/** What a search finds in each panel, null where nothing is searched, and what is wrong with it. */
export function useSearch(
  tree: Tree,
  panels: readonly { readonly frames: OrderedFrames }[],
  text: string,
  total: number,
): { hits: readonly SearchHits[] | null; error: string } {
  const filter = useMemo(() => TreeFilter.parse(text), [text]);
  const hits = useMemo(
    () =>
      filter === null || typeof filter === "string"
        ? null
        : panels.map(({ frames }) => searched(tree, frames, filter, total)),
    [tree, panels, filter, total],
  );
  return { hits, error: typeof filter === "string" ? filter : "" };
}

function searched(tree: Tree, frames: OrderedFrames, filter: TreeFilter, total: number): SearchHits {
  const test = tree.tester(filter, total);
  const matches = new Uint8Array(frames.n);
  let count = 0;
  let value = 0;
  let counted = 0;
  for (let frame = 0; frame < frames.n; frame++) {
    if (!test(frames.node[frame]!, frames.value[frame]!)) continue;
    matches[frame] = 1;
    count++;
    if (frame < counted) continue;
    value += frames.value[frame]!;
    counted = frames.end[frame]!;
  }
  return { matches, count, value };
}

/** The next frame that matches, after one of a panel, or before it. */
export function nextMatch(matches: readonly Uint8Array[], from: FramePlace, step: 1 | -1): FramePlace | null {
  const all = matches.reduce((sum, one) => sum + one.length, 0);
  let { panel, frame } = from;
  for (let tried = 0; tried < all; tried++) {
    frame += step;
    if (frame < 0 || frame >= matches[panel]!.length) {
      panel = (panel + step + matches.length) % matches.length;
      frame = step > 0 ? 0 : matches[panel]!.length - 1;
    }
    if (matches[panel]![frame]) return { panel, frame };
  }
  return null;
}

/** A frame in a line, for who cannot see it, and in an SVG. */
export function describeFrame(tree: Tree, panel: PanelFrames, frame: number, metric: Metric, total: number): string {
  const { frames } = panel;
  const node = frames.node[frame]!;
  const value = frames.value[frame]!;
  const share = formatShare(value, total);
  const parts = [`${tree.name(node)}: ${formatQuantity(value, metric.unit)}`];
  if (share) parts.push(`${share} %`);
  parts.push(`self ${formatQuantity(frames.own[frame]!, metric.unit)}`);
  return parts.join(", ");
}

/** A panel as it is drawn. */
export function drawnPanel(
  tree: Tree,
  panel: PanelFrames,
  scale: number,
  colourOf: (node: number) => string,
  matches: Uint8Array | null,
  describe: (frame: number) => string,
): Panel {
  const { frames } = panel;
  return {
    ...panel,
    scale,
    isSearched: matches !== null,
    matches: matches ?? new Uint8Array(frames.n),
    describe,
    fillOf: (frame) => colourOf(frames.node[frame]!),
    nameOf: (frame) => tree.name(frames.node[frame]!),
    isHatched: (frame) => isWait(tree, frames.node[frame]!),
  };
}
