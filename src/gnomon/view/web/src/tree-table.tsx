// The rows of the tree and their columns.

import type { Ref } from "preact";
import { useMemo } from "preact/hooks";

import { baseName, formatChange, formatQuantity, formatShare } from "./format";
import { HowBadge } from "./how-badge";
import { describeMetric, columnKey, type MetricColumn } from "./metric-columns";
import { samplingError } from "./sampling-error";
import { SymbolName, FilePath } from "./symbol-name";
import { NOT_READ } from "./tree-baseline";
import { textWidth } from "./text-width";
import { VirtualRows, type RowsHandle } from "./virtual-rows";
import type { Rows, Tree } from "./tree-model";

export interface ColumnValues extends MetricColumn {
  readonly unit: string;
  readonly how: string;
  /** In the order of the tree's nodes. */
  readonly values: Float64Array;
  /** The value of the whole run. */
  readonly total: number;
  /** Of one node: more than the total where parts of the run are at the same time. */
  readonly largest: number;
  /** Which statistic over locations the values are; "" for their sum. */
  readonly told: string;
  /** Whether a node's value is a part of the total: those of parts at the same time are not. */
  readonly isShared: boolean;
  /** Values of the baseline in the same order. */
  readonly baselineValues: Float64Array | null;
}

interface Props {
  readonly tree: Tree;
  readonly rows: Rows;
  readonly columns: readonly ColumnValues[];
  readonly selected: number;
  readonly sortKey: string;
  readonly descending: boolean;
  /** Whether values are sums of all places: calls are known of these only. */
  readonly isOfAll: boolean;
  readonly handle: Ref<RowsHandle>;
  readonly onSort: (key: string) => void;
  readonly onSelect: (node: number) => void;
  readonly onOpen: (node: number, open: boolean) => void;
  readonly onAll: (node: number, open: boolean) => void;
  readonly onDetails: (node: number) => void;
  readonly onSource: (node: number) => void;
}

const ROW_PX = 22;
const HEAD_PX = 40;
const HEAD_OF_PLACES_PX = 54;
const LEAST_NAME_PX = 150;
const CALLS_PX = 76;
const LEAST_NUMBER_PX = 68;
const MOST_TITLE_PX = 130;

export function TreeTable(props: Props) {
  const { tree, rows, columns, selected } = props;
  const at = rows.nodes.indexOf(selected);
  const hasCalls = props.isOfAll && anyCalls(tree);

  const move = (to: number) => {
    if (rows.nodes.length === 0) return;
    const row = Math.max(0, Math.min(rows.nodes.length - 1, to));
    props.onSelect(rows.nodes[row]!);
    (props.handle as { current: RowsHandle | null }).current?.show(row);
  };
  const page = () => (props.handle as { current: RowsHandle | null }).current?.page() ?? 20;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const node = selected;
    const isLeaf = node < 0 || tree.isLeaf(node);
    switch (event.key) {
      case "ArrowDown":
        move(at + 1);
        break;
      case "ArrowUp":
        move(at < 0 ? 0 : at - 1);
        break;
      case "PageDown":
        move(at + page());
        break;
      case "PageUp":
        move(at - page());
        break;
      case "Home":
        move(0);
        break;
      case "End":
        move(rows.nodes.length - 1);
        break;
      case "ArrowRight":
        if (isLeaf) break;
        if (tree.isOpen(node)) move(at + 1);
        else props.onOpen(node, true);
        break;
      case "ArrowLeft":
        if (!isLeaf && tree.isOpen(node)) props.onOpen(node, false);
        else if (node >= 0 && tree.parent(node) >= 0) move(rows.nodes.indexOf(tree.parent(node)));
        break;
      case " ":
        if (!isLeaf) props.onOpen(node, !tree.isOpen(node));
        break;
      case "Enter":
        if (node >= 0) props.onSource(node);
        break;
      case "*":
        props.onAll(node, true);
        break;
      case "-":
        props.onAll(-1, false);
        break;
      case "F10":
        if (!event.shiftKey) return;
        if (node >= 0) props.onDetails(node);
        break;
      case "ContextMenu":
        if (node >= 0) props.onDetails(node);
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  const widths = useMemo(() => columns.map(columnWidth), [columns]);
  const grid = `minmax(${LEAST_NAME_PX}px, 1fr) ${hasCalls ? `${CALLS_PX}px ` : ""}${widths.map((width) => `${width}px`).join(" ")}`;
  const least = LEAST_NAME_PX + (hasCalls ? CALLS_PX : 0) + widths.reduce((sum, width) => sum + width, 0);

  const head = columns.some(locationNote) ? HEAD_OF_PLACES_PX : HEAD_PX;
  const title = (key: string, label: preact.ComponentChildren, hint: string, kind: string) => (
    <span
      class="head-box"
      role="columnheader"
      aria-sort={key !== props.sortKey ? "none" : props.descending ? "descending" : "ascending"}
    >
      <button
        type="button"
        class={`head ${kind} ${key === props.sortKey ? "is-sorted" : ""}`}
        title={hint}
        onClick={() => props.onSort(key)}
        tabIndex={-1}
      >
        {label}
        <span class="sort-mark" aria-hidden="true">
          {key === props.sortKey ? (props.descending ? "▼" : "▲") : ""}
        </span>
      </button>
    </span>
  );

  return (
    <VirtualRows
      class="tree-rows"
      handle={props.handle}
      count={rows.nodes.length}
      height={ROW_PX}
      headHeight={head}
      empty="no node passes the filter"
      attributes={{
        role: "treegrid",
        "aria-label": "tree",
        "aria-rowcount": rows.nodes.length,
        "aria-activedescendant": at >= 0 ? `row-${selected}` : undefined,
        onKeyDown,
        style: { "--grid": grid, "--least": `${least}px`, "--head": `${head}px` },
      }}
      head={
        <div class="tree-head" role="row">
          {title("name", "name", "sort by name", "is-text")}
          {hasCalls && title("calls", "calls", "how often it was entered", "is-number")}
          {columns.map((column) =>
            title(
              columnKey(column),
              <span class="head-words">
                <span class="head-name">{column.metric.name}</span>
                <small>
                  <HowBadge how={column.how} /> {column.how || "mixed"} {column.part}
                </small>
                {locationNote(column) && <small>{locationNote(column)}</small>}
              </span>,
              `${describeMetric(column.metric)}\n${column.part}: ${
                column.part === "inclusive" ? "with all that it calls" : "without what it calls"
              }${column.told ? `\n${column.told}: ${TOGETHER}` : ""}`,
              "is-number",
            ),
          )}
        </div>
      }
      row={(row) => {
        const node = rows.nodes[row]!;
        const isLeaf = tree.isLeaf(node);
        const isOpen = !isLeaf && tree.isOpen(node);
        const file = tree.file(node);
        const line = tree.line(node);
        const module = tree.data.strings[tree.data.module[node]!];
        const kind = tree.kind(node);
        return (
          <div
            key={row}
            id={`row-${node}`}
            class={`tree-row ${node === selected ? "is-selected" : ""} ${tree.matches(node) ? "is-match" : ""}`}
            role="row"
            aria-level={rows.depths[row]! + 1}
            aria-expanded={isLeaf ? undefined : isOpen}
            aria-selected={node === selected}
            onClick={() => props.onSelect(node)}
            onDblClick={() => (isLeaf ? props.onSource(node) : props.onOpen(node, !isOpen))}
            onContextMenu={(event) => {
              event.preventDefault();
              props.onDetails(node);
            }}
          >
            <span class="cell name" role="gridcell" style={{ paddingLeft: `${indent(rows.depths[row]!)}px` }}>
              <span
                class={isLeaf ? "twist is-leaf" : "twist"}
                onClick={(event) => {
                  event.stopPropagation();
                  if (!isLeaf) props.onOpen(node, !isOpen);
                }}
                aria-hidden="true"
              >
                {isLeaf ? "" : isOpen ? "▾" : "▸"}
              </span>
              <span class={`name-text ${kind.style && `is-${kind.style}`}`} title={`${kind.name} ${tree.name(node)}`}>
                {kind.is_path && tree.name(node) ? <FilePath path={tree.name(node)} /> : <SymbolName name={tree.name(node) || "(no name)"} />}
              </span>
              {kind.mark && (
                <span class="node-mark" title={kind.hint}>
                  {kind.mark}
                </span>
              )}
              {!file && module && !kind.style && !isInModule(tree, node) && (
                <span class="where" title={`in ${module}; its source is not known`}>
                  <span class="where-file">{module}</span>
                </span>
              )}
              {file && !kind.is_place && !isInFile(tree, node) && (
                <span class="where" title={`${file}${line ? `:${line}` : ""}`}>
                  <span class="where-file">{baseName(file)}</span>
                  {line > 0 && <span class="where-line">:{line}</span>}
                </span>
              )}
            </span>
            {hasCalls && (
              <span class="cell number" role="gridcell">
                {Number.isNaN(tree.data.calls[node]!) ? "" : formatQuantity(tree.data.calls[node]!, "")}
              </span>
            )}
            {columns.map((column) => (
              <Cell key={columnKey(column)} column={column} node={node} />
            ))}
          </div>
        );
      }}
    />
  );
}

/** How far a row begins from the left: names of deep calls need the room more than their depth. */
function indent(depth: number): number {
  return 6 + 14 * Math.min(depth, 8) + Math.min(4 * Math.max(0, depth - 8), 120);
}

/** Whether a node is below the node of its program or library, which then is not named again. */
function isInModule(tree: Tree, node: number): boolean {
  const above = tree.parent(node);
  return above >= 0 && tree.kind(above).name === "module";
}

/** Whether a node is below the node of its file, which then is not named again. */
function isInFile(tree: Tree, node: number): boolean {
  const above = tree.parent(node);
  return above >= 0 && tree.kind(above).is_path && tree.line(node) === 0;
}

const TOGETHER =
  "locations run at the same time, so their times are not added up; of a rank, its longest thread counts";

/** Which statistic over locations a column shows; ratios are computed from sums. */
function locationNote(column: ColumnValues): string {
  return column.metric.additive ? column.told : "";
}

const largestOf = new WeakMap<Float64Array, number>();

/** The largest magnitude, cached with the array. */
export function largestMagnitude(values: Float64Array): number {
  let most = largestOf.get(values);
  if (most === undefined) {
    most = 0;
    for (const value of values) if (Math.abs(value) > most) most = Math.abs(value);
    largestOf.set(values, most);
  }
  return most;
}

/** The width of a column: its largest number is never cut off. */
function columnWidth(column: ColumnValues): number {
  const texts = [largestMagnitude(column.values), column.total].map((value) => formatQuantity(value, column.unit));
  const number = Math.max(LEAST_NUMBER_PX, ...texts.map(textWidth));
  const beside = column.baselineValues ? 66 : column.metric.additive ? 54 : 0;
  // Titles are smaller than values.
  const origin = 17 + 0.81 * textWidth(`${column.how || "mixed"} ${column.part}`);
  const below = Math.max(origin, 0.81 * textWidth(locationNote(column)));
  const title = Math.max(below, Math.min(MOST_TITLE_PX, 0.93 * textWidth(column.metric.name)));
  return Math.ceil(Math.max(number + beside + 27, title + 30));
}

function Cell({ column, node }: { column: ColumnValues; node: number }) {
  const value = column.values[node]!;
  const total = column.total;
  if (Number.isNaN(value)) {
    return (
      <span class="cell number is-missing" role="gridcell">
        ·
      </span>
    );
  }
  const whole = Math.max(total, column.largest);
  const part = column.metric.additive && whole > 0 ? value / whole : 0;
  const isShare = column.isShared && total === whole;
  const shared = isShare ? formatShare(value, total) : "";
  return (
    <span class={value === 0 ? "cell number is-zero" : "cell number"} role="gridcell">
      <span class="value" title={column.told ? undefined : samplingError(column.metric, value)}>
        {formatQuantity(value, column.unit)}
      </span>
      <HowBadge how={column.how} />
      {column.baselineValues ? (
        // What every execution gives again differs where it differs at all. Of others the Compare view
        // says how sure that is; colours here would claim it.
        <Change
          before={column.baselineValues[node]!}
          value={value}
          worse={column.metric.reproducible ? column.metric.worse : null}
        />
      ) : (
        column.metric.additive &&
        total > 0 && (
          <span
            class="meter"
            title={
              isShare
                ? `${shared} % of the run`
                : "beside the largest; no share of the run, for parts of it are at the same time"
            }
          >
            <span class="meter-bar" style={{ width: `${Math.min(100, 100 * part)}%` }} />
            <span class="meter-text">{shared}</span>
          </span>
        )
      )}
    </span>
  );
}

function Change(props: { before: number; value: number; worse: "more" | "less" | null }) {
  if (props.before === NOT_READ) {
    return <span class="change" title="the other run has more below a node that is not open there" />;
  }
  if (Number.isNaN(props.before)) {
    return (
      <span class="change" title="not in the other run">
        new
      </span>
    );
  }
  if (props.before === 0 && props.value !== 0) {
    return (
      <span class="change" title="none of it in the other run">
        from 0
      </span>
    );
  }
  const ratio = props.before === props.value ? 1 : props.value / props.before;
  const isMore = ratio > 1;
  const verdict =
    props.worse === null || Math.abs(ratio - 1) < 0.005
      ? ""
      : isMore === (props.worse === "more")
        ? "is-worse"
        : "is-better";
  return (
    <span class={`change ${verdict}`} title="against the other run; see Compare for how sure this is">
      {formatChange(ratio)}
    </span>
  );
}

const callsKnown = new WeakMap<Tree, boolean>();

function anyCalls(tree: Tree): boolean {
  let known = callsKnown.get(tree);
  if (known === undefined) {
    known = tree.data.calls.some((calls) => calls > 1);
    callsKnown.set(tree, known);
  }
  return known;
}
