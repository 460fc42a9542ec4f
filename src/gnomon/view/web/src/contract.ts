// Made by packaging/api_types.py from src/gnomon/view/contract.py: do not edit.

export type How = "counted" | "scaled" | "sampled" | "emulated" | "modelled" | "estimated";
export type Grouping = "region" | "lines" | "callers" | "capability" | "module" | "file" | "routine" | "rank";
export type Statistic = "total" | "mean" | "min" | "median" | "max";
export type Division = "block" | "host" | "community";
export type Measure = "bytes" | "messages";
export type Layer = "posix" | "stdio";

/** A kind of regions. */
export interface RegionKind {
  /** As the table of regions has it. */
  kind: string;
  /** What people call all regions of the kind together. */
  title: string;
  /** What one of them is, in a tree. */
  node: string;
  /** They are functions and lines of the source, whose exclusive values are what counts. */
  is_code: boolean;
  /** They are the program and parts of it that it marked, which may overlap. Each call of a part
   * is recorded at one location: of its process, or of one thread. */
  is_section: boolean;
  /** Their paths have a root of their own and divide once more what others have: no part of the
   * program, and in no tree of it. */
  is_division: boolean;
}

/** A column of a table. */
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
  /** What its cells are: names of functions, paths of files, numbers that name something and
   * whose digits are read one by one, nanoseconds since 1970 (as digits in a text, of which a
   * number would lose some); "" for other texts and quantities. */
  shows: "" | "symbol" | "path" | "number" | "moment";
}

/** Something that can be opened, or a folder to look into. */
export interface Openable {
  path: string;
  name: string;
  kind: "run" | "file" | "folder" | "program" | "profile";
  /** When it was written, in seconds since the epoch. */
  changed: number;
}

/** A kind of nodes. */
export interface NodeKind {
  /** What one is. */
  name: string;
  /** "group" where it stands for all below it, "line" for lines of source, "" else. */
  style: "" | "group" | "line";
  /** Its name is the path of a file. */
  is_path: boolean;
  /** Its name says where in the source it is. */
  is_place: boolean;
  /** A word beside its name, "" for none. */
  mark: string;
  /** What the mark says. */
  hint: string;
}

/** A run that a combination is made of. */
export interface Part {
  id: string;
  title: string;
  /** Of the combination, that is all of this run: the `location` of its values. */
  location: number;
}

/** A row of the table of locations, and a name to show. */
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

/** One of the runs, or several that are taken as one. */
export interface ComparedSide {
  name: string;
  /** Where they are. */
  runs: string[];
  executions: number;
  command: string[];
}

/** A metric on both sides; null is what is not known, or no finite number. */
export interface ComparedMetric {
  metric: string;
  unit: string;
  /** Empty if the sides disagree. */
  how: string;
  /** More or less; empty where nobody can say. */
  worse_is: string;
  before: number | null;
  after: number | null;
  /** Of the baseline, and of the other side. */
  samples: number[];
  /** A share: 0.05 for 5 %. */
  change: number | null;
  low: number | null;
  /** Ends of the 95 % interval of the change. */
  high: number | null;
  /** Adjusted for the number of comparisons. */
  p: number | null;
  /** Smaller changes count as none. */
  at_least: number;
  /** Likewise, of the change as it was measured, whatever the machine did. */
  measured_p: number | null;
  /** What is left to the program where others on the machine may have made some of it. */
  own_change: number | null;
  /** What the change is: worse, better, machine, ...; empty where no difference is shown. */
  verdict: string;
  sure: boolean;
  /** Why it was not judged; empty where it was. */
  not_judged: string;
}

/** A metric of a place, such as a region or a rank, on both sides. */
export interface ComparedPlace extends ComparedMetric {
  /** Program or kind, name, file and line, where it has them. */
  place: Record<string, string | number>;
}

/** What the rest of the machine did, on both sides; null where it is not known. */
export interface ComparedMachine {
  /** CPUs that others used. */
  others_cpus: number[] | null;
  /** The part of its wall time that the program waited for a CPU. */
  waited: number[] | null;
}

/** One side compared with the baseline. */
export interface ComparedRuns {
  side: ComparedSide;
  metrics: ComparedMetric[];
  places: ComparedPlace[];
  /** Metrics that places have values of. */
  place_metrics: string[];
  places_left_out: number;
  notes: string[];
  machine: ComparedMachine;
}

/** What `gnomon compare --json` says. */
export interface ComparisonDocument {
  baseline: ComparedSide;
  comparisons: ComparedRuns[];
}

/** What a metric comes to in each of many equal parts of a run's time, or of a window. */
export interface Activity {
  n: number;
  metric: number;
  unit: string;
  beginNs: number;
  endNs: number;
  /** Those that can be seen over time. */
  metrics: number[];
  value: Float64Array;
}

/** What threads did in the order of time: frames, each below those that it calls. */
export interface TimeOrder {
  n: number;
  beginNs: number;
  endNs: number;
  /** Into how many equal parts the time from `beginNs` to `endNs` was divided. */
  bins: number;
  /** Numbers of locations, a lane for each. */
  lanes: number[];
  /** Locations that have less than these, and are not here. */
  leftOut: number;
  lane: Int32Array;
  depth: Int32Array;
  /** The part of time in which a frame begins. */
  first: Int32Array;
  /** The part behind its last one. */
  last: Int32Array;
  /** Of the top-down tree. */
  node: Int32Array;
  value: Float64Array;
}

/** Pairs of nodes of two runs, in the order in which they were asked for. */
export interface NodeDifferences {
  n: number;
  /** Below this p says that there is a difference. */
  likely: number;
  before: Float64Array;
  after: Float64Array;
  /** Adjusted over all pairs; NaN where nobody can say. */
  p: Float64Array;
}

/** A source file that the run names. */
export interface Source {
  file: string;
  /** Where it was read from. */
  path: string;
  text: string | null;
  language: string;
  /** Same: digest or time tell that it is what was measured; unknown: cannot be told. */
  state: "same" | "changed" | "unknown" | "missing" | "refused" | "choose";
  /** What the state is known from, or why there is no text. */
  reason: string;
  /** Paths to choose from where several files could be it: give one as `choice`. */
  choices: string[];
}

/** Values of one metric, in the order of the lines. */
export interface MetricLines {
  metric: number;
  inclusive: (number | null)[];
  exclusive: (number | null)[];
  /** Of the whole run, for shares; null where there are none. */
  total: number | null;
}

/** Values of each line of a source file that has any. */
export interface LineValues {
  file: string;
  lines: number[];
  metrics: MetricLines[];
}

/** An instruction of a function, with its value. */
export interface AssemblyInstruction {
  address: number;
  /** In hexadecimal digits. */
  bytes: string;
  text: string;
  value: number | null;
  samples: number | null;
  file: string;
  /** Of the source; 0 where it is not known. */
  line: number;
  /** That it was written in: another one where it was inlined. */
  function: string;
  /** The number of its basic block. */
  block: number;
  kind: "" | "jump" | "call" | "return";
  /** Where it goes, in words; "" if nowhere. */
  target: string;
  targetAddress: number | null;
}

/** All jumps to one instruction, as one line with several ends. */
export interface AssemblyJump {
  target: number;
  /** Addresses. */
  sources: number[];
  /** The column that it is drawn in, 0 nearest to the instructions. */
  lane: number;
}

/** The machine code of a function. */
export interface Assembly {
  function: string;
  module: string;
  metric: string;
  /** Of all values: that of the metric, or "ticks". */
  unit: string;
  how: string;
  /** It can be shown in either of two syntaxes. */
  isX86: boolean;
  /** What the program has. */
  whole: number | null;
  /** What the function has itself. */
  total: number | null;
  instructions: AssemblyInstruction[];
  jumps: AssemblyJump[];
  /** What is at no known address, or at one that is not in this code. */
  elsewhere: number | null;
  /** Why there are no instructions; "" if there are some. */
  whyNone: string;
  /** Why no line is known; "" if some are. */
  whyNoLines: string;
}

/** Something that is known of a node. */
export interface Fact {
  title: string;
  value: string;
}

/** A row of the run's table of regions. */
export interface RegionRow {
  region: number;
  kind: string;
  name: string;
  module: string;
  file: string;
  line: number;
}

/** A metric's values of a node. */
export interface NodeValue {
  metric: number;
  /** Which value of several places; "" for their sum. */
  told: string;
  inclusive: number | null;
  exclusive: number | null;
  /** Of the whole run; null where values are no parts of it. */
  total: number | null;
}

/** Everything that is known of a node. */
export interface NodeDetails {
  name: string;
  kind: string;
  ancestors: string[];
  facts: Fact[];
  regions: RegionRow[];
  values: NodeValue[];
}

/** A program or library whose functions are in a call graph. */
export interface GraphModule {
  name: string;
  /** Where it is; the name where that is not known. */
  path: string;
}

/** The functions of a run and the calls between them, as `gnomon callgraph` has them. */
export interface CallGraphData {
  /** How many functions. */
  n: number;
  program: string;
  metric: string;
  unit: string;
  how: string;
  /** What the program has of the metric. */
  whole: number;
  /** What functions have themselves that the selection lets through. */
  counted: number;
  /** Of how many profiles it is the sum. */
  files: number;
  /** What calls came to follows from their numbers. */
  isEstimated: boolean;
  names: string[];
  modules: GraphModule[];
  /** Source files that functions name by number. */
  sources: string[];
  own: Float64Array;
  /** With what they call, those of their own cycle left out. */
  total: Float64Array;
  /** From others; -1 where nobody counted them. */
  calls: Float64Array;
  selfCalls: Float64Array;
  /** Number of the cycle, 0 for none. */
  cycle: Int32Array;
  /** The number in brackets of reports: those with most first. */
  index: Int32Array;
  module: Int32Array;
  source: Int32Array;
  line: Int32Array;
  /** Not greyed by what was left out. */
  isShown: Uint8Array;
  caller: Int32Array;
  callee: Int32Array;
  /** -1 where nobody counted them. */
  arcCalls: Float64Array;
  /** What these calls came to; 0 within a cycle. */
  arcTotal: Float64Array;
}

/** A function in the flat profile. */
export interface FlatRow {
  function: string;
  index: number;
  module: string;
  file: string;
  line: number;
  self: number;
  total: number;
  calls: number | null;
  self_calls: number | null;
}

/** A caller or callee in an entry of the call graph profile. */
export interface EntryCall {
  function: string;
  index: number;
  calls: number | null;
  self: number;
  children: number;
}

/** A function, or a cycle, in the call graph profile. */
export interface GraphEntry {
  function: string;
  index: number;
  cycle: number;
  self: number;
  children: number;
  calls: number | null;
  self_calls: number | null;
  /** Of a cycle alone: the indices of its functions. */
  members: number[];
  /** Of functions alone, as callees. */
  callers: EntryCall[];
  callees: EntryCall[];
}

/** A function or cycle in the function index. */
export interface IndexRow {
  function: string;
  index: number;
  has_entry: boolean;
}

/** Calls of one function by another in the function call summary. */
export interface CallPair {
  caller: string;
  caller_index: number;
  callee: string;
  callee_index: number;
  calls: number;
  share: number;
}

/** A program or library in the library statistics. */
export interface LibraryRow {
  library: string;
  self: number;
  share: number | null;
  calls_into: number | null;
  calls_within: number | null;
  calls_out: number | null;
}

/** What the files of a profile have of one quantity of a function. */
export interface FileSpread {
  average: number;
  deviation: number;
  maximum: number;
  maximum_file: string;
  minimum: number;
  minimum_file: string;
}

/** A function in the function level statistics. */
export interface StatisticsRow {
  function: string;
  index: number;
  self: number;
  total: number;
  self_spread: FileSpread;
  total_spread: FileSpread;
  /** None where calls were not counted. */
  calls_spread: FileSpread | null;
}

/** A report of a call graph: the rows of its kind; lists of other kinds are empty. */
export interface CallGraphReport {
  kind: string;
  /** Of statistics: how many files they are over. */
  files: number;
  flat: FlatRow[];
  graph: GraphEntry[];
  index: IndexRow[];
  calls: CallPair[];
  libraries: LibraryRow[];
  statistics: StatisticsRow[];
}

/** What the window Load Files asks for; names of options are those of `xprofiler`. */
export interface ProfilesToLoad {
  /** "" for the one beside the first file. */
  program: string;
  /** Gmon.out files; none for the usual one of the server's folder. */
  files: string[];
  /** -c; "" for none. */
  config: string;
  /** -disp_max; None for all. */
  displayMax: number | null;
  /** -e */
  hidden: string[];
  /** -E */
  dropped: string[];
  /** -f */
  shown: string[];
  /** -F */
  counted: string[];
  /** -a */
  sourcePaths: string[];
  /** -L */
  libraryPaths: string[];
  /** -s */
  sum: boolean;
}

/** The run that was opened, and what the page starts with. */
export interface LoadedProfiles {
  run: string;
  displayMax: number | null;
  hidden: string[];
  dropped: string[];
  shown: string[];
  counted: string[];
  notes: string[];
}

/** A sender and a receiver. */
export interface HeaviestPair {
  sender: string;
  receiver: string;
  bytes: number;
  messages: number;
}

/** Senders by receivers, in cells; only those with messages are here. */
export interface MessageMatrix {
  /** How many cells are here. */
  n: number;
  by: Division;
  of: Measure;
  /** How many senders and receivers the run has; places are from 0 on. */
  ends: number;
  /** How many hosts or communities they are in; 0 where they are in none. */
  groups: number;
  /** Names of cells of senders. */
  rows: string[];
  columns: string[];
  /** Of all messages of the run. */
  totalBytes: number;
  totalMessages: number;
  /** Of those, messages of which the sender or receiver is not known: in no cell. */
  unknownMessages: number;
  /** Of all cells, those with most first. */
  top: HeaviestPair[];
  /** The place where each row begins, and at the end where the last one ends. */
  rowEdges: Int32Array;
  columnEdges: Int32Array;
  /** Number of the row, times the number of columns, plus that of the column. */
  cell: Int32Array;
  bytes: Float64Array;
  messages: Float64Array;
  /** How many senders and receivers have messages for each other. */
  pairs: Int32Array;
  /** The rank of the sender of the pair that has most of the cell; -1 for what has none. */
  heaviestSender: Int32Array;
  heaviestReceiver: Int32Array;
  heaviestBytes: Float64Array;
  heaviestMessages: Float64Array;
}

/** A value of each rank. */
export interface RankSeries {
  /** A metric's number, or a name. */
  key: string;
  title: string;
  unit: string;
  how: string;
  /** Null where no rank has a value. */
  min: number | null;
  median: number | null;
  max: number | null;
  /** How many ranks stand out of the others. */
  outliers: number;
}

/** Values of ranks in an order, in bands of consecutive ones; NaN where none has any. */
export interface RankValues {
  /** How many bands are here. */
  n: number;
  what: "rank" | "process";
  /** How many the run has. */
  ranks: number;
  hosts: string[];
  series: RankSeries[];
  /** The place where each band begins, and at the end where the last one ends. */
  edges: Int32Array;
  /** The first of each band; -1 for processes. */
  rank: Int32Array;
  /** Number of its location. */
  location: Int32Array;
  /** Number of `hosts`. */
  host: Int32Array;
  /** Of the bands of the first series, then of the second, ... */
  least: Float64Array;
  middle: Float64Array;
  most: Float64Array;
  /** How many ranks of a band stand out, likewise. */
  outliers: Int32Array;
  /** Which series an outlier is of: those farthest from the median of each. */
  outlierSeries: Int32Array;
  outlierPlace: Int32Array;
  outlierRank: Int32Array;
  outlierLocation: Int32Array;
  outlierValue: Float64Array;
}

/** A place in the program from which a rank calls MPI. */
export interface CallSite {
  name: string;
  /** The function that calls; "" where not known. */
  caller: string;
  file: string;
  line: number;
  calls: number | null;
  value: number;
}

/** The call sites of a rank, those with most first. */
export interface RankSites {
  location: number;
  title: string;
  host: string;
  unit: string;
  /** Of all of its sites. */
  total: number;
  sites: CallSite[];
  /** How many sites are left out. */
  more: number;
}

/** A process with calls on files, and what they came to. */
export interface TracedPlace {
  location: number;
  title: string;
  rank: number;
  host: string;
  /** Bytes. */
  read: number;
  written: number;
  seconds: number;
}

/** What is recorded of calls on files one by one; with `lengthNs` 0 nothing is. */
export interface CallTrace {
  /** Of the run's time: of its samples and of its calls with a time. */
  lengthNs: number;
  layers: Layer[];
  /** By rank and number. */
  places: TracedPlace[];
}

/** A file, and what calls on it came to. */
export interface TracedFile {
  file: number;
  name: string;
  kind: string;
  filesystem: string;
  /** Reads and writes. */
  requests: number;
  /** Those of them of which it is known where in the file they were. */
  placed: number;
  /** Bytes. */
  read: number;
  written: number;
  seconds: number;
  /** How many processes used it. */
  places: number;
}

/** Files by what was moved, most first. */
export interface TracedFiles {
  /** How many there are, with those that are left out here. */
  total: number;
  files: TracedFile[];
}

/** A call, and the place in the program that it is made from. */
export interface CallPlace {
  name: string;
  /** The function that calls; "" where not known. */
  caller: string;
  file: string;
  line: number;
}

/** Requests of a file in a window: each of them, or what of them a picture can show. */
export interface AccessPattern {
  n: number;
  /** Each request is here; else `first` to `counts` are, and not `start` to `opening`. */
  isExact: boolean;
  /** Of the window, those that are wholly or partly in it. */
  requests: number;
  beginNs: number;
  endNs: number;
  /** The first byte of the window. */
  low: number;
  /** The byte behind its last one. */
  high: number;
  /** The byte behind the last request of the file, whichever process it was of. */
  fileEnd: number;
  /** How many points the window is divided into; 0 for requests one by one. */
  columns: number;
  rows: number;
  sites: CallPlace[];
  /** 1 for writes, 0 for reads. */
  access: Uint8Array;
  bytes: Float64Array;
  /** Nanoseconds since the run's time began. */
  start: Float64Array;
  duration: Float64Array;
  offset: Float64Array;
  asked: Float64Array;
  /** Number of `sites`. */
  site: Int32Array;
  /** Number of its location. */
  location: Int32Array;
  /** Which open file of its process; -1 where not known. */
  opening: Float64Array;
  /** The column that requests begin in. */
  first: Int32Array;
  /** The one that they end in. */
  last: Int32Array;
  /** The row of their first bytes. */
  lower: Int32Array;
  /** That of their last bytes. */
  upper: Int32Array;
  /** How many they are. */
  counts: Float64Array;
}

/** What calls come to in the cells of a grid: rows of processes or files by parts of the time. */
export interface CallRates {
  n: number;
  beginNs: number;
  endNs: number;
  /** Into how many equal parts the time is divided. */
  bins: number;
  /** What rows are of: locations by rank, or files in the order of the first calls on them. */
  by: "location" | "file";
  /** Names of processes or files, or of several consecutive ones. */
  rows: string[];
  /** Of each row the number of its location or file; -1 where it is of several. */
  number: Int32Array;
  /** Number of the row, times `bins`, plus that of the part. */
  cell: Int32Array;
  /** Bytes. */
  read: Float64Array;
  written: Float64Array;
  /** In calls, of all processes and threads together. */
  seconds: Float64Array;
}

/** Reads or writes. */
export interface AccessTotals {
  requests: number;
  failed: number;
  bytes: number;
  asked: number;
  seconds: number;
  /** Those that begin where the one before them of the same open file ended. */
  consecutive: number;
  /** Behind that place. */
  forward: number;
  /** Before it. */
  backward: number;
}

/** Requests of some sizes. */
export interface SizeTotals {
  /** "up to 4 KiB". */
  name: string;
  reads: number;
  writes: number;
  bytes: number;
}

/** Calls from one place. */
export interface SiteTotals extends CallPlace {
  calls: number;
  bytes: number;
  seconds: number;
}

/** What the calls that begin in a part of the time come to. */
export interface CallTotals {
  beginNs: number;
  endNs: number;
  reads: AccessTotals;
  writes: AccessTotals;
  otherCalls: number;
  otherSeconds: number;
  sizes: SizeTotals[];
  /** Those with most time, most first. */
  sites: SiteTotals[];
}

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

/** What is open, and what could be opened in the server's folder. */
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

/** What a folder of the server's machine has. */
export interface Folder {
  path: string;
  parent: string | null;
  entries: Openable[];
  /** There were more entries than are listed. */
  truncated: boolean;
}

/** What was opened, and what could not be. */
export interface OpenResult {
  runs: RunTitle[];
  problems: string[];
}

/** Where sources are looked for, and which of the run's were found. */
export interface SourceFolders {
  sourceFolders: string[];
  found: string[];
}

/** An event that could not be counted, and why. */
export interface Unavailable {
  event: string;
  reason: string;
  remedy: string;
  errno: number;
}

/** A source of events, and whether it could be used. */
export interface Component {
  name: string;
  available: boolean;
  reason: string;
  remedy: string;
  errno: number;
}

/** A kind that regions of the run have. */
export interface Capability {
  kind: string;
  title: string;
  regions: number;
}

/** A grouping that the run has a tree of. */
export interface GroupingTitle {
  by: Grouping;
  /** A word or two for it. */
  label: string;
  title: string;
  /** Which values its nodes are sorted by at first. */
  sort: "inclusive" | "exclusive";
}

/** How much the run has. */
export interface Counts {
  locations: number;
  regions: number;
  paths: number;
  metrics: number;
  sources: number;
}

/** Everything of the run page. */
export interface Run extends RunTitle {
  /** Run.json, or what a file says of its run, as it is. */
  head: Record<string, unknown>;
  hosts: (Record<string, unknown>)[];
  workingDirectory: string;
  environment: Record<string, string>;
  repetitions: number;
  /** The tool slowed the program so much that times are the tool's. */
  isDilated: boolean;
  /** Of some functions it is known that they stand in the code of their callers. */
  hasInlined: boolean;
  components: Component[];
  unavailable: Unavailable[];
  warnings: string[];
  capabilities: Capability[];
  /** Kinds that regions of this run may have. */
  regionKinds: RegionKind[];
  groupings: GroupingTitle[];
  counts: Counts;
  /** The metric to show first; -1 where the run has none. */
  firstMetric: number;
  /** For how long there are samples with a time, and other calls with one; 0 without samples. */
  sampledNs: number;
  /** Kinds of calls that were recorded one by one, with their times: "io", "mpi". */
  tracedCalls: string[];
  sourceFiles: string[];
  /** Those of them that are not on this machine, when the run was looked at. */
  missingFiles: string[];
}

/** A row of the run's table of metrics, and what may be done with its values. */
export interface Metric {
  metric: number;
  name: string;
  /** "" for plain counts; "ns", "B", "%", ... */
  unit: string;
  formula: string;
  /** One of `How`; a damaged run may have something else. */
  how: string;
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
  /** Values of several places may be added up. A derived one is computed anew instead
   * (`recomputed`); other ones have no value where several places come together. */
  additive: boolean;
  /** Values of several places are times of the same moments, whose sum is no time. */
  atOnce: boolean;
  recomputed: boolean;
  /** Which way is worse; null where nobody can say. */
  worse: "more" | "less" | null;
  /** There are values below the whole program (sections, functions, lines). */
  hasRegions: boolean;
  /** There are values of single processes, threads, cores or CPUs. */
  hasLocations: boolean;
  /** What one sample adds to a value: the error of a sum is the root of its product with this.
   * null where the metric was not sampled, or nobody knows how often. */
  sampleWeight: number | null;
  /** Which part of the wall time of threads it is; null where it is none. */
  ofThreads: "running" | "waiting" | null;
}

/** A tree in pre-order: a node's descendants are those from its number + 1 to `end` - 1. */
export interface Tree {
  /** How many nodes the tree has. */
  n: number;
  /** The first one that is here; those before it were asked for earlier. */
  first: number;
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
  /** 1 where nodes below have yet to be asked for. */
  pending: Uint8Array;
  /** Of all locations together; NaN where not known. */
  calls: Float64Array;
}

/** Where a line of the source is in a call tree. */
export interface NodeOfLine {
  /** -1 where it is not in it. */
  node: number;
}

/** In the order of the tree's nodes; NaN where there is no value. */
export interface Values {
  /** How many values are here. */
  n: number;
  /** The node of the first one. */
  first: number;
  metric: number;
  unit: string;
  how: string;
  /** Which value of several places: "mean of 4 ranks"; "" for their sum, or of one place. */
  told: string;
  /** A node's value is a part of the root's: not where parts are at the same time. */
  isShared: boolean;
  inclusive: Float64Array;
  exclusive: Float64Array;
}

/** Values over the places that have one. */
export interface Summary {
  places: number;
  min: number;
  median: number | null;
  mean: number | null;
  max: number;
  /** Null where values of several places do not add up. */
  total: number | null;
  /** Standard deviation over the places. */
  deviation: number | null;
  minLocation: number;
  medianLocation: number;
  maxLocation: number;
  /** Max / mean - 1: 0 for a perfect balance; null where the mean is 0. */
  imbalance: number | null;
}

/** Of both columns, over the places that have a value; null where none has. */
export interface SpreadSummary {
  inclusive: Summary | null;
  exclusive: Summary | null;
}

/** One value for each place (rank, thread, core) of the finest kind that has any. */
export interface Spread {
  n: number;
  unit: string;
  how: string;
  /** What the rows of a heat map are: "rank", "process", "core", "thread"... */
  rows: string;
  columns: string;
  rowNames: string[];
  columnNames: string[];
  location: Int32Array;
  row: Int32Array;
  column: Int32Array;
  inclusive: Float64Array;
  exclusive: Float64Array;
  summary: SpreadSummary;
}

/** A place in the source. */
export interface SourceLine {
  file: string;
  line: number;
}

/** A table that the run has, or a page that a capability adds. */
export interface TableName {
  name: string;
  title: string;
  /** Heading under which it is listed. */
  group: string;
  /** What a row is. */
  about: string;
  /** Columns that are shown at first; [] for all. */
  columns: string[];
  /** The column that it is sorted by at first; "" for none, or the first metric's. */
  sort: string;
  descending: boolean;
}

/** Some rows of a table. */
export interface TablePage {
  name: string;
  columns: Column[];
  rows: ((string | number | null)[])[];
  /** Rows that the filter lets through, not only of this page. */
  total: number;
  offset: number;
  /** For each row the source it belongs to, where there is one. */
  sources: (SourceLine | null)[];
}
