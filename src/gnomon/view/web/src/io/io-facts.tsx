// What stands beside the picture of I/O: the files, what the shown calls come to, the chosen request.

import { getCallTotals, getTracedFiles, type AccessTotals, type CallTotals, type Layer, type TracedFile, type TracedFiles } from "../api";
import { useLoaded, type Loaded } from "../api-cache";
import { CallSiteTable } from "../call-site-table";
import { baseName, formatDuration, formatNumber, formatQuantity, formatShare, plural } from "../format";
import { setParams } from "../route";
import { SearchBox } from "../search-box";
import type { TimeWindow } from "../time-window";
import { RequestFacts, type ChosenRequest } from "./pattern-panel";

export function useFiles(id: string, layer: Layer, places: readonly number[], search: string): Loaded<TracedFiles> {
  const query = { layer, locations: places.length > 0 ? places.join(",") : undefined, filter: search || undefined };
  return useLoaded(`${id}/files/${JSON.stringify(query)}`, () => getTracedFiles(id, query));
}

interface FilesProps {
  readonly files: TracedFiles | null;
  readonly error: string;
  /** Numbers of those that are shown. */
  readonly shown: readonly number[];
  readonly search: string;
  readonly onChoose: (files: readonly number[]) => void;
}

/** The files by what was moved; one is shown, or several with Ctrl or their boxes. */
export function FileList({ files, error, shown, search, onChoose }: FilesProps) {
  const toggle = (file: number) =>
    onChoose(shown.includes(file) ? shown.filter((one) => one !== file) : [...shown, file]);
  const most = Math.max(1, ...(files?.files ?? []).map((one) => one.read + one.written));
  return (
    <section class="io-files" aria-label="files">
      <div class="tools">
        <SearchBox
          value={search}
          placeholder="files"
          label="filter of files"
          hint="words that all are in the name"
          onInput={(text) => setParams({ iosearch: text || null })}
          onLeave={() => document.querySelector<HTMLElement>(".io-files .io-file")?.focus()}
        />
        <span class="note" role="status">
          {files && (files.total > files.files.length ? `${formatNumber(files.files.length)} of ${plural(files.total, "file")}` : plural(files.total, "file"))}
        </span>
      </div>
      {error && <p class="trouble">{error}</p>}
      <div class="io-file-list">
        {files?.files.map((file) => (
          <div key={file.file} class={shown.includes(file.file) ? "io-file-row is-here" : "io-file-row"}>
            <input
              type="checkbox"
              checked={shown.includes(file.file)}
              aria-label={`show ${file.name} beside others`}
              title="show it beside others"
              onChange={() => toggle(file.file)}
            />
            <button
              type="button"
              class="io-file"
              title={`${file.name}${file.filesystem ? ` (${file.filesystem})` : ""}: ${plural(file.requests, "read or write", "reads and writes")}, ${formatDuration(file.seconds * 1e9)} in calls${file.places > 1 ? `, ${file.places} processes` : ""}`}
              onClick={(event) => (event.ctrlKey || event.metaKey ? toggle(file.file) : onChoose([file.file]))}
            >
              <span class="io-file-name">
                {baseName(file.name) || file.name || "(no name)"}
                <small>{file.kind !== "file" && file.kind !== "" ? file.kind : folderOf(file.name)}</small>
              </span>
              <span class="io-file-bar" aria-hidden="true">
                <i class="is-write" style={{ width: `${(100 * file.written) / most}%` }} />
                <i class="is-read" style={{ width: `${(100 * file.read) / most}%` }} />
              </span>
              <span class="number">{movedText(file)}</span>
            </button>
          </div>
        ))}
        {files?.files.length === 0 && <p class="waiting">{search ? "No file has such a name." : "No call was on a file."}</p>}
      </div>
    </section>
  );
}

const folderOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf("/"), 0)) || (path.startsWith("/") ? "/" : "");

function movedText(file: TracedFile): string {
  return formatQuantity(file.read + file.written, "bytes");
}

interface TotalsProps {
  readonly id: string;
  readonly layer: Layer;
  readonly places: readonly number[];
  /** The only file that they are of, -1 for all. */
  readonly file: number;
  readonly fileName: string;
  readonly time: TimeWindow;
  readonly onSource: (file: string, line: number) => void;
}

/** What the calls come to that begin in the shown part of the time. */
export function WindowTotals(props: TotalsProps) {
  const { id, layer, places, file, time } = props;
  const query = {
    layer, file: file >= 0 ? file : undefined,
    locations: places.length > 0 ? places.join(",") : undefined,
    begin: Math.floor(time.begin), end: Math.ceil(time.end),
  };
  const loaded = useLoaded(`${id}/sums/${JSON.stringify(query)}`, () => getCallTotals(id, query));
  const totals = loaded.value;
  return (
    <section class="io-totals" aria-label="sums of the shown time">
      <h3>
        {props.fileName || "All files"}
        <span class="dim">{`${time.begin > 0 ? formatDuration(time.begin) : "0"} to ${formatDuration(time.end)}`}</span>
      </h3>
      {loaded.error && <p class="trouble">{loaded.error}</p>}
      {totals && <TotalsTables totals={totals} onSource={props.onSource} />}
    </section>
  );
}

function TotalsTables({ totals, onSource }: { totals: CallTotals; onSource: TotalsProps["onSource"] }) {
  const { reads, writes } = totals;
  const elapsed = (totals.endNs - totals.beginNs) / 1e9;
  const steps = (one: AccessTotals) => one.consecutive + one.forward + one.backward;
  const share = (part: number, of: AccessTotals) => (steps(of) > 0 ? `${formatShare(part, steps(of))} %` : "");
  const ofBoth = (cell: (one: AccessTotals) => string) => [cell(reads), cell(writes)] as const;
  const none = (value: number, text: string) => (value > 0 ? text : "");
  const rows: readonly (readonly [string, string, readonly [string, string]])[] = [
    ["requests", "reads and writes", ofBoth((one) => formatNumber(one.requests))],
    ["bytes", "that were moved", ofBoth((one) => none(one.requests, formatQuantity(one.bytes, "bytes")))],
    ["asked for", "bytes that were to be moved", ofBoth((one) => (one.asked > one.bytes * 1.001 ? formatQuantity(one.asked, "bytes") : ""))],
    ["failed", "requests that moved nothing", ofBoth((one) => none(one.failed, formatNumber(one.failed)))],
    ["mean size", "bytes of a request", ofBoth((one) => none(one.requests, formatQuantity(one.bytes / one.requests, "bytes")))],
    ["rate", "bytes in the shown time", ofBoth((one) => none(one.bytes, formatQuantity(one.bytes / elapsed, "bytes/s")))],
    ["time in calls", "of all processes and threads", ofBoth((one) => none(one.requests, formatDuration(one.seconds * 1e9)))],
    ["rate in calls", "bytes in the time of calls", ofBoth((one) => none(one.bytes * one.seconds, formatQuantity(one.bytes / one.seconds, "bytes/s")))],
    ["consecutive", "requests that begin where the one before them of the same open file ended", ofBoth((one) => share(one.consecutive, one))],
    ["forward", "requests that begin behind that place", ofBoth((one) => share(one.forward, one))],
    ["backward", "requests that begin before it", ofBoth((one) => share(one.backward, one))],
  ];
  const most = Math.max(1, ...totals.sizes.map((one) => one.reads + one.writes));
  return (
    <>
      <table class="plain">
        <thead>
          <tr>
            <th scope="col" />
            <th scope="col" class="number"><span class="io-sign is-read" aria-hidden="true" />reads</th>
            <th scope="col" class="number"><span class="io-sign is-write" aria-hidden="true" />writes</th>
          </tr>
        </thead>
        <tbody>
          {rows.filter(([, , cells]) => cells.some(Boolean)).map(([name, about, cells]) => (
            <tr key={name}>
              <th scope="row" title={about}>{name}</th>
              {cells.map((cell, at) => <td key={at} class="number">{cell}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
      {totals.otherCalls > 0 && (
        <p class="description">{`${plural(totals.otherCalls, "other call")}, ${formatDuration(totals.otherSeconds * 1e9)}`}</p>
      )}
      {totals.sizes.length > 0 && (
        <>
          <h4>Sizes asked for</h4>
          <table class="plain io-sizes">
            <tbody>
              {totals.sizes.map((size) => (
                <tr key={size.name}>
                  <th scope="row">{size.name}</th>
                  <td>
                    <span class="io-file-bar" aria-hidden="true">
                      <i class="is-write" style={{ width: `${(100 * size.writes) / most}%` }} />
                      <i class="is-read" style={{ width: `${(100 * size.reads) / most}%` }} />
                    </span>
                  </td>
                  <td class="number" title={`${plural(size.reads, "read")}, ${plural(size.writes, "write")}`}>{formatNumber(size.reads + size.writes)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
      {totals.sites.length > 0 && (
        <>
          <h4>From where</h4>
          <CallSiteTable
            class="io-sites"
            sites={totals.sites}
            timeOf={(site) => formatDuration(site.seconds * 1e9)}
            onSource={(site) => onSource(site.file, site.line)}
          />
        </>
      )}
    </>
  );
}

interface RequestProps {
  readonly request: ChosenRequest;
  readonly placeTitle: (location: number) => string;
  readonly onSource: (file: string, line: number) => void;
  readonly onClose: () => void;
}

export function RequestBox({ request, placeTitle, onSource, onClose }: RequestProps) {
  return (
    <section class="io-request" aria-label="the chosen request" aria-live="polite">
      <RequestFacts request={request} placeTitle={placeTitle} />
      <div class="actions">
        {request.source && (
          <button type="button" class="quiet" onClick={() => onSource(request.source, request.line)}>
            Show the source
          </button>
        )}
        <button type="button" class="quiet" onClick={onClose}>
          Close
        </button>
      </div>
    </section>
  );
}
