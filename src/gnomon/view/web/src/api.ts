/* The calls for what the server answers. Types come from src/gnomon/view/contract.py by contract.ts;
 * src/gnomon/view/api.py says what each address gives. */

import type {
  ComparisonDocument,
  Folder,
  Grouping,
  LineValues,
  Location,
  Metric,
  NodeDetails,
  OpenResult,
  Run,
  RunTitle,
  Source,
  SourceFolders,
  Spread,
  State,
  Statistic,
  TableName,
  TablePage,
  Tree,
  Values,
} from "./contract";

export type * from "./contract";

export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

type Query = Record<string, string | number | boolean | undefined>;

function address(path: string, query: Query = {}): string {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined) words.set(key, String(value));
  }
  const text = words.toString();
  return text ? `${path}?${text}` : path;
}

async function ask(path: string, query?: Query, init?: RequestInit): Promise<Response> {
  const answer = await fetch(address(path, query), { credentials: "same-origin", ...init });
  if (answer.ok) return answer;
  let message = `${answer.status} ${answer.statusText}`;
  try {
    message = ((await answer.json()) as { error: string }).error;
  } catch {
    // Not one of the server's own answers: the status has to do.
  }
  throw new ApiError(message, answer.status);
}

async function json<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  return (await (await ask(path, query, signal ? { signal } : {})).json()) as T;
}

async function post<T>(path: string, body: unknown): Promise<T> {
  const init = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  return (await (await ask(path, undefined, init)).json()) as T;
}

const ARRAYS = {
  f64: Float64Array,
  i32: Int32Array,
  u32: Uint32Array,
  u8: Uint8Array,
} as const;
interface Header {
  arrays: { name: string; type: keyof typeof ARRAYS; length: number; offset: number }[];
  [key: string]: unknown;
}

/** u32 length of the header, the header as JSON, then arrays at their offsets behind it. */
export function unpack<T>(buffer: ArrayBuffer): T {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))) as Header;
  const { arrays, ...rest } = header;
  const found: Record<string, unknown> = rest;
  for (const { name, type, length: n, offset } of arrays) {
    found[name] = new ARRAYS[type](buffer, 4 + length + offset, n);
  }
  return found as T;
}

async function packed<T>(path: string, query: Query, signal?: AbortSignal): Promise<T> {
  return unpack<T>(await (await ask(path, query, signal ? { signal } : {})).arrayBuffer());
}

export const getState = () => json<State>("api/state");
export const getFolder = (path: string) => json<Folder>("api/folder", { path });
/** Opens run directories and .viz files; with `combine`, as one. */
export const open = (paths: string[], combine = false) =>
  post<OpenResult>("api/open", { paths, combine });
export const close = (id: string) => post<State>("api/close", { id });
/** Makes one of several that are open: a tree of both, with a location for each. */
export const combine = (ids: string[]) => post<RunTitle>("api/combine", { ids });
export const getRun = (id: string) => json<Run>(`api/runs/${id}`);
export const getMetrics = (id: string) => json<Metric[]>(`api/runs/${id}/metrics`);
export const getLocations = (id: string) => json<Location[]>(`api/runs/${id}/locations`);
export const getTree = (id: string, by: Grouping, signal?: AbortSignal) =>
  packed<Tree>(`api/runs/${id}/tree`, { by }, signal);

export interface Wanted {
  by: Grouping;
  metric: number;
  /** Only of this location and what is in it. */
  location?: number | undefined;
  statistic?: Statistic | undefined;
}
export const getValues = (id: string, wanted: Wanted, signal?: AbortSignal) =>
  packed<Values>(`api/runs/${id}/values`, { ...wanted }, signal);
export const getSpread = (
  id: string,
  wanted: { by: Grouping; node: number; metric: number; location?: number | undefined },
  signal?: AbortSignal,
) => packed<Spread>(`api/runs/${id}/spread`, wanted, signal);
export const getNode = (
  id: string,
  wanted: { by: Grouping; node: number; location?: number | undefined },
) => json<NodeDetails>(`api/runs/${id}/node`, wanted);

export interface TableWanted {
  name: string;
  /** Metrics that have columns, by number, with commas; the server's choice if absent. */
  metrics?: string | undefined;
  location?: number | undefined;
  /** Name of a column; first in the other order with `order`. */
  sort?: string | undefined;
  order?: "ascending" | "descending" | undefined;
  /** Words that all must be in the row's text, in any case. */
  filter?: string | undefined;
  offset?: number | undefined;
  limit?: number | undefined;
  /** Names of columns, with commas, in their order; all if absent. */
  columns?: string | undefined;
}
export const getTables = (id: string) => json<TableName[]>(`api/runs/${id}/tables`);
export const getTable = (id: string, wanted: TableWanted, signal?: AbortSignal) =>
  json<TablePage>(`api/runs/${id}/table`, { ...wanted }, signal);
/** Address of what the table shows (without offset and limit), as a file to save. */
export const exportAddress = (id: string, wanted: TableWanted, format: "csv" | "json") =>
  address(`api/runs/${id}/export`, { ...wanted, format });

export const getSource = (id: string, file: string, choice?: string) =>
  json<Source>(`api/runs/${id}/source`, { file, choice });
/** Looks for missing sources in one more directory of the server's machine. */
export const addSourceFolder = (id: string, directory: string) =>
  post<SourceFolders>(`api/runs/${id}/sources`, { directory });
export const getLines = (id: string, file: string, metrics: string, location?: number) =>
  json<LineValues>(`api/runs/${id}/lines`, { file, metrics, location });
/** What `gnomon compare A B --json` says. */
export const getComparison = (a: string, b: string, per = "", metric?: string) =>
  json<ComparisonDocument>("api/compare", { a, b, per, metric });
