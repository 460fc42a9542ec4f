// The parts of a run that have most of a metric: where the whole program has no value of it.

import type { Grouping, Metric } from "./api";
import { loadValues, useLoaded, useTree } from "./data";
import { quantity } from "./format";
import { How } from "./how";
import type { Part } from "./metric-list";
import { ask } from "./place";
import { sorted } from "./sorting";

const MOST = 20;

interface Props {
  readonly run: string;
  readonly by: Grouping;
  readonly metric: Metric;
  readonly part: Part;
}

export function Parts({ run, by, metric, part }: Props) {
  const tree = useTree(run, by).value;
  const loaded = useLoaded(`${run}/parts/${by}/${metric.metric}`, () =>
    loadValues(run, { by, metric: metric.metric }),
  );
  const values = loaded.value?.[part];
  if (loaded.error) return <p class="trouble">{loaded.error}</p>;
  if (!tree || !values || values.length !== tree.n) return <p class="waiting">reading</p>;
  const found = [...sorted(values, true).subarray(0, MOST)].filter((node) => values[node] === values[node]);
  if (found.length === 0) {
    const also = part === "exclusive" ? ", exclusive of what is called: try inclusive" : "";
    return <p class="hint">No place has a value of this metric here{also}.</p>;
  }
  return (
    <section class="figure">
      <h3>not known of the whole program; most of it in these parts</h3>
      <table class="facts-table">
        <tbody>
          {found.map((node) => (
            <tr key={node}>
              <th>
                <button type="button" class="link" onClick={() => ask({ of: node })}>
                  {tree.name(node)}
                </button>
              </th>
              <td>
                {quantity(values[node]!, metric.unit)} <How how={metric.how} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
