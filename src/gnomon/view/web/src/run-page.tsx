// The facts of a run: command, host, time, exit status, warnings, and what was not available and why.

import { getLocations, getTables, type Location, type Run, type TableName } from "./api";
import { useLoaded, useRun } from "./api-cache";
import { shellCommand, formatDuration, plural, formatTime, formatNumber } from "./format";
import { navigate } from "./route";
import { InlineCode } from "./inline-code";
import type { ViewProps } from "./view-props";

/** Pages of capabilities and the tables as they are: what no other view shows. */
const isExtra = (table: TableName) => /^(page|rows):/.test(table.name);

export function RunPage(props: ViewProps) {
  const { run, baseline } = props;
  const other = useRun(baseline?.id ?? "");
  const before = baseline ? other.value : null;
  const rows = runFacts(run, locationCounts(props.locations));
  const beforePlaces = useLoaded(baseline ? `${baseline.id}/locations` : null, () => getLocations(baseline!.id));
  const beforeRows = before ? new Map(runFacts(before, locationCounts(beforePlaces.value ?? []))) : null;
  const tables = useLoaded(`${run.id}/tables`, () => getTables(run.id));
  const isWhole = run.components.every((component) => component.available);
  return (
    <div class="run-page" tabIndex={0} aria-label="run">
      <header>
        <h1>{run.title}</h1>
        <code class="command">{commandText(run)}</code>
      </header>
      {run.isDilated && (
        <p class="warning">
          This run was emulated: its counts are those of a simulated processor, its times are the emulator's and say
          nothing of the program's speed.
        </p>
      )}
      {run.warnings.length > 0 && (
        <section>
          <h2>Warnings</h2>
          <ul class="warnings">
            {run.warnings.map((warning) => (
              <li key={warning}>
                <InlineCode text={warning} />
              </li>
            ))}
          </ul>
        </section>
      )}
      <section>
        <h2>What ran</h2>
        <table class="facts-table">
          {beforeRows && (
            <thead>
              <tr>
                <th />
                <th>{run.title}</th>
                <th>{before!.title}</th>
              </tr>
            </thead>
          )}
          <tbody>
            {rows.map(([name, value]) => {
              const was = beforeRows?.get(name);
              const differs = beforeRows !== null && was !== value;
              return (
                <tr key={name} class={differs ? "differs" : ""}>
                  <th>{name}</th>
                  <td>{value}</td>
                  {beforeRows && <td>{was ?? ""}</td>}
                </tr>
              );
            })}
          </tbody>
        </table>
      </section>
      {run.parts.length > 0 && (
        <section>
          <h2>Made of</h2>
          <ul>
            {run.parts.map((part) => (
              <li key={part.id}>{part.title}</li>
            ))}
          </ul>
        </section>
      )}
      <section>
        <h2>What it has</h2>
        <ul class="holdings">
          {run.capabilities.map((capability) => (
            <li key={capability.kind}>
              <b>{capability.title}</b> {plural(capability.regions, "region")}
            </li>
          ))}
          <li>
            <button type="button" class="link" onClick={() => navigate("metrics")}>
              {plural(run.counts.metrics, "metric")}
            </button>
          </li>
          <li>{plural(run.counts.locations, "location")}</li>
          <li>{plural(run.counts.paths, "path")}</li>
          <li>{plural(run.counts.sources, "source file")}</li>
        </ul>
        <ul class="row-tables">
          <li>row by row:</li>
          {(tables.value ?? []).filter(isExtra).map((table) => (
            <li key={table.name}>
              <button
                type="button"
                class="link"
                title={table.about || table.group}
                onClick={() => navigate("table", { table: table.name, shown: null, tsort: null, torder: null })}
              >
                {table.title}
              </button>
            </li>
          ))}
        </ul>
      </section>
      {run.unavailable.length > 0 && (
        <section>
          <h2>Not counted</h2>
          <table class="availability">
            <tbody>
              {groupReasons(run.unavailable).map(({ names, reason, remedy }) => (
                <tr key={reason}>
                  <th>{names.join(", ")}</th>
                  <td>
                    <InlineCode text={reason} />
                    {remedy && (
                      <span class="remedy">
                        <InlineCode text={remedy} />
                      </span>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {run.components.length > 0 && (
        <section>
          <h2>Components</h2>
          {isWhole && <p class="hint">all of them could be used</p>}
          <table class="availability">
            <tbody>
              {run.components.map((component) => (
                <tr key={component.name} class={component.available ? "" : "is-off"}>
                  <th>
                    <span class="availability-mark" aria-label={component.available ? "available" : "not available"}>
                      {component.available ? "✓" : "✗"}
                    </span>
                    {component.name}
                  </th>
                  <td>
                    {component.available ? "available" : <InlineCode text={component.reason} />}
                    {!component.available && component.remedy && (
                      <span class="remedy">
                        <InlineCode text={component.remedy} />
                      </span>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {Object.keys(run.environment).length > 0 && (
        <section>
          <h2>Environment that matters</h2>
          <table class="facts-table">
            <tbody>
              {Object.entries(run.environment).map(([name, value]) => (
                <tr key={name}>
                  <th>
                    <code>{name}</code>
                  </th>
                  <td>
                    <code>{value}</code>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </div>
  );
}

function commandText(run: Run): string {
  const given = run.head["command"];
  return Array.isArray(given) && given.length > 0 ? shellCommand(given.map(String)) : run.command || "attached process";
}

/** Numbers of ranks, processes and threads, of the kinds that were recorded. */
function locationCounts(locations: readonly Location[]): [string, string][] {
  const of = (kind: string) => locations.filter((one) => one.kind === kind).length;
  const ranks = new Set(locations.map((one) => one.rank).filter((rank) => rank >= 0)).size;
  const found: [string, number][] = [
    ["MPI ranks", ranks],
    ["processes", of("process")],
    ["threads", of("thread")],
  ];
  return found.filter(([, count]) => count > 0).map(([name, count]) => [name, formatNumber(count)]);
}

function runFacts(run: Run, where: readonly [string, string][]): [string, string][] {
  const found: [string, string][] = [
    ["command", commandText(run)],
    ["ended", exitText(run)],
    [wallTime(run), formatDuration(run.wallSeconds * 1e9)],
    ["started", run.started > 0 ? formatTime(run.started) : ""],
    ["executions", formatNumber(run.repetitions)],
    ...where,
    ["working directory", run.workingDirectory],
    ["run directory", run.path],
    ["measured by", run.head["gnomon_version"] ? `gnomon ${String(run.head["gnomon_version"])}` : ""],
  ];
  run.hosts.forEach((host, at) => {
    const name = run.hosts.length > 1 ? `host ${at + 1}` : "host";
    const rest = [host["cpu_model"], host["cpus"] && `${String(host["cpus"])} CPUs`, host["kernel"]];
    found.push([name, [host["name"], ...rest].filter(Boolean).map(String).join(", ")]);
  });
  return found.filter(([, value]) => value !== "");
}

function wallTime(run: Run): string {
  const time = run.isDilated ? "time of the emulation" : "wall time";
  return run.repetitions > 1 ? `${time}, last execution` : time;
}

function exitText(run: Run): string {
  if (run.signal) return `killed by ${run.signal}`;
  return run.exitStatus === null ? "not known" : `with status ${run.exitStatus}`;
}

function groupReasons(list: Run["unavailable"]): { names: string[]; reason: string; remedy: string }[] {
  const found = new Map<string, { names: string[]; reason: string; remedy: string }>();
  for (const one of list) {
    const key = `${one.reason}\u0000${one.remedy}`;
    const known = found.get(key);
    if (known) known.names.push(one.event);
    else found.set(key, { names: [one.event], reason: one.reason, remedy: one.remedy });
  }
  return [...found.values()];
}
