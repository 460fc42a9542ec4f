// The window Load Files: a program, its gmon.out files and the options of xprofiler.

import { useState } from "preact/hooks";

import { getProfileFolder, loadProfiles, type Openable } from "../api";
import { notifyStateChanged, useLoaded } from "../api-cache";
import { Dialog } from "../dialog";
import { navigate, OF_ONE_RUN } from "../route";
import "../styles/load-files.css";

interface Props {
  /** Where the server runs. */
  readonly folder: string;
  readonly onClose: () => void;
}

const MOST_BOXES = 5000;

const NAMES: readonly (readonly [string, string])[] = [
  ["hidden", "Grey boxes, no entries (-e)"], ["dropped", "Smallest grey boxes, no time (-E)"],
  ["shown", "Grey all but these and what they call (-f)"], ["counted", "No time but of these and what they call (-F)"],
];

export function LoadFilesDialog({ folder, onClose }: Props) {
  const [path, setPath] = useState(folder);
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const [flags, setFlags] = useState({ brief: false, sum: false, unused: false });
  const [problem, setProblem] = useState("");
  const [isWaiting, setWaiting] = useState(false);
  const [notes, setNotes] = useState<readonly string[]>([]);
  const listed = useLoaded(`profiles/${path}`, () => getProfileFolder(path));
  const text = (name: string) => texts[name] ?? "";
  const set = (name: string, value: string) => setTexts((old) => ({ ...old, [name]: value }));
  const lines = (name: string) => text(name).split("\n").map((line) => line.trim()).filter(Boolean);
  const words = (name: string) => text(name).split(/\s+/).filter(Boolean);
  const take = (entry: Openable) => {
    if (entry.kind === "folder") return setPath(entry.path);
    if (entry.kind === "program") return set("program", entry.path);
    const files = lines("files");
    set("files", (files.includes(entry.path) ? files.filter((file) => file !== entry.path) : [...files, entry.path]).join("\n"));
  };
  const load = async () => {
    const most = text("displayMax").trim();
    if (most && !(/^\d{1,4}$/.test(most) && Number(most) <= MOST_BOXES)) {
      return setProblem(`Initial display: it must be a whole number from 0 to ${MOST_BOXES}`);
    }
    setWaiting(true);
    setProblem("");
    try {
      const loaded = await loadProfiles({
        program: text("program").trim(), files: lines("files"), config: text("config").trim(),
        displayMax: most ? Number(most) : null, hidden: words("hidden"), dropped: words("dropped"), shown: words("shown"),
        counted: words("counted"), sourcePaths: words("sourcePaths"), libraryPaths: words("libraryPaths"), sum: flags.sum,
      });
      notifyStateChanged();
      navigate("callgraph", {
        ...OF_ONE_RUN, run: loaded.run, vs: null, max: loaded.displayMax, e: loaded.hidden.join("\n"), E: loaded.dropped.join("\n"),
        f: loaded.shown.join("\n"), F: loaded.counted.join("\n"), brief: flags.brief ? "yes" : null, unused: flags.unused ? "yes" : null,
      });
      if (loaded.notes.length > 0) setNotes(loaded.notes);
      else onClose();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setWaiting(false);
    }
  };
  if (notes.length > 0) {
    return (
      <Dialog title="Load files" class="load-files" onClose={onClose}>
        {notes.map((note) => <p key={note} role="status">{note}</p>)}
      </Dialog>
    );
  }
  const field = (name: string, label: string, hint = "") => (
    <label key={name}>
      {label}
      <input type="text" value={text(name)} spellcheck={false} placeholder={hint} onInput={(event) => set(name, event.currentTarget.value)} />
    </label>
  );
  const flag = (name: keyof typeof flags, label: string) => (
    <label class="flag">
      <input type="checkbox" checked={flags[name]} onChange={() => setFlags({ ...flags, [name]: !flags[name] })} /> {label}
    </label>
  );
  const chosen = new Set([text("program"), ...lines("files")]);
  return (
    <Dialog title="Load files" class="load-files" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void load();
        }}
      >
        <div class="load-fields">
          {field("program", "Binary executable", "a program that was built with -pg")}
          <label>
            Profile files, one in a line; several are added up
            <textarea rows={3} value={text("files")} spellcheck={false} placeholder="gmon.out" onInput={(event) => set("files", event.currentTarget.value)} />
          </label>
          <div class="entries" aria-label={`programs and profiles in ${path}`}>
            {listed.value?.parent && (
              <button type="button" class="item" onClick={() => setPath(listed.value!.parent!)}><span class="entry-kind">up</span><b>..</b></button>
            )}
            {listed.value?.entries.map((entry) => (
              <button key={entry.path} type="button" class={chosen.has(entry.path) ? "item is-chosen" : "item"} aria-pressed={entry.kind === "folder" ? undefined : chosen.has(entry.path)} onClick={() => take(entry)}>
                <span class="entry-kind">{entry.kind === "folder" ? "dir" : entry.kind}</span>
                <b>{entry.name}</b>
              </button>
            ))}
            {listed.value?.entries.length === 0 && <p class="hint">no program and no gmon.out file here</p>}
            {listed.error && <p class="trouble">{listed.error}</p>}
          </div>
        </div>
        <div class="load-fields">
          {field("config", "Configuration file (-c)")}
          {field("displayMax", "Initial display (-disp_max)", "all functions; else 0 to 5000")}
          {NAMES.map(([name, label]) => field(name, label, "function names"))}
          {field("sourcePaths", "Search sources in (-a), @ for the default", "pathA:@:pathB")}
          {field("libraryPaths", "Shared libraries (-L)")}
          {flag("brief", "No field descriptions in saved reports (-b)")}
          {flag("unused", "Functions without time and calls in reports (-z)")}
          {flag("sum", "Write the sum of the files to gmon.sum (-s)")}
        </div>
        <div class="actions">
          <button type="submit" disabled={isWaiting || (!text("program").trim() && lines("files").length === 0)}>OK</button>
          {problem && <p class="trouble" role="alert">{problem}</p>}
        </div>
      </form>
    </Dialog>
  );
}
