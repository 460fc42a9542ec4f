// What stands around every picture: what its colours mean, and what a frame's menu has.

import type { Metric } from "../api";
import { navigate, useRoute } from "../route";
import { setTimeWindow, timeWindow, wholeId } from "../time-window";
import type { Tree } from "../tree-model";
import type { ViewProps } from "../view-props";
import { CALL_KINDS, CallsBand } from "../io/calls-band";
import { ActivityBand } from "./activity-band";
import type { PictureValues } from "./flame-panels";
import type { FrameColours, Legend } from "./frame-colours";
import type { MenuItem } from "./frame-details";
import { exactName, ofModule, setFilters, type ChosenMetrics, type PictureState } from "./picture-state";

export interface PaneProps extends ViewProps {
  readonly tree: Tree;
  readonly chosen: ChosenMetrics;
  readonly state: PictureState;
  /** The metrics whose values make up the picture: one, or running and waiting. */
  readonly shown: readonly Metric[];
  readonly values: PictureValues;
  /** What nodes have of their own of the first of them. */
  readonly own: Float64Array;
}

/**
 * The band of what the picture shows over the time of the run, and of calls that have times; nothing where
 * no time is known.
 */
export function ActivityOf({ run, shown, chosen, state }: PaneProps) {
  const { params } = useRoute();
  if (run.sampledNs <= 0) return null;
  const isSampled = shown.every((metric) => metric.sampleWeight !== null || metric === chosen.waiting);
  const band = { id: wholeId(run.id), window: timeWindow(params), onWindow: setTimeWindow };
  return (
    <>
      {isSampled && (
        <ActivityBand
          {...band}
          sampledNs={run.sampledNs}
          metrics={shown.map((metric) => ({ metric, isWaiting: metric === chosen.waiting }))}
          location={state.location}
        />
      )}
      {CALL_KINDS.filter((kind) => run.tracedCalls.includes(kind)).map((kind, nth) => (
        <CallsBand key={kind} {...band} kind={kind} lengthNs={run.sampledNs} hasAxis={!isSampled && nth === 0} />
      ))}
    </>
  );
}

export function ColourLegend({ legend }: { legend: readonly Legend[] }) {
  return (
    <ul class="legend flame-legend">
      {legend.map((one) => (
        <li key={one.label}>
          <span class={one.isHatched ? "swatch is-hatched" : "swatch"} style={{ background: one.colour }} />
          {one.label}
        </li>
      ))}
    </ul>
  );
}

/** Colours by node, each made once. */
export function cachedColours(tree: Tree, colours: FrameColours): FrameColours {
  const known = new Array<string | undefined>(tree.n);
  return { ...colours, ofNode: (node) => (known[node] ??= colours.ofNode(node)) };
}

export function showInTree(tree: Tree, node: number): void {
  const place = node >= 0 ? { node, file: tree.file(node) || null, line: tree.line(node) || null } : {};
  navigate("tree", { by: tree.data.by, of: null, ...place });
}

export function frameActions(tree: Tree, node: number, state: PictureState, zoom: () => void): MenuItem[] {
  const module = tree.data.strings[tree.data.module[node]!] ?? "";
  const name = tree.name(node);
  const items: MenuItem[] = [{ label: "Zoom in", hint: "Enter", act: zoom }];
  if (tree.parent(node) >= 0 && tree.data.by === "region") {
    items.push({
      label: "Callers and callees",
      hint: "a sandwich of this function, from all of its calls",
      act: () => navigate("flame", { picture: "sandwich", middle: node, zoom: null, frame: null, panel: null }),
    });
  }
  items.push({ label: tree.file(node) ? "Show the source" : "Show in the tree", act: () => showInTree(tree, node) });
  if (tree.parent(node) >= 0) {
    items.push(
      {
        label: "Hide the function",
        hint: "leave it out, with all that it calls",
        act: () => setFilters("hide", [...state.hide, exactName(name)]),
      },
      {
        label: "Fold the function",
        hint: "make one frame of its recursive calls",
        act: () => setFilters("fold", [...state.fold, exactName(name)]),
      },
    );
    if (module) {
      items.push(
        {
          label: `Hide ${module}`,
          hint: "leave out all of its functions, with all that they call",
          act: () => setFilters("hide", [...state.hide, ofModule(module)]),
        },
        {
          label: `Fold ${module}`,
          hint: "make one frame of its functions that call each other",
          act: () => setFilters("fold", [...state.fold, ofModule(module)]),
        },
      );
    }
  }
  items.push({ label: "Copy the name", act: () => void navigator.clipboard?.writeText(name) });
  return items;
}
