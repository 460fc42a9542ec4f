// The table view: a table of the run, its columns and filter, and the source beside it.

import { useEffect, useMemo, useState } from "preact/hooks";

import { exportUrl, getTable, getTables, type Column, type TableName, type TableQuery } from "./api";
import { useLoaded } from "./api-cache";
import { Menu } from "./menu";
import { defaultColumns } from "./metric-columns";
import { LocationPicker } from "./location-picker";
import { setParams, useRoute } from "./route";
import { SearchBox } from "./search-box";
import type { ViewProps } from "./view-props";
import { SourcePane } from "./source-pane";
import { SplitPane } from "./split-pane";
import { TableGrid } from "./table-grid";
import { InlinedChoice } from "./inlined-choice";

const PATIENCE_MS = 120;

export function TableView(props: ViewProps) {
  const { run } = props;
  const { params } = useRoute();
  const tables = useLoaded(`${run.id}/tables`, () => getTables(run.id));
  // An address of another run may name a table that this one has not.
  const names = tables.value?.map((table) => table.name) ?? [];
  const name = [params["table"], defaultTable(props)].find((one) => one && names.includes(one)) ?? names[0] ?? "";
  const isBeside = params["beside"] === "1";
  if (tables.error) return <p class="trouble">{tables.error}</p>;
  if (!name) return <p class="waiting">reading the tables</p>;
  const table = <TablePane key={name} {...props} name={name} tables={tables.value ?? []} />;
  if (!isBeside) return <div class="table-view">{table}</div>;
  const shown = defaultColumns(props.metrics, run.firstMetric, 4);
  return (
    <div class="table-view">
      <SplitPane
        name="table"
        start={0.6}
        first={table}
        second={
          <SourcePane
            {...props}
            tree={null}
            shown={shown}
            location={params["location"] ? Number(params["location"]) : undefined}
            file={params["file"] ?? ""}
            line={Number(params["line"] ?? 0)}
          />
        }
      />
    </div>
  );
}

/** Functions; without any, locations if there are several, else metrics. */
function defaultTable({ run, locations }: ViewProps): string {
  if (run.counts.regions > 1) return "functions";
  return locations.length > 2 ? "places" : "metrics";
}

interface PaneProps extends ViewProps {
  readonly name: string;
  readonly tables: readonly TableName[];
}

/** Tables by their heading, in order. */
function groupTables(tables: readonly TableName[]): Map<string, TableName[]> {
  const groups = new Map<string, TableName[]>();
  for (const table of tables) groups.set(table.group, [...(groups.get(table.group) ?? []), table]);
  return groups;
}

function TablePane(props: PaneProps) {
  const { run, name, tables } = props;
  const { params } = useRoute();
  const typed = params["filter"] ?? "";
  const filter = useDebounced(typed);
  const location = params["location"] ? Number(params["location"]) : undefined;
  // All columns there are, to choose from, without rows.
  const allColumns = useLoaded(`${run.id}/table/${name}/${location ?? ""}/columns`, () =>
    getTable(run.id, { name, location, limit: 0 }),
  );
  const table = tables.find((one) => one.name === name);
  const columns = useMemo(() => {
    const all = allColumns.value?.columns ?? [];
    const requested = params["shown"]?.split("|") ?? table?.columns ?? [];
    if (requested.length === 0) return all;
    return requested.flatMap((one) => all.find((column) => column.name === one) ?? []);
  }, [allColumns.value, params["shown"], table]);

  // Most of the first metric comes first, until somebody asks otherwise.
  const first =
    columns.find((column) => column.metric === run.firstMetric) ?? columns.find((column) => column.metric >= 0);
  const isUp = params["tsort"] ? params["torder"] === "up" : table?.sort ? !table.descending : false;
  const query: TableQuery = {
    name,
    location,
    filter: filter || undefined,
    sort: params["tsort"] ?? (table?.sort || first?.name),
    order: isUp ? "ascending" : params["tsort"] || table?.sort || first ? "descending" : undefined,
    columns: columns.length < (allColumns.value?.columns.length ?? 0) || params["shown"] ? columns.map((column) => column.name).join(",") : undefined,
  };
  if (allColumns.error) return <p class="trouble">{allColumns.error}</p>;
  return (
    <section class="pane table-pane" aria-label="table">
      <TableTools {...props} typed={typed} query={query} allColumns={allColumns.value?.columns ?? []} columns={columns} />
      {allColumns.value && columns.length > 0 && (
        <TableGrid
          key={JSON.stringify(query)}
          run={run.id}
          baseline={location === undefined ? (props.baseline?.id ?? "") : ""}
          query={query}
          columns={columns}
          allColumns={allColumns.value.columns}
        />
      )}
      {allColumns.value && columns.length === 0 && <p class="nothing">Every column is hidden.</p>}
      {(tables.length === 0 || !allColumns.value) && <p class="waiting">reading the table</p>}
    </section>
  );
}

/** A text, some time after its last change. */
function useDebounced(text: string): string {
  const [late, set] = useState(text);
  useEffect(() => {
    const timer = window.setTimeout(() => set(text), PATIENCE_MS);
    return () => window.clearTimeout(timer);
  }, [text]);
  return late;
}

interface ToolsProps extends PaneProps {
  readonly typed: string;
  readonly query: TableQuery;
  readonly allColumns: readonly Column[];
  readonly columns: readonly Column[];
}

function TableTools(props: ToolsProps) {
  const { run, name, tables, typed, query, allColumns, columns } = props;
  const shown = new Set(columns.map((column) => column.name));
  const show = (next: readonly Column[]) =>
    setParams({ shown: next.map((column) => column.name).join("|") || null });
  return (
    <div class="tools">
      <select
        value={name}
        aria-label="table"
        onChange={(event) =>
          setParams({ table: event.currentTarget.value, shown: null, tsort: null, torder: null })
        }
      >
        {[...groupTables(tables)].map(([group, some]) => (
          <optgroup key={group} label={group}>
            {some.map((table) => (
              <option key={table.name} value={table.name} title={table.about}>
                {table.title}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
      <InlinedChoice run={props.run} />
      <SearchBox
        value={typed}
        placeholder="filter"
        label="filter"
        onInput={(text) => setParams({ filter: text || null })}
        onLeave={() => document.querySelector<HTMLElement>(".table-rows")?.focus()}
      />
      <Menu label={`Columns (${columns.length} of ${allColumns.length})`} hint="show and hide columns">
        {() => (
          <>
            <div class="picker-list">
              {allColumns.map((column) => (
                <label class="picker-row" key={column.name} title={column.description}>
                  <span class="picker-name">
                    {column.title} {column.kind && <small>{column.kind}</small>}
                  </span>
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
            <button type="button" class="quiet" onClick={() => setParams({ shown: null })}>
              All, in their order
            </button>
          </>
        )}
      </Menu>
      <LocationPicker locations={props.locations} chosen={query.location} />
      <span class="tools-rest" />
      <a class="quiet" href={exportUrl(run.id, query, "csv")} download title="what the table shows, whole">
        Save CSV
      </a>
      <a class="quiet" href={exportUrl(run.id, query, "json")} download title="what the table shows, whole">
        Save JSON
      </a>
    </div>
  );
}
