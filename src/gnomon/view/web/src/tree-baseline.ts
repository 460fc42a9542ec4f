// Values of another run in the order of this run's tree.

import { getMetrics, type Grouping } from "./api";
import { cached, growTree, loadTree, loadValues, useLoaded } from "./api-cache";
import { serializeColumns, type MetricColumn } from "./metric-columns";
import type { Tree } from "./tree-model";

/** A value that nobody has asked for: the other tree has more below a node that is not open in it. */
export const NOT_READ = Number.POSITIVE_INFINITY;
/** So many nodes of the other tree are opened because they are open in this one. */
const MOST_OPENED = 50;

/** The baseline's values in this tree's order, matched by the names from the root. */
export function useTreeBaseline(
  tree: Tree | null,
  shown: readonly MetricColumn[],
  by: Grouping,
  baseline: string,
): (Float64Array | null)[] | null {
  const key = tree && baseline ? `${baseline}/against/${by}/${serializeColumns(shown)}/${tree.n}` : null;
  const loaded = useLoaded(key, async () => {
    const [, metrics] = await Promise.all([
      loadTree(baseline, by),
      cached(`${baseline}/metrics`, () => getMetrics(baseline)),
    ]);
    const { other, nodes } = await sameNodes(tree!, baseline, by);
    const end = other.data.pending.includes(1) || by === "callers" ? other.n : undefined;
    return Promise.all(
      shown.map(async ({ metric, part }) => {
        const same = metrics.find((one) => one.name === metric.name && one.unit === metric.unit);
        if (!same) return null;
        const found = (await loadValues(baseline, { by, metric: same.metric, end }))[part];
        return Float64Array.from(nodes, (node) =>
          node === UNREAD ? NOT_READ : node < 0 ? Number.NaN : found[node]!,
        );
      }),
    );
  });
  return loaded.waiting ? null : loaded.value;
}

/** A node of a tree that may be in the other one, below what is not open there. */
const UNREAD = -2;

/** The nodes of the baseline's tree that are those of this one, with what is open here. */
async function sameNodes(tree: Tree, baseline: string, by: Grouping): Promise<{ other: Tree; nodes: Int32Array }> {
  let other = await loadTree(baseline, by);
  let nodes = tree.same(other);
  for (let opened = 0; opened < MOST_OPENED; opened++) {
    const node = nodes.findIndex((at, own) => at >= 0 && other.isPending(at) && tree.isOpen(own));
    if (node < 0) break;
    other = await growTree(baseline, by, nodes[node]!);
    nodes = tree.same(other);
  }
  // Parents come before their children.
  for (let node = 0; node < tree.n; node++) {
    const parent = tree.parent(node);
    if (nodes[node]! >= 0 || parent < 0) continue;
    const above = nodes[parent]!;
    if (above === UNREAD || (above >= 0 && other.isPending(above))) nodes[node] = UNREAD;
  }
  return { other, nodes };
}
