// The call graph: functions as boxes, calls as arcs, libraries as clusters, and what filters leave of them.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { getCallGraph, type ReportKind, type ReportQuery } from "../api";
import { useLoaded, useServerState } from "../api-cache";
import { useBoxSize } from "../box-size";
import { Menu } from "../menu";
import { MetricChoice } from "../metric-picker";
import { loadPreference, savePreference } from "../preferences";
import { navigate, setParams, useRoute } from "../route";
import { useShare } from "../split-pane";
import { saveFile } from "../saved-file";
import { useShortcuts } from "../shortcuts";
import "../styles/callgraph.css";
import { useTheme } from "../theme";
import type { ViewProps } from "../view-props";
import { GraphCanvas, graphColours, sightOfBox, wholeSight, zoomed } from "./graph-canvas";
import { LocateDialog, NameDialog, NumberDialog, SettingsDialog, type GraphSettings } from "./graph-dialogs";
import { drawGraph, type GraphColours, type Sight, type Target } from "./graph-drawing";
import { GraphFacts, GraphStatus, matching } from "./graph-facts";
import { byCounts, byCpu, byName, byRelation, settled, wholeTree, without, withLibraryCalls, withoutLibraries, type Displayed, type Relation } from "./graph-filters";
import { arrowOf, hiddenBy, isBox } from "./graph-hidden";
import { GraphMenu, type MenuItem } from "./graph-menu";
import { functionLabel, GraphModel } from "./graph-model";
import { GraphOverview } from "./graph-overview";
import type { Picture, PictureOptions } from "./graph-picture";
import { Pictures } from "./graph-pictures";
import { LoadFilesDialog } from "./load-files";
import { loadReportsAhead } from "./report-loading";
import { REPORT_SHARE, ReportPane } from "./report-pane";
import { REPORT_TITLES, type ReportRow } from "./report-rows";
import { CanvasSurface, SvgSurface } from "./graph-surfaces";

const AT_FIRST = 1000;
/** So many functions at first, of programs that have more than `AT_FIRST`. */
const OF_MANY = 300;
/** Of programs with more functions reports are loaded when they are asked for, and not before. */
const REPORTS_AHEAD = 10_000;

export function GraphView(props: ViewProps) {
  const { run, metrics, baseline } = props;
  const { params } = useRoute();
  const metric = metrics.find((one) => one.name === params["gmetric"]);
  const options = { metric: metric?.metric, e: params["e"], E: params["E"], f: params["f"], F: params["F"] };
  const ofReports = { ...options, brief: params["brief"], unused: params["unused"] };
  const loaded = useLoaded(`${run.id}/callgraph/${JSON.stringify(options)}`, async () => new GraphModel(await getCallGraph(run.id, options)));
  const before = useLoaded(baseline ? `${baseline.id}/callgraph` : null, async () => new GraphModel(await getCallGraph(baseline!.id, {})));
  if (loaded.error) return <p class="trouble">{loaded.error}</p>;
  if (!loaded.value) return <p class="waiting">reading the calls</p>;
  return <GraphPane key={`${run.id}/${params["gmetric"] ?? ""}/${params["max"] ?? ""}`} {...props} query={ofReports} model={loaded.value} before={before.value} />;
}

interface PaneProps extends ViewProps {
  readonly query: ReportQuery;
  readonly model: GraphModel;
  readonly before: GraphModel | null;
}

/** Where one looks in a picture, and what is chosen there: another picture has other boxes. */
interface View {
  readonly picture: Picture;
  /** Null for all of it. */
  readonly sight: Sight | null;
  readonly chosen: Target | null;
  readonly hover: Target | null;
}

type Open = "" | "load" | "name" | "cpu" | "calls" | "locate" | "settings";

function firstDisplayed(model: GraphModel, most: string | undefined): Displayed {
  const n = most !== undefined && /^\d+$/.test(most) ? Number(most) : model.n > AT_FIRST ? OF_MANY : model.n;
  return n >= model.n ? wholeTree(model) : byCpu(model, n, "most");
}

function GraphPane({ query, model, before, metrics, run }: PaneProps) {
  const { params } = useRoute();
  const theme = useTheme();
  const state = useServerState();
  const [box, width, height] = useBoxSize<HTMLDivElement>();
  const [shown, setShown] = useState<Displayed>(() => firstDisplayed(model, params["max"]));
  const [isClustered, setClustered] = useState(true);
  const [collapsed, setCollapsed] = useState<ReadonlySet<number>>(new Set());
  const [located, setLocated] = useState<ReadonlySet<number>>(new Set());
  const [menu, setMenu] = useState<{ picture: Picture; target: Target; x: number; y: number } | null>(null);
  const [dialog, setDialog] = useState<Open>("");
  const [report, setReport] = useState<ReportKind | null>(null);
  /** The only function whose statistics are wanted, -1 for all. */
  const [ofFunction, setOfFunction] = useState(-1);
  const openReport = (kind: ReportKind, f = -1) => {
    setReport(kind);
    setOfFunction(f);
  };
  useEffect(() => (model.n <= REPORTS_AHEAD ? loadReportsAhead(run.id, query) : undefined), [run.id, model]);
  const [reportShare, setReportShare] = useShare("report", REPORT_SHARE);
  const [hasOverview, setOverview] = useState(false);
  const usual = useMemo<GraphSettings>(() => ({ box: graphColours().box, arc: graphColours().arc, largest: 110 }), [theme]);
  const [settings, setSettings] = useState<GraphSettings | null>(() => savedSettings());
  const { largest } = settings ?? usual;
  const options = useMemo<PictureOptions>(() => ({ isClustered, collapsed, largest }), [isClustered, collapsed, largest]);
  const [, draw] = useState(0);
  const last = useRef<Picture | null>(null);
  const pictures = useMemo(() => new Pictures(model, last.current, () => draw((times) => times + 1)), [model]);
  const picture = pictures.of({ shown, options });
  last.current = picture;
  const colours = useMemo<GraphColours>(
    () => ({ ...graphColours(), ...(settings ? { box: settings.box, arc: settings.arc } : {}), ofFunction: before ? changeColours(model, before) : null }),
    [settings, theme, before, model],
  );
  // Of a new picture all is seen, or what was to be located.
  const wanted = useRef({ f: -1, arc: -1 });
  const arrival = useMemo<View>(() => {
    const { f, arc } = wanted.current;
    wanted.current = { f: -1, arc: -1 };
    const at = picture.boxOf.get(f);
    const arrow = arrowOf(picture, arc);
    return {
      picture, hover: null,
      sight: at === undefined ? null : sightOfBox(picture, at, width, height, 1),
      chosen: arrow >= 0 ? { kind: "arc", arrow } : at === undefined ? null : { kind: "function", box: at },
    };
  }, [picture]);
  const [view, setView] = useState<View>(arrival);
  const { sight, chosen, hover } = view.picture === picture ? view : arrival;
  const change = (part: Partial<View>) => setView((old) => ({ ...(old.picture === picture ? old : arrival), ...part }));
  const setSight = (next: Sight | null) => change({ sight: next });
  const setChosen = (next: Target | null) => change({ chosen: next });
  const seen = useMemo(() => sight ?? wholeSight(picture, width, height), [sight, picture, width, height]);
  useEffect(() => {
    if (sight && (Math.abs(sight.width * sight.scale - width) > 1 || Math.abs(sight.height * sight.scale - height) > 1)) {
      setSight({ ...sight, width: width / sight.scale, height: height / sight.scale });
    }
  }, [width, height]);

  const chooseFunction = (f: number) => {
    const at = picture.boxOf.get(f);
    if (at === undefined) return;
    setChosen({ kind: "function", box: at });
    setLocated(new Set([f]));
    setSight(sightOfBox(picture, at, width, height, seen.scale));
  };
  const locate = (f: number) => {
    setLocated(new Set([f]));
    if (isBox(picture, f)) return chooseFunction(f);
    wanted.current = { f, arc: -1 };
    display([f]);
  };
  /** Add functions to the picture, each with a box of its own. */
  const display = (functions: readonly number[], arc = -1) => {
    const isLeft = functions.every((f) => shown.functions.has(f)) && (arc < 0 || !shown.arcs || shown.arcs.has(arc));
    if (!isLeft) setShown(settled(model, shown, { functions: new Set([...shown.functions, ...functions]), arcs: null }));
    const modules = functions.map((f) => model.data.module[f]!).filter((module) => collapsed.has(module));
    if (modules.length > 0) setCollapsed(new Set([...collapsed].filter((module) => !modules.includes(module))));
  };
  const locateRow = (row: ReportRow) => {
    if (row.arc < 0) return locate(row.f);
    const [caller, callee] = [model.data.caller[row.arc]!, model.data.callee[row.arc]!];
    const arrow = arrowOf(picture, row.arc);
    if (arrow >= 0) {
      chooseFunction(caller);
      return setChosen({ kind: "arc", arrow });
    }
    wanted.current = { f: caller, arc: row.arc };
    display([caller, callee], row.arc);
  };
  const asked = params["locate"];
  const askedFor = asked ? model.data.names.indexOf(asked) : -1;
  useEffect(() => {
    if (askedFor >= 0 && width > 0) locate(askedFor);
  }, [asked, width > 0]);

  const show = (next: Displayed) => {
    setLocated(new Set());
    setShown(settled(model, shown, next));
  };
  const openSource = (f: number) => {
    const file = model.data.sources[model.data.source[f]!];
    if (file) navigate("tree", { file, line: model.data.line[f]! || null });
  };
  const toggleCluster = (module: number) => {
    const next = new Set(collapsed);
    if (!next.delete(module)) next.add(module);
    setCollapsed(next);
  };
  const items = (target: Target): readonly (MenuItem | null)[] => {
    if (target.kind === "arc") {
      const [arc] = picture.arrows[target.arrow]!.arcs;
      return [
        { label: "Locate Caller", act: () => chooseFunction(model.data.caller[arc!]!) },
        { label: "Locate Callee", act: () => chooseFunction(model.data.callee[arc!]!) },
      ];
    }
    const at = target.kind === "function" ? picture.boxes[target.box]! : null;
    if (!at || at.f < 0) return clusterItems(target.kind === "cluster" ? target.module : at!.module);
    return functionItems(at.f);
  };
  const clusterItems = (module: number): MenuItem[] => {
    const members = [...shown.functions].filter((f) => model.data.module[f] === module);
    return [
      { label: collapsed.has(module) ? "Expand Cluster" : "Collapse Cluster", act: () => toggleCluster(module) },
      { label: "Uncluster Functions", act: () => setClustered(false) },
      { label: "Remove Cluster", act: () => show(without(shown, members)) },
      { label: "Show Only This Cluster", act: () => show({ functions: new Set(members), arcs: null }) },
    ];
  };
  const functionItems = (f: number): (MenuItem | null)[] => {
    const relations: readonly (readonly [Relation, string, string])[] = [
      ["parents", "Parent Functions", "Immediate Parents"], ["children", "Child Functions", "Immediate Children"],
      ["ancestors", "Ancestor Functions", "All Paths To"], ["descendants", "Descendant Functions", "All Paths From"],
      ["cycle", "Cycle Functions", "All Functions on the Cycle"],
    ];
    return [
      ...relations.flatMap(([relation, name, group]) => [
        { label: `${group}: Show ${name} Only`, isOff: relation === "cycle" && !model.data.cycle[f], act: () => show(byRelation(model, shown, f, relation, false)) },
        { label: `${group}: Add ${name} to Tree`, isOff: relation === "cycle" && !model.data.cycle[f], act: () => show(byRelation(model, shown, f, relation, true)) },
      ]),
      null,
      { label: "Hide This Function", act: () => show(without(shown, [f])) },
      { label: "Locate Function", act: () => chooseFunction(f) },
      { label: "Statistics Report", act: () => openReport("statistics", f) },
      { label: "Show Source Code", isOff: !model.data.sources[model.data.source[f]!], act: () => openSource(f) },
    ];
  };
  const openMenu = (target: Target, x: number, y: number) => setMenu({ picture, target, x, y });
  const save = (kind: "svg" | "png") => void saveAs(kind, model, picture, colours, run.title);
  useShortcuts({ Escape: () => (report ? setReport(null) : setChosen(null)), "/": () => setDialog("locate") });
  const expect = (next: Displayed) => pictures.expect({ shown: settled(model, shown, next), options });
  const apply = (next: () => Displayed) => () => show(next());

  return (
    <div class={report ? "graph-view has-report" : "graph-view"} style={{ "--report": `${100 * reportShare}%` }}>
      <div class="tools graph-tools">
        <MenuOf name="File" items={[["Load Files…", () => setDialog("load")]]} />
        <MenuOf name="View" items={[
          ["Overview", () => setOverview(!hasOverview)], ["Zoom In", () => setSight(zoomed(seen, 1.5))],
          ["Zoom Out", () => setSight(zoomed(seen, 1 / 1.5))], ["Whole Graph", () => setSight(null)],
          ["Colours and Sizes…", () => setDialog("settings")], ["Save as SVG", () => save("svg")], ["Save as PNG", () => save("png")],
        ]} />
        <MenuOf name="Filter" items={[
          ["Show Entire Call Tree", apply(() => wholeTree(model))], ["Remove All Library Calls", apply(() => withoutLibraries(model, shown))],
          ["Add Library Calls", apply(() => withLibraryCalls(model, shown))],
          [isClustered ? "Uncluster Functions" : "Cluster Functions by Library", () => setClustered(!isClustered)],
          ["Filter by Function Names…", () => setDialog("name")], ["Filter by CPU Time…", () => setDialog("cpu")],
          ["Filter by Call Counts…", () => setDialog("calls")],
        ]} />
        <MenuOf name="Report" items={REPORT_TITLES.map(([kind, title]) => [title, () => openReport(kind)])} />
        <MenuOf name="Utility" items={[["Locate Function By Name…", () => setDialog("locate")]]} />
        <MetricChoice metrics={metrics.filter((one) => one.additive)} chosen={model.data.metric} onChoose={(name) => setParams({ gmetric: name })} />
      </div>
      <div class="graph-box" ref={box} aria-busy={pictures.isBusy}>
        {width > 0 && picture.boxes.length > 0 && (
          <GraphCanvas
            model={model} picture={picture} width={width} height={height} sight={seen} colours={colours}
            marks={{ chosen, hover, located }} onSight={setSight} onHover={(target) => change({ hover: target })} onChoose={setChosen} onMenu={openMenu}
          />
        )}
        {picture.boxes.length === 0 && <p class="hint">No function is displayed: Filter, Show Entire Call Tree.</p>}
        {chosen && <GraphFacts model={model} picture={picture} chosen={chosen} before={before} />}
        {hasOverview && width > 0 && <GraphOverview picture={picture} sight={seen} width={width} colours={colours} onSight={setSight} />}
        {menu?.picture === picture && (
          <GraphMenu title={menuTitle(model, picture, menu.target)} x={menu.x} y={menu.y} items={items(menu.target)} onClose={() => setMenu(null)} />
        )}
      </div>
      {report && (
        <ReportPane
          key={`${report}/${ofFunction}`} runId={run.id} kind={report} model={model}
          query={ofFunction < 0 ? query : { ...query, function: model.data.index[ofFunction] }}
          whyHidden={(row) => hiddenBy(model, picture, row)} onLocate={locateRow} onSource={openSource} onClose={() => setReport(null)}
          share={reportShare} onShare={setReportShare}
        />
      )}
      <GraphStatus model={model} picture={picture} missing={asked && askedFor < 0 ? asked : ""} />
      {dialog === "load" && <LoadFilesDialog folder={state.value?.folder ?? "."} onClose={() => setDialog("")} />}
      {dialog === "name" && (
        <NameDialog
          model={model} onClose={() => setDialog("")} onApply={(words, mode) => show(byName(model, shown, words, mode))}
          onDraft={(words, mode) => expect(byName(model, shown, words, mode))}
        />
      )}
      {dialog === "cpu" && (
        <NumberDialog
          model={model} title="Filter by CPU time" most="Show functions consuming the most CPU time" least="Show functions consuming the least CPU time"
          n={model.n} start={10} onClose={() => setDialog("")} onApply={(n, which) => show(byCpu(model, n, which))}
          onDraft={(n, which) => expect(byCpu(model, n, which))}
        />
      )}
      {dialog === "calls" && (
        <NumberDialog
          model={model} title="Filter by call counts" most="Show arcs with the most call counts" least="Show arcs with the least call counts"
          n={model.data.caller.length} start={10} onClose={() => setDialog("")} onApply={(n, which) => show(byCounts(model, n, which))}
          onDraft={(n, which) => expect(byCounts(model, n, which))}
        />
      )}
      {dialog === "locate" && <LocateDialog model={model} onClose={() => setDialog("")} onApply={locate} />}
      {dialog === "settings" && (
        <SettingsDialog settings={settings ?? usual} usual={usual} onClose={() => setDialog("")} onChange={(next) => { setSettings(next === usual ? null : next); savePreference("callgraph", next === usual ? "" : JSON.stringify(next)); }} />
      )}
    </div>
  );
}

function MenuOf({ name, items }: { name: string; items: readonly (readonly [string, () => void])[] }) {
  return (
    <Menu label={name}>
      {(close) => items.map(([label, act]) => (
        <button key={label} type="button" class="item" onClick={() => { close(); act(); }}>
          {label}
        </button>
      ))}
    </Menu>
  );
}

function menuTitle(model: GraphModel, picture: Picture, target: Target): string {
  if (target.kind === "cluster") return model.data.modules[target.module]!.path || "(unknown)";
  if (target.kind === "function") return picture.boxes[target.box]!.label;
  const [arc] = picture.arrows[target.arrow]!.arcs;
  return `${functionLabel(model, model.data.caller[arc!]!)} → ${functionLabel(model, model.data.callee[arc!]!)}`;
}

function savedSettings(): GraphSettings | null {
  try {
    const saved = JSON.parse(loadPreference("callgraph", "")) as GraphSettings;
    return /^#[\da-f]{6}$/.test(saved.box) && /^#[\da-f]{6}$/.test(saved.arc) && saved.largest > 0 ? saved : null;
  } catch {
    return null;
  }
}

/** Orange where a function takes more than before, blue where less: the more, the stronger. */
function changeColours(model: GraphModel, before: GraphModel): (f: number) => string {
  const style = getComputedStyle(document.documentElement);
  const [worse, better, same] = ["--worse", "--better", "--line-strong"].map((name) => style.getPropertyValue(name).trim());
  const colours = new Map<number, string>();
  const colourOf = (f: number): string => {
    const other = matching(model, before, f);
    const change = model.data.total[f]! - (other < 0 ? 0 : before.data.total[other]!);
    const share = Math.abs(change) / Math.max(model.data.whole, before.data.whole, 1e-300);
    if (share < 0.002) return same!;
    return `color-mix(in srgb, ${change > 0 ? worse : better} ${Math.round(Math.min(1, 0.3 + share * 3) * 100)}%, ${same})`;
  };
  return (f) => {
    let colour = colours.get(f);
    if (colour === undefined) colours.set(f, (colour = colourOf(f)));
    return colour;
  };
}

async function saveAs(kind: "svg" | "png", model: GraphModel, picture: Picture, colours: GraphColours, title: string): Promise<void> {
  const { width, height } = picture.layout;
  const all: Sight = { x: 0, y: 0, width, height, scale: 1 };
  let content: Blob | null;
  if (kind === "svg") {
    const surface = new SvgSurface();
    drawGraph(surface, model, picture, all, colours);
    content = new Blob([surface.file(width, height, colours.ground, title)], { type: "image/svg+xml" });
  } else {
    // Browsers have no larger canvases.
    const scale = Math.min(2, 8000 / Math.max(width, height, 1));
    const sheet = document.createElement("canvas");
    sheet.width = Math.max(1, Math.ceil(width * scale));
    sheet.height = Math.max(1, Math.ceil(height * scale));
    const pen = sheet.getContext("2d")!;
    pen.fillStyle = colours.ground;
    pen.fillRect(0, 0, sheet.width, sheet.height);
    pen.scale(scale, scale);
    drawGraph(new CanvasSurface(pen, getComputedStyle(document.body).fontFamily), model, picture, all, colours);
    content = await new Promise((done) => sheet.toBlob(done, "image/png"));
  }
  if (content) saveFile(content, `${title}-calls.${kind}`);
}
