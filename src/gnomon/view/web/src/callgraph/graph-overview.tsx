// The overview: the whole call graph in small, and on it what the picture shows, moved and resized by hand.

import { useEffect, useRef, useState } from "preact/hooks";

import { scaledContext } from "../canvas";
import { useTheme } from "../theme";
import { wholeSight } from "./graph-canvas";
import { boxRect, type GraphColours, type Sight } from "./graph-drawing";
import type { Picture } from "./graph-picture";

interface Props {
  readonly picture: Picture;
  readonly sight: Sight;
  /** Width of the picture on the screen. */
  readonly width: number;
  readonly colours: GraphColours;
  readonly onSight: (sight: Sight) => void;
}

const WIDTH = 240;
const HEIGHT = 170;
const EDGE_PX = 6;

type Grip = { readonly left: boolean; readonly right: boolean; readonly top: boolean; readonly bottom: boolean };

function cursorOf(grip: Grip | null): string {
  if (!grip) return "default";
  const { left, right, top, bottom } = grip;
  if ((left && top) || (right && bottom)) return "nwse-resize";
  if ((right && top) || (left && bottom)) return "nesw-resize";
  if (left || right) return "ew-resize";
  if (top || bottom) return "ns-resize";
  return "move";
}

export function GraphOverview({ picture, sight, width, colours, onSight }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const [cursor, setCursor] = useState("default");
  const drag = useRef<{ grip: Grip; x: number; y: number; sight: Sight } | null>(null);
  // All of the picture with what is beside it when all of it is seen: edges can be grabbed then, too.
  const whole = wholeSight(picture, width, sight.height * sight.scale);
  const scale = Math.min((WIDTH - 2 * EDGE_PX) / whole.width, (HEIGHT - 2 * EDGE_PX) / whole.height);
  const [fromX, fromY] = [whole.x - (WIDTH / scale - whole.width) / 2, whole.y - (HEIGHT / scale - whole.height) / 2];
  useEffect(() => {
    const pen = scaledContext(canvas.current!, WIDTH, HEIGHT);
    pen.fillStyle = colours.box;
    picture.boxes.forEach((_, at) => {
      const box = boxRect(picture, at);
      pen.fillRect((box.x - fromX) * scale, (box.y - fromY) * scale, Math.max(box.width * scale, 1), Math.max(box.height * scale, 1));
    });
    pen.fillStyle = colours.arc;
    pen.globalAlpha = 0.22;
    pen.fillRect((sight.x - fromX) * scale, (sight.y - fromY) * scale, sight.width * scale, sight.height * scale);
    pen.globalAlpha = 1;
    pen.strokeStyle = colours.arc;
    pen.strokeRect((sight.x - fromX) * scale, (sight.y - fromY) * scale, sight.width * scale, sight.height * scale);
  }, [picture, sight, scale, fromX, fromY, colours, theme]);

  const placeOf = (event: { clientX: number; clientY: number }) => {
    const { left, top } = canvas.current!.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const gripAt = (x: number, y: number): Grip | null => {
    const [left, top] = [(sight.x - fromX) * scale, (sight.y - fromY) * scale];
    const [right, bottom] = [left + sight.width * scale, top + sight.height * scale];
    if (x < left - EDGE_PX || x > right + EDGE_PX || y < top - EDGE_PX || y > bottom + EDGE_PX) return null;
    return {
      left: Math.abs(x - left) < EDGE_PX, right: Math.abs(x - right) < EDGE_PX,
      top: Math.abs(y - top) < EDGE_PX, bottom: Math.abs(y - bottom) < EDGE_PX,
    };
  };
  /** A window resized by hand keeps the proportions of the screen. */
  const resized = (from: Sight, grip: Grip, dx: number, dy: number): Sight => {
    const wide = from.width + (grip.right ? dx : grip.left ? -dx : 0);
    const high = from.height + (grip.bottom ? dy : grip.top ? -dy : 0);
    const isWide = grip.left || grip.right;
    const real = Math.max(isWide ? wide / from.width : high / from.height, grip.top || grip.bottom ? high / from.height : 0, 0.02);
    const size = { width: from.width * real, height: from.height * real };
    return {
      ...size,
      x: grip.left ? from.x + from.width - size.width : from.x,
      y: grip.top ? from.y + from.height - size.height : from.y,
      scale: width / size.width,
    };
  };
  return (
    <div class="graph-overview" role="group" aria-label="overview">
      <canvas
        ref={canvas}
        style={{ cursor }}
        aria-label="the whole call graph; the window shows what the picture shows"
        role="img"
        onPointerDown={(event) => {
          const { x, y } = placeOf(event);
          const grip = gripAt(x, y);
          canvas.current!.setPointerCapture(event.pointerId);
          if (grip) {
            drag.current = { grip, x, y, sight };
            return;
          }
          const moved = { ...sight, x: x / scale + fromX - sight.width / 2, y: y / scale + fromY - sight.height / 2 };
          drag.current = { grip: { left: false, right: false, top: false, bottom: false }, x, y, sight: moved };
          onSight(moved);
        }}
        onPointerMove={(event) => {
          const { x, y } = placeOf(event);
          const from = drag.current;
          if (!from) return setCursor(cursorOf(gripAt(x, y)));
          const [dx, dy] = [(x - from.x) / scale, (y - from.y) / scale];
          const isResize = Object.values(from.grip).some(Boolean);
          onSight(isResize ? resized(from.sight, from.grip, dx, dy) : { ...from.sight, x: from.sight.x + dx, y: from.sight.y + dy });
        }}
        onPointerUp={() => (drag.current = null)}
      />
      <p class="dim">{(sight.scale * 100).toFixed(sight.scale < 0.1 ? 1 : 0)} % of full size</p>
    </div>
  );
}
