// The page: the open runs, the current view, and the shortcuts that work everywhere.

import { useEffect, useState } from "preact/hooks";

import * as api from "./api";
import type { Grouping, RunTitle } from "./api";
import { CallGraphPage } from "./callgraph-page";
import { CompareView } from "./compare-view";
import { loadTree, notifyStateChanged, useLocations, useMetrics, useServerState, useRun } from "./api-cache";
import { LoadFilesDialog } from "./callgraph/load-files";
import { HelpDialog } from "./help-dialog";
import { IoPage } from "./io-page";
import { chargedId } from "./inlined-choice";
import { useShortcuts } from "./shortcuts";
import { MetricsView } from "./metrics-view";
import { OpenDialog } from "./open-dialog";
import { setParams, navigate, currentRoute, OF_ONE_RUN, useRoute, VIEWS, type View } from "./route";
import { RanksPage } from "./ranks-page";
import { RunPage } from "./run-page";
import { TableView } from "./table-view";
import { nextTheme, useTheme } from "./theme";
import { TreeView } from "./tree-view";
import { WindowBar, windowedId } from "./time-window";
import type { ViewProps } from "./view-props";
import { FlamePage } from "./flame-page";
import { Menu } from "./menu";

const TITLES: Readonly<Record<View, string>> = {
  tree: "Tree and source",
  flame: "Flame graph",
  callgraph: "Call graph",
  table: "Table",
  metrics: "Metrics",
  ranks: "Ranks",
  io: "I/O",
  compare: "Compare",
  run: "Run",
};
const LETTERS: Readonly<Record<View, string>> = {
  tree: "t",
  flame: "f",
  callgraph: "l",
  table: "a",
  metrics: "m",
  ranks: "k",
  io: "i",
  compare: "c",
  run: "r",
};

export function App() {
  const opened = useServerState();
  const { view, params } = useRoute();
  const theme = useTheme();
  const [dialog, setDialog] = useState<"" | "open" | "load" | "help">(params["load"] ? "load" : "");
  const runs = opened.value?.runs ?? [];
  const title = runs.find((run) => run.id === params["run"]) ?? runs[0];
  const baseline = runs.find((run) => run.id === params["vs"] && run.id !== title?.id);

  useShortcuts({
    "?": () => setDialog("help"),
    o: () => setDialog("open"),
    d: nextTheme,
    ...Object.fromEntries(VIEWS.map((name) => [`g ${LETTERS[name]}`, () => navigate(name)])),
    ...Object.fromEntries(VIEWS.map((name, at) => [String(at + 1), () => navigate(name)])),
  });

  useEffect(() => {
    document.title = title ? `${title.title} · Gnomon` : "Gnomon";
  }, [title?.title]);

  return (
    <div class="app">
      <header class="bar">
        <GnomonLogo />
        <RunPicker runs={runs} title={title} />
        {runs.length > 1 && title && <BaselinePicker runs={runs} title={title} chosen={baseline} />}
        <nav class="tabs" aria-label="views">
          {VIEWS.map((name, at) => (
            <button
              key={name}
              type="button"
              class={name === view ? "tab is-here" : "tab"}
              aria-current={name === view ? "page" : undefined}
              title={`${TITLES[name]} (g ${LETTERS[name]} or ${at + 1})`}
              onClick={() => navigate(name)}
            >
              {TITLES[name]}
            </button>
          ))}
        </nav>
        <span class="bar-rest" />
        <button type="button" class="quiet" onClick={() => setDialog("open")} title="open a run (o)">
          Open…
        </button>
        <button
          type="button"
          class="quiet"
          onClick={nextTheme}
          title={`${theme === "dark" ? "bright" : "dark"} colours (d)`}
        >
          {theme === "dark" ? "Bright" : "Dark"}
        </button>
        <button type="button" class="quiet" onClick={() => setDialog("help")} title="keys (?)">
          Help
        </button>
      </header>
      <main class="view">
        {opened.error && <p class="trouble">{opened.error}</p>}
        {opened.value && !title && <NoRuns problems={opened.value.problems} onOpen={setDialog} />}
        {title && (
          <CurrentView
            view={view}
            title={title}
            runs={runs}
            baseline={baseline}
            asking={opened.value?.sourcesBeforeAsking ?? 15}
          />
        )}
      </main>
      {dialog === "open" && opened.value && (
        <OpenDialog state={opened.value} onClose={() => setDialog("")} />
      )}
      {dialog === "load" && opened.value && (
        <LoadFilesDialog folder={opened.value.folder} onClose={() => setDialog("")} />
      )}
      {dialog === "help" && <HelpDialog onClose={() => setDialog("")} />}
    </div>
  );
}

function GnomonLogo() {
  return (
    <span class="mark" title="Gnomon">
      <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
        <path class="mark-post" d="M9 2v15" />
        <path class="mark-shade" d="M9 17l8-5" />
        <path class="mark-ground" d="M2 17h16" />
      </svg>
    </span>
  );
}

function exitLabel(run: RunTitle): string {
  if (run.signal) return ` [killed by ${run.signal}]`;
  return run.exitStatus ? ` [exit ${run.exitStatus}]` : "";
}

function RunPicker({ runs, title }: { runs: readonly RunTitle[]; title: RunTitle | undefined }) {
  const { params } = useRoute();
  if (!title) return <span class="run-title">no run is open</span>;
  return (
    <Menu
      class="run-title"
      label={title.title + exitLabel(title)}
      hint={`${title.command || title.path}\n${title.path}`}
    >
      {(close) => (
        <>
        {runs.map((run) => (
          <button
            key={run.id}
            type="button"
            class={run === title ? "item is-here" : "item"}
            onClick={() => {
              close();
              if (run.id === title.id) return;
              const vs = run.id === params["vs"] ? null : params["vs"];
              navigate(currentRoute().view, { ...OF_ONE_RUN, run: run.id, vs });
            }}
          >
            <b>{run.title}</b>
            {exitLabel(run)}
            <small>{run.command}</small>
          </button>
        ))}
        <button
          type="button"
          class="quiet"
          title="it stays on the disk"
          onClick={() => {
            close();
            void api.closeRun(title.id).then(() => {
              notifyStateChanged();
              navigate(currentRoute().view, { ...OF_ONE_RUN, run: null, vs: null });
            });
          }}
        >
          Close {title.title}
        </button>
        </>
      )}
    </Menu>
  );
}

function BaselinePicker(props: {
  runs: readonly RunTitle[];
  title: RunTitle;
  chosen: RunTitle | undefined;
}) {
  return (
    <label class="against">
      against
      <select
        value={props.chosen?.id ?? ""}
        onChange={(event) => setParams({ vs: event.currentTarget.value || null })}
        title="the run that every view compares with"
      >
        <option value="">nothing</option>
        {props.runs
          .filter((run) => run.id !== props.title.id)
          .map((run) => (
            <option key={run.id} value={run.id}>
              {run.title}
            </option>
          ))}
      </select>
    </label>
  );
}


function NoRuns({ problems, onOpen }: { problems: readonly string[]; onOpen: (which: "open" | "load") => void }) {
  return (
    <div class="nothing">
      {problems.map((problem) => (
        <p class="trouble" key={problem}>
          {problem}
        </p>
      ))}
      <p>No run is open. Open one that is here, or measure a program first:</p>
      <pre>gnomon run -- program</pre>
      <button type="button" onClick={() => onOpen("open")}>
        Open…
      </button>{" "}
      <button type="button" onClick={() => onOpen("load")}>
        Load gmon.out files…
      </button>
    </div>
  );
}

interface CurrentViewProps {
  readonly view: View;
  readonly title: RunTitle;
  readonly runs: readonly RunTitle[];
  readonly baseline: RunTitle | undefined;
  readonly asking: number;
}

function CurrentView({ view, title, runs, baseline, asking }: CurrentViewProps) {
  const { params } = useRoute();
  // What was found out by comparing whole runs, and what ran, is of all of the time.
  const isOfWindow = !["callgraph", "ranks", "io", "compare", "run"].includes(view);
  const timed = isOfWindow ? windowedId(title.id, params) : title.id;
  const charged = windowedId(chargedId(title.id, params), params);
  // The largest answer is asked for first: it is on its way while the small ones are read.
  useEffect(() => {
    if (view === "tree") void loadTree(charged, (params["by"] ?? "region") as Grouping).catch(() => null);
  }, [charged]);
  const run = useRun(timed);
  const metrics = useMetrics(timed);
  const locations = useLocations(title.id);
  const error = run.error || metrics.error || locations.error;
  if (error) {
    return (
      <div>
        <WindowBar />
        <p class="trouble">{error}</p>
      </div>
    );
  }
  // Not with what the run before it had: its metrics have other numbers.
  const waits = run.waiting || metrics.waiting || locations.waiting;
  if (waits || !run.value || !metrics.value || !locations.value) {
    return <p class="waiting">reading {title.title}</p>;
  }
  const viewProps: ViewProps = {
    run: run.value,
    metrics: metrics.value,
    locations: locations.value,
    baseline: baseline ?? null,
    filesListedMost: asking,
  };
  const valueProps: ViewProps = {
    ...viewProps,
    run: { ...run.value, id: charged },
    baseline: baseline ? { ...baseline, id: chargedId(baseline.id, params) } : null,
  };
  return (
    <div class="view-body">
      {isOfWindow && <WindowBar sampledNs={run.value.sampledNs} metrics={metrics.value} />}
      <ViewOf view={view} viewProps={viewProps} valueProps={valueProps} runs={runs} />
    </div>
  );
}

interface ViewOfProps {
  readonly view: View;
  readonly viewProps: ViewProps;
  /** With inlined code charged as was chosen, and of the chosen time. */
  readonly valueProps: ViewProps;
  readonly runs: readonly RunTitle[];
}

function ViewOf({ view, viewProps, valueProps, runs }: ViewOfProps) {
  const key = viewProps.run.id;
  switch (view) {
    case "tree":
      return <TreeView key={key} {...valueProps} />;
    case "flame":
      return <FlamePage key={key} {...valueProps} />;
    case "callgraph":
      return <CallGraphPage key={key} {...viewProps} />;
    case "table":
      return <TableView key={key} {...valueProps} />;
    case "metrics":
      return <MetricsView key={key} {...valueProps} />;
    case "ranks":
      return <RanksPage key={key} {...viewProps} />;
    case "io":
      return <IoPage key={key} {...viewProps} />;
    case "compare":
      return <CompareView key={key} {...viewProps} runs={runs} />;
    case "run":
      return <RunPage key={key} {...viewProps} />;
  }
}
