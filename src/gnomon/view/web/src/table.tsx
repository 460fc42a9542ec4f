// Any table of the run: which one, its columns and its filter, and the source beside it.

import { useEffect, useMemo, useState } from "preact/hooks";

import { exportAddress, getTable, getTables, type Column, type TableName, type TableWanted } from "./api";
import { useLoaded } from "./data";
import { Menu } from "./menu";
import { usual } from "./metric-list";
import { LocationChoice } from "./places";
import { ask, usePlace } from "./place";
import { SearchBox } from "./search-box";
import type { Sight } from "./sight";
import { SourcePane } from "./source";
import { Split } from "./split";
import { Grid } from "./table-grid";

const PATIENCE_MS = 120;

export function TableView(sight: Sight) {
  const { run } = sight;
  const { asked } = usePlace();
  const tables = useLoaded(`${run.id}/tables`, () => getTables(run.id));
  // An address of another run may name a table that this one has not.
  const known = tables.value?.map((table) => table.name) ?? [];
  const name = [asked["table"], usualTable(sight)].find((one) => one && known.includes(one)) ?? known[0] ?? "";
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

/** Functions, unless the program is all there is: then places that differ, or the metrics. */
function usualTable({ run, locations }: Sight): string {
  if (run.counts.regions > 1) return "functions";
  return locations.length > 2 ? "places" : "metrics";
}

interface PaneProps extends Sight {
  readonly name: string;
  readonly tables: readonly TableName[];
}

/** Tables by the heading that they stand under, in their order. */
function grouped(tables: readonly TableName[]): Map<string, TableName[]> {
  const groups = new Map<string, TableName[]>();
  for (const table of tables) groups.set(table.group, [...(groups.get(table.group) ?? []), table]);
  return groups;
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
  const table = tables.find((one) => one.name === name);
  const columns = useMemo(() => {
    const all = every.value?.columns ?? [];
    const wanted = asked["shown"]?.split("|") ?? table?.columns ?? [];
    if (wanted.length === 0) return all;
    return wanted.flatMap((one) => all.find((column) => column.name === one) ?? []);
  }, [every.value, asked["shown"], table]);

  // Most of the first metric comes first, until somebody asks otherwise.
  const first =
    columns.find((column) => column.metric === run.firstMetric) ?? columns.find((column) => column.metric >= 0);
  const isUp = asked["tsort"] ? asked["torder"] === "up" : table?.sort ? !table.descending : false;
  const wanted: TableWanted = {
    name,
    location,
    filter: filter || undefined,
    sort: asked["tsort"] ?? (table?.sort || first?.name),
    order: isUp ? "ascending" : asked["tsort"] || table?.sort || first ? "descending" : undefined,
    columns: columns.length < (every.value?.columns.length ?? 0) || asked["shown"] ? columns.map((column) => column.name).join(",") : undefined,
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
        />
      )}
      {every.value && columns.length === 0 && <p class="nothing">Every column is hidden.</p>}
      {(tables.length === 0 || !every.value) && <p class="waiting">reading the table</p>}
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
        {[...grouped(tables)].map(([group, some]) => (
          <optgroup key={group} label={group}>
            {some.map((table) => (
              <option key={table.name} value={table.name} title={table.about}>
                {table.title}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
      <SearchBox
        value={typed}
        placeholder="filter"
        label="filter"
        onInput={(text) => ask({ filter: text || null })}
        onLeave={() => document.querySelector<HTMLElement>(".table-rows")?.focus()}
      />
      <Menu label={`Columns (${columns.length} of ${every.length})`} hint="show and hide columns">
        {() => (
          <>
            <div class="picker-list">
              {every.map((column) => (
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
