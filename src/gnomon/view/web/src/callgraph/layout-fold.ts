// Layers that are too wide: neighbours stand below each other in stacks.

import { type Item, group } from "./layout-items";

/** How wide the rows of layers may be so that the whole has the aspect, at least `least`. */
export function widthOfRows(
  layerItems: readonly (readonly Item[])[],
  gapX: number,
  gapY: number,
  aspect: number,
  least: number,
): number {
  const widths = layerItems.map((items) => items.reduce((sum, item) => sum + item.width + gapX, 0));
  const heights = layerItems.map((items) => items.reduce((most, item) => Math.max(most, item.height), 0));
  const widest = widths.reduce((most, width) => Math.max(most, width), 0);
  const heightAt = (width: number): number =>
    widths.reduce((sum, each, at) => sum + gapY + Math.ceil(each / width) * (heights[at]! + gapY / 3), 0);
  let [low, high] = [least, Math.max(least, widest)];
  for (let step = 0; step < 30 && high - low > 1; step++) {
    const middle = (low + high) / 2;
    if (middle > aspect * heightAt(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/**
 * Items of a layer, neighbours put in stacks so that the row is about as wide as it may be.
 *
 * Passages stay between stacks.
 */
export function folded(items: readonly Item[], most: number, gapX: number, gapY: number): Item[] {
  const boxes = items.filter((item) => item.box >= 0 || item.rows !== null);
  const wide = items.reduce((sum, item) => sum + item.width + gapX, 0);
  if (wide <= most || boxes.length < 2) return [...items];
  let depth = Math.ceil(wide / most);
  while (depth < boxes.length && widthInStacks(boxes, depth, gapX) > most) depth += 1;
  const found: Item[] = [];
  let stack: Item[] = [];
  const close = (): void => {
    if (stack.length > 0) found.push(stack.length === 1 ? stack[0]! : stacked(stack, gapY / 3, gapX));
    stack = [];
  };
  // A passage within a stack comes behind it.
  let behind: Item[] = [];
  for (const item of items) {
    if (item.box < 0 && item.rows === null) {
      behind.push(item);
      if (stack.length > 0) continue;
    } else if (stack.push(item) < depth) continue;
    close();
    found.push(...behind);
    behind = [];
  }
  close();
  return [...found, ...behind];
}

function widthInStacks(boxes: readonly Item[], depth: number, gapX: number): number {
  let sum = 0;
  const alley = alleyOf(depth, gapX);
  for (let first = 0; first < boxes.length; first += depth) {
    let widest = 0;
    for (let at = first; at < Math.min(first + depth, boxes.length); at++) widest = Math.max(widest, boxes[at]!.width);
    sum += widest + gapX + alley;
  }
  return sum;
}

/** Items below each other, with room at the left for arcs to each. */
function stacked(items: readonly Item[], gap: number, gapX: number): Item {
  const alley = alleyOf(items.length, gapX);
  const width = alley + items.reduce((most, item) => Math.max(most, item.width), 0);
  let y = 0;
  const rows = items.map((item) => {
    item.x = alley;
    item.y = y;
    y += item.height + gap;
    return { top: item.y, bottom: item.y + item.height, items: [item] };
  });
  const whole = group(rows, width, y - gap);
  whole.alley = alley;
  return whole;
}

function alleyOf(depth: number, gapX: number): number {
  return Math.min(2 * depth, 2 * gapX);
}
