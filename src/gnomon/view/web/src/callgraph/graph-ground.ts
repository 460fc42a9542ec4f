// The canvas below the marks while the picture is dragged: what is there is moved, and its edges drawn.

import { drawGraph, type GraphColours, type Sight } from "./graph-drawing";
import type { GraphModel } from "./graph-model";
import type { Picture } from "./graph-picture";
import { CanvasSurface } from "./graph-surfaces";

/** What was drawn: with all of it the same, but for where one looks, only edges are new. */
export interface Drawn {
  readonly model: GraphModel;
  readonly picture: Picture;
  readonly width: number;
  readonly height: number;
  readonly sight: Sight;
  readonly colours: GraphColours;
  readonly font: string;
}

/** After so long without a move all is drawn anew. */
export const REST_MS = 150;

export interface Move {
  readonly x: number;
  readonly y: number;
}

/** By how many whole pixels of the screen a picture was moved, and nothing else; null otherwise. */
export function pixelsMoved(before: Drawn, now: Drawn): Move | null {
  const names = ["model", "picture", "width", "height", "colours", "font"] as const;
  if (names.some((name) => before[name] !== now[name]) || before.sight.scale !== now.sight.scale) return null;
  const pixels = now.sight.scale * devicePixelRatio;
  const [x, y] = [(before.sight.x - now.sight.x) * pixels, (before.sight.y - now.sight.y) * pixels];
  if (Math.abs(x - Math.round(x)) > 0.01 || Math.abs(y - Math.round(y)) > 0.01) return null;
  const isFar = Math.abs(x) * 2 > now.width * devicePixelRatio || Math.abs(y) * 2 > now.height * devicePixelRatio;
  return isFar ? null : { x: Math.round(x), y: Math.round(y) };
}

/** Move what is drawn and draw what that lets in: two strips on the edges. */
export function moveGround(sheet: HTMLCanvasElement, move: Move, { model, picture, width, height, sight, colours, font }: Drawn): void {
  const pen = sheet.getContext("2d")!;
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.globalCompositeOperation = "copy";
  pen.drawImage(sheet, move.x, move.y);
  pen.globalCompositeOperation = "source-over";
  const [wide, high] = [Math.abs(move.x) / devicePixelRatio, Math.abs(move.y) / devicePixelRatio];
  const strips = [
    { left: move.x > 0 ? 0 : width - wide, top: 0, wide, high: height },
    { left: 0, top: move.y > 0 ? 0 : height - high, wide: width, high },
  ];
  for (const strip of strips) {
    if (strip.wide === 0 || strip.high === 0) continue;
    pen.save();
    pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    pen.beginPath();
    pen.rect(strip.left, strip.top, strip.wide, strip.high);
    pen.clip();
    pen.clearRect(strip.left, strip.top, strip.wide, strip.high);
    pen.translate(-sight.x * sight.scale, -sight.y * sight.scale);
    pen.scale(sight.scale, sight.scale);
    const part = {
      x: sight.x + strip.left / sight.scale, y: sight.y + strip.top / sight.scale,
      width: strip.wide / sight.scale, height: strip.high / sight.scale, scale: sight.scale,
    };
    drawGraph(new CanvasSurface(pen, font), model, picture, part, colours);
    pen.restore();
  }
}
