// What is told of the chosen function, arc or cluster, and of the graph as a whole.

import { formatNumber, formatQuantity, plural } from "../format";
import type { Target } from "./graph-drawing";
import { functionLabel, type GraphModel } from "./graph-model";
import { clusterTotal, type Picture } from "./graph-picture";

interface Props {
  readonly model: GraphModel;
  readonly picture: Picture;
  readonly chosen: Target;
  readonly before: GraphModel | null;
}

/** The information box: the chapter's details of a function, a call or a cluster. */
export function GraphFacts({ model, picture, chosen, before }: Props) {
  const rows = factsOf(model, picture, chosen, before);
  return (
    <dl class="graph-facts" aria-label="information">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

type Fact = readonly [string, string];

function factsOf(model: GraphModel, picture: Picture, chosen: Target, before: GraphModel | null): Fact[] {
  const { data } = model;
  const value = (amount: number) => formatQuantity(amount, data.unit);
  const counted = (calls: number) => (calls < 0 ? "not counted" : formatNumber(calls));
  if (chosen.kind === "arc") {
    const arrow = picture.arrows[chosen.arrow];
    if (!arrow) return [];
    const [first] = arrow.arcs;
    const name = (box: number, f: number) => (picture.boxes[box]!.f >= 0 ? functionLabel(model, f) : picture.boxes[box]!.label);
    const sum = (column: Float64Array) => arrow.arcs.reduce((total, arc) => total + column[arc]!, 0);
    return [
      ["caller", name(arrow.from, data.caller[first!]!)],
      ["callee", name(arrow.to, data.callee[first!]!)],
      ["calls", model.hasCounts ? formatNumber(sum(data.arcCalls)) : "not counted"],
      [data.isEstimated ? "came to (estimated)" : "came to", value(sum(data.arcTotal))],
    ];
  }
  const box = chosen.kind === "function" ? picture.boxes[chosen.box] : undefined;
  if (chosen.kind === "cluster" || (box && box.f < 0)) {
    const module = chosen.kind === "cluster" ? chosen.module : box!.module;
    return [
      ["library", data.modules[module]!.path || "(unknown)"],
      [data.metric, value(clusterTotal(model, module))],
    ];
  }
  if (!box) return [];
  const f = box.f;
  const rows: Fact[] = [
    ["function", functionLabel(model, f)],
    ["with descendants", value(data.total[f]!)],
    ["itself", value(data.own[f]!)],
    ["calls", counted(data.calls[f]! < 0 ? -1 : data.calls[f]! + data.selfCalls[f]!)],
    ["library", data.modules[data.module[f]!]!.path],
  ];
  const source = data.sources[data.source[f]!];
  if (source) rows.push(["source", `${source}:${data.line[f]}`]);
  if (before) {
    const other = matching(model, before, f);
    rows.push(["before, with descendants", other < 0 ? "was not there" : value(before.data.total[other]!)]);
    if (other >= 0) rows.push(["before, itself", value(before.data.own[other]!)]);
  }
  return rows;
}

const named = new WeakMap<GraphModel, ReadonlyMap<string, readonly number[]>>();

/** Functions of a graph by their names. */
function byNames(model: GraphModel): ReadonlyMap<string, readonly number[]> {
  const before = named.get(model);
  if (before) return before;
  const functions = new Map<string, number[]>();
  model.data.names.forEach((name, f) => {
    const same = functions.get(name);
    if (same) same.push(f);
    else functions.set(name, [f]);
  });
  named.set(model, functions);
  return functions;
}

/** The function of another graph with the same name in the same module, -1 for none. */
export function matching(model: GraphModel, other: GraphModel, f: number): number {
  const module = model.data.modules[model.data.module[f]!]!.name;
  const same = byNames(other).get(model.data.names[f]!) ?? [];
  return same.find((at) => other.data.modules[other.data.module[at]!]!.name === module) ?? same[0] ?? -1;
}

interface StatusProps {
  model: GraphModel;
  picture: Picture;
  /** The function that was to be located, and is not there. */
  missing: string;
}

export function GraphStatus({ model, picture, missing }: StatusProps) {
  const { data } = model;
  return (
    <p class="graph-status" role="status">
      <b>{data.program}</b>, {plural(data.files, "profile")}, {data.metric} {formatQuantity(data.whole, data.unit)} ({data.how});{" "}
      {formatNumber(picture.shown.functions.size)} of {plural(data.n, "function")} and {formatNumber(picture.nArcs)} of {plural(data.caller.length, "call")} displayed
      {missing && <>; <b>no function {missing} to locate</b></>}
    </p>
  );
}
