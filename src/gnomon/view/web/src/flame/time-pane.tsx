// What each thread did in the order of time: a lane for each, in which frames are as wide as they last.

import { useMemo, useRef, useState } from "preact/hooks";

import { getTimeOrder, type TimeOrder } from "../api";
import { useLoaded } from "../api-cache";
import { formatDuration, formatQuantity, plural } from "../format";
import { withoutReturnType } from "../name-parts";
import { setParams, useRoute } from "../route";
import { useShortcuts } from "../shortcuts";
import { useTheme } from "../theme";
import { setTimeWindow, timeWindow, wholeId } from "../time-window";
import type { Tree } from "../tree-model";
import { FlameCanvas, NO_FRAME, type CanvasHandle, type FramePlace } from "./flame-canvas";
import { drawnPanel, nextMatch, useSearch } from "./flame-panels";
import { PictureTools, SaveMenu } from "./flame-tools";
import { frameColours } from "./frame-colours";
import { FrameMenu } from "./frame-details";
import { ActivityOf, cachedColours, ColourLegend, frameActions, type PaneProps } from "./picture-parts";
import { nodeNumber, offeredPictures } from "./picture-state";
import { timePanels } from "./time-panels";

const BINS = 1024;

export function TimePane(props: PaneProps) {
  const { run, tree, chosen, state, locations } = props;
  const { params } = useRoute();
  const theme = useTheme();
  const handle = useRef<CanvasHandle | null>(null);
  const [menu, setMenu] = useState<(FramePlace & { x: number; y: number }) | null>(null);
  const { begin, end } = timeWindow(params) ?? { begin: 0, end: run.sampledNs };
  const metrics = props.shown.map((metric) => metric.metric).join(",");
  const id = wholeId(run.id);
  const query = { metrics, location: state.location, begin, end, bins: BINS };
  const loaded = useLoaded(`${id}/order/${JSON.stringify(query)}`, () => getTimeOrder(id, query));
  const order = loaded.value;
  const panels = useMemo(() => (order ? timePanels(tree, order, locations) : []), [tree, order, locations]);
  const colours = useMemo(() => {
    const scheme = state.colouring === "language" ? "language" : "module";
    return cachedColours(tree, frameColours(tree, scheme, theme, props.own));
  }, [tree, props.own, state.colouring, theme]);
  const length = order ? order.endNs - order.beginNs : 1;
  const { hits, error } = useSearch(tree, panels, state.search, length);
  const tell = (panel: number, frame: number): string => {
    const { frames } = panels[panel]!;
    const from = order!.beginNs + frames.start[frame]!;
    return `${tree.name(frames.node[frame]!)}: ${formatDuration(frames.value[frame]!)} from ${formatDuration(from)} on`;
  };
  const drawn = useMemo(
    () =>
      panels.map((panel, at) =>
        drawnPanel(tree, panel, length, colours.ofNode, hits?.[at]?.matches ?? null, (frame) => tell(at, frame)),
      ),
    [tree, panels, length, colours, hits],
  );
  const panel = Math.max(0, nodeNumber(params["panel"]));
  const frame = nodeNumber(params["frame"]);
  const focus = frame >= 0 && frame < (panels[panel]?.frames.n ?? 0) ? { panel, frame } : NO_FRAME;
  const select = (place: FramePlace) => setParams({ frame: place.frame, panel: place.panel || null });
  const narrow = ({ panel, frame }: FramePlace) => {
    if (frame < 0) return setTimeWindow(null);
    const { start, value } = panels[panel]!.frames;
    const from = order!.beginNs + start[frame]!;
    setTimeWindow({ begin: from, end: from + value[frame]! });
  };
  const toMatch = (step: 1 | -1) => {
    const next = nextMatch(hits?.map((one) => one.matches) ?? [], focus, step);
    if (next) select(next);
    handle.current?.focus();
  };
  useShortcuts({ n: () => toMatch(1), N: () => toMatch(-1) });
  const matches = hits?.reduce((sum, one) => sum + one.count, 0) ?? 0;
  const time = hits?.reduce((sum, one) => sum + one.value, 0) ?? 0;
  const nodeAt = (place: FramePlace) => panels[place.panel]!.frames.node[place.frame]!;
  return (
    <section class="pane flame-pane" aria-label="time order">
      <PictureTools
        {...props}
        splits={["together"]}
        pictures={offeredPictures(run, state)}
        onSearched={() => toMatch(1)}
        onLeave={() => handle.current?.focus()}
        searchError={error}
        searchNote={hits ? `${plural(matches, "frame matches", "frames match")}: ${formatDuration(time)} of all threads` : ""}
      >
        <SaveMenu name={`${run.title} over time`} handle={handle} />
      </PictureTools>
      <ActivityOf {...props} />
      {loaded.error && <p class="trouble">{loaded.error}</p>}
      {order && order.leftOut > 0 && (
        <p class="hint">{`the ${order.lanes.length} threads with most, of ${order.lanes.length + order.leftOut}`}</p>
      )}
      {order && order.n > 0 ? (
        <FlameCanvas
          label={`time order of ${plural(panels.length, "thread")}, ${formatDuration(length)}`}
          panels={drawn}
          isSideBySide={false}
          times={timeWindow(params) ? order : undefined}
          zoom={NO_FRAME}
          focus={focus}
          handle={handle}
          tooltip={(place) => (
            <TimeTooltip tree={tree} order={order} node={nodeAt(place)} metric={chosen.metric.name} unit={chosen.metric.unit}
              start={panels[place.panel]!.frames.start[place.frame]!}
              length={panels[place.panel]!.frames.value[place.frame]!}
              value={panels[place.panel]!.frames.own[place.frame]!} />
          )}
          onFocus={select}
          onZoom={narrow}
          onMenu={(place, x, y) => setMenu({ ...place, x, y })}
        />
      ) : (
        <p class={loaded.waiting ? "waiting" : "nothing"}>{loaded.waiting ? "reading the samples" : "No samples in this time."}</p>
      )}
      <footer class="status">
        <span class="crumbs">
          {focus.frame >= 0
            ? tell(focus.panel, focus.frame)
            : order
              ? `${formatDuration(order.beginNs)} to ${formatDuration(order.endNs)}, each point ${formatDuration(length / order.bins)} of the path that has most of it`
              : ""}
        </span>
        <ColourLegend legend={colours.legend} />
      </footer>
      {menu && (
        <FrameMenu
          label={tree.name(nodeAt(menu))}
          x={menu.x}
          y={menu.y}
          items={frameActions(tree, nodeAt(menu), state, () => narrow(menu))}
          onClose={() => {
            setMenu(null);
            handle.current?.focus();
          }}
        />
      )}
    </section>
  );
}

interface TooltipProps {
  readonly tree: Tree;
  readonly order: TimeOrder;
  readonly node: number;
  readonly metric: string;
  readonly unit: string;
  readonly start: number;
  readonly length: number;
  readonly value: number;
}

function TimeTooltip({ tree, order, node, metric, unit, start, length, value }: TooltipProps) {
  const module = tree.data.strings[tree.data.module[node]!];
  return (
    <>
      <b>{withoutReturnType(tree.name(node))}</b>
      {module && <div class="dim">{module}</div>}
      <table>
        <tbody>
          <tr>
            <th>lasts</th>
            <td class="number">{formatDuration(length)}</td>
          </tr>
          <tr>
            <th>from</th>
            <td class="number">{formatDuration(order.beginNs + start)}</td>
          </tr>
          <tr>
            <th>{metric}</th>
            <td class="number">{formatQuantity(value, unit)}</td>
          </tr>
        </tbody>
      </table>
    </>
  );
}
