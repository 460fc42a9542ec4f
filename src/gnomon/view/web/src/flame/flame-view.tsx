// The pictures of a run's call paths: flame graph, icicle, sandwich, time order.

import { useMemo, useRef, useState } from "preact/hooks";

import type { Grouping, Metric, ValuesQuery } from "../api";
import { useTree, useValues } from "../api-cache";
import { formatQuantity, formatShare, plural } from "../format";
import { setParams, useRoute } from "../route";
import { useShortcuts } from "../shortcuts";
import "../styles/flame.css";
import { useTheme } from "../theme";
import { timeWindow } from "../time-window";
import type { ViewProps } from "../view-props";
import { describeDifference, differenceColours, useDifferences, type TreeDifferences } from "./differences";
import { FlameCanvas, NO_FRAME, type CanvasHandle, type FramePlace } from "./flame-canvas";
import {
  describeFrame,
  drawnPanel,
  nextMatch,
  pictureFrames,
  placeNodes,
  useSearch,
  type PictureFrames,
} from "./flame-panels";
import { FilterChips, PictureTools, SaveMenu } from "./flame-tools";
import { frameColours } from "./frame-colours";
import { FrameMenu, FrameTooltip } from "./frame-details";
import type { OrderedFrames } from "./frames";
import { ActivityOf, cachedColours, ColourLegend, frameActions, showInTree, type PaneProps } from "./picture-parts";
import {
  chosenMetrics,
  nodeNumber,
  offeredPictures,
  pictureState,
  type ChosenMetrics,
  type PictureState,
  type Split,
} from "./picture-state";
import { TimePane } from "./time-pane";

export function FlameView(props: ViewProps) {
  const { run, metrics } = props;
  const { params } = useRoute();
  const state = pictureState(params);
  const chosen = chosenMetrics(run, metrics, params["metric"]);
  const by: Grouping = state.split === "together" || state.picture === "sandwich" || state.picture === "time" ? "region" : "rank";
  const tree = useTree(run.id, by);
  const { running, waiting } = chosen ? shownMetrics(chosen, state) : { running: null, waiting: null };
  const shown = [running, waiting].filter((metric) => metric !== null);
  const queries = shown.map((metric): ValuesQuery => ({ by, metric: metric.metric, location: state.location }));
  const values = useValues(run.id, queries);
  if (!chosen) {
    return (
      <p class="nothing">
        This run has no values of functions or sections that add up. Measure call paths with gnomon record.
      </p>
    );
  }
  const error = tree.error || values.error;
  if (error) return <p class="trouble">{error}</p>;
  const loaded = values.value;
  const fits =
    tree.value !== null &&
    tree.value.data.by === by &&
    loaded !== null &&
    loaded.length === queries.length &&
    loaded.every((one, at) => one.n === tree.value!.n && one.metric === queries[at]!.metric);
  if (!fits) return <p class="waiting">reading the tree</p>;
  const Pane = state.picture === "time" ? TimePane : FlamePane;
  return (
    <Pane
      key={run.id}
      {...props}
      tree={tree.value!}
      chosen={chosen}
      state={state}
      shown={shown}
      own={loaded![0]!.exclusive}
      values={{
        running: running ? loaded![0]! : null,
        waiting: waiting ? loaded![loaded!.length - 1]! : null,
      }}
    />
  );
}

function shownMetrics({ metric, running, waiting }: ChosenMetrics, { state }: PictureState) {
  if (!running) return { running: metric, waiting: null };
  return { running: state === "waiting" ? null : running, waiting: state === "running" ? null : waiting };
}

function FlamePane(props: PaneProps) {
  const { run, tree, chosen, state, locations } = props;
  const { params } = useRoute();
  const theme = useTheme();
  const handle = useRef<CanvasHandle | null>(null);
  const [menu, setMenu] = useState<(FramePlace & { x: number; y: number }) | null>(null);
  const isOfTime = chosen.running !== null;
  const metric = props.shown[0]!;
  const names = props.shown.map((one) => one.name).join(" and ");
  const inclusive = (props.values.running ?? props.values.waiting)!.inclusive;
  const isAgainst = state.colouring === "difference" && props.baseline !== null;
  const unfit = isAgainst ? whyNoDifferences(props, params) : "";
  const differs = isAgainst && unfit === "";
  const against = useDifferences(tree, differs ? inclusive : null, run.id, props.baseline?.id ?? "", metric);
  const differences = differs ? against.value : null;
  // Differences are of whole call paths.
  const wanted = differs ? { ...state, hide: NOTHING, fold: NOTHING } : state;
  const picture = pictureFrames(tree, props.values, wanted, locations, metric.unit)!;
  const { panels, scale, total } = picture;
  const shownTotal = picture.shownTotal;

  const colours = useMemo(() => {
    if (differences) return cachedColours(tree, differenceColours(differences, inclusive, theme));
    const scheme = state.colouring === "language" ? "language" : "module";
    return cachedColours(tree, frameColours(tree, scheme, theme, props.own));
  }, [tree, props.own, inclusive, state.colouring, theme, differences]);

  const { hits, error } = useSearch(tree, panels, state.search, total);
  const drawn = useMemo(
    () =>
      panels.map((panel, at) =>
        drawnPanel(tree, panel, scale, colours.ofNode, hits?.[at]?.matches ?? null, (frame) => {
          const text = describeFrame(tree, panel, frame, metric, total);
          return differences ? `${text}; ${changeOf(differences, panel.frames, frame, metric)}` : text;
        }),
      ),
    [tree, panels, scale, colours, hits, metric, total, differences],
  );

  const zoom = placeOf(picture, params["zoom"], params["panel"]);
  const focus = placeOf(picture, params["frame"], params["panel"]);
  const nodeOf = ({ panel, frame }: FramePlace) => (frame < 0 ? null : panels[panel]!.frames.node[frame]!);
  const select = (place: FramePlace) => setParams({ frame: nodeOf(place), panel: place.panel || null });
  const zoomTo = (place: FramePlace) => {
    const panel = place.frame < 0 ? focus.panel : place.panel;
    setParams({ zoom: nodeOf(place), panel: panel || null });
  };
  const shown = zoom.frame < 0 ? shownTotal : panels[zoom.panel]!.frames.value[zoom.frame]!;

  const toMatch = (step: 1 | -1) => {
    const next = nextMatch(hits?.map((one) => one.matches) ?? [], focus, step);
    if (next) select(next);
    handle.current?.focus();
  };
  useShortcuts({ n: () => toMatch(1), N: () => toMatch(-1) });

  const isWhole = state.hide.length === 0 && state.fold.length === 0;
  const splits = useMemo(() => offeredSplits(props), [tree, locations]);
  return (
    <section class="pane flame-pane" aria-label="flame graph">
      <PictureTools
        {...props}
        splits={splits}
        pictures={offeredPictures(run, state)}
        onSearched={() => toMatch(1)}
        onLeave={() => handle.current?.focus()}
        searchError={error}
        searchNote={hits ? searchNote(hits, state.picture === "sandwich" ? Number.NaN : total, metric.unit) : ""}
      >
        <SaveMenu name={run.title} handle={handle} />
        <button
          type="button"
          class="quiet"
          title="the same as a tree with numbers, beside its source"
          onClick={() => showInTree(tree, nodeOf(focus) ?? -1)}
        >
          As tree
        </button>
      </PictureTools>
      <ActivityOf {...props} />
      {unfit && <p class="hint">{unfit}</p>}
      {against.error && <p class="trouble">{against.error}</p>}
      {differences && differences.lost > 0 && (
        <p class="hint">
          {`${formatQuantity(differences.lost, metric.unit)} of ${props.baseline!.title}, ${formatShare(differences.lost, differences.baselineTotal)} % of it, are on call paths that ${run.title} does not have`}
        </p>
      )}
      {!isWhole && !differs && (
        <FilterChips state={state} hidden={`${formatQuantity(picture.hiddenValue, metric.unit)} hidden, ${formatShare(picture.hiddenValue, total)} % of all`} />
      )}
      {picture.error && <p class="trouble">{picture.error}</p>}
      {[...tree.data.notes, ...picture.notes].map((note) => (
        <p class="hint" key={note}>
          {note}
        </p>
      ))}
      {shownTotal > 0 && panels.some((panel) => panel.frames.n > 0) ? (
        <FlameCanvas
          label={`${PICTURE_LABELS[state.picture]} of ${names}: ${formatQuantity(shownTotal, metric.unit)}`}
          panels={drawn}
          isSideBySide={state.split !== "together" && state.picture !== "sandwich"}
          zoom={zoom}
          focus={focus}
          handle={handle}
          tooltip={({ panel, frame }) => (
            <FrameTooltip
              change={differences ? changeOf(differences, panels[panel]!.frames, frame, metric) : ""}
              tree={tree}
              frames={panels[panel]!.frames}
              frame={frame}
              metric={metric}
              total={total}
              shown={shown}
              isOfTime={isOfTime}
            />
          )}
          onFocus={select}
          onZoom={zoomTo}
          onMenu={(place, x, y) => setMenu({ ...place, x, y })}
        />
      ) : (
        <p class="nothing">Nothing is left to show.</p>
      )}
      <footer class="status">
        <span class="crumbs">
          {focus.frame >= 0
            ? drawn[focus.panel]!.describe(focus.frame)
            : `${formatQuantity(shown, metric.unit)} of ${names}, ${plural(panels.reduce((n, panel) => n + panel.frames.n, 0), "frame")}`}
        </span>
        <ColourLegend legend={colours.legend} />
      </footer>
      {menu && (
        <FrameMenu
          label={tree.name(nodeOf(menu)!)}
          x={menu.x}
          y={menu.y}
          items={frameActions(tree, nodeOf(menu)!, state, () => zoomTo(menu))}
          onClose={() => {
            setMenu(null);
            handle.current?.focus();
          }}
        />
      )}
    </section>
  );
}

const NOTHING: readonly string[] = [];

/** Why a picture cannot show what differs from another run, "" if it can. */
function whyNoDifferences({ state, shown, baseline }: PaneProps, params: Readonly<Record<string, string>>): string {
  const instead = `: colours are of modules, and not of the difference to ${baseline!.title}`;
  if (timeWindow(params)) return `Runs are compared with all of their time${instead}.`;
  if (state.picture === "sandwich" || state.split !== "together") return `Runs are compared in one flame graph or icicle${instead}.`;
  if (shown.length > 1) return `Running and waiting are compared one by one${instead}.`;
  return "";
}

function changeOf(differences: TreeDifferences, frames: OrderedFrames, frame: number, metric: Metric): string {
  return describeDifference(differences, frames.node[frame]!, frames.value[frame]!, metric);
}

const PICTURE_LABELS = { flame: "flame graph", icicle: "icicle", time: "time order", sandwich: "sandwich" };

function placeOf(picture: PictureFrames, node: string | undefined, panelParam: string | undefined): FramePlace {
  const panel = Math.max(0, nodeNumber(panelParam));
  const frame = picture.panels[panel]?.frames.ofNode[nodeNumber(node)] ?? -1;
  return frame < 0 ? NO_FRAME : { panel, frame };
}

/** How many match, and what they come to; in a sandwich nothing adds up: its halves are the same time. */
function searchNote(hits: readonly { count: number; value: number }[], total: number, unit: string): string {
  const count = hits.reduce((sum, one) => sum + one.count, 0);
  const value = hits.reduce((sum, one) => sum + one.value, 0);
  if (count === 0) return "nothing matches";
  const matching = plural(count, "frame matches", "frames match");
  if (Number.isNaN(total)) return matching;
  return `${matching}: ${formatQuantity(value, unit)}, ${formatShare(value, total)} % of all`;
}

function offeredSplits({ tree, locations, run }: PaneProps): readonly Split[] {
  if (!run.groupings.some((grouping) => grouping.by === "rank")) return ["together"];
  const kinds = locations.map((one) => one.kind);
  const count = (kind: string) => kinds.filter((one) => one === kind).length;
  const splits: Split[] = ["together"];
  if (tree.data.by === "rank") {
    for (const split of ["process", "thread"] as const) {
      if (placeNodes(tree, split, locations).length > 1) splits.push(split);
    }
    return splits;
  }
  if (Math.max(count("process"), count("rank")) > 1) splits.push("process");
  if (count("thread") > 1) splits.push("thread");
  return splits;
}
