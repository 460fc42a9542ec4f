// Call graphs for tests and benchmarks of the layout: like those of programs, and odd ones.

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function numbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * A graph like a program's: functions in `depth` levels, few of which call and are called by many.
 *
 * Some are called by nobody, some call themselves or one that called them.
 */
export function program(n, m, { depth = 15, seed = 1, nClusters = 0 } = {}) {
  const next = numbers(seed);
  const level = Int32Array.from({ length: n }, (_, box) =>
    box === 0 ? 0 : 1 + Math.floor(next() ** 1.3 * depth * Math.min(1, 0.3 + box / n)),
  );
  const levels = Array.from({ length: depth + 2 }, () => []);
  for (let box = 0; box < n; box++) if (box === 0 || next() > 0.03) levels[level[box]].push(box);
  const known = new Set();
  const [from, to] = [[], []];
  const add = (tail, head) => {
    const key = tail * n + head;
    if (known.has(key) || from.length >= m) return;
    known.add(key);
    from.push(tail);
    to.push(head);
  };
  const one = (boxes) => boxes[Math.floor(next() ** 2.5 * boxes.length)];
  for (const boxes of levels.slice(1)) {
    for (const box of boxes) {
      let above = level[box] - 1;
      while (levels[above].length === 0) above -= 1;
      add(one(levels[above]), box);
    }
  }
  for (let tries = 0; from.length < m && tries < 20 * m; tries++) {
    const above = levels[Math.floor(next() * levels.length)];
    const callees = levels[Math.min(levels.length - 1, level[above[0] ?? 0] + 1 + Math.floor(next() ** 3 * 5))];
    if (above.length === 0 || callees.length === 0) continue;
    const [tail, head, kind] = [one(above), one(callees), next()];
    if (kind < 0.02) add(tail, tail);
    else if (kind < 0.04) add(head, tail);
    else if (tail !== head) add(tail, head);
  }
  const cluster = Array.from(level, (at) =>
    nClusters === 0 || next() < 0.02 ? -1 : at < depth / 2 ? 0 : Math.floor(next() ** 1.5 * nClusters),
  );
  return graph(n, from, to, { next, cluster, nClusters });
}

function graph(n, from, to, { next = numbers(n + 1), cluster = new Array(n).fill(-1), nClusters = 0 } = {}) {
  const [width, height] = [new Float64Array(n), new Float64Array(n)];
  for (let box = 0; box < n; box++) {
    const share = next() ** 6;
    width[box] = 90 + 160 * share;
    height[box] = 34 + 60 * share * next();
  }
  return {
    width, height,
    from: Int32Array.from(from), to: Int32Array.from(to),
    cluster: Int32Array.from(cluster), nClusters,
    gapX: 24, gapY: 50, clusterPadding: 16, clusterHeader: 24,
  };
}

const to = (n, make) => Array.from({ length: n }, (_, at) => make(at));

/** Graphs by their names, made when they are asked for. */
export const graphs = {
  "no boxes": () => graph(0, [], []),
  "one box": () => graph(1, [], []),
  "empty clusters": () => graph(2, [0], [1], { cluster: [1, -1], nClusters: 3 }),
  "self arcs": () => graph(20, to(60, (at) => at % 20), to(60, (at) => at % 20)),
  complete: () => graph(60, to(3600, (at) => Math.floor(at / 60)), to(3600, (at) => at % 60)),
  chain: () => graph(5000, to(4999, (at) => at), to(4999, (at) => at + 1)),
  "chain with long arcs": () =>
    graph(600, to(1198, (at) => (at < 599 ? at : (at - 599) >> 1)), to(1198, (at) => (at < 599 ? at + 1 : 1198 - at))),
  star: () => graph(5000, to(4999, () => 0), to(4999, (at) => at + 1)),
  "star inwards": () => graph(5000, to(4999, (at) => at + 1), to(4999, () => 0)),
  "no arcs": () => graph(5000, [], []),
  "two ways": () => graph(40, to(78, (at) => (at >> 1) + (at & 1)), to(78, (at) => (at >> 1) + 1 - (at & 1))),
  ring: () => graph(500, to(500, (at) => at), to(500, (at) => (at + 1) % 500)),
  "repeated arcs": () => graph(3, to(500, (at) => at % 2), to(500, (at) => 1 + (at % 2))),
  "a cluster each": () => graph(200, to(199, (at) => at >> 1), to(199, (at) => at + 1), { cluster: to(200, (at) => at), nClusters: 200 }),
  tree: () => graph(3000, to(2999, (at) => at >> 1), to(2999, (at) => at + 1)),
  "30": () => program(30, 45, { depth: 7 }),
  "30 in clusters": () => program(30, 45, { depth: 7, nClusters: 3 }),
  "300": () => program(300, 550, { seed: 2 }),
  "300 in clusters": () => program(300, 550, { seed: 2, nClusters: 6 }),
  "2000": () => program(2000, 4000, { seed: 4 }),
  "5000": () => program(5000, 10000, { seed: 3 }),
  "5000 in clusters": () => program(5000, 10000, { seed: 3, nClusters: 12 }),
};
