// I/O as it happened: where in files requests are over time, and what each process moves when.

import { useMemo, useRef, useState } from "preact/hooks";

import { getCallTrace, type CallTrace, type TracedFiles } from "../api";
import { useLoaded } from "../api-cache";
import { useBoxSize } from "../box-size";
import { baseName } from "../format";
import { locationTitles } from "../location-picker";
import { Menu } from "../menu";
import { navigate, setParams, useRoute } from "../route";
import { saveFile } from "../saved-file";
import { Segments } from "../segments";
import { useShortcuts } from "../shortcuts";
import { SplitPane } from "../split-pane";
import "../styles/flame.css";
import "../styles/io.css";
import "../styles/ranks.css";
import { themeValue } from "../theme";
import type { TimeWindow } from "../time-window";
import type { ViewProps } from "../view-props";
import { CallsBand } from "./calls-band";
import { HeatPanel } from "./heat-panel";
import { FileList, RequestBox, useFiles, WindowTotals } from "./io-facts";
import { ioState, ioWindow, MEASURES, PICTURES, scaledSpan, zoomTo, type IoState, type Picture } from "./io-state";
import { escaped } from "./pattern-drawing";
import { PatternPanel, type ChosenRequest, type PanelPicture } from "./pattern-panel";
import { LEFT_PX, NAMES_PX } from "./plot";
import { TimeLanes } from "./time-lanes";

const PANELS_MOST = 16;
const PANEL_LEAST_PX = 190;
const BETWEEN_PX = 6;
// Browsers draw no larger canvas.
const PNG_MOST_PX = 16_000;

export function IoView(props: ViewProps) {
  const { run } = props;
  const { params } = useRoute();
  const state = ioState(params);
  const loaded = useLoaded(`${run.id}/io/${state.layer}`, () => getCallTrace(run.id, state.layer));
  const trace = loaded.value;
  if (loaded.error) return <p class="trouble">{loaded.error}</p>;
  if (!trace) return <p class="waiting">reading the calls</p>;
  if (trace.lengthNs === 0) {
    return (
      <div class="nothing io-nothing">
        <p>This run has no calls on files with their times. They are recorded by</p>
        <pre>gnomon io --trace -- program</pre>
      </div>
    );
  }
  return <TraceView {...props} trace={trace} state={state} window={ioWindow(run, params, trace.lengthNs)} />;
}

interface TraceProps extends ViewProps {
  readonly trace: CallTrace;
  readonly state: IoState;
  readonly window: TimeWindow | null;
}

interface Panel {
  readonly file: number;
  readonly places: readonly number[];
  readonly title: string;
}

function TraceView(props: TraceProps) {
  const { run, trace, state, locations } = props;
  const time = props.window ?? { begin: 0, end: trace.lengthNs };
  const whole = useFiles(run.id, state.layer, [], "");
  const listed = useFiles(run.id, state.layer, state.places, state.search);
  const [chosen, setChosen] = useState<ChosenRequest | null>(null);
  const [box, width, height] = useBoxSize<HTMLDivElement>();
  const pictures = useRef(new Map<string, PanelPicture>());
  const titles = useMemo(() => locationTitles(locations), [locations]);
  const placeTitle = (location: number) => titles.get(location) ?? `location ${location}`;
  const files = shownFiles(state, whole.value, listed.value);
  const nameOf = (file: number) =>
    [...(listed.value?.files ?? []), ...(whole.value?.files ?? [])].find((one) => one.file === file)?.name ?? `file ${file}`;
  const panels = panelsOf(state, files, trace, nameOf);
  const hidden = { reads: state.hidesReads, writes: state.hidesWrites };
  const room = height - 2;
  const each = Math.max(PANEL_LEAST_PX, Math.floor(room / Math.max(panels.length, 1)) - (panels.length > 1 ? BETWEEN_PX : 0));
  const showSource = (file: string, line: number) => navigate("tree", { file, line: line || null, node: null });
  const chooseFiles = (chosenFiles: readonly number[]) => {
    setChosen(null);
    navigate("io", { iofiles: chosenFiles.join(",") || null, iorange: null });
  };
  const zoomOut = () => {
    const [begin, end] = scaledSpan(time.begin, time.end, 2, (time.begin + time.end) / 2, trace.lengthNs);
    zoomTo(run, {
      time: begin <= 0 && end >= trace.lengthNs ? null : { begin, end },
      ...(state.range && { range: null }),
    });
  };
  const all = () => zoomTo(run, { time: null, range: null });
  const show = (name: Picture) => setParams({ iopicture: name === "pattern" ? null : name });
  const turn = (by: number) => () => {
    const now = PICTURES.findIndex(([name]) => name === state.picture);
    show(PICTURES[(now + by + PICTURES.length) % PICTURES.length]![0]);
  };
  useShortcuts({ "[": turn(-1), "]": turn(1), Backspace: zoomOut, Escape: all });
  const isZoomed = props.window !== null || state.range !== null;
  const isPattern = state.picture === "pattern";
  const sumsFile = isPattern ? (files.length === 1 ? files[0]! : -1) : heatFile(state);

  const picture = (
    <section class="pane io-pane" aria-label="calls on files over time">
      <div class="tools">
        <Segments label="picture" options={PICTURES} chosen={state.picture} onChoose={show} />
        {!isPattern && (
          <select value={state.measure} aria-label="colour" title="what colours are" onChange={(event) => setParams({ ioheat: event.currentTarget.value })}>
            {MEASURES.map(([name, label]) => (
              <option key={name} value={name}>{label}</option>
            ))}
          </select>
        )}
        {trace.layers.length > 1 && (
          <Segments
            label="layer"
            options={[
              ["posix", "system", "calls of POSIX: what reaches the file"],
              ["stdio", "streams", "calls of stdio: what the program asks its streams for"],
            ] as const}
            chosen={state.layer}
            onChoose={(name) => setParams({ iolayer: name === "posix" ? null : name })}
          />
        )}
        <PlacePicker trace={trace} state={state} />
        {isPattern && trace.places.length > 1 && (
          <label class="toggle" title="a picture of each process, instead of one of all">
            <input type="checkbox" checked={state.isSplit} onChange={() => setParams({ iosplit: state.isSplit ? null : "process" })} /> each
          </label>
        )}
        <span class="tools-rest" />
        <button type="button" class="quiet" disabled={!isZoomed} title="twice as much of the time (Backspace)" onClick={zoomOut}>
          Zoom out
        </button>
        <button type="button" class="quiet" disabled={!isZoomed} title="all of the time and of the file (Esc)" onClick={all}>
          All
        </button>
        <SaveMenu name={`${run.title} I/O`} width={width} pictures={pictures.current} />
      </div>
      <CallsBand id={run.id} kind="io" lengthNs={trace.lengthNs} window={props.window} onWindow={(next) => zoomTo(run, { time: next })} hasAxis />
      {width > 0 && <TimeLanes {...props} layer={state.layer} places={state.places} time={time} width={width} left={isPattern ? LEFT_PX : NAMES_PX} onTime={(next) => zoomTo(run, { time: next })} />}
      {whole.error && <p class="trouble">{whole.error}</p>}
      <div class="io-box" ref={box}>
        {width > 0 && !isPattern && (
          <HeatPanel
            id={run.id} layer={state.layer} places={state.places} file={heatFile(state)}
            by={state.picture === "files" ? "file" : "location"} measure={state.measure}
            lengthNs={trace.lengthNs} time={time} size={[width, room - 66]}
            onTime={(next, isStep) => zoomTo(run, { time: next }, isStep)}
            onOpen={(number) => navigate("io", { [state.picture === "files" ? "iofiles" : "ioplaces"]: number, iopicture: null, iorange: null })}
            pictures={pictures.current}
          />
        )}
        {width > 0 && isPattern && panels.slice(0, PANELS_MOST).map((panel) => (
          <PatternPanel
            key={`${panel.file}/${panel.places.join(",")}`}
            id={run.id} layer={state.layer} file={panel.file} places={panel.places} title={panel.title}
            lengthNs={trace.lengthNs} time={time} range={state.rangeFile === panel.file ? state.range : null}
            hidden={hidden} size={[width, each]} isOnly={panels.length === 1} chosen={chosen}
            placeTitle={placeTitle} onChoose={setChosen} onSource={(request) => showSource(request.source, request.line)}
            onZoom={(zoom, isStep) => zoomTo(run, { ...zoom, file: panel.file }, isStep)}
            pictures={pictures.current}
          />
        ))}
        {isPattern && panels.length > PANELS_MOST && <p class="hint">{`the first ${PANELS_MOST} of ${panels.length} pictures: choose fewer files or processes`}</p>}
      </div>
      {isPattern && <Legend state={state} />}
    </section>
  );
  return (
    <SplitPane
      name="io"
      start={0.72}
      first={picture}
      second={
        <section class="pane io-side" aria-label="files and sums">
          <FileList files={listed.value} error={listed.error} shown={isPattern ? files : state.files} search={state.search} onChoose={chooseFiles} />
          <div class="io-facts">
            {chosen && <RequestBox request={chosen} placeTitle={placeTitle} onSource={showSource} onClose={() => setChosen(null)} />}
            <WindowTotals
              id={run.id} layer={state.layer} places={state.places} file={sumsFile}
              fileName={sumsFile >= 0 ? baseName(nameOf(sumsFile)) || nameOf(sumsFile) : ""} time={time} onSource={showSource}
            />
          </div>
        </section>
      }
    />
  );
}

/** The heat map of processes is of all files, until one is chosen. */
const heatFile = (state: IoState): number =>
  state.picture === "processes" && state.files.length === 1 ? state.files[0]! : -1;

/** Files whose pictures are shown: the chosen ones, or the one with offsets of which most was moved. */
function shownFiles(state: IoState, whole: TracedFiles | null, listed: TracedFiles | null): readonly number[] {
  if (state.files.length > 0) return state.files;
  const found = [...(listed?.files ?? []), ...(whole?.files ?? [])];
  const file = found.find((one) => one.placed > 0) ?? found[0];
  return file ? [file.file] : [];
}

function panelsOf(state: IoState, files: readonly number[], trace: CallTrace, nameOf: (file: number) => string): Panel[] {
  if (!state.isSplit) return files.map((file) => ({ file, places: state.places, title: nameOf(file) }));
  const places = trace.places.filter((one) => state.places.length === 0 || state.places.includes(one.location));
  return files.flatMap((file) =>
    places.map((place) => ({
      file, places: [place.location],
      title: files.length > 1 ? `${place.title}, ${nameOf(file)}` : place.title,
    })),
  );
}

function PlacePicker({ trace, state }: { trace: CallTrace; state: IoState }) {
  if (trace.places.length < 2) return null;
  const set = (places: readonly number[]) => setParams({ ioplaces: places.join(",") || null });
  const toggle = (location: number) =>
    set(state.places.includes(location) ? state.places.filter((one) => one !== location) : [...state.places, location]);
  const chosen = trace.places.filter((one) => state.places.includes(one.location));
  const what = trace.places.some((one) => one.rank >= 0) ? "ranks" : "processes";
  const label = chosen.length === 0 ? `all ${what}` : chosen.length === 1 ? chosen[0]!.title : `${chosen.length} ${what}`;
  return (
    <Menu class="picker" label={label} hint={`${what} whose calls are shown`}>
      {() => (
        <>
          <button type="button" class={chosen.length === 0 ? "item is-chosen" : "item"} onClick={() => set([])}>
            all {what}
          </button>
          <div class="picker-list">
            {trace.places.slice(0, 1000).map((place) => (
              <label class="picker-row io-place" key={place.location}>
                <span class="picker-name">{place.title}</span>
                <input type="checkbox" checked={state.places.includes(place.location)} onChange={() => toggle(place.location)} />
              </label>
            ))}
          </div>
        </>
      )}
    </Menu>
  );
}

/** What colours and lines mean; a press hides reads or writes, which may lie upon each other. */
function Legend({ state }: { state: IoState }) {
  const toggle = (what: "reads" | "writes", isHidden: boolean) => setParams({ iohide: isHidden ? null : what });
  return (
    <footer class="status io-legend">
      <span>
        {([["writes", "write", state.hidesWrites], ["reads", "read", state.hidesReads]] as const).map(([what, sign, isHidden]) => (
          <button key={what} type="button" class="io-key" aria-pressed={!isHidden} title={isHidden ? `show ${what}` : `hide ${what}`} onClick={() => toggle(what, isHidden)}>
            <span class={`io-sign is-${sign}`} aria-hidden="true" />
            {what}
          </button>
        ))}
        {!state.hidesReads && !state.hidesWrites && (
          <span class="io-key">
            <span class="io-sign is-both" aria-hidden="true" />
            both
          </span>
        )}
      </span>
      <span>drag to zoom in; a line goes from the first byte and moment of a request to its last</span>
    </footer>
  );
}

function SaveMenu({ name, width, pictures }: { name: string; width: number; pictures: Map<string, PanelPicture> }) {
  const shown = () => [...pictures.values()];
  const total = () => shown().reduce((sum, one) => sum + one.height, 0);
  const svg = () => {
    let top = 0;
    const parts = shown().map((one) => {
      const part = one.svg(top);
      top += one.height;
      return part;
    });
    const text = `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${top}" viewBox="0 0 ${width} ${top}" font-family="'IBM Plex Sans', 'DejaVu Sans', sans-serif" font-size="11">
<title>${escaped(name)}</title>
<rect width="100%" height="100%" fill="${themeValue("--panel")}"/>
${parts.join("\n")}
</svg>
`;
    saveFile(new Blob([text], { type: "image/svg+xml" }), `${name}.svg`);
  };
  const png = () => {
    const ratio = Math.min(Math.max(2, devicePixelRatio), PNG_MOST_PX / Math.max(width, total()));
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(total() * ratio);
    const pen = canvas.getContext("2d")!;
    pen.fillStyle = themeValue("--panel");
    pen.fillRect(0, 0, canvas.width, canvas.height);
    let top = 0;
    for (const one of shown()) {
      pen.drawImage(one.canvas, 0, top * ratio, one.canvas.clientWidth * ratio, one.canvas.clientHeight * ratio);
      top += one.height;
    }
    canvas.toBlob((blob) => blob && saveFile(blob, `${name}.png`));
  };
  return (
    <Menu label="Save">
      {(close) => (
        <>
          {([["as SVG", svg], ["as PNG", png]] as const).map(([label, save]) => (
            <button key={label} type="button" class="item" onClick={() => { close(); save(); }}>
              {label}
            </button>
          ))}
        </>
      )}
    </Menu>
  );
}
