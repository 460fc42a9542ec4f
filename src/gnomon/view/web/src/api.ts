/* What the server answers, as types, and the calls for it. src/gnomon/view/api.py says what each
 * means, with units; both change together. */

export type How = "counted" | "scaled" | "sampled" | "emulated" | "modelled" | "estimated";
export type Grouping = "region" | "capability" | "file" | "rank";
export type Statistic = "total" | "mean" | "min" | "median" | "max";

/** What is open. `parts` names what a combination is made of. */
export interface RunTitle {
  id: string;
  kind: "run" | "file" | "combined";
  /** Where it is on disk; "" for a combination. */
  path: string;
  title: string;
  command: string;
  /** Seconds since the epoch. */
  started: number;
  wallSeconds: number;
  exitStatus: number | null;
  /** That killed the program; "" for none. */
  signal: string;
  parts: Part[];
}
export interface Part {
  id: string;
  title: string;
  /** Location of the combination that is all of this run: the `location` of its values. */
  location: number;
}
export interface Openable {
  path: string;
  name: string;
  kind: "run" | "file" | "folder";
  /** When it was written, in seconds since the epoch. */
  changed: number;
}
export interface State {
  version: string;
  runs: RunTitle[];
  /** What could not be opened at the start. */
  problems: string[];
  folder: string;
  openable: Openable[];
  sourceFolders: string[];
  /** Source files opened before the page asks (peekperf -num). */
  sourcesBeforeAsking: number;
}
export interface Folder {
  path: string;
  parent: string | null;
  entries: Openable[];
  /** There were more entries than are listed. */
  truncated: boolean;
}
export interface Unavailable {
  event: string;
  reason: string;
  remedy: string;
  errno: number;
}
export interface Component {
  name: string;
  available: boolean;
  reason: string;
  remedy: string;
  errno: number;
}
export interface Capability {
  /** The regions' kind: hpm, cpu, mpi, io, memory, thread or what a new capability calls itself. */
  kind: string;
  title: string;
  regions: number;
}
export interface RegionKind {
  kind: string;
  title: string;
  /** What one of its regions is in a tree. */
  node: string;
  /** Its regions are functions and lines of the source. */
  is_code: boolean;
  /** Its regions are the program and sections of it. */
  is_section: boolean;
}
/** Everything of the run page. */
export interface Run extends RunTitle {
  /** run.json (or what a .viz says of its run), as it is. */
  head: Record<string, unknown>;
  hosts: Record<string, unknown>[];
  workingDirectory: string;
  environment: Record<string, string>;
  repetitions: number;
  /** The tool slowed the program so much that times are the tool's. */
  isDilated: boolean;
  components: Component[];
  unavailable: Unavailable[];
  warnings: string[];
  capabilities: Capability[];
  /** Kinds that regions of this run may have. */
  regionKinds: RegionKind[];
  groupings: { by: Grouping; title: string }[];
  counts: { locations: number; regions: number; paths: number; metrics: number; sources: number };
  /** The metric to show first; -1 where the run has none. */
  firstMetric: number;
  sourceFiles: string[];
}
export interface Metric {
  metric: number;
  name: string;
  /** "" for plain counts; "ns", "B", "%", ... */
  unit: string;
  formula: string;
  how: How | "";
  component: string;
  domain: string;
  scope: string;
  description: string;
  /** How values of several locations make one: sum, max, elapsed or none. */
  aggregation: string;
  /** A code location without a value had none. */
  absent_is_zero: boolean;
  /** Every execution gives the same number: any difference is one. */
  reproducible: boolean;
  /** A time of the tool that slowed the program, not its own. */
  dilated: boolean;
  /** Heading under which it is listed. */
  group: string;
  /** Whether values of several places may be added up. A derived one is worked out anew instead
   * (`recomputed`), or has no value where several places come together. */
  additive: boolean;
  /** Whether values of several places are times of the same moments, whose sum is no time. */
  atOnce: boolean;
  recomputed: boolean;
  /** Which way is worse; null where nobody can say. */
  worse: "more" | "less" | null;
  /** Whether there are values below the whole program (sections, functions, lines). */
  hasRegions: boolean;
  /** Whether there are values of single processes, threads, cores or CPUs. */
  hasLocations: boolean;
}
export interface Location {
  location: number;
  parent: number;
  kind: string;
  host: string;
  rank: number;
  pid: number;
  tid: number;
  name: string;
  title: string;
}
/** How nodes of a kind are shown. */
export interface NodeKind {
  name: string;
  style: "" | "group" | "line";
  /** Its name is the path of a file. */
  is_path: boolean;
  /** Its name says where in the source it is. */
  is_place: boolean;
  /** A word beside its name, "" for none. */
  mark: string;
  hint: string;
}
/** A tree in pre-order: a node's descendants are the nodes from its number + 1 up to `end` - 1. */
export interface Tree {
  n: number;
  by: Grouping;
  strings: string[];
  /** What `kind` counts. */
  kinds: NodeKind[];
  /** Said to the user: what was left out of the tree, and why. */
  notes: string[];
  parent: Int32Array;
  end: Int32Array;
  /** Numbers of `strings`. */
  name: Uint32Array;
  kind: Uint8Array;
  /** -1 where a node is more than one region. */
  region: Int32Array;
  /** -1 where a node is no location (by rank only). */
  location: Int32Array;
  /** Numbers of `strings`; the empty one where not known. */
  file: Uint32Array;
  module: Uint32Array;
  /** 0 where not known. */
  line: Int32Array;
  /** Of all locations together; NaN where not known. */
  calls: Float64Array;
}
/** In the order of the tree's nodes; NaN where there is no value. */
export interface Values {
  n: number;
  metric: number;
  unit: string;
  how: string;
  /** Which value of several places they are: "mean of 4 ranks"; "" for their sum, or of one place. */
  told: string;
  /** Whether a node's value is a part of the root's: not where parts are at the same time. */
  isShared: boolean;
  inclusive: Float64Array;
  exclusive: Float64Array;
}
/** One value for each place (rank, thread, core) of the finest kind that has any. */
export interface Spread {
  n: number;
  unit: string;
  how: string;
  /** What the rows and columns of a heat map are: "rank", "process", "core", "thread"... */
  rows: string;
  columns: string;
  rowNames: string[];
  columnNames: string[];
  location: Int32Array;
  row: Int32Array;
  column: Int32Array;
  inclusive: Float64Array;
  exclusive: Float64Array;
  /** Of `inclusive` and `exclusive`, over the places that have a value; null where none has. */
  summary: { inclusive: Summary | null; exclusive: Summary | null };
}
export interface Summary {
  places: number;
  min: number;
  median: number;
  mean: number;
  max: number;
  total: number;
  /** Standard deviation over the places. */
  deviation: number;
  minLocation: number;
  medianLocation: number;
  maxLocation: number;
  /** max / mean - 1: 0 for a perfect balance; null where the mean is 0. */
  imbalance: number | null;
}
export interface Column {
  name: string;
  title: string;
  type: "text" | "number";
  unit: string;
  how: string;
  description: string;
  /** -1 where the column is no metric's. */
  metric: number;
  kind: "" | "inclusive" | "exclusive";
}
export interface TablePage {
  name: string;
  columns: Column[];
  rows: (string | number | null)[][];
  /** Rows that the filter lets through, not only of this page. */
  total: number;
  offset: number;
  /** For each row the source it belongs to, where there is one. */
  sources: ({ file: string; line: number } | null)[];
}
export interface TableName {
  name: string;
  title: string;
}
export interface Source {
  file: string;
  /** Where it was read from. */
  path: string;
  text: string | null;
  language: string;
  /** same: digest or time tell that it is what was measured; unknown: cannot be told. */
  state: "same" | "changed" | "unknown" | "missing" | "refused" | "choose";
  /** What the state is known from, or why there is no text. */
  reason: string;
  /** Paths to choose from where several files could be it: give one as `choice`. */
  choices: string[];
}
export interface LineValues {
  file: string;
  lines: number[];
  metrics: {
    metric: number;
    inclusive: (number | null)[];
    exclusive: (number | null)[];
    /** Of the whole run, for shares; null where there are none. */
    total: number | null;
  }[];
}
export interface NodeDetails {
  name: string;
  kind: string;
  ancestors: string[];
  facts: { title: string; value: string }[];
  regions: { region: number; kind: string; name: string; module: string; file: string; line: number }[];
  values: {
    metric: number;
    inclusive: number | null;
    exclusive: number | null;
    /** Which value of several places; "" for their sum. */
    told: string;
    /** Of the whole run; null where values are no parts of it. */
    total: number | null;
  }[];
}

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
  post<{ runs: RunTitle[]; problems: string[] }>("api/open", { paths, combine });
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
  post<{ sourceFolders: string[]; found: string[] }>(`api/runs/${id}/sources`, { directory });
export const getLines = (id: string, file: string, metrics: string, location?: number) =>
  json<LineValues>(`api/runs/${id}/lines`, { file, metrics, location });
/** What `gnomon compare A B --json` says. */
export const getComparison = (a: string, b: string, per = "", metric?: string) =>
  json<Record<string, unknown>>("api/compare", { a, b, per, metric });
