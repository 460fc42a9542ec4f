// Frames on a canvas as high as its pane: pointer, keys, and what assistive technology is told.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { scaledContext } from "../canvas";
import { themeValue, useTheme } from "../theme";
import {
  drawPanel,
  levelAt,
  levelTop,
  panelHeight,
  ROW_PX,
  TITLE_PX,
  type DrawingColours,
  type Panel,
  type Span,
} from "./frame-drawing";
import { frameAt } from "./frames";
import { CanvasSurface, forgetLetters, Ruler, SvgSurface } from "./surfaces";
import { TimeAxis } from "../time-axis";

/** A frame of a panel; `frame` is -1 where there is none. */
export interface FramePlace {
  readonly panel: number;
  readonly frame: number;
}

export const NO_FRAME: FramePlace = { panel: 0, frame: -1 };

export interface CanvasHandle {
  readonly focus: () => void;
  readonly svg: (title: string) => string;
  readonly png: () => Promise<Blob | null>;
}

interface Props {
  readonly label: string;
  readonly panels: readonly Panel[];
  readonly isSideBySide: boolean;
  /** The times that are shown from left to right, where nothing else says them. */
  readonly times?: { readonly beginNs: number; readonly endNs: number } | undefined;
  readonly zoom: FramePlace;
  readonly focus: FramePlace;
  readonly handle: { current: CanvasHandle | null };
  readonly tooltip: (place: FramePlace) => ComponentChildren;
  readonly onFocus: (place: FramePlace) => void;
  readonly onZoom: (place: FramePlace) => void;
  /** A menu for a frame, at a point of the window. */
  readonly onMenu: (place: FramePlace, x: number, y: number) => void;
}

interface Hover extends FramePlace {
  readonly x: number;
  readonly y: number;
}

const BETWEEN_PX = 8;
// Eight ranks stand beside each other in a window of a usual width.
const COLUMN_PX = 160;
const FOCUS_LEAST_PX = 3;
// Browsers draw no larger canvas.
const PNG_MOST_PX = 16_000;

export function FlameCanvas(props: Props) {
  const { panels, zoom, focus } = props;
  const theme = useTheme();
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const painted = useRef(-1);
  const [hover, setHover] = useState<Hover | null>(null);
  const { boxes, height: content } = useMemo(
    () => arranged(panels, size.width, size.height, props.isSideBySide),
    [panels, size, props.isSideBySide],
  );

  useLayoutEffect(() => {
    const pane = box.current!;
    const measure = () => {
      const { clientWidth: width, clientHeight: height } = pane;
      setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    };
    const watch = new ResizeObserver(measure);
    watch.observe(pane);
    measure();
    return () => watch.disconnect();
  }, []);

  const spanOf = (at: number): Span => {
    const { frames, scale } = panels[at]!;
    if (zoom.panel !== at || zoom.frame < 0) return { from: 0, to: scale };
    const start = frames.start[zoom.frame]!;
    return { from: start, to: start + frames.value[zoom.frame]! };
  };

  const paint = () => {
    const { width, height } = size;
    if (width === 0 || !box.current) return;
    const pen = scaledContext(canvas.current!, width, height);
    const colours = drawingColours();
    const scrolled = box.current.scrollTop;
    painted.current = scrolled;
    const surface = new CanvasSurface(pen, themeValue("--sans"), colours.dim, colours.ground);
    panels.forEach((panel, at) =>
      drawPanel(
        surface,
        panel,
        {
          ...boxes[at]!,
          top: boxes[at]!.top - scrolled,
          span: spanOf(at),
          from: 0,
          to: height,
          zoom: zoom.panel === at ? zoom.frame : -1,
        },
        colours,
      ),
    );
    surface.show();
  };
  // A flame graph stands on the lower edge; of several the first ones do.
  useLayoutEffect(() => {
    const [first] = panels;
    if (!first?.isUpward || (panels.length > 1 && !props.isSideBySide)) return;
    box.current!.scrollTop = boxes[0]!.top + panelHeight(first) + BETWEEN_PX - size.height;
  }, [panels.length, panels[0]?.isUpward, props.isSideBySide, content, size.height]);
  useLayoutEffect(paint, [panels, boxes, zoom.panel, zoom.frame, theme]);
  // Letters are of the page's font once that has come.
  const painter = useRef(paint);
  painter.current = paint;
  useEffect(
    () =>
      void document.fonts.ready.then(() => {
        forgetLetters();
        if (canvas.current) painter.current();
      }),
    [],
  );

  const placeAt = (event: MouseEvent): FramePlace => {
    const edge = canvas.current!.getBoundingClientRect();
    const x = event.clientX - edge.left;
    const y = event.clientY - edge.top + box.current!.scrollTop;
    const at = panels.findIndex((panel, one) => {
      const { left, top, width } = boxes[one]!;
      return x >= left && x < left + width && y >= top && y < top + panelHeight(panel);
    });
    if (at < 0) return NO_FRAME;
    const depth = levelAt(panels[at]!, y - boxes[at]!.top);
    const span = spanOf(at);
    const value = span.from + ((x - boxes[at]!.left) / boxes[at]!.width) * (span.to - span.from);
    return { panel: at, frame: depth < 0 ? -1 : frameAt(panels[at]!.frames, depth, value) };
  };

  const show = (place: FramePlace) => {
    const panel = panels[place.panel]!;
    const top = boxes[place.panel]!.top + levelTop(panel, panel.frames.depth[place.frame]!);
    const { scrollTop } = box.current!;
    if (top < scrollTop) box.current!.scrollTop = top - ROW_PX;
    else if (top + ROW_PX > scrollTop + size.height) box.current!.scrollTop = top + 2 * ROW_PX - size.height;
  };
  const move = (place: FramePlace) => {
    if (place.frame < 0) return;
    setHover(null);
    props.onFocus(place);
    show(place);
    const span = spanOf(place.panel);
    const { frames } = panels[place.panel]!;
    const start = frames.start[place.frame]!;
    // What is not shown is shown by going back to where it is.
    if (start >= span.to || start + frames.value[place.frame]! <= span.from) props.onZoom(NO_FRAME);
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const own = focus.frame >= 0 ? focus : { panel: 0, frame: 0 };
    const panel = panels[own.panel];
    if (!panel || panel.frames.n === 0) return;
    const act = keyAction(event, panels, own, zoom);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    if (act.kind === "focus") move(act.place);
    else if (act.kind === "zoom") props.onZoom(act.place);
    else {
      const edge = canvas.current!.getBoundingClientRect();
      const { left, top, width } = boxes[own.panel]!;
      const span = spanOf(own.panel);
      const x = ((panel.frames.start[own.frame]! - span.from) / (span.to - span.from)) * width;
      const y = top + levelTop(panel, panel.frames.depth[own.frame]!) - box.current!.scrollTop;
      props.onMenu(own, edge.left + left + Math.max(0, Math.min(x, width - 60)), edge.top + y + ROW_PX);
    }
  };

  props.handle.current = {
    focus: () => box.current?.focus(),
    svg: (title) => {
      const colours = drawingColours();
      const surface = new SvgSurface(new Ruler(canvas.current!.getContext("2d")!, themeValue("--sans")), colours.dim);
      const whole = arranged(panels, size.width, 0, props.isSideBySide);
      drawAll(surface, panels, whole, spanOf, zoom, colours);
      return surface.document(size.width, whole.height, colours.ground, title);
    },
    png: () => {
      const sheet = document.createElement("canvas");
      const whole = arranged(panels, size.width, 0, props.isSideBySide);
      const ratio = Math.min(devicePixelRatio, PNG_MOST_PX / whole.height);
      const pen = scaledContext(sheet, size.width, whole.height, ratio);
      const colours = drawingColours();
      const surface = new CanvasSurface(pen, themeValue("--sans"), colours.dim, colours.ground);
      drawAll(surface, panels, whole, spanOf, zoom, colours);
      surface.show();
      return new Promise((done) => sheet.toBlob(done, "image/png"));
    },
  };

  const focused = panels[focus.panel];
  return (
    <div class={props.times ? "flame-box has-axis" : "flame-box"} data-theme-drawn={theme}>
      {props.times && <TimeAxis {...props.times} width={size.width} />}
      <div
        ref={box}
        class="flame-scroll"
        role="tree"
        tabIndex={0}
        aria-label={props.label}
        aria-activedescendant={focus.frame >= 0 && focused ? "flame-focus" : undefined}
        onKeyDown={onKeyDown}
        onScroll={() => {
          // The event may come when the page has left the graph already.
          if (!box.current || box.current.scrollTop === painted.current) return;
          setHover(null);
          paint();
        }}
        onMouseMove={(event) => {
          const place = placeAt(event);
          setHover(place.frame < 0 ? null : { ...place, x: event.clientX, y: event.clientY });
        }}
        onMouseLeave={() => setHover(null)}
        onClick={(event) => {
          const place = placeAt(event);
          if (place.frame < 0) return;
          props.onFocus(place);
          props.onZoom(panels[place.panel]!.frames.parent[place.frame]! < 0 ? NO_FRAME : place);
        }}
        onContextMenu={(event) => {
          const place = placeAt(event);
          if (place.frame < 0) return;
          event.preventDefault();
          setHover(null);
          props.onFocus(place);
          props.onMenu(place, event.clientX, event.clientY);
        }}
      >
        <div class="flame-content" style={{ height: `${Math.max(content, size.height)}px` }}>
          <canvas ref={canvas} class="flame-canvas" aria-hidden="true" />
          {focused && focus.frame >= 0 && focus.frame < focused.frames.n && (
            <div
              id="flame-focus"
              role="treeitem"
              aria-level={focused.frames.depth[focus.frame]! + 1}
              aria-selected="true"
              style={focusStyle(focused, focus.frame, spanOf(focus.panel), boxes[focus.panel]!)}
            >
              <span class="visually-hidden">{focused.describe(focus.frame)}</span>
            </div>
          )}
        </div>
      </div>
      {hover && hover.frame < (panels[hover.panel]?.frames.n ?? 0) && (
        <Tooltip x={hover.x} y={hover.y}>
          {props.tooltip(hover)}
        </Tooltip>
      )}
    </div>
  );
}

type KeyAct = { kind: "focus" | "zoom"; place: FramePlace } | { kind: "menu" };

function keyAction(
  event: KeyboardEvent,
  panels: readonly Panel[],
  own: FramePlace,
  zoom: FramePlace,
): KeyAct | null {
  const { frames, isUpward } = panels[own.panel]!;
  const to = (frame: number): KeyAct => ({ kind: "focus", place: { panel: own.panel, frame } });
  const child = own.frame + 1 < frames.end[own.frame]! ? largestChild(panels[own.panel]!, own.frame) : -1;
  switch (event.key) {
    case "ArrowUp":
      return to(isUpward ? child : frames.parent[own.frame]!);
    case "ArrowDown":
      return to(isUpward ? frames.parent[own.frame]! : child);
    case "ArrowLeft":
    case "ArrowRight": {
      const step = event.key === "ArrowLeft" ? -1 : 1;
      const level = frames.levels[frames.depth[own.frame]!]!;
      const next = level[level.indexOf(own.frame) + step];
      if (next !== undefined) return to(next);
      const beside = panels[own.panel + step];
      if (!beside || beside.frames.n === 0) return to(-1);
      return { kind: "focus", place: { panel: own.panel + step, frame: 0 } };
    }
    case "Home":
      return to(0);
    case "Enter":
      return { kind: "zoom", place: frames.parent[own.frame]! < 0 ? NO_FRAME : own };
    case "Backspace": {
      if (zoom.frame < 0) return null;
      const above = panels[zoom.panel]!.frames.parent[zoom.frame]!;
      const isBottom = above < 0 || panels[zoom.panel]!.frames.parent[above]! < 0;
      return { kind: "zoom", place: isBottom ? NO_FRAME : { panel: zoom.panel, frame: above } };
    }
    case "Escape":
      return zoom.frame < 0 ? null : { kind: "zoom", place: NO_FRAME };
    case "ContextMenu":
      return { kind: "menu" };
    case "F10":
      return event.shiftKey ? { kind: "menu" } : null;
    default:
      return null;
  }
}

function largestChild({ frames }: Panel, frame: number): number {
  let most = -1;
  for (let at = frame + 1; at < frames.end[frame]!; at = frames.end[at]!) {
    if (most < 0 || frames.value[at]! > frames.value[most]!) most = at;
  }
  return most;
}

function Tooltip(props: { x: number; y: number; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { offsetWidth, offsetHeight, style } = box.current!;
    const below = props.y + 18 + offsetHeight < window.innerHeight;
    style.left = `${Math.max(4, Math.min(props.x + 12, window.innerWidth - offsetWidth - 8))}px`;
    style.top = `${below ? props.y + 18 : Math.max(4, props.y - offsetHeight - 10)}px`;
  });
  return (
    <div ref={box} class="flame-tooltip" role="tooltip">
      {props.children}
    </div>
  );
}

interface PanelBox {
  readonly left: number;
  readonly top: number;
  readonly width: number;
}

/** Where the frame that keys move is, over the canvas: to move it draws nothing else anew. */
function focusStyle(panel: Panel, frame: number, span: Span, box: PanelBox) {
  const { start, value, depth } = panel.frames;
  const scale = box.width / (span.to - span.from);
  const from = Math.max(0, (start[frame]! - span.from) * scale);
  const to = Math.min(box.width, (start[frame]! + value[frame]! - span.from) * scale);
  return {
    left: `${box.left + Math.min(from, box.width - FOCUS_LEAST_PX)}px`,
    top: `${box.top + levelTop(panel, depth[frame]!)}px`,
    width: `${Math.max(to - from, FOCUS_LEAST_PX)}px`,
    height: `${ROW_PX - 1}px`,
    // One that is not shown is still told of.
    opacity: to > from ? 1 : 0,
  };
}

interface Arrangement {
  readonly boxes: readonly PanelBox[];
  readonly height: number;
}

/** Where panels are: below each other, or as many beside each other as there is room for. */
function arranged(
  panels: readonly Panel[],
  width: number,
  height: number,
  isSideBySide: boolean,
): Arrangement {
  const rows = isSideBySide ? Math.ceil(panels.length / Math.max(1, Math.floor(width / COLUMN_PX))) : panels.length;
  const columns = Math.max(1, Math.ceil(panels.length / Math.max(rows, 1)));
  const each = (width - (columns - 1) * BETWEEN_PX) / columns;
  const boxes: PanelBox[] = [];
  let top = 0;
  if (panels.length === 1 && panels[0]!.isUpward) top = Math.max(0, height - panelHeight(panels[0]!) - BETWEEN_PX);
  for (let first = 0; first < panels.length; first += columns) {
    const row = panels.slice(first, first + columns);
    const high = Math.max(...row.map(panelHeight));
    row.forEach((panel, at) =>
      // Flames beside each other stand on one line.
      boxes.push({
        left: at * (each + BETWEEN_PX),
        top: top + (panel.isUpward ? high - panelHeight(panel) : 0),
        width: each,
      }),
    );
    top += high + BETWEEN_PX;
  }
  return { boxes, height: Math.max(top, TITLE_PX) };
}

function drawAll(
  surface: CanvasSurface | SvgSurface,
  panels: readonly Panel[],
  { boxes, height }: Arrangement,
  spanOf: (at: number) => Span,
  zoom: FramePlace,
  colours: DrawingColours,
): void {
  panels.forEach((panel, at) =>
    drawPanel(
      surface,
      panel,
      {
        ...boxes[at]!,
        span: spanOf(at),
        from: 0,
        to: height,
        zoom: zoom.panel === at ? zoom.frame : -1,
      },
      colours,
    ),
  );
}

function drawingColours(): DrawingColours {
  return {
    ground: themeValue("--panel"),
    ink: themeValue("--ink"),
    dim: themeValue("--dim"),
    several: themeValue("--line-strong"),
    line: themeValue("--line"),
    mark: themeValue("--flame-match"),
  };
}
