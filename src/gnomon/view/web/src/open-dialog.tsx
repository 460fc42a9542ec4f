// Opens runs and files on the machine where the server runs.

import { useState } from "preact/hooks";

import { getFolder, openPaths, type Openable, type State } from "./api";
import { notifyStateChanged, useLoaded } from "./api-cache";
import { Dialog } from "./dialog";
import { formatTime } from "./format";
import { navigate, currentRoute } from "./route";

interface Props {
  readonly state: State;
  readonly onClose: () => void;
}

export function OpenDialog({ state, onClose }: Props) {
  const [path, setPath] = useState(state.folder);
  const [typed, setTyped] = useState(state.folder);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [problems, setProblems] = useState<readonly string[]>([]);
  const folder = useLoaded(`folder/${path}/${state.runs.length}`, () => getFolder(path));
  const enter = (to: string) => {
    setPath(to);
    setTyped(to);
  };
  const take = (paths: readonly string[], combine: boolean) => {
    openPaths([...paths], combine).then(
      (answer) => {
        setProblems(answer.problems);
        notifyStateChanged();
        const last = answer.runs[answer.runs.length - 1];
        if (answer.problems.length === 0 && last) {
          onClose();
          navigate(currentRoute().view, { run: last.id, node: null, of: null, file: null, line: null, location: null });
        }
      },
      (error: Error) => setProblems([error.message]),
    );
  };
  const click = (entry: Openable) => {
    if (entry.kind === "folder") enter(entry.path);
    else
      setChosen((old) =>
        old.includes(entry.path) ? old.filter((one) => one !== entry.path) : [...old, entry.path],
      );
  };
  return (
    <Dialog title="Open runs and files" class="open" onClose={onClose}>
      <form
        class="ask"
        onSubmit={(event) => {
          event.preventDefault();
          // A folder with a dot in its name is written with a slash behind it.
          if (/\.gnomon\/?$|\.[^/.]+$/.test(typed)) take([typed], false);
          else enter(typed);
        }}
      >
        <label>
          Directory, run or file on the machine where gnomon view runs
          <input
            type="text"
            value={typed}
            spellcheck={false}
            autoFocus
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
        <button type="submit">Go</button>
      </form>
      {[...problems, folder.error].filter(Boolean).map((problem) => (
        <p class="trouble" key={problem} role="alert">
          {problem}
        </p>
      ))}
      <div class="entries">
        {folder.value?.parent && (
          <button type="button" class="item" onClick={() => enter(folder.value!.parent!)}>
            <span class="entry-kind">up</span>
            <b>..</b>
          </button>
        )}
        {folder.value?.entries.map((entry) => (
          <button
            key={entry.path}
            type="button"
            class={chosen.includes(entry.path) ? "item is-chosen" : "item"}
            aria-pressed={entry.kind === "folder" ? undefined : chosen.includes(entry.path)}
            onClick={() => click(entry)}
            onDblClick={() => entry.kind !== "folder" && take([entry.path], false)}
          >
            <span class="entry-kind">{entry.kind === "folder" ? "dir" : entry.kind}</span>
            <b>{entry.name}</b>
            <small>{entry.changed > 0 ? formatTime(entry.changed) : ""}</small>
          </button>
        ))}
        {folder.value?.entries.length === 0 && <p class="hint">nothing here that can be opened</p>}
        {folder.value?.truncated && <p class="hint">there is more: write a path above</p>}
      </div>
      <div class="actions">
        <button type="button" disabled={chosen.length === 0} onClick={() => take(chosen, false)}>
          Open {chosen.length > 1 ? `${chosen.length} runs` : ""}
        </button>
        <button
          type="button"
          disabled={chosen.length < 2}
          title="one tree of all of them, with a location for each"
          onClick={() => take(chosen, true)}
        >
          Combine into one
        </button>
      </div>
    </Dialog>
  );
}
