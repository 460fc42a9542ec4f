// The source of a run, with the line of the node at hand lit up and values beside its lines.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { addSourceFolder, getLines, getSource, type Source, type Statistic } from "./api";
import { forget, useLoaded } from "./data";
import type { LineMark, SourceEditor } from "./editor";
import { base, quantity, share } from "./format";
import { How, signOf } from "./how";
import { Menu } from "./menu";
import { describe, type Shown } from "./metric-list";
import { themed, widthOf } from "./palette";
import { ask, usePlace } from "./place";
import type { Sight } from "./sight";
import { tidy } from "./symbol";
import { useTheme } from "./theme";
import type { Tree } from "./tree-model";

interface Props extends Sight {
  readonly tree: Tree | null;
  readonly shown: readonly Shown[];
  readonly location: number | undefined;
  /** What the tree beside shows of several places: here it is always their sum. */
  readonly statistic?: Statistic;
  readonly file: string;
  readonly line: number;
}

const MOST_COLUMNS = 3;
const MOST_FOUND = 500;

export function SourcePane(props: Props) {
  const { run, file } = props;
  const { asked } = usePlace();
  // The editor is the largest part: it comes while the tree is read.
  useEffect(() => void import("./editor"), []);
  const [turn, setTurn] = useState(0);
  const choice = asked["choice"] ?? "";
  const key = file ? `${run.id}/source/${turn}/${file}\u0000${choice}` : null;
  const source = useLoaded(key, () => getSource(run.id, file, choice || undefined));
  const again = () => {
    forget(`${run.id}/source/`);
    setTurn((old) => old + 1);
  };
  return (
    <section class="pane source-pane" aria-label="source">
      <div class="tools">
        <FileChoice files={run.sourceFiles} file={file} asking={props.asking} />
        {source.value && <SourceState source={source.value} />}
      </div>
      {!file && (
        <div class="nothing">
          <p>
            {run.sourceFiles.length > 0
              ? "Choose a node that has a place in a source, or a file above."
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
      {file && source.error && <p class="trouble">{source.error}</p>}
      {file && source.value && source.value.file === file && (
        <>
          {source.value.text === null ? (
            <NoText {...props} source={source.value} again={again} />
          ) : (
            <Text key={`${file} ${choice} ${turn}`} {...props} source={source.value} />
          )}
        </>
      )}
    </section>
  );
}

function FileChoice(props: { files: readonly string[]; file: string; asking: number }) {
  const { files, file, asking } = props;
  const [word, setWord] = useState("");
  const lower = word.toLowerCase();
  // Libraries of the system were compiled elsewhere, and name their files from there: those come last.
  const far = (name: string) => Number(!name.startsWith("/") || name.startsWith("/usr/"));
  const found = files.filter((name) => name.toLowerCase().includes(lower)).sort((a, b) => far(a) - far(b));
  const most = word ? Math.max(asking, MOST_FOUND) : asking;
  return (
    <Menu class="file-choice" label={file ? base(file) : "no file"} hint={file || "choose a source file"}>
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
            {found.slice(0, most).map((name) => (
              <button
                key={name}
                type="button"
                class={name === file ? "item is-here" : "item"}
                onClick={() => {
                  close();
                  ask({ file: name, line: null, choice: null });
                }}
              >
                <b>{base(name)}</b>
                <small>{tidy(name)}</small>
              </button>
            ))}
            {found.length > most && (
              <p class="hint">{found.length - most} more: write a part of the name</p>
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

function NoText(props: Props & { source: Source; again: () => void }) {
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
              <button type="button" class="item" onClick={() => ask({ choice: path })}>
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
                setAnswer(found.includes(source.file) ? "" : `${base(source.file)} is not below ${folder}`);
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

function Text(props: Props & { source: Source }) {
  const { run, source, tree, shown, line, location } = props;
  const theme = useTheme();
  const place = useRef<HTMLDivElement>(null);
  const [editor, setEditor] = useState<SourceEditor | null>(null);
  const columns = useMemo(() => {
    const found = new Map<number, Shown["metric"]>();
    for (const { metric } of shown) if (metric.hasRegions) found.set(metric.metric, metric);
    return [...found.values()].slice(0, MOST_COLUMNS);
  }, [shown]);
  const numbers = columns.map((metric) => metric.metric).join(",");
  const lines = useLoaded(numbers ? `${run.id}/lines/${source.file}/${numbers}/${location ?? ""}` : null, () =>
    getLines(run.id, source.file, numbers, location),
  );

  // What the editor calls is not known when it is made: it looks here.
  const act = useRef<{ line: (line: number) => void; enter: (line: number) => void }>(null!);
  act.current = {
    line(at) {
      ask({ line: at });
      editor?.light(at);
    },
    enter(at) {
      const node = tree ? tree.at(source.file, at) : -1;
      if (!tree || node < 0) return;
      tree.reveal(node);
      ask({ node, line: at, q: null });
      document.querySelector<HTMLElement>(".tree-rows")?.focus();
    },
  };

  useEffect(() => {
    let made: SourceEditor | null = null;
    let wanted = true;
    void import("./editor").then(({ SourceEditor: Editor }) => {
      if (!wanted || !place.current) return;
      made = new Editor(place.current, source.text ?? "", source.language, {
        onLine: (at) => act.current.line(at),
        onEnter: (at) => act.current.enter(at),
        onEscape: () => document.querySelector<HTMLElement>(".tree-rows")?.focus(),
      });
      setEditor(made);
    });
    return () => {
      wanted = false;
      made?.destroy();
    };
  }, []);

  const marks = useMemo(() => {
    const value = lines.value;
    if (value === null || value.file !== source.file) return [];
    return columns.map((metric): LineMark[] => {
      const one = value.metrics.find((other) => other.metric === metric.metric);
      if (!one) return [];
      const own = one.exclusive.some((number) => number !== null) ? one.exclusive : one.inclusive;
      const most = own.reduce((found: number, number) => Math.max(found, number ?? 0), 0);
      return value.lines.flatMap((at, k) => {
        const number = own[k] ?? null;
        if (number === null) return [];
        const part = one.total ? share(number, one.total) : "";
        const shared = part ? `, ${part} % of the run` : "";
        return [
          {
            line: at,
            text: quantity(number, metric.unit),
            sign: signOf(metric.how),
            how: metric.how,
            heat: most > 0 ? Math.max(0, number / most) : 0,
            hint: `${metric.name}: ${quantity(number, metric.unit)}${shared} (${metric.how})`,
          },
        ];
      });
    });
  }, [lines.value, columns]);

  // Room for the largest number of all columns: no digit is ever cut off.
  const room = useMemo(() => {
    const longest = marks.flat().reduce((most, mark) => (mark.text.length > most.length ? mark.text : most), "");
    return Math.max(88, Math.ceil(widthOf(longest)) + 22);
  }, [marks]);
  useEffect(() => editor?.mark(marks), [editor, marks]);
  useEffect(() => editor?.light(line), [editor, line]);

  return (
    <div class="source-body" style={{ "--values": `${room}px` }}>
      {source.state === "changed" && (
        <p class="warning" role="status">
          This file has changed since the run: lines may not be those that were measured
          {source.reason && ` (${source.reason})`}.
        </p>
      )}
      <div class="source-columns" aria-hidden="true">
        {columns.map((metric) => (
          <span key={metric.metric} title={describe(metric)}>
            <How how={metric.how} /> {metric.additive && !metric.atOnce && (props.statistic ?? "total") !== "total" && "total "}
            {metric.name}
          </span>
        ))}
        <span class="source-path" title={source.path}>
          {source.path}
        </span>
      </div>
      <div class="source-frame">
        <div class="source-place" ref={place} />
        {editor && (
          <Overview theme={theme} lines={editor.lines} marks={marks[0] ?? []} line={line} onLine={(at) => act.current.line(at)} />
        )}
      </div>
    </div>
  );
}

/** All of the file as a strip: where the hot lines are, whatever part of it is seen. */
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
        pen.fillStyle = themed("--bar-strong");
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
