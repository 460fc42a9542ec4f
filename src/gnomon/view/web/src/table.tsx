// Any table of the run: sorted and filtered by the server, as far as one scrolls.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { exportAddress, getTable, getTables, type Column, type TablePage, type TableWanted } from "./api";
import { once, useLoaded } from "./data";
import { base, change, many, number, quantity } from "./format";
import { How, HowLegend } from "./how";
import { useKeys } from "./keys";
import { Menu } from "./menu";
import { usual } from "./metric-list";
import { LocationChoice } from "./places";
import { widthOf } from "./palette";
import { ask, usePlace } from "./place";
import { VirtualRows, type RowsHandle } from "./rows";
import type { Sight } from "./sight";
import { SourcePane } from "./source";
import { Split } from "./split";

const PAGE = 200;
const ROW_PX = 22;
const HEAD_PX = 40;
const PATIENCE_MS = 120;

export function TableView(sight: Sight) {
  const { run } = sight;
  const { asked } = usePlace();
  const tables = useLoaded(`${run.id}/tables`, () => getTables(run.id));
  const name = asked["table"] ?? tables.value?.[0]?.name ?? "";
  const isBeside = asked["beside"] === "1";
  if (tables.error) return <p class="trouble">{tables.error}</p>;
  if (!name) return <p class="waiting">reading the tables</p>;
  const table = <TablePane key={name} {...sight} name={name} tables={tables.value ?? []} />;
  if (!isBeside) return <div class="table-view">{table}</div>;
  const shown = usual(sight.metrics, run.firstMetric, 4);
  return (
    <div class="table-view">
      <Split
        name="table"
        start={0.6}
        first={table}
        second={
          <SourcePane
            {...sight}
            tree={null}
            shown={shown}
            location={asked["location"] ? Number(asked["location"]) : undefined}
            file={asked["file"] ?? ""}
            line={Number(asked["line"] ?? 0)}
          />
        }
      />
    </div>
  );
}

interface PaneProps extends Sight {
  readonly name: string;
  readonly tables: readonly { name: string; title: string }[];
}

function TablePane(props: PaneProps) {
  const { run, name, tables } = props;
  const { asked } = usePlace();
  const typed = asked["filter"] ?? "";
  const filter = useLate(typed);
  const location = asked["location"] ? Number(asked["location"]) : undefined;
  // All columns there are, to choose from.
  const every = useLoaded(`${run.id}/table/${name}/${location ?? ""}/columns`, () =>
    getTable(run.id, { name, location, limit: 1 }),
  );
  const columns = useMemo(() => {
    const all = every.value?.columns ?? [];
    const wanted = asked["shown"]?.split("|");
    if (!wanted) return all;
    return wanted.flatMap((one) => all.find((column) => column.name === one) ?? []);
  }, [every.value, asked["shown"]]);

  // Most of the first metric comes first, until somebody asks otherwise.
  const first = columns.find((column) => column.metric >= 0);
  const wanted: TableWanted = {
    name,
    location,
    filter: filter || undefined,
    sort: asked["tsort"] ?? first?.name,
    order: asked["tsort"] && asked["torder"] === "up" ? "ascending" : asked["tsort"] || first ? "descending" : undefined,
    columns: asked["shown"] ? columns.map((column) => column.name).join(",") : undefined,
  };
  if (every.error) return <p class="trouble">{every.error}</p>;
  return (
    <section class="pane table-pane" aria-label="table">
      <Tools {...props} typed={typed} wanted={wanted} every={every.value?.columns ?? []} columns={columns} />
      {every.value && columns.length > 0 && (
        <Grid
          key={JSON.stringify(wanted)}
          run={run.id}
          baseline={location === undefined ? (props.baseline?.id ?? "") : ""}
          wanted={wanted}
          columns={columns}
          every={every.value.columns}
          sample={every.value}
        />
      )}
      {every.value && columns.length === 0 && <p class="nothing">Every column is hidden.</p>}
      {tables.length === 0 && <p class="waiting">reading the tables</p>}
    </section>
  );
}

/** A text some time after it was last typed at. */
function useLate(text: string): string {
  const [late, set] = useState(text);
  useEffect(() => {
    const timer = window.setTimeout(() => set(text), PATIENCE_MS);
    return () => window.clearTimeout(timer);
  }, [text]);
  return late;
}

interface ToolsProps extends PaneProps {
  readonly typed: string;
  readonly wanted: TableWanted;
  readonly every: readonly Column[];
  readonly columns: readonly Column[];
}

function Tools(props: ToolsProps) {
  const { run, name, tables, typed, wanted, every, columns } = props;
  const box = useRef<HTMLInputElement>(null);
  useKeys({
    "/": () => {
      box.current?.focus();
      box.current?.select();
    },
  });
  const shown = new Set(columns.map((column) => column.name));
  const show = (next: readonly Column[]) =>
    ask({ shown: next.map((column) => column.name).join("|") || null });
  return (
    <div class="tools">
      <select
        value={name}
        aria-label="table"
        onChange={(event) =>
          ask({ table: event.currentTarget.value, shown: null, tsort: null, torder: null })
        }
      >
        {tables.map((table) => (
          <option key={table.name} value={table.name}>
            {table.title}
          </option>
        ))}
      </select>
      <input
        ref={box}
        type="search"
        class="filter"
        value={typed}
        placeholder="filter   ( / )"
        aria-label="filter"
        spellcheck={false}
        onInput={(event) => ask({ filter: event.currentTarget.value || null })}
        onKeyDown={(event) => {
          if (event.key === "Escape") ask({ filter: null });
          else if (event.key !== "Enter") return;
          document.querySelector<HTMLElement>(".table-rows")?.focus();
          event.preventDefault();
        }}
      />
      <Menu label={`Columns (${columns.length} of ${every.length})`} hint="show and hide columns">
        {() => (
          <>
            <div class="picker-list">
              {every.map((column) => (
                <label class="picker-row" key={column.name} title={column.description}>
                  <span class="picker-name">{column.title}</span>
                  <input
                    type="checkbox"
                    checked={shown.has(column.name)}
                    onChange={() =>
                      show(
                        shown.has(column.name)
                          ? columns.filter((one) => one !== column)
                          : [...columns, column],
                      )
                    }
                  />
                </label>
              ))}
            </div>
            <button type="button" class="quiet" onClick={() => ask({ shown: null })}>
              All, in their order
            </button>
          </>
        )}
      </Menu>
      <LocationChoice locations={props.locations} chosen={wanted.location} />
      <span class="tools-rest" />
      <a class="quiet" href={exportAddress(run.id, wanted, "csv")} download title="what the table shows, whole">
        Save CSV
      </a>
      <a class="quiet" href={exportAddress(run.id, wanted, "json")} download title="what the table shows, whole">
        Save JSON
      </a>
    </div>
  );
}

interface GridProps {
  readonly run: string;
  /** The run to compare with; "" for none. */
  readonly baseline: string;
  readonly wanted: TableWanted;
  readonly columns: readonly Column[];
  readonly every: readonly Column[];
  readonly sample: TablePage;
}

/** Rows of the baseline's table that are looked at, most of the first metric first. */
const AGAINST = 5000;

/** What tells a row of a table from the others, in whatever run: its texts, with folders or not. */
function rowKey(row: Cells, columns: readonly Column[], isBare: boolean): string {
  return columns
    .map((column, at) => {
      if (column.metric >= 0) return "";
      const cell = row[at] ?? "";
      return typeof cell === "string" && isBare ? base(cell) : cell;
    })
    .join("\u0001");
}

type Before = (row: Cells, columns: readonly Column[]) => ReadonlyMap<string, number> | undefined;

/** The baseline's same row as one of this table's: its values by the titles of columns. */
function useBefore(props: GridProps): Before | null {
  const { baseline, wanted, every } = props;
  const key = baseline && wanted.name ? `${baseline}/against/${wanted.name}/${wanted.filter ?? ""}` : null;
  const loaded = useLoaded(key, async () => {
    const exact = new Map<string, Map<string, number>>();
    const near = new Map<string, Map<string, number> | null>();
    const page = await getTable(baseline, { name: wanted.name, filter: wanted.filter, limit: AGAINST });
    for (const row of page.rows) {
      const values = new Map<string, number>();
      page.columns.forEach((column, at) => {
        const cell = row[at] ?? null;
        if (column.metric >= 0 && typeof cell === "number") values.set(titleOf(column), cell);
      });
      exact.set(rowKey(row, page.columns, false), values);
      // Compiled elsewhere: by the last names of files, where only one row has them.
      const bare = rowKey(row, page.columns, true);
      near.set(bare, near.has(bare) ? null : values);
    }
    return (row: Cells, all: readonly Column[]) =>
      exact.get(rowKey(row, all, false)) ?? near.get(rowKey(row, all, true)) ?? undefined;
  });
  // Rows are known by all of their texts: without the columns of these there is nothing to go by.
  const isWhole = every.every((column) => column.metric >= 0 || props.columns.includes(column));
  return isWhole ? loaded.value : null;
}

function titleOf(column: Column): string {
  return `${column.title} ${column.kind}`;
}

function Grid(props: GridProps) {
  const { run, wanted, columns, every } = props;
  const { asked } = usePlace();
  const before = useBefore(props);
  const pages = useRef(new Map<number, TablePage>());
  const [state, setState] = useState<{ total: number; error: string }>({ total: -1, error: "" });
  const [selected, setSelected] = useState(0);
  const [column, setColumn] = useState(0);
  const [widths, setWidths] = useState<Record<string, number>>({});
  const handle = useRef<RowsHandle>(null);
  const dragged = useRef("");

  const load = (page: number) => {
    const key = `${run}/page/${JSON.stringify(wanted)}/${page}`;
    once(key, () => getTable(run, { ...wanted, offset: page * PAGE, limit: PAGE })).then(
      (found) => {
        pages.current.set(page, found);
        setState((old) => ({ ...old, total: found.total }));
      },
      (error: Error) => setState((old) => ({ ...old, error: error.message })),
    );
  };
  useEffect(() => load(0), []);
  useEffect(() => {
    if (state.total >= 0 && !document.activeElement?.matches("input, select")) handle.current?.focus();
  }, [state.total >= 0]);

  const first = pages.current.get(0);
  const shown = first?.columns ?? columns;
  const fitting = useMemo(
    () => shown.map((one, at) => fit(one, first, at) + (before && one.metric >= 0 ? 62 : 0)),
    [first, before !== null],
  );
  const width = (at: number) => widths[shown[at]!.name] ?? fitting[at] ?? 80;
  if (state.error) return <p class="trouble">{state.error}</p>;
  if (state.total < 0) return <p class="waiting">reading {wanted.name}</p>;

  const rowOf = (at: number) => pages.current.get(Math.floor(at / PAGE))?.rows[at % PAGE];
  const sourceOf = (at: number) => pages.current.get(Math.floor(at / PAGE))?.sources[at % PAGE] ?? null;
  const sortedBy = wanted.sort ?? "";
  const isDown = wanted.order === "descending";
  const sort = (name: string) => {
    const isSame = sortedBy === name;
    const isText = shown.find((one) => one.name === name)?.type === "text";
    const down = isSame ? !isDown : !isText;
    ask({ tsort: name, torder: down ? "down" : "up" });
  };
  const arrange = (names: readonly string[]) => ask({ shown: names.join("|") || null });
  const names = shown.map((one) => one.name);
  const whole = (row: Cells) => every.map((one) => row[names.indexOf(one.name)] ?? null);
  const said: Said = { unit: names.indexOf("unit"), how: names.indexOf("how") };
  const hide = (name: string) => arrange(names.filter((one) => one !== name));
  const shift = (name: string, by: number) => {
    const at = names.indexOf(name);
    const to = at + by;
    if (to < 0 || to >= names.length) return;
    const next = names.filter((one) => one !== name);
    next.splice(to, 0, name);
    arrange(next);
    setColumn(to);
  };
  const put = (name: string, before: string) => {
    const next = names.filter((one) => one !== name);
    next.splice(next.indexOf(before), 0, name);
    arrange(next);
  };
  const toSource = (at: number) => {
    const source = sourceOf(at);
    if (source) ask({ beside: "1", file: source.file, line: source.line || null, choice: null });
  };
  const move = (to: number) => {
    const row = Math.max(0, Math.min(state.total - 1, to));
    setSelected(row);
    handle.current?.show(row);
    if (asked["beside"] === "1") toSource(row);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const name = names[column] ?? "";
    const page = handle.current?.page() ?? 20;
    const acts: Record<string, () => void> = {
      ArrowDown: () => move(selected + 1),
      ArrowUp: () => move(selected - 1),
      PageDown: () => move(selected + page),
      PageUp: () => move(selected - page),
      Home: () => move(0),
      End: () => move(state.total - 1),
      ArrowRight: () => setColumn(Math.min(names.length - 1, column + 1)),
      ArrowLeft: () => setColumn(Math.max(0, column - 1)),
      Enter: () => toSource(selected),
      s: () => sort(name),
      h: () => hide(name),
      "<": () => shift(name, -1),
      ">": () => shift(name, 1),
    };
    const act = acts[event.key];
    if (event.key === "Escape" && asked["beside"]) {
      ask({ beside: null });
    } else if (act) {
      act();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const digits = String(Math.max(state.total, 1)).length;
  const numbers = 20 + 8 * digits;
  const grid = `${numbers}px ${names.map((_, at) => `${width(at)}px`).join(" ")} 1fr`;
  const least = numbers + names.reduce((sum, _, at) => sum + width(at), 0);

  return (
    <>
      <VirtualRows
        class="table-rows"
        handle={handle}
        count={state.total}
        height={ROW_PX}
        headHeight={HEAD_PX}
        empty={wanted.filter ? "no row passes the filter" : "the table has no rows"}
        onRange={(from, to) => {
          for (let page = Math.floor(from / PAGE); page <= Math.floor(Math.max(from, to - 1) / PAGE); page++) {
            if (!pages.current.has(page) && page * PAGE < state.total) load(page);
          }
        }}
        attributes={{
          role: "grid",
          "aria-rowcount": state.total,
          onKeyDown,
          style: { "--grid": grid, "--least": `${least}px` },
        }}
        head={
          <div class="table-head" role="row">
            <span class="row-number" />
            {shown.map((one, at) => (
              <Head
                key={one.name}
                column={one}
                isChosen={at === column}
                sorted={sortedBy === one.name ? (isDown ? "▼" : "▲") : ""}
                onSort={() => {
                  setColumn(at);
                  sort(one.name);
                }}
                onHide={() => hide(one.name)}
                onShift={(by) => shift(one.name, by)}
                onAll={() => arrange(every.map((other) => other.name))}
                onDrag={() => (dragged.current = one.name)}
                onDrop={() => dragged.current && dragged.current !== one.name && put(dragged.current, one.name)}
                onWidth={(next) => setWidths((old) => ({ ...old, [one.name]: Math.max(40, next) }))}
                width={width(at)}
              />
            ))}
            <span />
          </div>
        }
        row={(at) => {
          const cells = rowOf(at);
          const source = sourceOf(at);
          const was = before && cells ? before(whole(cells), every) : undefined;
          return (
            <div
              key={at}
              class={`table-row ${at === selected ? "is-selected" : ""}`}
              role="row"
              aria-selected={at === selected}
              onClick={() => move(at)}
              onDblClick={() => toSource(at)}
            >
              <button
                type="button"
                tabIndex={-1}
                class="row-number"
                disabled={!source}
                title={source ? `show ${source.file}:${source.line}` : "no place in a source is known"}
                onClick={() => toSource(at)}
              >
                {number(at + 1)}
              </button>
              {shown.map((one, k) => {
                const cell = cells?.[k];
                return (
                  <span
                    key={one.name}
                    role="gridcell"
                    class={`cell ${one.type === "number" ? "number" : "is-text"} ${k === column ? "is-here" : ""}`}
                    title={typeof cell === "string" && cell.length > 12 ? cell : undefined}
                  >
                    {cells === undefined ? "" : shownCell(cell ?? null, one, cells, said)}
                    {before && one.metric >= 0 && typeof cell === "number" && (
                      <span class="change" title="against the other run; see Compare for how sure this is">
                        {changed(was?.get(titleOf(one)), cell)}
                      </span>
                    )}
                  </span>
                );
              })}
              <span />
            </div>
          );
        }}
      />
      <footer class="status">
        <span role="status">
          {many(state.total, "row")}
          {wanted.filter ? ` with “${wanted.filter}”` : ""}
        </span>
        <HowLegend hows={shown.map((one) => one.how)} />
      </footer>
    </>
  );
}

type Cells = TablePage["rows"][number];

/** Where a row itself says of its values what unit they have and how they came to be; -1: nowhere. */
interface Said {
  readonly unit: number;
  readonly how: number;
}

// Numbers that name something: their digits are read one by one.
const NAMES = new Set(["line", "pid", "tid", "rank", "repetition", "location", "region", "path"]);
const OF_ROW = new Set(["inclusive", "exclusive", "value"]);

function shownCell(
  cell: string | number | null,
  column: Column,
  row: Cells,
  said: Said,
): preact.ComponentChildren {
  if (cell === null) return <span class="is-missing">·</span>;
  if (typeof cell === "string") return cell;
  if (column.name === "line" && cell === 0) return "";
  if (NAMES.has(column.name)) return String(cell);
  const isOfRow = column.metric < 0 && OF_ROW.has(column.name);
  const unit = isOfRow && said.unit >= 0 ? String(row[said.unit] ?? "") : column.unit;
  const how = isOfRow && said.how >= 0 ? String(row[said.how] ?? "") : column.how;
  return (
    <>
      <span class="value">{quantity(cell, unit)}</span>
      {how && <How how={how} />}
    </>
  );
}

function changed(before: number | undefined, now: number): string {
  if (before === undefined) return "new";
  return before === now ? "0 %" : change(now / before);
}

/** A width that most of the first rows fit into, and the title. */
function fit(column: Column, page: TablePage | undefined, at: number): number {
  const cells = (page?.rows ?? []).map((row) => {
    const cell = row[at] ?? null;
    if (cell === null) return "";
    return typeof cell === "string" ? cell : quantity(cell, column.unit);
  });
  cells.sort((a, b) => a.length - b.length);
  // The widest of the longest; of texts but for a few that are longer than all others.
  const isText = column.type === "text";
  const longest = cells.slice(0, Math.ceil((isText ? 0.98 : 1) * cells.length)).slice(-8);
  const most = longest.reduce((found, cell) => Math.max(found, widthOf(cell)), 24);
  const sign = isText ? 0 : 20;
  return Math.ceil(Math.max(Math.min(most + sign + 19, 340), Math.min(widthOf(column.title) + 28, 200)));
}

interface HeadProps {
  readonly column: Column;
  readonly isChosen: boolean;
  readonly sorted: string;
  readonly width: number;
  readonly onSort: () => void;
  readonly onHide: () => void;
  readonly onShift: (by: number) => void;
  readonly onAll: () => void;
  readonly onDrag: () => void;
  readonly onDrop: () => void;
  readonly onWidth: (width: number) => void;
}

function Head(props: HeadProps) {
  const { column } = props;
  const [isOpen, setOpen] = useState(false);
  const begin = useRef({ x: 0, width: 0 });
  useEffect(() => {
    if (!isOpen) return;
    const close = () => setOpen(false);
    window.addEventListener("click", close);
    window.addEventListener("keydown", close);
    return () => {
      window.removeEventListener("click", close);
      window.removeEventListener("keydown", close);
    };
  }, [isOpen]);
  return (
    <span
      class={`head-box ${props.isChosen ? "is-here" : ""}`}
      role="columnheader"
      aria-sort={props.sorted === "" ? "none" : props.sorted === "▲" ? "ascending" : "descending"}
      onDragOver={(event) => event.preventDefault()}
      onDrop={props.onDrop}
      onContextMenu={(event) => {
        event.preventDefault();
        setOpen(true);
      }}
    >
      <button
        type="button"
        tabIndex={-1}
        draggable
        class={`head ${column.type === "number" ? "is-number" : "is-text"} ${props.sorted ? "is-sorted" : ""}`}
        title={`${column.title}${column.description ? "\n" + column.description : ""}\nclick to sort, drag to move, right click for more`}
        onClick={props.onSort}
        onDragStart={props.onDrag}
      >
        <span class="head-words">
          <span class="head-name">{column.title}</span>
          {(column.how || column.kind) && (
            <small>
              {column.how && <How how={column.how} />} {column.kind}
            </small>
          )}
        </span>
        <span class="sort-mark" aria-hidden="true">
          {props.sorted}
        </span>
      </button>
      <span
        class="head-edge"
        onPointerDown={(event) => {
          begin.current = { x: event.clientX, width: props.width };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          if (event.currentTarget.hasPointerCapture(event.pointerId)) {
            props.onWidth(begin.current.width + event.clientX - begin.current.x);
          }
        }}
      />
      {isOpen && (
        <span class="menu head-menu">
          <button type="button" class="item" onClick={props.onSort}>
            Sort by {column.title}
          </button>
          <button type="button" class="item" onClick={props.onHide}>
            Hide
          </button>
          <button type="button" class="item" onClick={() => props.onShift(-1)}>
            Move left
          </button>
          <button type="button" class="item" onClick={() => props.onShift(1)}>
            Move right
          </button>
          <button type="button" class="item" onClick={props.onAll}>
            Show all columns
          </button>
        </span>
      )}
    </span>
  );
}
