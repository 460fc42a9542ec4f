// Lays out graphs and prints what is true of the pictures: a line of JSON for each name of a graph.
// What is right is said by the test that runs this, bundled; here it is only measured.

import { graphs } from "../../../benchmarks/call_graphs.mjs";
import { layOut } from "../../../src/gnomon/view/web/src/callgraph/layout";
import { LABEL_HEIGHT, LABEL_WIDTH } from "../../../src/gnomon/view/web/src/callgraph/layout-labels";
import { pruned } from "../../../src/gnomon/view/web/src/callgraph/layout-pruned";

for (const name of process.argv.slice(2)) {
  const graph = withLabels(graphs[name]());
  const layout = layOut(graph);
  const found = measured(graph, layout);
  found.same = sameBytes(layout, layOut(graph));
  found.after = afterRemoval(graph, layout);
  console.log(JSON.stringify(found));
}

/** Every second box has a label that is wider than itself. */
function withLabels(graph) {
  return { ...graph, inner: graph.width.map((width, box) => (box % 2 ? Math.min(width, 10) : width)) };
}

function measured(graph, layout) {
  const boxes = boxIndex(graph, layout);
  return {
    boxes: graph.width.length,
    arcs: graph.from.length,
    aspect: layout.width / layout.height,
    notFinite: [layout.x, layout.y, layout.points, layout.labelX, layout.labelY, layout.clusters]
      .reduce((sum, list) => sum + list.filter((each) => !Number.isFinite(each)).length, 0),
    overlaps: overlaps(graph, layout, boxes),
    outside: outside(graph, layout),
    ends: looseEnds(graph, layout),
    broken: brokenRoutes(graph, layout),
    crossing: arcsThroughBoxes(graph, layout, boxes),
    labels: labelsOnBoxes(layout, boxes),
    ...labelsOnLabels(graph, layout),
    upward: upwardArcs(graph, layout),
    clusters: clusterProblems(graph, layout),
  };
}

/** Boxes at a place, by a grid. */
function boxIndex({ width, height }, { x, y }) {
  const size = 100;
  const cells = new Map();
  for (let box = 0; box < width.length; box++) {
    for (let column = Math.floor(x[box] / size); column <= (x[box] + width[box]) / size; column++) {
      for (let row = Math.floor(y[box] / size); row <= (y[box] + height[box]) / size; row++) {
        const key = column * 1e7 + row;
        if (!cells.has(key)) cells.set(key, []);
        cells.get(key).push(box);
      }
    }
  }
  const inside = (box, px, py, by) =>
    px > x[box] + by && px < x[box] + width[box] - by && py > y[box] + by && py < y[box] + height[box] - by;
  return {
    cells,
    at: (px, py, by) =>
      (cells.get(Math.floor(px / size) * 1e7 + Math.floor(py / size)) ?? []).filter((box) => inside(box, px, py, by)),
  };
}

function overlaps({ width, height }, { x, y }, { cells }) {
  const pairs = new Set();
  for (const boxes of cells.values()) {
    for (const one of boxes) {
      for (const other of boxes) {
        if (one >= other) continue;
        const apart =
          x[one] + width[one] <= x[other] || x[other] + width[other] <= x[one] ||
          y[one] + height[one] <= y[other] || y[other] + height[other] <= y[one];
        if (!apart) pairs.add(`${one} ${other}`);
      }
    }
  }
  return pairs.size;
}

function outside({ width, height, from }, layout) {
  let count = 0;
  for (let box = 0; box < width.length; box++) {
    const fits =
      layout.x[box] >= 0 && layout.y[box] >= 0 &&
      layout.x[box] + width[box] <= layout.width && layout.y[box] + height[box] <= layout.height;
    if (!fits) count += 1;
  }
  for (let arc = 0; arc < from.length; arc++) {
    if (samples(layout, arc).some(([x, y]) => x < 0 || y < 0 || x > layout.width || y > layout.height)) count += 1;
  }
  return count;
}

/** Points along a curve, about 4 px from each other. */
function samples({ routeStart, points }, arc) {
  const found = [];
  for (let at = routeStart[arc]; at + 7 < routeStart[arc + 1]; at += 6) {
    const [x0, y0, x1, y1, x2, y2, x3, y3] = points.slice(at, at + 8);
    const way = Math.hypot(x1 - x0, y1 - y0) + Math.hypot(x2 - x1, y2 - y1) + Math.hypot(x3 - x2, y3 - y2);
    const steps = Math.max(1, Math.ceil(way / 4));
    for (let step = 0; step <= steps; step++) {
      const t = step / steps;
      const s = 1 - t;
      const [a, b, c, d] = [s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t];
      found.push([a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3]);
    }
  }
  return found;
}

/** Ends of arcs that are not on the borders of their boxes. */
function looseEnds({ width, inner, height, from, to }, { x, y, routeStart, points }) {
  const near = (one, other) => Math.abs(one - other) < 0.05;
  const within = (value, low, size) => value > low - 0.05 && value < low + size + 0.05;
  const onBorder = (box, px, py) =>
    (within(px, x[box] + (width[box] - inner[box]) / 2, inner[box]) && near(py, y[box])) ||
    (within(px, x[box], width[box]) && near(py, y[box] + height[box])) ||
    (within(py, y[box], height[box]) && (near(px, x[box]) || near(px, x[box] + width[box])));
  let count = 0;
  for (let arc = 0; arc < from.length; arc++) {
    const [first, end] = [routeStart[arc], routeStart[arc + 1]];
    if (!onBorder(from[arc], points[first], points[first + 1])) count += 1;
    if (!onBorder(to[arc], points[end - 2], points[end - 1])) count += 1;
  }
  return count;
}

/** Arcs whose number of points is not that of a start and whole segments. */
function brokenRoutes({ from }, { routeStart, points }) {
  let count = points.length === routeStart[from.length] ? 0 : 1;
  for (let arc = 0; arc < from.length; arc++) {
    const length = routeStart[arc + 1] - routeStart[arc];
    if (length < 8 || (length - 2) % 6 !== 0) count += 1;
  }
  return count;
}

function arcsThroughBoxes({ from, to }, layout, { at }) {
  let count = 0;
  for (let arc = 0; arc < from.length; arc++) {
    const foreign = (box) => box !== from[arc] && box !== to[arc];
    if (samples(layout, arc).some(([x, y]) => at(x, y, 0.5).some(foreign))) count += 1;
  }
  return count;
}

function labelsOnBoxes({ labelX, labelY }, { at }) {
  return labelX.reduce((count, x, arc) => count + Number(at(x, labelY[arc], 0).length > 0), 0);
}

/** Arcs whose label lies on another's, and pairs of opposite arcs whose labels do. */
function labelsOnLabels({ from, to }, { labelX, labelY }) {
  const order = Array.from(from, (_, arc) => arc).sort((a, b) => labelY[a] - labelY[b]);
  const covered = new Set();
  let opposite = 0;
  order.forEach((one, at) => {
    for (let next = at + 1; next < order.length && labelY[order[next]] - labelY[one] < LABEL_HEIGHT - 0.01; next++) {
      const other = order[next];
      if (Math.abs(labelX[one] - labelX[other]) >= LABEL_WIDTH - 0.01) continue;
      covered.add(one).add(other);
      if (from[one] === to[other] && to[one] === from[other] && from[one] !== to[one]) opposite += 1;
    }
  });
  return { coveredLabels: covered.size, oppositeLabels: opposite };
}

function upwardArcs({ from, to, height }, { y }) {
  return from.reduce((count, tail, arc) => count + Number(tail !== to[arc] && y[tail] + height[tail] > y[to[arc]]), 0);
}

function clusterProblems({ width, height, cluster, nClusters }, { x, y, clusters }) {
  let count = 0;
  const area = (at) => clusters.slice(4 * at, 4 * at + 4);
  const apart = (ax, ay, aw, ah, bx, by, bw, bh) => ax + aw <= bx || bx + bw <= ax || ay + ah <= by || by + bh <= ay;
  for (let at = 0; at < nClusters; at++) {
    const [cx, cy, cw, ch] = area(at);
    if (!cluster.includes(at)) {
      if (cx || cy || cw || ch) count += 1;
      continue;
    }
    for (let box = 0; box < width.length; box++) {
      const inside = x[box] >= cx && y[box] >= cy && x[box] + width[box] <= cx + cw && y[box] + height[box] <= cy + ch;
      if (cluster[box] === at ? !inside : !apart(cx, cy, cw, ch, x[box], y[box], width[box], height[box])) count += 1;
    }
    for (let other = 0; other < at; other++) {
      if (cluster.includes(other) && !apart(cx, cy, cw, ch, ...area(other))) count += 1;
    }
  }
  return count;
}

function sameBytes(one, other) {
  return Object.keys(one).every((key) =>
    typeof one[key] === "number" ? one[key] === other[key] : Buffer.from(one[key].buffer).equals(Buffer.from(other[key].buffer)),
  );
}

/** What became of the order when every fifth box went. */
function afterRemoval(graph, before) {
  const kept = Array.from(graph.width, (_, box) => box).filter((box) => box % 5 !== 3);
  const position = new Map(kept.map((box, at) => [box, at]));
  const arcs = Array.from(graph.from, (_, arc) => arc).filter(
    (arc) => position.has(graph.from[arc]) && position.has(graph.to[arc]),
  );
  const smaller = {
    ...graph,
    width: Float64Array.from(kept, (box) => graph.width[box]),
    inner: Float64Array.from(kept, (box) => graph.inner[box]),
    height: Float64Array.from(kept, (box) => graph.height[box]),
    cluster: Int32Array.from(kept, (box) => graph.cluster[box]),
    from: Int32Array.from(arcs, (arc) => position.get(graph.from[arc])),
    to: Int32Array.from(arcs, (arc) => position.get(graph.to[arc])),
    previous: { x: Float64Array.from(kept, (box) => before.x[box]), y: Float64Array.from(kept, (box) => before.y[box]) },
  };
  const after = layOut(smaller);
  const again = layOut({ ...graph, previous: { x: before.x, y: before.y } });
  const left = pruned(before, {
    boxes: Int32Array.from(kept), arcs: Int32Array.from(arcs),
    clusters: Int32Array.from({ length: graph.nClusters }, (_, at) => at),
  });
  return {
    ...orders(smaller, after), ...measured(smaller, after), ...moved(before, again),
    pruned: { ...measured(smaller, left), ...orders(smaller, left) },
  };
}

/** Pairs of boxes in one row before and now that arcs connect, and how many of them changed sides. */
function orders(graph, { x, y }) {
  const { width, height, previous } = graph;
  const part = connected(graph);
  const rows = new Map();
  for (let box = 0; box < width.length; box++) {
    const key = `${part[box]} ${Math.round(y[box] + height[box] / 2)}`;
    if (!rows.has(key)) rows.set(key, []);
    rows.get(key).push(box);
  }
  let [pairs, swapped] = [0, 0];
  for (const row of rows.values()) {
    row.sort((a, b) => x[a] - x[b]);
    for (let at = 0; at + 1 < row.length; at++) {
      const [left, right] = [row[at], row[at + 1]];
      const before = (box) => previous.y[box] + height[box] / 2;
      if (Math.abs(before(left) - before(right)) > 1) continue;
      pairs += 1;
      if (previous.x[left] > previous.x[right]) swapped += 1;
    }
  }
  return { pairs, swapped };
}

/** The part of its cluster that each box is connected with. */
function connected({ width, from, to, cluster }) {
  const root = Array.from(width, (_, box) => box);
  const find = (box) => (root[box] === box ? box : (root[box] = find(root[box])));
  from.forEach((tail, arc) => {
    if (cluster[tail] === cluster[to[arc]]) root[find(tail)] = find(to[arc]);
  });
  return root.map((_, box) => find(box));
}

/** How far boxes go when nothing has changed, as the median share of the picture's size. */
function moved(before, again) {
  const ways = Array.from(before.x, (x, box) =>
    Math.hypot((again.x[box] - x) / before.width, (again.y[box] - before.y[box]) / before.height),
  ).sort((a, b) => a - b);
  return { moved: ways.length > 0 ? ways[ways.length >> 1] : 0 };
}
