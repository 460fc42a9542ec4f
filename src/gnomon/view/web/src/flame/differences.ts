// A run's call tree against another run's: which of its nodes differ, and by how much.

import { getDifferences, getMetrics, type Metric } from "../api";
import { cached, loadTree, loadValues, useLoaded } from "../api-cache";
import { formatChange, formatQuantity } from "../format";
import type { Tree } from "../tree-model";
import type { FrameColours } from "./frame-colours";

/** What has less than this share of both runs is not compared: it cannot matter. */
const LEAST_SHARE = 0.001;

export interface TreeDifferences {
  /** The baseline's values; NaN of what was not compared. */
  readonly before: Float64Array;
  /** Below `likely` there is a difference; NaN where nobody can say. */
  readonly p: Float64Array;
  readonly likely: number;
  /** What the baseline has on call paths that this run does not have. */
  readonly lost: number;
  readonly baselineTotal: number;
}

export function useDifferences(
  tree: Tree | null,
  values: Float64Array | null,
  run: string,
  baseline: string,
  metric: Metric | null,
): { readonly value: TreeDifferences | null; readonly error: string } {
  const key = tree && values && baseline && metric ? `${run}/differences/${baseline}/${metric.name}` : null;
  return useLoaded(key, () => compared(tree!, values!, run, baseline, metric!.name));
}

async function compared(
  tree: Tree,
  values: Float64Array,
  run: string,
  baseline: string,
  metric: string,
): Promise<TreeDifferences> {
  const [other, metrics] = await Promise.all([
    loadTree(baseline, "region"),
    cached(`${baseline}/metrics`, () => getMetrics(baseline)),
  ]);
  const same = metrics.find((one) => one.name === metric);
  if (!same) throw new Error(`the run to compare with has no ${metric}`);
  const old = (await loadValues(baseline, { by: "region", metric: same.metric })).inclusive;
  const nodes = tree.same(other);
  const least = LEAST_SHARE * tree.total(values);
  const leastOld = LEAST_SHARE * other.total(old);
  const after: number[] = [];
  for (let node = 0; node < tree.n; node++) {
    const at = nodes[node]!;
    if (values[node]! >= least || (at >= 0 && old[at]! >= leastOld)) after.push(node);
  }
  const found = await getDifferences({ a: baseline, b: run, metric, before: after.map((node) => nodes[node]!), after });
  const before = new Float64Array(tree.n).fill(Number.NaN);
  const p = new Float64Array(tree.n).fill(Number.NaN);
  after.forEach((node, at) => {
    before[node] = found.before[at]!;
    p[node] = found.p[at]!;
  });
  return { before, p, likely: found.likely, lost: lostValue(other, nodes, old), baselineTotal: other.total(old) };
}

/** The values of nodes that are in no pair, each without those below it that are in none either. */
function lostValue(other: Tree, nodes: Int32Array, old: Float64Array): number {
  const isKept = new Uint8Array(other.n);
  for (const at of nodes) if (at >= 0) isKept[at] = 1;
  let lost = 0;
  for (let at = 0; at < other.n; at++) {
    const parent = other.parent(at);
    if (!isKept[at] && (parent < 0 || isKept[parent]) && old[at]! > 0) lost += old[at]!;
  }
  return lost;
}

export function isDifferent({ p, likely }: TreeDifferences, node: number): boolean {
  return p[node]! < likely;
}

/** Orange is more than before, blue is less; grey is no difference that is sure. */
export function differenceColours(
  differences: TreeDifferences,
  values: Float64Array,
  theme: "bright" | "dark",
): FrameColours {
  const colour = (strength: number): string => {
    const part = Math.min(1, Math.abs(strength));
    const hue = strength > 0 ? "24 80%" : "210 62%";
    const lightness = theme === "dark" ? 22 + 12 * part : 84 - 20 * part;
    return `hsl(${hue} ${lightness.toFixed(0)}%)`;
  };
  const grey = theme === "dark" ? "hsl(210 6% 23%)" : "hsl(210 8% 86%)";
  return {
    ofNode: (node) => {
      if (!isDifferent(differences, node)) return grey;
      const before = differences.before[node]!;
      return colour(before > 0 ? Math.log2(values[node]! / before) : 1);
    },
    legend: [
      { label: "less", colour: colour(-1) },
      { label: "no significant difference", colour: grey },
      { label: "more", colour: colour(1) },
    ],
  };
}

/** "was 1.2 s, +12 %, significant", or "" of what was not compared. */
export function describeDifference(
  differences: TreeDifferences,
  node: number,
  value: number,
  metric: Metric,
): string {
  const before = differences.before[node]!;
  if (Number.isNaN(before)) return "too small to compare";
  const change = before > 0 ? formatChange(value / before) : "new";
  const p = differences.p[node]!;
  const sure = Number.isNaN(p)
    ? "significance not known: measure with repetitions"
    : `${isDifferent(differences, node) ? "significant" : "not significant"}, p ${p < 0.0005 ? "< 0.001" : p.toFixed(3)}`;
  return `was ${formatQuantity(before, metric.unit)}, ${change}, ${sure}`;
}
