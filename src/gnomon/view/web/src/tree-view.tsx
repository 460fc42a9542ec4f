// The tree view: the tree with the source beside it.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { Grouping, Statistic, ValuesQuery } from "./api";
import { growTree, useTree, useValues } from "./api-cache";
import { useTreeBaseline } from "./tree-baseline";
import { NodeDetails } from "./node-details";
import { TreeFilter } from "./tree-filter";
import { plural, formatNumber } from "./format";
import { HowLegend } from "./how-badge";
import { useShortcuts } from "./shortcuts";
import { columnKey, parseColumns, defaultColumns, type MetricColumn } from "./metric-columns";
import { MetricPicker } from "./metric-picker";
import { LocationPicker } from "./location-picker";
import { setParams, navigate, useRoute } from "./route";
import { InlineCode } from "./inline-code";
import { innermostOwnCode, nearestOwnCaller, ownFiles } from "./own-code";
import type { RowsHandle } from "./virtual-rows";
import { SearchBox } from "./search-box";
import type { ViewProps } from "./view-props";
import { SourcePane } from "./source-pane";
import { SplitPane } from "./split-pane";
import { useTheme } from "./theme";
import type { Tree } from "./tree-model";
import { largestMagnitude, TreeTable, type ColumnValues } from "./tree-table";

/** The grouping whose tree grows: nodes below one come when it is opened. */
const GROWS: Grouping = "callers";
const STATISTICS: readonly Statistic[] = ["total", "mean", "min", "median", "max"];

export function TreeView(props: ViewProps) {
  const { run, metrics, baseline } = props;
  const { params } = useRoute();
  useTheme();
  const groupings = run.groupings.map((grouping) => grouping.by);
  const by = groupings.find((name) => name === params["by"]) ?? defaultGrouping(props);
  const statistic = STATISTICS.find((name) => name === params["statistic"]) ?? "total";
  const location = params["location"] ? Number(params["location"]) : undefined;
  const room = window.innerWidth >= 2000 ? 6 : 3;
  const shown = useMemo(() => {
    const requested = parseColumns(params["columns"] ?? "", metrics);
    if (requested.length > 0) return requested;
    // A thread of a sampled run has a call tree, and other places what runs in them.
    return defaultColumns(metrics, run.firstMetric, room, groupings.includes(GROWS) && by === "rank" ? "region" : by);
  }, [params["columns"], metrics, run.firstMetric, room, by]);

  const tree = useTree(run.id, by);
  const end = by === GROWS && tree.value?.data.by === by ? tree.value.n : undefined;
  const queries = shown.map(({ metric }): ValuesQuery => ({ by, metric: metric.metric, location, statistic, end }));
  const values = useValues(run.id, by === GROWS && end === undefined ? [] : queries);
  const baselineValues = useTreeBaseline(tree.value, shown, by, baseline?.id ?? "");

  const fits =
    !tree.waiting &&
    !values.waiting &&
    tree.value !== null &&
    values.value !== null &&
    values.value.length === shown.length &&
    values.value.every((one, at) => one.n === tree.value!.n && one.metric === shown[at]!.metric.metric);
  // While others are on their way, what is there stays, but never beside another tree's rows.
  const lastLoaded = useRef<{ tree: Tree; by: Grouping; columns: ColumnValues[] } | null>(null);
  const loaded = useMemo(() => {
    if (!fits) return null;
    return {
      tree: tree.value!,
      by,
      columns: shown.map((one, at) => ({
        ...one,
        unit: values.value![at]!.unit,
        how: values.value![at]!.how,
        values: values.value![at]![one.part],
        total: tree.value!.total(values.value![at]!.inclusive),
        largest: largestMagnitude(values.value![at]!.inclusive),
        told: values.value![at]!.told,
        isShared: values.value![at]!.isShared,
        baselineValues: baselineValues?.[at] ?? null,
      })),
    };
  }, [fits, tree.value, values.value, shown, baselineValues]);
  if (loaded) lastLoaded.current = loaded;
  const current = lastLoaded.current?.tree.first === tree.value?.first ? lastLoaded.current : null;
  const error = tree.error || values.error;
  const pane =
    current && !error ? (
      <TreePane
        key={`${run.id} ${current.by}`}
        {...props}
        tree={current.tree}
        by={current.by}
        settled={!tree.waiting}
        shown={shown}
        statistic={statistic}
        location={location}
        columns={current.columns}
      />
    ) : (
      <p class={error ? "trouble" : "waiting"}>{error || "reading the tree"}</p>
    );
  return (
    <div class="tree-view">
      {run.sourceFiles.length === 0 ? (
        pane
      ) : (
        <SplitPane
          name="tree"
          start={0.56}
          first={pane}
          second={
            <SourcePane
              {...props}
              tree={tree.value}
              shown={shown}
              location={location}
              statistic={statistic}
              file={params["file"] ?? ""}
              line={Number(params["line"] ?? 0)}
            />
          }
        />
      )}
    </div>
  );
}

/** By region; by rank if there is one region and several locations. */
export function defaultGrouping({ run, locations }: ViewProps): Grouping {
  const groupings = run.groupings.map((grouping) => grouping.by);
  if (run.counts.regions <= 1 && locations.length > 2 && groupings.includes("rank")) return "rank";
  return groupings[0] ?? "region";
}

interface PaneProps extends ViewProps {
  readonly tree: Tree;
  readonly by: Grouping;
  /** Whether no other tree is being loaded, whose nodes have other numbers. */
  readonly settled: boolean;
  readonly shown: readonly MetricColumn[];
  readonly statistic: Statistic;
  readonly location: number | undefined;
  readonly columns: readonly ColumnValues[];
}

function TreePane(props: PaneProps) {
  const { run, tree, by, columns } = props;
  const { params } = useRoute();
  const [turn, setTurn] = useState(0);
  const [details, setDetails] = useState(-1);
  // The node from which the hottest path is being followed; its next part may have to be read.
  const [following, setFollowing] = useState(-1);
  const rowsHandle = useRef<RowsHandle>(null);

  const grouping = run.groupings.find((one) => one.by === by);
  const first = columns.find((column) => column.part === grouping?.sort) ?? columns[0]!;
  const sortKey = params["sort"] ?? columnKey(first);
  const sortColumn = columns.find((column) => columnKey(column) === sortKey);
  const descending = params["order"] ? params["order"] === "down" : sortColumn !== undefined || sortKey === "calls";
  const main = sortColumn ?? first;
  const sortBy = sortKey === "name" || sortKey === "place" || sortKey === "calls" ? sortKey : main.values;

  const sort = useMemo(() => {
    tree.sort(sortBy, descending);
    return {};
  }, [tree, sortBy, descending]);
  const total = main.total;
  const typed = params["q"] ?? "";
  const filter = useMemo(() => TreeFilter.parse(typed), [typed]);
  const matches = useMemo(
    () => tree.filter(typeof filter === "string" ? null : filter, main.values, total),
    [tree, filter, filter === null ? null : main.values, total],
  );
  const rows = useMemo(() => tree.rows(), [tree, sort, matches, filter, turn]);

  const asks = params["node"] === undefined ? -1 : Number(params["node"]);
  const selected = asks >= 0 && asks < tree.n ? asks : -1;

  const select = (node: number) => {
    const place: Record<string, string | number | null> = { node };
    if (tree.file(node)) {
      place["file"] = tree.file(node);
      place["line"] = tree.line(tree.hottest(node, main.values)) || null;
    }
    setParams(place);
  };
  const redraw = () => setTurn((old) => old + 1);
  const isOwn = useMemo(() => ownFiles(run), [run]);
  const isCallTree = run.groupings.some((one) => one.by === GROWS) && (by === "region" || by === "lines" || by === "rank");

  useEffect(() => {
    // What is there is the tree of another grouping until this one's has come.
    if (!props.settled) return;
    // The way to where most of it is, for whom comes without a place in mind.
    const named = params["file"] ? tree.at(params["file"], Number(params["line"] ?? 0)) : -1;
    if (selected >= 0) {
      tree.reveal(selected);
    } else if (named >= 0) {
      tree.reveal(named);
      setParams({ node: named });
    } else {
      const root = tree.children(-1)[0];
      if (root !== undefined && by === GROWS) {
        // The hottest function, with its callers up to one whose source is here.
        const [hottest = root] = tree.children(root);
        tree.set(hottest, true);
        if (tree.isPending(hottest)) void growTree(run.id, by, hottest);
        const own = nearestOwnCaller(tree, hottest, main.values, isOwn);
        tree.reveal(own);
        select(own);
      } else if (root !== undefined) {
        const followed = tree.follow(root, main.values);
        const end = isCallTree ? innermostOwnCode(tree, followed, isOwn) : followed;
        const hot = tree.file(end) ? end : tree.hottest(end, main.values);
        tree.reveal(hot);
        select(tree.file(hot) ? hot : end);
      }
    }
    redraw();
  }, [tree, selected < 0, props.settled]);

  useEffect(() => {
    if (following < 0) return;
    const end = tree.follow(following, main.values);
    if (tree.isPending(end)) {
      setFollowing(end);
      void growTree(run.id, by, end).catch(() => setFollowing(-1));
      return;
    }
    setFollowing(-1);
    tree.reveal(end);
    select(end);
    redraw();
    rowsHandle.current?.focus();
  }, [tree, following]);
  const follow = () => setFollowing(selected >= 0 ? selected : (tree.children(-1)[0] ?? -1));

  useEffect(() => {
    rowsHandle.current?.focus();
    const idle = requestIdleCallback(() => tree.prepare());
    return () => cancelIdleCallback(idle);
  }, [tree]);

  useEffect(() => {
    const at = rows.nodes.indexOf(selected);
    if (at >= 0) rowsHandle.current?.show(at);
  }, [selected, sort]);

  const step = (list: readonly string[], at: number, by_: number) =>
    list[(at + by_ + list.length) % list.length]!;
  const groupings = run.groupings.map((grouping) => grouping.by);
  const regroup = (next: Grouping) => setParams({ by: next, node: null, of: null });
  const sortKeys = columns.map(columnKey);
  const toMatch = (direction: 1 | -1) => {
    const at = tree.nextMatch(rows.nodes, rows.nodes.indexOf(selected), direction);
    if (at < 0) return;
    select(rows.nodes[at]!);
    rowsHandle.current?.show(at, "middle");
  };
  useShortcuts({
    "[": () => regroup(step(groupings, groupings.indexOf(by), -1) as Grouping),
    "]": () => regroup(step(groupings, groupings.indexOf(by), 1) as Grouping),
    s: () => setParams({ sort: step(sortKeys, sortKeys.indexOf(sortKey), 1), order: null }),
    S: () => setParams({ sort: step(sortKeys, sortKeys.indexOf(sortKey), -1), order: null }),
    h: follow,
    n: () => toMatch(1),
    N: () => toMatch(-1),
  });

  const all = (node: number, open: boolean) => {
    tree.setAll(node, open);
    redraw();
    rowsHandle.current?.focus();
  };
  return (
    <section class="pane tree-pane" aria-label="tree">
      <div class="tools">
        <span class="segments" role="group" aria-label="group by">
          {run.groupings.map((grouping) => (
            <button
              key={grouping.by}
              type="button"
              class={grouping.by === by ? "is-here" : ""}
              aria-pressed={grouping.by === by}
              title={`${grouping.title} ([ and ])`}
              onClick={() => regroup(grouping.by)}
            >
              {grouping.label}
            </button>
          ))}
        </span>
        <MetricPicker {...props} />
        <LocationPicker locations={props.locations} chosen={props.location} />
        {props.locations.length > 1 && (
          <select
            value={props.statistic}
            title="of all locations together: their sum, or one statistic of their values"
            aria-label="statistic"
            onChange={(event) => setParams({ statistic: event.currentTarget.value })}
          >
            {STATISTICS.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
      </div>
      <div class="tools">
        <SearchBox
          value={typed}
          placeholder="filter: name, file:x.c, >1%"
          label="filter"
          hint={typeof filter === "string" ? filter : "? lists what can be written here"}
          isWrong={typeof filter === "string"}
          onInput={(text) => setParams({ q: text || null })}
          onEnter={() => toMatch(1)}
          onLeave={() => rowsHandle.current?.focus()}
        />
        <span class="note" role="status">
          {typeof filter === "string"
            ? filter
            : tree.isFiltered
              ? `${formatNumber(matches)} of ${formatNumber(tree.n)} nodes${tree.data.pending.includes(1) ? " so far" : ""}`
              : plural(tree.n, "node")}
        </span>
        <span class="tools-rest" />
        <button type="button" class="quiet" onClick={follow} title="open the path with most of it, from the chosen node (h)">
          Hottest path
        </button>
        <button type="button" class="quiet" onClick={() => all(-1, true)} title="open all (*)">
          Expand all
        </button>
        <button type="button" class="quiet" onClick={() => all(-1, false)} title="close all (-)">
          Collapse all
        </button>
        <button
          type="button"
          class="quiet"
          title="the same as a table that can be saved"
          onClick={() => navigate("table", { table: null })}
        >
          As table
        </button>
      </div>
      {run.sourceFiles.length === 0 && (
        <p class="hint">
          This run names no source files. Of programs built with -g lines are known where sections start,
          and of all functions if measured with <InlineCode text="`gnomon run --with emulated -- program`" />.
        </p>
      )}
      {tree.data.notes.map((note) => (
        <p class="hint" key={note}>
          {note}
        </p>
      ))}
      <TreeTable
        tree={tree}
        rows={rows}
        columns={columns}
        selected={selected}
        sortKey={sortKey}
        descending={descending}
        isOfAll={props.location === undefined && props.statistic === "total"}
        handle={rowsHandle}
        onSort={(key) =>
          setParams(
            key === sortKey
              ? { order: descending ? "up" : "down" }
              : { sort: key, order: null },
          )
        }
        onSelect={select}
        onOpen={(node, open) => {
          tree.set(node, open);
          redraw();
          if (open && tree.isPending(node)) void growTree(run.id, by, node);
        }}
        onAll={all}
        onDetails={(node) => {
          select(node);
          setDetails(node);
        }}
        onSource={(node) => {
          select(node);
          document.querySelector<HTMLElement>(".source-text")?.focus();
        }}
      />
      <footer class="status">
        <span class="crumbs" title={selected >= 0 ? nodePath(tree, selected) : ""}>
          {selected >= 0 ? nodePath(tree, selected) : ""}
        </span>
        <HowLegend hows={columns.map((column) => column.how)} />
      </footer>
      {details >= 0 && (
        <NodeDetails
          {...props}
          node={details}
          onClose={() => setDetails(-1)}
          onAll={(open) => {
            setDetails(-1);
            all(details, open);
          }}
        />
      )}
    </section>
  );
}

function nodePath(tree: Tree, node: number): string {
  return tree.path(node).map((at) => tree.name(at)).join(" › ");
}
