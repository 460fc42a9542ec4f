// Names of what matters most where labels are too small to read: of libraries and of the functions
// that come to most, as large as on the page, and none on top of another.

import type { GraphColours, Sight, Surface } from "./graph-drawing";
import { fullWidth, type Picture } from "./graph-picture";
import type { GraphModel } from "./graph-model";

const NAMES_MOST = 90;
const LOOKED_AT = 700;
const LETTER_PX = 6.2;
const HIGH_PX = 13;
const LETTERS = 26;

interface Rectangle {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export function drawLandmarks(
  surface: Surface, model: GraphModel, picture: Picture, sight: Sight, colours: GraphColours,
): void {
  const pixel = 1 / sight.scale;
  const taken: Rectangle[] = [];
  /** Whether there is room; if so it is gone. */
  const take = (left: number, middle: number, width: number): boolean => {
    const wanted = {
      left: left - 2 * pixel, right: left + width + 2 * pixel,
      top: middle - (HIGH_PX / 2) * pixel, bottom: middle + (HIGH_PX / 2) * pixel,
    };
    if (wanted.right < sight.x || wanted.left > sight.x + sight.width) return false;
    if (wanted.bottom < sight.y || wanted.top > sight.y + sight.height) return false;
    if (taken.some((one) => one.left < wanted.right && wanted.left < one.right && one.top < wanted.bottom && wanted.top < one.bottom)) return false;
    taken.push(wanted);
    return true;
  };
  const { layout, modules, boxes } = picture;
  modules.forEach((module, at) => {
    const [x, y, width] = [layout.clusters[4 * at]!, layout.clusters[4 * at + 1]!, layout.clusters[4 * at + 2]!];
    const { name } = model.data.modules[module]!;
    const letters = Math.floor((width * sight.scale) / LETTER_PX) - 1;
    if (letters < 4) return;
    const text = shortName(name || "(unknown)", Math.min(letters, 40));
    const middle = y + (HIGH_PX / 2) * pixel;
    const left = x + 3 * pixel;
    if (take(left, middle, text.length * LETTER_PX * pixel)) surface.name(left, middle, text, colours.dim, colours.cluster, pixel, "left");
  });
  let looked = 0;
  let named = 0;
  for (let at = 0; at < boxes.length && looked < LOOKED_AT && named < NAMES_MOST; at++) {
    const box = boxes[at]!;
    const middle = layout.x[at]! + fullWidth(box) / 2;
    const y = layout.y[at]! + box.height + (HIGH_PX / 2 + 2) * pixel;
    if (middle < sight.x || middle > sight.x + sight.width || y < sight.y || y > sight.y + sight.height) continue;
    looked++;
    const text = shortName(box.f < 0 ? (model.data.modules[box.module]!.name || "(unknown)") : model.data.names[box.f]!, LETTERS);
    const width = text.length * LETTER_PX * pixel;
    if (!take(middle - width / 2, y, width)) continue;
    named++;
    surface.name(middle, y, text, colours.ink, colours.ground, pixel, "center");
  }
}

/** The end of a name that is long: what comes before it is where it belongs. */
function shortName(name: string, letters: number): string {
  return name.length <= letters ? name : `…${name.slice(name.length - letters + 1)}`;
}
