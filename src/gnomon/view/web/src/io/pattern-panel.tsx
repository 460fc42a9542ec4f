// The access pattern of one file: its requests in time and place, which the mouse and keys zoom into.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { getAccessPattern, type AccessPattern, type Layer } from "../api";
import { useLoaded } from "../api-cache";
import { scaledContext } from "../canvas";
import { formatDuration, formatNumber, formatQuantity, plural } from "../format";
import { useTheme } from "../theme";
import type { TimeWindow } from "../time-window";
import { scaledSpan, shiftedSpan, type ByteRange } from "./io-state";
import { drawFocus, drawPattern, markOf, patternSvg, requestAt, WRITE, type Hidden } from "./pattern-drawing";
import { exactBytes, LEFT_PX, offsetAt, RIGHT_PX, timeAt, type Plot } from "./plot";
import { useDrag } from "./plot-drag";

const TOP_PX = 22;
const BOTTOM_PX = 20;
/** Room that changes a little asks for no other points. */
const POINTS_STEP = 32;
const MOVED_PART = 0.2;
const ZOOM_PART = 0.5;

/** One request, with all that is known of it. */
export interface ChosenRequest {
  readonly file: number;
  readonly access: "read" | "write";
  readonly name: string;
  readonly caller: string;
  readonly source: string;
  readonly line: number;
  readonly start: number;
  readonly duration: number;
  readonly offset: number;
  readonly bytes: number;
  readonly asked: number;
  readonly location: number;
  readonly opening: number;
}

export function requestOf(pattern: AccessPattern, at: number, file: number): ChosenRequest {
  const site = pattern.sites[pattern.site[at]!]!;
  return {
    file, name: site.name, caller: site.caller, source: site.file, line: site.line,
    access: pattern.access[at] === WRITE ? "write" : "read",
    start: pattern.start[at]!,
    duration: pattern.duration[at]!,
    offset: pattern.offset[at]!,
    bytes: pattern.bytes[at]!,
    asked: pattern.asked[at]!,
    location: pattern.location[at]!,
    opening: pattern.opening[at]!,
  };
}

/** What saves the picture: of each panel its own part. */
export interface PanelPicture {
  readonly svg: (top: number) => string;
  readonly canvas: HTMLCanvasElement;
  readonly height: number;
}

interface Props {
  readonly id: string;
  readonly layer: Layer;
  readonly file: number;
  /** Numbers of the only locations that are shown; [] for all. */
  readonly places: readonly number[];
  readonly title: string;
  readonly lengthNs: number;
  readonly time: TimeWindow;
  readonly range: ByteRange | null;
  readonly hidden: Hidden;
  readonly size: readonly [number, number];
  readonly isOnly: boolean;
  readonly chosen: ChosenRequest | null;
  readonly placeTitle: (location: number) => string;
  readonly onChoose: (request: ChosenRequest | null) => void;
  readonly onSource: (request: ChosenRequest) => void;
  readonly onZoom: (zoom: { time?: TimeWindow | null; range?: ByteRange | null }, isStep?: boolean) => void;
  readonly pictures: Map<string, PanelPicture>;
}

export function PatternPanel(props: Props) {
  const { id, layer, file, places, time, range, hidden, size, chosen } = props;
  const [width, height] = size;
  const theme = useTheme();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [under, setUnder] = useState<{ readonly at: number; readonly x: number; readonly y: number } | null>(null);
  const points = (room: number) => Math.max(POINTS_STEP, Math.floor(room / POINTS_STEP) * POINTS_STEP);
  const query = {
    layer, file,
    locations: places.length > 0 ? places.join(",") : undefined,
    begin: Math.floor(time.begin), end: Math.ceil(time.end),
    low: range?.low, high: range?.high,
    columns: points(width - LEFT_PX - RIGHT_PX), rows: points(height - TOP_PX - BOTTOM_PX),
  };
  const loaded = useLoaded(width > 0 ? `${id}/io/${JSON.stringify(query)}` : null, () => getAccessPattern(id, query));
  const pattern = loaded.value;
  const fileEnd = pattern?.fileEnd ?? 1;
  const plot: Plot = useMemo(
    () => ({
      left: LEFT_PX, top: TOP_PX,
      width: Math.max(20, width - LEFT_PX - RIGHT_PX), height: Math.max(20, height - TOP_PX - BOTTOM_PX),
      // Of the window before it, until its own requests are here, they are where they would be.
      beginNs: time.begin, endNs: time.end,
      low: range?.low ?? 0, high: range?.high ?? fileEnd,
    }),
    [width, height, time.begin, time.end, range?.low, range?.high, fileEnd],
  );
  const lit = under?.at ?? (pattern && chosen ? placeOf(pattern, chosen, file) : -1);

  const picture = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    drawPattern(scaledContext(picture.current!, width, height), plot, pattern, hidden);
  }, [plot, pattern, hidden.reads, hidden.writes, theme]);
  const [box, beginDrag] = useDrag(
    plot,
    false,
    (dragged) => props.onZoom({ ...(dragged.time && { time: dragged.time }), ...(dragged.range && { range: dragged.range }) }),
    (x, y) => {
      const at = pattern ? requestAt(plot, pattern, hidden, x, y) : -1;
      if (pattern?.isExact) props.onChoose(at < 0 ? null : requestOf(pattern, at, file));
      else if (at >= 0) zoomAt(ZOOM_PART / 2, ZOOM_PART / 2, x, y);
    },
  );
  useEffect(() => {
    const pen = scaledContext(canvas.current!, width, height);
    if (pattern && lit >= 0 && lit < pattern.n) drawFocus(pen, plot, markOf(plot, pattern, lit));
  }, [plot, pattern, lit, theme]);
  useEffect(() => {
    const key = `${file}/${places.join(",")}`;
    props.pictures.set(key, {
      canvas: picture.current!,
      height,
      svg: (top) => (pattern ? patternSvg({ ...plot, top: plot.top + top }, pattern, hidden, props.title) : ""),
    });
    return () => void props.pictures.delete(key);
  });

  function zoomAt(inTime: number, inFile: number, x = plot.left + plot.width / 2, y = plot.top + plot.height / 2, isStep = true) {
    const zoom: { time?: TimeWindow | null; range?: ByteRange | null } = {};
    if (inTime !== 1) {
      const [begin, end] = scaledSpan(plot.beginNs, plot.endNs, inTime, timeAt(plot, x), props.lengthNs);
      zoom.time = begin <= 0 && end >= props.lengthNs ? null : { begin, end };
    }
    if (inFile !== 1) {
      const [low, high] = scaledSpan(plot.low, plot.high, inFile, offsetAt(plot, y), fileEnd);
      zoom.range = low <= 0 && high >= fileEnd ? null : { low, high };
    }
    props.onZoom(zoom, isStep);
  }
  function move(inTime: number, inFile: number) {
    if (inTime !== 0) {
      const [begin, end] = shiftedSpan(plot.beginNs, plot.endNs, inTime * (plot.endNs - plot.beginNs), props.lengthNs);
      return props.onZoom({ time: { begin, end } }, false);
    }
    const [low, high] = shiftedSpan(plot.low, plot.high, inFile * (plot.high - plot.low), fileEnd);
    props.onZoom({ range: { low, high } }, false);
  }
  /** The part of the file in which there are requests now. */
  function fit() {
    if (!pattern || pattern.n === 0) return;
    let [low, high] = [Number.POSITIVE_INFINITY, 0];
    const each = (pattern.high - pattern.low) / Math.max(pattern.rows, 1);
    for (let at = 0; at < pattern.n; at++) {
      const first = pattern.isExact ? pattern.offset[at]! : pattern.low + pattern.lower[at]! * each;
      const last = pattern.isExact ? first + pattern.bytes[at]! : pattern.low + (pattern.upper[at]! + 1) * each;
      low = Math.min(low, first);
      high = Math.max(high, last, low + 1);
    }
    props.onZoom({ range: { low, high } });
  }
  function step(by: 1 | -1) {
    if (!pattern?.isExact || pattern.n === 0) return;
    const now = chosen ? placeOf(pattern, chosen, file) : -1;
    let at = now < 0 ? (by > 0 ? 0 : pattern.n - 1) : now + by;
    while (at >= 0 && at < pattern.n && (pattern.access[at] === WRITE ? hidden.writes : hidden.reads)) at += by;
    if (at >= 0 && at < pattern.n) props.onChoose(requestOf(pattern, at, file));
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const far = event.shiftKey ? 2.5 : 1;
    const acts: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => move(-MOVED_PART * far, 0),
      ArrowRight: () => move(MOVED_PART * far, 0),
      ArrowUp: () => move(0, MOVED_PART * far),
      ArrowDown: () => move(0, -MOVED_PART * far),
      z: () => zoomAt(ZOOM_PART, 1), "+": () => zoomAt(ZOOM_PART, 1),
      x: () => zoomAt(1 / ZOOM_PART, 1), "-": () => zoomAt(1 / ZOOM_PART, 1),
      a: () => zoomAt(1, ZOOM_PART),
      s: () => zoomAt(1, 1 / ZOOM_PART),
      f: fit,
      n: () => step(1), N: () => step(-1),
      Enter: () => chosen?.source && props.onSource(chosen),
    };
    const act = acts[event.key];
    if (!act) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  };
  const onWheel = (event: WheelEvent) => {
    // Of several pictures the wheel moves from one to the next.
    if (!props.isOnly && !event.ctrlKey) return;
    event.preventDefault();
    const edge = canvas.current!.getBoundingClientRect();
    const factor = 1.2 ** Math.sign(event.deltaY + event.deltaX);
    const place = [event.clientX - edge.left, event.clientY - edge.top] as const;
    zoomAt(event.shiftKey ? 1 : factor, event.shiftKey ? factor : 1, ...place, false);
  };
  const count = pattern?.requests ?? 0;
  const label = `access pattern of ${props.title}: ${plural(count, "request")} from ${formatDuration(plot.beginNs)} to ${formatDuration(plot.endNs)}, bytes ${formatNumber(plot.low)} to ${formatNumber(plot.high)}`;
  return (
    <figure class="io-panel" style={{ height: `${height}px` }}>
      <figcaption>
        <b title={props.title}>{props.title}</b>
        <span class="dim">{pattern && countText(pattern)}</span>
      </figcaption>
      {loaded.error && <p class="trouble">{loaded.error}</p>}
      <canvas ref={picture} class={loaded.waiting ? "is-old" : ""} aria-hidden="true" />
      <canvas
        ref={canvas}
        class="io-plot"
        tabIndex={0}
        role="img"
        aria-label={`${label}; arrows move, z and x zoom in time, a and s in the file, n goes to the next request`}
        onPointerDown={beginDrag}
        onPointerMove={(event) => {
          if (event.buttons !== 0 || !pattern) return setUnder(null);
          const edge = event.currentTarget.getBoundingClientRect();
          const at = requestAt(plot, pattern, hidden, event.clientX - edge.left, event.clientY - edge.top);
          setUnder(at < 0 ? null : { at, x: event.clientX, y: event.clientY });
        }}
        onPointerLeave={() => setUnder(null)}
        onWheel={onWheel}
        onDblClick={() => props.onZoom({ time: null, range: null })}
        onKeyDown={onKeyDown}
      />
      {box && <span class="io-drag" style={{ left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` }} />}
      {pattern && pattern.n === 0 && !loaded.waiting && <p class="io-none dim">no requests here</p>}
      {under && pattern && under.at < pattern.n && (
        <div class="flame-tooltip" style={tooltipPlace(under.x, under.y)}>
          {pattern.isExact ? (
            <RequestFacts request={requestOf(pattern, under.at, file)} placeTitle={props.placeTitle} />
          ) : (
            <CellFacts pattern={pattern} at={under.at} />
          )}
        </div>
      )}
    </figure>
  );
}

function countText(pattern: AccessPattern): string {
  if (pattern.isExact) return plural(pattern.requests, "request");
  return `${plural(pattern.requests, "request")}, those that look alike as one: zoom in to see each`;
}

/** Where a request is in a pattern, -1 for what is not in it. */
function placeOf(pattern: AccessPattern, wanted: ChosenRequest, file: number): number {
  if (!pattern.isExact || wanted.file !== file) return -1;
  for (let at = 0; at < pattern.n; at++) {
    if (
      pattern.start[at] === wanted.start &&
      pattern.offset[at] === wanted.offset &&
      pattern.location[at] === wanted.location &&
      pattern.duration[at] === wanted.duration &&
      pattern.bytes[at] === wanted.bytes
    ) {
      return at;
    }
  }
  return -1;
}

function tooltipPlace(x: number, y: number): Record<string, string> {
  const isRight = x > window.innerWidth * 0.6;
  const isLow = y > window.innerHeight * 0.65;
  return {
    [isRight ? "right" : "left"]: `${(isRight ? window.innerWidth - x : x) + 14}px`,
    [isLow ? "bottom" : "top"]: `${(isLow ? window.innerHeight - y : y) + 14}px`,
  };
}

interface FactsProps {
  readonly request: ChosenRequest;
  readonly placeTitle: (location: number) => string;
}

/** All that is known of a request, as rows of a table. */
export function RequestFacts({ request, placeTitle }: FactsProps) {
  const { bytes, asked, duration } = request;
  const rows: [string, string][] = [
    [request.access === "write" ? "written" : "read", exactBytes(bytes)],
    ...(asked === bytes ? [] : ([["asked for", exactBytes(asked)]] as [string, string][])),
    ["at offset", exactBytes(request.offset)],
    ["began", formatDuration(request.start)],
    ["took", formatDuration(duration)],
    ["rate", duration > 0 && bytes > 0 ? formatQuantity(bytes / (duration / 1e9), "bytes/s") : ""],
    ["by", placeTitle(request.location)],
    ["open file", request.opening >= 0 ? formatNumber(request.opening) : ""],
  ];
  return (
    <>
      <b>
        <span class={`io-sign is-${request.access}`} aria-hidden="true" />
        {request.name}
      </b>
      {(request.caller || request.source) && (
        <div class="dim">
          {request.caller} {request.source && `${request.source.slice(request.source.lastIndexOf("/") + 1)}:${request.line}`}
        </div>
      )}
      <table>
        <tbody>
          {rows.filter(([, value]) => value).map(([name, value]) => (
            <tr key={name}>
              <th>{name}</th>
              <td>{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function CellFacts({ pattern, at }: { pattern: AccessPattern; at: number }) {
  const count = pattern.counts[at]!;
  const access = pattern.access[at] === WRITE ? "write" : "read";
  const each = (pattern.endNs - pattern.beginNs) / pattern.columns;
  const high = (pattern.high - pattern.low) / pattern.rows;
  const time = pattern.beginNs + pattern.first[at]! * each;
  const offset = pattern.low + pattern.lower[at]! * high;
  const end = pattern.low + (pattern.upper[at]! + 1) * high;
  return (
    <>
      <b>
        <span class={`io-sign is-${access}`} aria-hidden="true" />
        {plural(count, access)}
      </b>
      <table>
        <tbody>
          <tr>
            <th>{access === "write" ? "written" : "read"}</th>
            <td>{formatQuantity(pattern.bytes[at]!, "bytes")}</td>
          </tr>
          <tr>
            <th>from</th>
            <td>{formatDuration(time)} on</td>
          </tr>
          <tr>
            <th>at</th>
            <td>{`${formatQuantity(offset, "bytes")} to ${formatQuantity(end, "bytes")}`}</td>
          </tr>
        </tbody>
      </table>
      <div class="dim">click to zoom in</div>
    </>
  );
}
