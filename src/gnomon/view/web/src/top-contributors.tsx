// The nodes with the largest values of a metric, shown where the whole program has no value.

import type { Grouping, Metric } from "./api";
import { loadValues, useLoaded, useTree } from "./api-cache";
import { formatQuantity } from "./format";
import { HowBadge } from "./how-badge";
import type { ValueKind } from "./metric-columns";
import { setParams } from "./route";
import { sortOrder } from "./sort";

const MOST = 20;

interface Props {
  readonly run: string;
  readonly by: Grouping;
  readonly metric: Metric;
  readonly part: ValueKind;
}

export function TopContributors({ run, by, metric, part }: Props) {
  const tree = useTree(run, by).value;
  const loaded = useLoaded(`${run}/parts/${by}/${metric.metric}`, () =>
    loadValues(run, { by, metric: metric.metric }),
  );
  const values = loaded.value?.[part];
  if (loaded.error) return <p class="trouble">{loaded.error}</p>;
  if (!tree || !values || values.length !== tree.n) return <p class="waiting">reading</p>;
  const nodes = [...sortOrder(values, true).subarray(0, MOST)].filter((node) => values[node] === values[node]);
  if (nodes.length === 0) {
    const also = part === "exclusive" ? ", exclusive of what is called: try inclusive" : "";
    return <p class="hint">No location has a value of this metric here{also}.</p>;
  }
  return (
    <section class="figure">
      <h3>not known of the whole program; most of it in these parts</h3>
      <table class="facts-table">
        <tbody>
          {nodes.map((node) => (
            <tr key={node}>
              <th>
                <button type="button" class="link" onClick={() => setParams({ of: node })}>
                  {tree.name(node)}
                </button>
              </th>
              <td>
                {formatQuantity(values[node]!, metric.unit)} <HowBadge how={metric.how} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
