// The picture of a call graph on a canvas: moved, zoomed, clicked, and walked through by keys.

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";

import { scaledContext } from "../canvas";
import { plural } from "../format";
import { themeValue, useTheme } from "../theme";
import { boxRect, drawGraph, drawMarks, targetAt, type GraphColours, type Marks, type Sight, type Target } from "./graph-drawing";
import { moveGround, pixelsMoved, REST_MS, type Drawn } from "./graph-ground";
import type { GraphModel } from "./graph-model";
import type { Picture } from "./graph-picture";
import { CanvasSurface } from "./graph-surfaces";

export interface CanvasProps {
  readonly model: GraphModel;
  readonly picture: Picture;
  readonly width: number;
  readonly height: number;
  readonly sight: Sight;
  readonly colours: GraphColours;
  readonly marks: Marks;
  readonly onSight: (sight: Sight) => void;
  readonly onHover: (target: Target | null) => void;
  readonly onChoose: (target: Target | null) => void;
  /** Opens the menu of a target at a place of the canvas. */
  readonly onMenu: (target: Target, x: number, y: number) => void;
}

export const SCALE_LEAST = 0.005;
export const SCALE_MOST = 4;

/** The sight in which the whole picture can be seen. */
export function wholeSight(picture: Picture, width: number, height: number): Sight {
  const margin = 12;
  const scale = Math.max(
    SCALE_LEAST,
    Math.min(1.2, (width - 2 * margin) / Math.max(picture.layout.width, 1), (height - 2 * margin) / Math.max(picture.layout.height, 1)),
  );
  const seen = { width: width / scale, height: height / scale };
  return { x: (picture.layout.width - seen.width) / 2, y: (picture.layout.height - seen.height) / 2, ...seen, scale };
}

/** A sight of another scale in which a place of the picture stays where it is. */
export function zoomed(sight: Sight, factor: number, x = sight.x + sight.width / 2, y = sight.y + sight.height / 2): Sight {
  const scale = Math.max(SCALE_LEAST, Math.min(SCALE_MOST, sight.scale * factor));
  const real = scale / sight.scale;
  return {
    x: x - (x - sight.x) / real, y: y - (y - sight.y) / real,
    width: sight.width / real, height: sight.height / real, scale,
  };
}

/** A sight with a box in its middle, large enough to read its label. */
export function sightOfBox(picture: Picture, at: number, width: number, height: number, scale: number): Sight {
  const box = boxRect(picture, at);
  const kept = Math.max(scale, 0.9);
  return {
    x: box.middle - width / kept / 2, y: box.y + box.height / 2 - height / kept / 2,
    width: width / kept, height: height / kept, scale: kept,
  };
}

export function graphColours(): GraphColours {
  return {
    box: themeValue("--graph-box"), hidden: themeValue("--dim"), arc: themeValue("--graph-arc"),
    ink: themeValue("--ink"), dim: themeValue("--dim"), cluster: themeValue("--graph-cluster"),
    clusterLine: themeValue("--line-strong"), located: themeValue("--graph-located"),
    chosen: themeValue("--accent-strong"), ground: themeValue("--panel"), ofFunction: null,
  };
}

export function GraphCanvas(props: CanvasProps) {
  const { model, picture, width, height, sight, colours, marks } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const ground = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const font = useMemo(() => themeValue("--sans"), [theme]);
  const surfaceOn = (sheet: HTMLCanvasElement): CanvasSurface => {
    const pen = scaledContext(sheet, width, height);
    pen.translate(-sight.x * sight.scale, -sight.y * sight.scale);
    pen.scale(sight.scale, sight.scale);
    return new CanvasSurface(pen, font);
  };
  const drawn = useRef<Drawn | null>(null);
  useLayoutEffect(() => {
    const now: Drawn = { model, picture, width, height, sight, colours, font };
    const moved = drawn.current && pixelsMoved(drawn.current, now);
    drawn.current = now;
    if (!moved) {
      drawGraph(surfaceOn(ground.current!), model, picture, sight, colours);
      return;
    }
    moveGround(ground.current!, moved, now);
    // Names are chosen anew when it rests.
    const rest = window.setTimeout(() => drawGraph(surfaceOn(ground.current!), model, picture, sight, colours), REST_MS);
    return () => window.clearTimeout(rest);
  }, [model, picture, width, height, sight, colours, font]);
  const { chosen, hover, located } = marks;
  useLayoutEffect(() => {
    drawMarks(surfaceOn(canvas.current!), model, picture, sight, colours, marks);
  }, [model, picture, width, height, sight, colours, chosen, hover, located, font]);

  const placeOf = (event: { clientX: number; clientY: number }) => {
    const { left, top } = canvas.current!.getBoundingClientRect();
    return { x: sight.x + (event.clientX - left) / sight.scale, y: sight.y + (event.clientY - top) / sight.scale };
  };
  const under = (event: { clientX: number; clientY: number }) => {
    const { x, y } = placeOf(event);
    return targetAt(picture, x, y, sight.scale);
  };
  const drag = useRef<{ x: number; y: number; sight: Sight; moved: boolean } | null>(null);
  const walk = (next: number) => {
    if (next < 0) return;
    props.onChoose({ kind: "function", box: next });
    const box = boxRect(picture, next);
    const isSeen = box.x > sight.x && box.x + box.width < sight.x + sight.width && box.y > sight.y && box.y + box.height < sight.y + sight.height;
    if (!isSeen) props.onSight(sightOfBox(picture, next, width, height, sight.scale));
  };
  const menuOfChosen = () => {
    if (!marks.chosen) return;
    const place = targetPlace(picture, marks.chosen);
    props.onMenu(marks.chosen, (place.x - sight.x) * sight.scale, (place.y - sight.y) * sight.scale);
  };
  return (
    <>
    <canvas ref={ground} class="graph-ground" aria-hidden="true" />
    <canvas
      ref={canvas}
      class="graph-canvas"
      tabIndex={0}
      role="img"
      aria-label={`call graph of ${plural(picture.boxes.length, "box", "boxes")} and ${plural(picture.arrows.length, "arc")}; arrows walk along calls, Enter opens a menu`}
      onWheel={(event) => {
        event.preventDefault();
        const { x, y } = placeOf(event);
        props.onSight(zoomed(sight, Math.exp(-event.deltaY / 400), x, y));
      }}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        canvas.current!.setPointerCapture(event.pointerId);
        drag.current = { x: event.clientX, y: event.clientY, sight, moved: false };
      }}
      onPointerMove={(event) => {
        const from = drag.current;
        if (!from) {
          const target = under(event);
          if (!isSame(target, hover)) props.onHover(target);
          return;
        }
        const dx = (event.clientX - from.x) / sight.scale;
        const dy = (event.clientY - from.y) / sight.scale;
        if (Math.hypot(event.clientX - from.x, event.clientY - from.y) > 3) from.moved = true;
        if (from.moved) props.onSight({ ...from.sight, x: from.sight.x - dx, y: from.sight.y - dy });
      }}
      onPointerUp={(event) => {
        if (drag.current && !drag.current.moved) props.onChoose(under(event));
        drag.current = null;
      }}
      onPointerLeave={() => props.onHover(null)}
      onDblClick={(event) => {
        const { x, y } = placeOf(event);
        props.onSight(zoomed(sight, 2, x, y));
      }}
      onContextMenu={(event) => {
        event.preventDefault();
        const target = under(event);
        if (!target) return;
        const { left, top } = canvas.current!.getBoundingClientRect();
        props.onChoose(target);
        props.onMenu(target, event.clientX - left, event.clientY - top);
      }}
      onKeyDown={(event) => {
        const step = 60 / sight.scale;
        const at = marks.chosen?.kind === "function" ? marks.chosen.box : -1;
        const moves: Record<string, () => void> = {
          ArrowUp: () => walk(at < 0 ? firstBox(picture) : neighbour(model, picture, at, "up")),
          ArrowDown: () => walk(at < 0 ? firstBox(picture) : neighbour(model, picture, at, "down")),
          ArrowLeft: () => walk(at < 0 ? firstBox(picture) : beside(picture, at, -1)),
          ArrowRight: () => walk(at < 0 ? firstBox(picture) : beside(picture, at, 1)),
          // What the mouse finds beside boxes: the calls of the chosen function, and its library.
          a: () => props.onChoose(nextArc(picture, marks.chosen)),
          c: () => at >= 0 && props.onChoose({ kind: "cluster", module: picture.boxes[at]!.module }),
          Enter: menuOfChosen,
          ContextMenu: menuOfChosen,
          "+": () => props.onSight(zoomed(sight, 1.4)),
          "=": () => props.onSight(zoomed(sight, 1.4)),
          "-": () => props.onSight(zoomed(sight, 1 / 1.4)),
          "0": () => props.onSight(wholeSight(picture, width, height)),
          Home: () => walk(firstBox(picture)),
          PageUp: () => props.onSight({ ...sight, y: sight.y - 5 * step }),
          PageDown: () => props.onSight({ ...sight, y: sight.y + 5 * step }),
        };
        const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : moves[event.key];
        if (!act) return;
        event.preventDefault();
        event.stopPropagation();
        act();
      }}
    />
    </>
  );
}

function isSame(a: Target | null, b: Target | null): boolean {
  if (a === null || b === null || a.kind !== b.kind) return a === b;
  if (a.kind === "function") return b.kind === "function" && a.box === b.box;
  if (a.kind === "arc") return b.kind === "arc" && a.arrow === b.arrow;
  return b.kind === "cluster" && a.module === b.module;
}

/** Where a target is in the picture: the middle of a box, the label of an arc, the corner of a cluster. */
export function targetPlace(picture: Picture, target: Target): { x: number; y: number } {
  if (target.kind === "function") {
    const box = boxRect(picture, target.box);
    return { x: box.middle, y: box.y + box.height };
  }
  if (target.kind === "arc") return { x: picture.layout.labelX[target.arrow]!, y: picture.layout.labelY[target.arrow]! };
  const at = picture.modules.indexOf(target.module);
  return { x: picture.layout.clusters[4 * at] ?? 0, y: picture.layout.clusters[4 * at + 1] ?? 0 };
}

/** The box with most: boxes stand in the order of their index. */
function firstBox(picture: Picture): number {
  return picture.boxes.length > 0 ? 0 : -1;
}

/** The caller or callee of a box by the arc that comes to most. */
function neighbour(model: GraphModel, picture: Picture, at: number, way: "up" | "down"): number {
  const weight = (arcs: readonly number[]) => arcs.reduce((sum, arc) => sum + model.data.arcTotal[arc]! + Math.max(model.data.arcCalls[arc]!, 0) * 1e-12, 0);
  let best = -1;
  let most = -1;
  for (const arrow of picture.arrows) {
    const [own, other] = way === "up" ? [arrow.to, arrow.from] : [arrow.from, arrow.to];
    if (own !== at || other === at) continue;
    const w = weight(arrow.arcs);
    if (w > most) [best, most] = [other, w];
  }
  return best;
}

/** The next of the arcs of a box, or of the box that the chosen arc leaves. */
function nextArc(picture: Picture, chosen: Target | null): Target | null {
  const box = chosen?.kind === "function" ? chosen.box : chosen?.kind === "arc" ? picture.arrows[chosen.arrow]!.from : -1;
  const own = picture.arrows.flatMap((arrow, at) => (arrow.from === box || arrow.to === box ? [at] : []));
  if (own.length === 0) return chosen;
  const at = chosen?.kind === "arc" ? own.indexOf(chosen.arrow) : -1;
  return { kind: "arc", arrow: own[(at + 1) % own.length]! };
}

/** The next box to the left or right at about the same height. */
function beside(picture: Picture, at: number, step: -1 | 1): number {
  const own = boxRect(picture, at);
  let best = -1;
  let least = Infinity;
  picture.boxes.forEach((_, other) => {
    if (other === at) return;
    const box = boxRect(picture, other);
    const dx = (box.middle - own.middle) * step;
    const distance = dx + 4 * Math.abs(box.y - own.y);
    if (dx > 0 && distance < least) [best, least] = [other, distance];
  });
  return best;
}
