// All facts and values of a node.

import { getNode, type Grouping } from "./api";
import { useLoaded } from "./api-cache";
import { Dialog } from "./dialog";
import { formatQuantity, formatShare } from "./format";
import { HowBadge } from "./how-badge";
import { describeMetric } from "./metric-columns";
import { setParams, navigate } from "./route";
import { samplingError, shortSamplingError } from "./sampling-error";
import type { ViewProps } from "./view-props";
import { normalizePath } from "./name-parts";
import type { Tree } from "./tree-model";

interface Props extends ViewProps {
  readonly tree: Tree;
  readonly by: Grouping;
  readonly node: number;
  readonly location: number | undefined;
  readonly onClose: () => void;
  readonly onAll: (open: boolean) => void;
}

const MOST_REGIONS = 12;

export function NodeDetails(props: Props) {
  const { run, metrics, tree, by, node, location, onClose } = props;
  const key = `${run.id}/node/${by}/${node}/${location ?? ""}`;
  const details = useLoaded(key, () => getNode(run.id, { by, node, location }));
  const loaded = details.value;
  const values = loaded?.values.filter((one) => one.inclusive !== null || one.exclusive !== null) ?? [];
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
            setParams({ q: quoteFilter(tree.name(node)) });
          }}
        >
          Filter by this name
        </button>
        <button type="button" onClick={() => navigate("metrics", { of: node, by })}>
          Ranks and threads
        </button>
        <button type="button" onClick={() => navigate("table", { filter: tree.name(node), table: null })}>
          As table
        </button>
      </div>
      {details.error && <p class="trouble">{details.error}</p>}
      {!loaded && !details.error && <p class="waiting">reading</p>}
      {loaded && (
        <>
          <dl class="facts">
            {loaded.ancestors.length > 0 && (
              <div>
                <dt>{by === "callers" ? "calls" : "in"}</dt>
                <dd>{loaded.ancestors.join(" › ")}</dd>
              </div>
            )}
            {loaded.facts.map((fact) => (
              <div key={fact.title}>
                <dt>{fact.title === "calls" && location !== undefined ? "calls, of all locations" : fact.title}</dt>
                <dd>{fact.title === "file" ? normalizePath(fact.value) : fact.value}</dd>
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
                    value === null || !one.total || !metric.additive ? "" : formatShare(value, one.total);
                  const text = (value: number | null) =>
                    value === null ? (
                      ""
                    ) : (
                      <>
                        {formatQuantity(value, metric.unit)} <HowBadge how={metric.how} />
                        {!one.told && <small title={samplingError(metric, value)}>{shortSamplingError(metric, value)}</small>}
                      </>
                    );
                  return (
                    <tr key={one.metric} title={describeMetric(metric)}>
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
          {loaded.regions.length > 1 && (
            <>
              <h3>{loaded.regions.length} regions</h3>
              <ul class="regions">
                {loaded.regions.slice(0, MOST_REGIONS).map((region) => (
                  <li key={region.region}>
                    {region.name} <small>{region.file && `${region.file}:${region.line}`}</small>
                  </li>
                ))}
                {loaded.regions.length > MOST_REGIONS && <li>and {loaded.regions.length - MOST_REGIONS} more</li>}
              </ul>
            </>
          )}
        </>
      )}
    </Dialog>
  );
}

function quoteFilter(name: string): string {
  return /[\s/"-]/.test(name) ? `"${name.replace(/"/g, "")}"` : name;
}
