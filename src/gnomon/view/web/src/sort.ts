// Sorts a hundred thousand numbers within one frame.

const FEW = 3000;

/**
 * The positions of `keys` in ascending or descending order. NaN (no value) comes last either way;
 * equal keys stay in their order.
 */
export function sortOrder(keys: Float64Array, descending: boolean): Uint32Array {
  const n = keys.length;
  if (n <= FEW) {
    const sign = descending ? -1 : 1;
    const order = Array.from({ length: n }, (_, at) => at);
    order.sort((a, b) => {
      const x = keys[a];
      const y = keys[b];
      if (Number.isNaN(x) || Number.isNaN(y)) {
        return Number(Number.isNaN(x)) - Number(Number.isNaN(y)) || a - b;
      }
      return sign * (x - y) || a - b;
    });
    return Uint32Array.from(order);
  }
  return radixSortOrder(keys, descending);
}

// A radix sort of the doubles' bits, 16 at a time, which is stable. Flipping the sign bit of
// positive numbers and all bits of negative ones makes their order that of unsigned integers.
function radixSortOrder(keys: Float64Array, descending: boolean): Uint32Array {
  const n = keys.length;
  const bits = new Uint32Array(keys.slice().buffer);
  const low = new Uint32Array(n);
  const high = new Uint32Array(n);
  for (let at = 0; at < n; at++) {
    let l = bits[2 * at];
    let h = bits[2 * at + 1];
    if (Number.isNaN(keys[at])) {
      l = h = 0xffffffff;
    } else {
      if (keys[at] === 0) l = h = 0; // -0 is 0
      if (h >>> 31) {
        l = ~l;
        h = ~h;
      } else {
        h |= 0x80000000;
      }
      if (descending) {
        l = ~l;
        h = ~h;
      }
    }
    low[at] = l;
    high[at] = h;
  }
  let from = new Uint32Array(n);
  for (let at = 0; at < n; at++) from[at] = at;
  let to = new Uint32Array(n);
  const begins = new Uint32Array(65537);
  for (const [digits, shift] of [
    [low, 0],
    [low, 16],
    [high, 0],
    [high, 16],
  ] as const) {
    begins.fill(0);
    for (let at = 0; at < n; at++) begins[((digits[at] >>> shift) & 0xffff) + 1]++;
    if (begins[((digits[0] >>> shift) & 0xffff) + 1] === n) continue;
    for (let digit = 0; digit < 65536; digit++) begins[digit + 1] += begins[digit];
    for (let at = 0; at < n; at++) {
      const one = from[at];
      to[begins[(digits[one] >>> shift) & 0xffff]++] = one;
    }
    [from, to] = [to, from];
  }
  return from;
}
