// Numbers in order with distances between them, as near as possible to where they would be.

/**
 * Move positions so that each is at least its distance behind the one before, by least squares.
 *
 * Neighbours that are too near become one block at its weighted mean (pool adjacent violators);
 * within limits the clipped solution is the best one, too.
 *
 * @param wanted Where each would be, in the order that is kept; the answer is written there.
 * @param weight Of each, null for alike ones.
 * @param distance From the one before to each.
 * @param low Least position of the first; if there is not enough room, limits give way to distances.
 * @param high Greatest position of the last.
 */
export function spaced(
  wanted: Float64Array,
  weight: Float64Array | null,
  distance: Float64Array | number,
  low = -Infinity,
  high = Infinity,
): void {
  const n = wanted.length;
  if (n === 0) return;
  if (n > offset.length) [offset, mean, mass, first] = scratch(2 * n);
  offset[0] = 0;
  for (let at = 1; at < n; at++) {
    offset[at] = offset[at - 1]! + (typeof distance === "number" ? distance : distance[at]!);
  }
  let blocks = 0;
  for (let at = 0; at < n; at++) {
    mean[blocks] = wanted[at]! - offset[at]!;
    mass[blocks] = weight ? weight[at]! : 1;
    first[blocks++] = at;
    while (blocks > 1 && mean[blocks - 2]! >= mean[blocks - 1]!) {
      const both = mass[blocks - 2]! + mass[blocks - 1]!;
      mean[blocks - 2] = (mean[blocks - 2]! * mass[blocks - 2]! + mean[blocks - 1]! * mass[blocks - 1]!) / both;
      mass[blocks - 2] = both;
      blocks -= 1;
    }
  }
  first[blocks] = n;
  const top = Math.max(low, high - offset[n - 1]!);
  for (let block = 0; block < blocks; block++) {
    const base = Math.min(Math.max(mean[block]!, low), top);
    for (let at = first[block]!; at < first[block + 1]!; at++) wanted[at] = base + offset[at]!;
  }
}

// Kept from call to call: most have few positions, and there are tens of thousands of calls.
let [offset, mean, mass, first] = scratch(64);

function scratch(n: number): [Float64Array, Float64Array, Float64Array, Int32Array] {
  return [new Float64Array(n), new Float64Array(n), new Float64Array(n), new Int32Array(n + 1)];
}
