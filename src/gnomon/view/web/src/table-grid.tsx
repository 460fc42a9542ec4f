// Rows of a table, sorted and filtered by the server and loaded while scrolling.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { getTable, type TablePage } from "./api";
import { cached } from "./api-cache";
import { plural, formatNumber } from "./format";
import { HowLegend } from "./how-badge";
import { setParams, useRoute } from "./route";
import { rowShortcuts, VirtualRows, type RowsHandle } from "./virtual-rows";
import { columnTitle, useTableBaseline, type BaselineQuery } from "./table-baseline";
import { changeText, fittingWidth, rowColumns, renderCell, type TableRow } from "./table-cells";
import { TableHead } from "./table-head";

const PAGE = 200;
const ROW_PX = 22;
const HEAD_PX = 40;

interface GridProps extends BaselineQuery {
  readonly run: string;
}

export function TableGrid(props: GridProps) {
  const { run, query, columns, allColumns } = props;
  const { params } = useRoute();
  const before = useTableBaseline(props);
  const pages = useRef(new Map<number, TablePage>());
  const [state, setState] = useState<{ total: number; error: string }>({ total: -1, error: "" });
  const [selected, setSelected] = useState(0);
  const [column, setColumn] = useState(0);
  const [widths, setWidths] = useState<Record<string, number>>({});
  const handle = useRef<RowsHandle>(null);
  const dragged = useRef("");

  const load = (page: number) => {
    const key = `${run}/page/${JSON.stringify(query)}/${page}`;
    cached(key, () => getTable(run, { ...query, offset: page * PAGE, limit: PAGE })).then(
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
  const visibleColumns = first?.columns ?? columns;
  const fitting = useMemo(
    () => visibleColumns.map((one, at) => fittingWidth(one, first, at) + (before && one.metric >= 0 ? 62 : 0)),
    [first, before !== null],
  );
  const width = (at: number) => widths[visibleColumns[at]!.name] ?? fitting[at] ?? 80;
  if (state.error) return <p class="trouble">{state.error}</p>;
  if (state.total < 0) return <p class="waiting">reading {query.name}</p>;

  const rowOf = (at: number) => pages.current.get(Math.floor(at / PAGE))?.rows[at % PAGE];
  const sourceOf = (at: number) => pages.current.get(Math.floor(at / PAGE))?.sources[at % PAGE] ?? null;
  const sortedBy = query.sort ?? "";
  const isDown = query.order === "descending";
  const sort = (name: string) => {
    const isSame = sortedBy === name;
    const isText = visibleColumns.find((one) => one.name === name)?.type === "text";
    const down = isSame ? !isDown : !isText;
    setParams({ tsort: name, torder: down ? "down" : "up" });
  };
  const arrange = (names: readonly string[]) => setParams({ shown: names.join("|") || null });
  const names = visibleColumns.map((one) => one.name);
  const whole = (row: TableRow) => allColumns.map((one) => row[names.indexOf(one.name)] ?? null);
  const said = rowColumns(names);
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
    if (source) setParams({ beside: "1", file: source.file, line: source.line || null, choice: null });
  };
  const move = (to: number) => {
    const row = Math.max(0, Math.min(state.total - 1, to));
    setSelected(row);
    handle.current?.show(row);
    if (params["beside"] === "1") toSource(row);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const name = names[column] ?? "";
    const acts: Record<string, () => void> = {
      ...rowShortcuts(selected, state.total, handle.current?.page() ?? 20, move),
      ArrowRight: () => setColumn(Math.min(names.length - 1, column + 1)),
      ArrowLeft: () => setColumn(Math.max(0, column - 1)),
      Enter: () => toSource(selected),
      s: () => sort(name),
      h: () => hide(name),
      "<": () => shift(name, -1),
      ">": () => shift(name, 1),
    };
    const act = acts[event.key];
    if (event.key === "Escape" && params["beside"]) {
      setParams({ beside: null });
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
        empty={query.filter ? "no row passes the filter" : "the table has no rows"}
        onRange={(from, to) => {
          for (let page = Math.floor(from / PAGE); page <= Math.floor(Math.max(from, to - 1) / PAGE); page++) {
            if (!pages.current.has(page) && page * PAGE < state.total) load(page);
          }
        }}
        attributes={{
          role: "grid",
          "aria-label": query.name,
          "aria-rowcount": state.total,
          onKeyDown,
          style: { "--grid": grid, "--least": `${least}px` },
        }}
        head={
          <div class="table-head" role="row">
            <span class="row-number" />
            {visibleColumns.map((one, at) => (
              <TableHead
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
                onAll={() => arrange(allColumns.map((other) => other.name))}
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
          const was = before && cells ? before(whole(cells), allColumns) : undefined;
          return (
            <div
              key={at}
              class={`table-row ${at === selected ? "is-selected" : ""}`}
              role="row"
              aria-selected={at === selected}
              onClick={() => move(at)}
              onDblClick={() => toSource(at)}
            >
              <span role="rowheader" class="row-head">
                <button
                  type="button"
                  tabIndex={-1}
                  class="row-number"
                  disabled={!source}
                  title={source ? `show ${source.file}:${source.line}` : "no source line is known"}
                  onClick={() => toSource(at)}
                >
                  {formatNumber(at + 1)}
                </button>
              </span>
              {visibleColumns.map((one, k) => {
                const cell = cells?.[k];
                return (
                  <span
                    key={one.name}
                    role="gridcell"
                    class={`cell ${one.type === "number" ? "number" : "is-text"} ${k === column ? "is-here" : ""}`}
                    title={typeof cell === "string" && cell.length > 12 ? cell : undefined}
                  >
                    {cells === undefined ? "" : renderCell(cell ?? null, one, cells, said)}
                    {before && one.metric >= 0 && typeof cell === "number" && (
                      <span class="change" title="against the other run; see Compare for how sure this is">
                        {changeText(was?.get(columnTitle(one)), cell)}
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
          {plural(state.total, "row")}
          {query.filter ? ` with “${query.filter}”` : ""}
        </span>
        <HowLegend hows={visibleColumns.map((one) => one.how)} />
      </footer>
    </>
  );
}
