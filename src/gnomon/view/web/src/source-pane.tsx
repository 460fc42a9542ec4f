// A source file with the line of the selected node highlighted and values beside its lines.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { addSourceFolder, getLines, getNodeOfLine, getSource, type Source, type Statistic } from "./api";
import { dropCached, useLoaded } from "./api-cache";
import type { LineMark, SourceEditor } from "./source-editor";
import { baseName, formatQuantity, formatShare } from "./format";
import { HowBadge, howSign } from "./how-badge";
import { annotatedSource } from "./annotated-source";
import { AssemblyPane } from "./assembly-pane";
import { InlinedChoice } from "./inlined-choice";
import { Menu } from "./menu";
import { describeMetric, type MetricColumn } from "./metric-columns";
import { samplingError } from "./sampling-error";
import { saveText } from "./saved-file";
import { textWidth } from "./text-width";
import { TicksChoice, formatValue, hasTicks, useTicks } from "./ticks";
import { themeValue, useTheme } from "./theme";
import { setParams, useRoute } from "./route";
import type { ViewProps } from "./view-props";
import { normalizePath } from "./name-parts";
import { ownFiles } from "./own-code";
import type { Tree } from "./tree-model";

interface Props extends ViewProps {
  readonly tree: Tree | null;
  readonly shown: readonly MetricColumn[];
  readonly location: number | undefined;
  /** What the tree beside shows of several places: here it is always their sum. */
  readonly statistic?: Statistic;
  readonly file: string;
  readonly line: number;
}

const MOST_COLUMNS = 3;

/** A column beside the lines; of calls a line has what it computes, and all with what it calls. */
interface LineColumn {
  readonly metric: MetricColumn["metric"];
  readonly part: "" | "self" | "total";
}
const MOST_FOUND = 500;

export function SourcePane(props: Props) {
  const { run, file } = props;
  const { params } = useRoute();
  // The editor is the largest part: it comes while the tree is read.
  useEffect(() => void import("./source-editor"), []);
  const [turn, setTurn] = useState(0);
  const choice = params["choice"] ?? "";
  const key = file ? `${run.id}/source/${turn}/${file}\u0000${choice}` : null;
  const source = useLoaded(key, () => getSource(run.id, file, choice || undefined));
  const isAssembly = props.tree !== null && params["pane"] === "assembly";
  const [inTicks, setTicks] = useTicks(run);
  const again = () => {
    dropCached(`${run.id}/source/`);
    setTurn((old) => old + 1);
  };
  return (
    <section class="pane source-pane" aria-label="source">
      <div class="tools">
        {props.tree && (
          <span class="pane-choice" role="group" aria-label="source or assembly">
            <button type="button" aria-pressed={!isAssembly} onClick={() => setParams({ pane: null })}>
              Source
            </button>
            <button type="button" aria-pressed={isAssembly} onClick={() => setParams({ pane: "assembly" })}>
              Assembly
            </button>
          </span>
        )}
        <FilePicker files={run.sourceFiles} isOwn={ownFiles(run)} file={file} asking={props.filesListedMost} />
        {source.value && <SourceState source={source.value} />}
        <span class="tools-rest" />
        {props.shown.some(({ metric }) => hasTicks(metric)) && <TicksChoice inTicks={inTicks} onChange={setTicks} />}
        {props.tree && <InlinedChoice run={run} />}
      </div>
      {isAssembly && <AssemblyOfNode {...props} inTicks={inTicks} />}
      {!isAssembly && !file && (
        <div class="nothing">
          <p>
            {run.sourceFiles.length > 0
              ? "Choose a node with a known source line, or a file above."
              : "This run names no source files."}
          </p>
          {run.sourceFiles.length === 0 && (
            <p class="hint">
              Lines are known where the program was built with -g and was measured by line, and of sections in
              Python.
            </p>
          )}
        </div>
      )}
      {!isAssembly && file && source.error && <p class="trouble">{source.error}</p>}
      {!isAssembly && file && source.value && source.value.file === file && (
        <>
          {source.value.text === null ? (
            <MissingSource {...props} source={source.value} again={again} />
          ) : (
            <SourceText key={`${file} ${choice} ${turn}`} {...props} source={source.value} inTicks={inTicks} />
          )}
        </>
      )}
    </section>
  );
}

/** The code of the function that is selected in the tree, or that the selected line is of. */
function AssemblyOfNode({ run, tree, shown, inTicks }: Props & { inTicks: boolean }) {
  const { params } = useRoute();
  let node = tree && params["node"] !== undefined ? Number(params["node"]) : -1;
  if (!tree || node >= tree.n) node = -1;
  while (tree && node >= 0 && tree.kind(node).style === "line") node = tree.parent(node);
  if (tree && node >= 0 && tree.kind(node).style === "group") node = -1;
  const metric = shown.find((column) => column.metric.how === "sampled")?.metric ?? shown[0]?.metric;
  return (
    <AssemblyPane
      run={run}
      function={tree && node >= 0 ? tree.name(node) : ""}
      file={tree && node >= 0 ? tree.file(node) : ""}
      metric={metric}
      inTicks={inTicks}
    />
  );
}

interface FilePickerProps {
  files: readonly string[];
  /** Which are listed first. */
  isOwn: (file: string) => boolean;
  file: string;
  asking: number;
}

function FilePicker(props: FilePickerProps) {
  const { files, isOwn, file, asking } = props;
  const [word, setWord] = useState("");
  const lower = word.toLowerCase();
  const matches = files
    .filter((name) => name.toLowerCase().includes(lower))
    .sort((a, b) => Number(isOwn(b)) - Number(isOwn(a)));
  const most = word ? Math.max(asking, MOST_FOUND) : asking;
  return (
    <Menu class="file-choice" label={file ? baseName(file) : "no file"} hint={file || "choose a source file"}>
      {(close) => (
        <>
          <input
            type="search"
            placeholder={`find one of ${files.length} files`}
            aria-label="find a file"
            value={word}
            onInput={(event) => setWord(event.currentTarget.value)}
          />
          <div class="file-list">
            {matches.slice(0, most).map((name) => (
              <button
                key={name}
                type="button"
                class={name === file ? "item is-here" : "item"}
                onClick={() => {
                  close();
                  setParams({ file: name, line: null, choice: null });
                }}
              >
                <b>{baseName(name)}</b>
                <small>{normalizePath(name)}</small>
              </button>
            ))}
            {matches.length > most && (
              <p class="hint">{matches.length - most} more: write a part of the name</p>
            )}
          </div>
        </>
      )}
    </Menu>
  );
}

const STATES: Readonly<Record<Source["state"], string>> = {
  same: "as measured",
  changed: "changed since the run",
  unknown: "cannot tell whether it changed",
  missing: "missing",
  refused: "refused",
  choose: "several files",
};

function SourceState({ source }: { source: Source }) {
  return (
    <span class={`source-state is-${source.state}`} title={`${source.reason}\n${source.path}`}>
      {STATES[source.state]}
    </span>
  );
}

function MissingSource(props: Props & { source: Source; again: () => void }) {
  const { source, run, again } = props;
  const [folder, setFolder] = useState(run.workingDirectory);
  const [answer, setAnswer] = useState("");
  if (source.state === "choose") {
    return (
      <div class="nothing">
        <p>{source.reason || "Several files could be this one. Which was measured?"}</p>
        <ul class="choices">
          {source.choices.map((path) => (
            <li key={path}>
              <button type="button" class="item" onClick={() => setParams({ choice: path })}>
                {path}
              </button>
            </li>
          ))}
        </ul>
      </div>
    );
  }
  return (
    <div class="nothing">
      <p>
        <b>{source.file}</b>
      </p>
      <p class="trouble">{source.reason}</p>
      {source.state === "missing" && (
        <form
          class="ask"
          onSubmit={(event) => {
            event.preventDefault();
            setAnswer("searching");
            addSourceFolder(run.id, folder).then(
              ({ found }) => {
                setAnswer(found.includes(source.file) ? "" : `${baseName(source.file)} is not below ${folder}`);
                again();
              },
              (error: Error) => setAnswer(error.message),
            );
          }}
        >
          <label>
            Directory with the sources, on the machine where gnomon view runs
            <input
              type="text"
              value={folder}
              spellcheck={false}
              onInput={(event) => setFolder(event.currentTarget.value)}
            />
          </label>
          <button type="submit">Search there</button>
          {answer && (
            <p class="trouble" role="status">
              {answer}
            </p>
          )}
        </form>
      )}
    </div>
  );
}

function SourceText(props: Props & { source: Source; inTicks: boolean }) {
  const { run, source, tree, shown, line, location, inTicks } = props;
  const theme = useTheme();
  const container = useRef<HTMLDivElement>(null);
  const [editor, setEditor] = useState<SourceEditor | null>(null);
  const hasCalls = run.groupings.some((grouping) => grouping.by === "callers");
  const columns = useMemo(() => {
    const metricsById = new Map<number, MetricColumn["metric"]>();
    for (const { metric } of shown) if (metric.hasRegions) metricsById.set(metric.metric, metric);
    const parts: readonly LineColumn["part"][] = hasCalls ? ["self", "total"] : [""];
    const columns = [...metricsById.values()].flatMap((metric) => parts.map((part): LineColumn => ({ metric, part })));
    return columns.slice(0, MOST_COLUMNS);
  }, [shown, hasCalls]);
  const numbers = [...new Set(columns.map(({ metric }) => metric.metric))].join(",");
  const lines = useLoaded(numbers ? `${run.id}/lines/${source.file}/${numbers}/${location ?? ""}` : null, () =>
    getLines(run.id, source.file, numbers, location),
  );

  // What the editor calls is not known when it is made: it looks here.
  const act = useRef<{ line: (line: number) => void; enter: (line: number) => void }>(null!);
  act.current = {
    line(at) {
      setParams({ line: at });
      editor?.light(at);
    },
    enter(at) {
      if (!tree) return;
      const show = (node: number) => {
        if (node < 0) return;
        tree.reveal(node);
        setParams({ node, line: at, q: null });
        document.querySelector<HTMLElement>(".tree-rows")?.focus();
      };
      // A node of a call tree is a function, of which this may not be the hottest line.
      if (hasCalls) void getNodeOfLine(run.id, tree.data.by, source.file, at).then(({ node }) => show(node));
      else show(tree.at(source.file, at));
    },
  };

  useEffect(() => {
    let editor: SourceEditor | null = null;
    let isMounted = true;
    void import("./source-editor").then(({ SourceEditor: Editor }) => {
      if (!isMounted || !container.current) return;
      editor = new Editor(container.current, source.text ?? "", source.language, {
        onLine: (at) => act.current.line(at),
        onEnter: (at) => act.current.enter(at),
        onEscape: () => document.querySelector<HTMLElement>(".tree-rows")?.focus(),
      });
      setEditor(editor);
    });
    return () => {
      isMounted = false;
      editor?.destroy();
    };
  }, []);

  const marks = useMemo(() => {
    const value = lines.value;
    if (value === null || value.file !== source.file) return [];
    return columns.map(({ metric, part: which }): LineMark[] => {
      const lines = value.metrics.find((other) => other.metric === metric.metric);
      if (!lines) return [];
      const hasOwn = lines.exclusive.some((number) => number !== null);
      const own = hasOwn && which !== "total" ? lines.exclusive : lines.inclusive;
      const most = own.reduce((found: number, number) => Math.max(found, number ?? 0), 0);
      return value.lines.flatMap((at, k) => {
        const number = own[k] ?? null;
        // Of a line that only calls, what it computes is nothing to read.
        if (number === null || (which === "self" && number === 0)) return [];
        const part = lines.total ? formatShare(number, lines.total) : "";
        const shared = part ? `, ${part} % of the run` : "";
        return [
          {
            line: at,
            text: formatValue(number, metric, inTicks),
            sign: howSign(metric.how),
            how: metric.how,
            heat: most > 0 ? Math.max(0, number / most) : 0,
            hint: [
              `${metric.name}${which && ` (${which})`}: ${formatQuantity(number, metric.unit)}${shared} (${metric.how})`,
              samplingError(metric, number),
            ]
              .filter(Boolean)
              .join("\n"),
          },
        ];
      });
    });
  }, [lines.value, columns, inTicks]);

  // Room for the largest number of all columns: no digit is ever cut off.
  const room = useMemo(() => {
    const longest = marks.flat().reduce((most, mark) => (mark.text.length > most.length ? mark.text : most), "");
    return Math.max(hasCalls || inTicks ? 116 : 88, Math.ceil(textWidth(longest)) + 22);
  }, [marks, hasCalls, inTicks]);
  useEffect(() => editor?.mark(marks), [editor, marks]);
  const titles = columns.map(({ metric, part }) => {
    const isTotal = metric.additive && !metric.atOnce && (props.statistic ?? "total") !== "total";
    return `${part} ${isTotal ? "total " : ""}${metric.name}${inTicks && hasTicks(metric) ? ", ticks" : ""}`.trim();
  });
  useEffect(() => editor?.light(line), [editor, line]);

  return (
    <div class="source-body" style={{ "--values": `${room}px` }}>
      {source.state === "changed" && (
        <p class="warning" role="status">
          This file has changed since the run: lines may not be those that were measured
          {source.reason && ` (${source.reason})`}.
        </p>
      )}
      <div class="source-head">
        <div class="source-columns" aria-hidden="true">
          {columns.map(({ metric, part }, column) => (
            <span
              key={`${metric.metric} ${part}`}
              title={`${describeMetric(metric)}${part === "self" ? "\nwithout what the line calls" : part && "\nwith all that the line calls"}`}
            >
              <HowBadge how={metric.how} /> {titles[column]}
            </span>
          ))}
          <span class="source-path" title={source.path}>
            {source.path}
          </span>
        </div>
        <button
          type="button" class="quiet" title="the source with the values of its lines, as text"
          onClick={() => saveText(baseName(source.file), annotatedSource(source, titles, marks))}
        >
          Save
        </button>
      </div>
      <div class="source-frame">
        <div class="source-place" ref={container} />
        {editor && (
          <Overview theme={theme} lines={editor.lines} marks={marks[0] ?? []} line={line} onLine={(at) => act.current.line(at)} />
        )}
      </div>
    </div>
  );
}

/** The whole file as a strip that shows where the hot lines are. */
function Overview(props: {
  theme: string;
  lines: number;
  marks: readonly LineMark[];
  line: number;
  onLine: (line: number) => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { lines, marks, line } = props;
  useEffect(() => {
    const box = canvas.current!;
    const draw = () => {
      const { clientWidth: width, clientHeight: height } = box;
      const scale = window.devicePixelRatio;
      box.width = width * scale;
      box.height = height * scale;
      const pen = box.getContext("2d")!;
      pen.scale(scale, scale);
      pen.clearRect(0, 0, width, height);
      const at = (one: number) => ((one - 1) / Math.max(1, lines)) * height;
      for (const mark of [...marks].sort((a, b) => a.heat - b.heat)) {
        if (mark.heat <= 0) continue;
        pen.globalAlpha = 0.15 + 0.85 * Math.sqrt(mark.heat);
        pen.fillStyle = themeValue("--bar-strong");
        pen.fillRect(2, at(mark.line), width - 4, Math.max(2, height / Math.max(1, lines)));
      }
      pen.globalAlpha = 1;
      if (line > 0) {
        pen.fillStyle = getComputedStyle(box).color;
        pen.fillRect(0, at(line), width, 2);
      }
    };
    draw();
    const watch = new ResizeObserver(draw);
    watch.observe(box);
    return () => watch.disconnect();
  }, [lines, marks, line, props.theme]);
  return (
    <canvas
      ref={canvas}
      class="overview"
      title="the whole file: strong where most is"
      onClick={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        const at = Math.ceil(((event.clientY - box.top) / box.height) * lines);
        const near = [...marks].sort((a, b) => Math.abs(a.line - at) - Math.abs(b.line - at))[0];
        // A click beside a mark means the mark: it is two pixels high.
        props.onLine(near && Math.abs(near.line - at) < lines / 60 ? near.line : Math.max(1, at));
      }}
    />
  );
}
