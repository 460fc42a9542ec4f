// Parts that no arc connects, packed into rows; and rectangles with room around.

import { type Item, group } from "./layout-items";

const ASPECT = 1.6;

/** All parts in one group, the largest first or where they were, in rows of about the same width. */
export function packed(parts: readonly Item[], gap: number): Item {
  if (parts.length === 1) return parts[0]!;
  const area = (item: Item): number => (item.width + gap) * (item.height + gap);
  const largest = parts.reduce<Item | null>((best, item) => (best && area(best) >= area(item) ? best : item), null);
  const total = parts.reduce((sum, item) => sum + area(item), 0);
  const ordered = inOrder(parts);
  if (!largest) return inRows(ordered, 0, gap);
  const ideal = Math.sqrt(total * ASPECT);
  const others = total - area(largest);
  if (largest.width < ideal && largest.height > ideal / ASPECT && largest.height > 0) {
    // A tall part: the others beside it.
    const rest = inRows(ordered.filter((item) => item !== largest), (1.1 * others) / largest.height, gap);
    return sideBySide(largest, rest, gap);
  }
  return inRows(ordered, Math.max(ideal, largest.width), gap);
}

/** As they were read before, new ones behind; without that the tallest first. */
function inOrder(parts: readonly Item[]): Item[] {
  const known = parts.filter((item) => !Number.isNaN(item.previousLeft));
  const fresh = parts.filter((item) => Number.isNaN(item.previousLeft));
  known.sort((a, b) => Math.round(a.previousTop) - Math.round(b.previousTop) || a.previousLeft - b.previousLeft);
  fresh.sort((a, b) => b.height - a.height || b.width - a.width);
  return [...known, ...fresh];
}

function inRows(items: readonly Item[], most: number, gap: number): Item {
  const rows: { top: number; bottom: number; items: Item[] }[] = [];
  let [x, y, width] = [0, 0, 0];
  let row = { top: 0, bottom: 0, items: [] as Item[] };
  for (const item of items) {
    if (row.items.length > 0 && x + item.width > most) {
      y = row.bottom + gap;
      row = { top: y, bottom: y, items: [] };
      x = 0;
    }
    if (row.items.length === 0) rows.push(row);
    item.x = x;
    item.y = y;
    row.items.push(item);
    row.bottom = Math.max(row.bottom, y + item.height);
    width = Math.max(width, x + item.width);
    x += item.width + gap;
  }
  return group(rows, width, row.bottom);
}

function sideBySide(left: Item, right: Item, gap: number): Item {
  left.x = left.y = right.y = 0;
  right.x = left.width + gap;
  const height = Math.max(left.height, right.height);
  return group([{ top: 0, bottom: height, items: [left, right] }], right.x + right.width, height);
}

/** A group around another, with room on all sides and a header above. */
export function padded(inner: Item, padding: number, header: number): Item {
  inner.x = padding;
  inner.y = header + padding;
  const width = inner.width + 2 * padding;
  const height = inner.height + 2 * padding + header;
  return group([{ top: inner.y, bottom: inner.y + inner.height, items: [inner] }], width, height);
}
