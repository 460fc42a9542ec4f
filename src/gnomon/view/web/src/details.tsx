// Everything that is known of a node.

import { getNode, type Grouping } from "./api";
import { useLoaded } from "./data";
import { Dialog } from "./dialog";
import { quantity, share } from "./format";
import { How } from "./how";
import { describe } from "./metric-list";
import { ask, go } from "./place";
import type { Sight } from "./sight";
import { tidy } from "./symbol";
import type { Tree } from "./tree-model";

interface Props extends Sight {
  readonly tree: Tree;
  readonly by: Grouping;
  readonly node: number;
  readonly location: number | undefined;
  readonly onClose: () => void;
  readonly onAll: (open: boolean) => void;
}

const MOST_REGIONS = 12;

export function Details(props: Props) {
  const { run, metrics, tree, by, node, location, onClose } = props;
  const key = `${run.id}/node/${by}/${node}/${location ?? ""}`;
  const details = useLoaded(key, () => getNode(run.id, { by, node, location }));
  const known = details.value;
  const values = known?.values.filter((one) => one.inclusive !== null || one.exclusive !== null) ?? [];
  return (
    <Dialog title={tree.name(node) || "(no name)"} class="details" onClose={onClose}>
      <div class="actions">
        {!tree.isLeaf(node) && (
          <>
            <button type="button" onClick={() => props.onAll(true)}>
              Expand all below
            </button>
            <button type="button" onClick={() => props.onAll(false)}>
              Collapse
            </button>
          </>
        )}
        <button
          type="button"
          onClick={() => {
            onClose();
            ask({ q: quoted(tree.name(node)) });
          }}
        >
          Filter by this name
        </button>
        <button type="button" onClick={() => go("metrics", { of: node, by })}>
          Ranks and threads
        </button>
        <button type="button" onClick={() => go("table", { filter: tree.name(node), table: null })}>
          As table
        </button>
      </div>
      {details.error && <p class="trouble">{details.error}</p>}
      {!known && !details.error && <p class="waiting">reading</p>}
      {known && (
        <>
          <dl class="facts">
            {known.ancestors.length > 0 && (
              <div>
                <dt>in</dt>
                <dd>{known.ancestors.join(" › ")}</dd>
              </div>
            )}
            {known.facts.map((fact) => (
              <div key={fact.title}>
                <dt>{fact.title === "calls" && location !== undefined ? "calls, of all places" : fact.title}</dt>
                <dd>{fact.title === "file" ? tidy(fact.value) : fact.value}</dd>
              </div>
            ))}
          </dl>
          {values.length > 0 && (
            <table class="values">
              <thead>
                <tr>
                  <th>metric</th>
                  <th class="number">inclusive</th>
                  <th class="number">%</th>
                  <th class="number">exclusive</th>
                  <th class="number">%</th>
                </tr>
              </thead>
              <tbody>
                {values.map((one) => {
                  const metric = metrics.find((other) => other.metric === one.metric);
                  if (!metric) return null;
                  const part = (value: number | null) =>
                    value === null || !one.total || !metric.additive ? "" : share(value, one.total);
                  const text = (value: number | null) =>
                    value === null ? (
                      ""
                    ) : (
                      <>
                        {quantity(value, metric.unit)} <How how={metric.how} />
                      </>
                    );
                  return (
                    <tr key={one.metric} title={describe(metric)}>
                      <td>
                        {metric.name}
                        {one.told && <small class="formula">{one.told}</small>}
                        {metric.formula && <small class="formula">= {metric.formula}</small>}
                      </td>
                      <td class="number">{text(one.inclusive)}</td>
                      <td class="number dim">{part(one.inclusive)}</td>
                      <td class="number">{text(one.exclusive)}</td>
                      <td class="number dim">{part(one.exclusive)}</td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          )}
          {known.regions.length > 1 && (
            <>
              <h3>{known.regions.length} regions</h3>
              <ul class="regions">
                {known.regions.slice(0, MOST_REGIONS).map((region) => (
                  <li key={region.region}>
                    {region.name} <small>{region.file && `${region.file}:${region.line}`}</small>
                  </li>
                ))}
                {known.regions.length > MOST_REGIONS && <li>and {known.regions.length - MOST_REGIONS} more</li>}
              </ul>
            </>
          )}
        </>
      )}
    </Dialog>
  );
}

function quoted(name: string): string {
  return /[\s/"-]/.test(name) ? `"${name.replace(/"/g, "")}"` : name;
}
