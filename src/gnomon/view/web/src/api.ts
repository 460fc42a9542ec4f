/* The calls for what the server answers. Types come from src/gnomon/view/contract.py by contract.ts;
 * src/gnomon/view/api.py says what each address gives. */

import type {
  AccessPattern,
  Activity,
  Assembly,
  CallGraphData,
  CallGraphReport,
  CallRates,
  CallTotals,
  CallTrace,
  ComparisonDocument,
  Division,
  Folder,
  Grouping,
  Layer,
  LineValues,
  LoadedProfiles,
  Location,
  Measure,
  MessageMatrix,
  Metric,
  NodeDetails,
  NodeDifferences,
  NodeOfLine,
  OpenResult,
  ProfilesToLoad,
  RankSites,
  RankValues,
  Run,
  RunTitle,
  Source,
  SourceFolders,
  Spread,
  State,
  Statistic,
  TableName,
  TablePage,
  TimeOrder,
  TracedFiles,
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

function requestUrl(path: string, query: Query = {}): string {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined) words.set(key, String(value));
  }
  const text = words.toString();
  return text ? `${path}?${text}` : path;
}

async function request(path: string, query?: Query, init?: RequestInit): Promise<Response> {
  const answer = await fetch(requestUrl(path, query), { credentials: "same-origin", ...init });
  if (answer.ok) return answer;
  let message = `${answer.status} ${answer.statusText}`;
  try {
    message = ((await answer.json()) as { error: string }).error;
  } catch {
    // Not one of the server's own answers: the status has to do.
  }
  throw new ApiError(message, answer.status);
}

async function getJson<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  return (await (await request(path, query, signal ? { signal } : {})).json()) as T;
}

function post(path: string, body: unknown): Promise<Response> {
  const init = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  return request(path, undefined, init);
}

async function postJson<T>(path: string, body: unknown): Promise<T> {
  return (await (await post(path, body)).json()) as T;
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
export function decodeArrays<T>(buffer: ArrayBuffer): T {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))) as Header;
  const { arrays, ...rest } = header;
  const document: Record<string, unknown> = rest;
  for (const { name, type, length: n, offset } of arrays) {
    document[name] = new ARRAYS[type](buffer, 4 + length + offset, n);
  }
  return document as T;
}

async function getArrays<T>(path: string, query: Query, signal?: AbortSignal): Promise<T> {
  return decodeArrays<T>(await (await request(path, query, signal ? { signal } : {})).arrayBuffer());
}

export const getState = () => getJson<State>("api/state");
export const getFolder = (path: string) => getJson<Folder>("api/folder", { path });
/** Programs, gmon.out files and folders. */
export const getProfileFolder = (path: string) => getJson<Folder>("api/folder", { path, of: "profiles" });
/** Opens run directories and .viz files; with `combine`, as one run. */
export const openPaths = (paths: string[], combine = false) =>
  postJson<OpenResult>("api/open", { paths, combine });
/** Opens gmon.out files of a program, with the options of xprofiler. */
export const loadProfiles = (wanted: ProfilesToLoad) =>
  postJson<LoadedProfiles>("api/profiles", { ...wanted });
export const closeRun = (id: string) => postJson<State>("api/close", { id });
/** Combines open runs into one: a single tree, with a location for each run. */
export const combineRuns = (ids: string[]) => postJson<RunTitle>("api/combine", { ids });
export const getRun = (id: string) => getJson<Run>(`api/runs/${id}`);
export const getMetrics = (id: string) => getJson<Metric[]>(`api/runs/${id}/metrics`);
export const getLocations = (id: string) => getJson<Location[]>(`api/runs/${id}/locations`);
export const getTree = (id: string, by: Grouping, signal?: AbortSignal) =>
  getArrays<Tree>(`api/runs/${id}/tree`, { by }, signal);

/** What was added to a tree that grows, from node `first` on, once a node was opened. */
export const getNodesBelow = (id: string, by: Grouping, open: number, first: number) =>
  getArrays<Tree>(`api/runs/${id}/tree`, { by, open, first });

export interface ValuesQuery {
  by: Grouping;
  metric: number;
  /** Of the nodes from `first` on to the one before `end`; of all if absent. */
  first?: number | undefined;
  end?: number | undefined;
  /** Only of this location and what is in it. */
  location?: number | undefined;
  statistic?: Statistic | undefined;
}
export const getValues = (id: string, query: ValuesQuery, signal?: AbortSignal) =>
  getArrays<Values>(`api/runs/${id}/values`, { ...query }, signal);
export const getSpread = (
  id: string,
  query: { by: Grouping; node: number; metric: number; location?: number | undefined },
  signal?: AbortSignal,
) => getArrays<Spread>(`api/runs/${id}/spread`, query, signal);
/** A metric over the time of a run that has samples, or over a part of it. */
export const getActivity = (
  id: string,
  query: { metric: number; location?: number | undefined; bins: number; begin?: number; end?: number },
) => getArrays<Activity>(`api/runs/${id}/activity`, query);
/** Frames of threads in the order of time, from and to nanoseconds since the first sample. */
export const getTimeOrder = (
  id: string,
  query: { metrics: string; location?: number | undefined; begin: number; end: number; bins: number },
) => getArrays<TimeOrder>(`api/runs/${id}/order`, query);
export const getNode = (
  id: string,
  query: { by: Grouping; node: number; location?: number | undefined },
) => getJson<NodeDetails>(`api/runs/${id}/node`, query);
export const getNodeOfLine = (id: string, by: Grouping, file: string, line: number) =>
  getJson<NodeOfLine>(`api/runs/${id}/nodeOfLine`, { by, file, line });

export interface MatrixQuery {
  by: Division;
  of: Measure;
  /** Places of senders and receivers, BEGIN-END; all if absent. */
  rows?: string | undefined;
  columns?: string | undefined;
  /** So many rows and columns at most. */
  cells: number;
}
/** Messages, senders by receivers. */
export const getMatrix = (id: string, query: MatrixQuery, signal?: AbortSignal) =>
  getArrays<MessageMatrix>(`api/runs/${id}/matrix`, { ...query }, signal);
export interface RanksQuery {
  /** Keys of series, with commas; the server's choice if absent. */
  series?: string | undefined;
  sort: string;
  order: "ascending" | "descending";
  begin?: number | undefined;
  end?: number | undefined;
  bands: number;
}
/** Values of ranks, in bands of consecutive ones. */
export const getRanks = (id: string, query: RanksQuery, signal?: AbortSignal) =>
  getArrays<RankValues>(`api/runs/${id}/ranks`, { ...query }, signal);
/** From where a rank calls MPI. */
export const getSites = (id: string, location: number) =>
  getJson<RankSites>(`api/runs/${id}/sites`, { location });

/** What is known of calls on files one by one. */
export const getCallTrace = (id: string, layer: Layer) => getJson<CallTrace>(`api/runs/${id}/io`, { layer });

interface CallsQuery {
  layer?: Layer | undefined;
  file?: number | undefined;
  /** Numbers of locations, with commas; all if absent. */
  locations?: string | undefined;
  /** Nanoseconds since the run's time began. */
  begin?: number | undefined;
  end?: number | undefined;
}
/** Files by what was moved; only those whose names have all words of the filter. */
export const getTracedFiles = (id: string, query: CallsQuery & { filter?: string | undefined }, signal?: AbortSignal) =>
  getJson<TracedFiles>(`api/runs/${id}/io/files`, { ...query }, signal);
/** Requests of a file in a window; points of a picture of so many columns and rows where they are many. */
export const getAccessPattern = (
  id: string,
  query: CallsQuery & { low?: number | undefined; high?: number | undefined; columns: number; rows: number },
) => getArrays<AccessPattern>(`api/runs/${id}/io/pattern`, { ...query });
/** What calls come to by process or file and part of the time; in so many rows at most. */
export const getCallRates = (
  id: string,
  query: CallsQuery & { by?: "location" | "file"; kind?: "io" | "mpi"; bins: number; rows: number },
) => getArrays<CallRates>(`api/runs/${id}/io/rates`, { ...query });
export const getCallTotals = (id: string, query: CallsQuery) =>
  getJson<CallTotals>(`api/runs/${id}/io/sums`, { ...query });

export interface GraphQuery {
  /** Number of the metric; the run's first one if absent. */
  metric?: number | undefined;
  /** Functions that are left out, as options of Xprofiler say it, with newlines between. */
  e?: string | undefined;
  E?: string | undefined;
  f?: string | undefined;
  F?: string | undefined;
}
export interface ReportQuery extends GraphQuery {
  /** "yes": functions that have no value and were never called are in it, too. */
  unused?: string | undefined;
  /** "yes": files are without the texts that tell what fields mean. */
  brief?: string | undefined;
  /** Index of the only function whose statistics are wanted. */
  function?: number | undefined;
}
/** Functions and the calls between them. */
export const getCallGraph = (id: string, query: GraphQuery) =>
  getArrays<CallGraphData>(`api/runs/${id}/callgraph`, { ...query });

export type ReportKind = "flat" | "graph" | "index" | "calls" | "libraries" | "statistics";
/** The rows of a report of the call graph. */
export const getReport = (id: string, kind: ReportKind, query: ReportQuery) =>
  getJson<CallGraphReport>(`api/runs/${id}/callgraph/report`, { kind, ...query });
/** Address of a report as a file to save, as `gnomon callgraph` writes it. */
export const reportUrl = (id: string, kind: ReportKind, query: ReportQuery, format: "text" | "csv") =>
  requestUrl(`api/runs/${id}/callgraph/report`, { kind, format, ...query });

export interface TableQuery {
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
export const getTables = (id: string) => getJson<TableName[]>(`api/runs/${id}/tables`);
export const getTable = (id: string, query: TableQuery, signal?: AbortSignal) =>
  getJson<TablePage>(`api/runs/${id}/table`, { ...query }, signal);
/** Address of what the table shows (without offset and limit), as a file to save. */
export const exportUrl = (id: string, query: TableQuery, format: "csv" | "json") =>
  requestUrl(`api/runs/${id}/export`, { ...query, format });

export const getSource = (id: string, file: string, choice?: string) =>
  getJson<Source>(`api/runs/${id}/source`, { file, choice });
/** Looks for missing sources in one more directory of the server's machine. */
export const addSourceFolder = (id: string, directory: string) =>
  postJson<SourceFolders>(`api/runs/${id}/sources`, { directory });
export const getLines = (id: string, file: string, metrics: string, location?: number) =>
  getJson<LineValues>(`api/runs/${id}/lines`, { file, metrics, location });
export const getAssembly = (id: string, name: string, file: string, metric: number, ticks?: "yes", syntax?: "intel") =>
  getJson<Assembly>(`api/runs/${id}/assembly`, { function: name, file, metric, ticks, syntax });
/** Nodes of the top-down tree of run `b` compared with those of run `a`, of each pair one. */
export const getDifferences = async (pairs: {
  a: string;
  b: string;
  metric: string;
  before: number[];
  after: number[];
}) => decodeArrays<NodeDifferences>(await (await post("api/differences", pairs)).arrayBuffer());
/** The document that `gnomon compare A B --json` prints. */
export const getComparison = (a: string, b: string, per = "", metric?: string) =>
  getJson<ComparisonDocument>("api/compare", { a, b, per, metric });
