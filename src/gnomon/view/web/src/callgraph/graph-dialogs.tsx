// The windows of the Filter and Utility menus: by name, by CPU time, by numbers of calls, locate, settings.

import { useEffect, useState } from "preact/hooks";

import { Dialog } from "../dialog";
import { formatNumber } from "../format";
import { named, type NameMode } from "./graph-filters";
import type { GraphModel } from "./graph-model";

interface WindowProps {
  readonly model: GraphModel;
  readonly onClose: () => void;
}

const MODES: readonly (readonly [NameMode, string])[] = [
  ["add", "Add these functions to graph"],
  ["remove", "Remove these functions from graph"],
  ["only", "Display only these functions"],
];

interface NameProps extends WindowProps {
  readonly onApply: (words: string, mode: NameMode) => void;
  /** Called with what would be applied now. */
  readonly onDraft: (words: string, mode: NameMode) => void;
}

export function NameDialog({ model, onClose, onApply, onDraft }: NameProps) {
  const [mode, setMode] = useState<NameMode>("add");
  const [words, setWords] = useState("");
  const matches = named(model, words).length;
  useEffect(() => void (matches > 0 && onDraft(words, mode)), [words, mode]);
  return (
    <Dialog title="Filter by function names" class="graph-dialog" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onApply(words, mode);
          onClose();
        }}
      >
        <fieldset>
          {MODES.map(([name, label]) => (
            <label key={name}>
              <input type="radio" name="mode" checked={mode === name} onChange={() => setMode(name)} /> {label}
            </label>
          ))}
        </fieldset>
        <label>
          Enter function name
          <input type="text" value={words} spellcheck={false} autofocus onInput={(event) => setWords(event.currentTarget.value)} />
        </label>
        <p class="dim">{formatNumber(matches)} names have one of these words, which blanks separate</p>
        <button type="submit" disabled={matches === 0}>
          OK
        </button>
      </form>
    </Dialog>
  );
}

interface NumberProps extends WindowProps {
  readonly title: string;
  readonly most: string;
  readonly least: string;
  /** How many there are to choose from. */
  readonly n: number;
  readonly start: number;
  readonly onApply: (n: number, which: "most" | "least") => void;
  readonly onDraft: (n: number, which: "most" | "least") => void;
}

export function NumberDialog({ title, most, least, n, start, onClose, onApply, onDraft }: NumberProps) {
  const [which, setWhich] = useState<"most" | "least">("most");
  const [count, setCount] = useState(Math.min(start, n));
  useEffect(() => onDraft(count, which), [count, which]);
  return (
    <Dialog title={title} class="graph-dialog" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onApply(count, which);
          onClose();
        }}
      >
        <fieldset>
          <label>
            <input type="radio" name="which" checked={which === "most"} onChange={() => setWhich("most")} /> {most}
          </label>
          <label>
            <input type="radio" name="which" checked={which === "least"} onChange={() => setWhich("least")} /> {least}
          </label>
        </fieldset>
        <label>
          How many
          <input type="range" min={0} max={n} value={count} aria-label="how many, by a slider" onInput={(event) => setCount(Number(event.currentTarget.value))} />
        </label>
        <input type="number" min={0} max={n} value={count} aria-label="how many" onInput={(event) => setCount(Math.max(0, Math.min(n, Number(event.currentTarget.value))))} />
        <span class="dim"> of {formatNumber(n)}</span>
        <button type="submit">OK</button>
      </form>
    </Dialog>
  );
}

export function LocateDialog({ model, onClose, onApply }: WindowProps & { readonly onApply: (f: number) => void }) {
  const [word, setWord] = useState("");
  const exact = model.data.names.findIndex((name) => name === word);
  const f = exact >= 0 ? exact : (named(model, word)[0] ?? -1);
  return (
    <Dialog title="Locate function by name" class="graph-dialog" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (f < 0) return;
          onApply(f);
          onClose();
        }}
      >
        <label>
          Enter function name
          <input type="text" value={word} spellcheck={false} autofocus list="graph-functions" onInput={(event) => setWord(event.currentTarget.value)} />
        </label>
        <datalist id="graph-functions">
          {named(model, word || " ").slice(0, 50).map((one) => (
            <option key={one} value={model.data.names[one]} />
          ))}
        </datalist>
        <p class="dim">{f < 0 ? "no function has this name" : model.data.names[f]}</p>
        <button type="submit" disabled={f < 0}>
          OK
        </button>
      </form>
    </Dialog>
  );
}

export interface GraphSettings {
  readonly box: string;
  readonly arc: string;
  readonly largest: number;
}

interface SettingsProps {
  readonly settings: GraphSettings;
  readonly usual: GraphSettings;
  readonly onChange: (settings: GraphSettings) => void;
  readonly onClose: () => void;
}

export function SettingsDialog({ settings, usual, onChange, onClose }: SettingsProps) {
  return (
    <Dialog title="Colours and sizes" class="graph-dialog" onClose={onClose}>
      <label>
        Function boxes
        <input type="color" value={settings.box} onInput={(event) => onChange({ ...settings, box: event.currentTarget.value })} />
      </label>
      <label>
        Call arcs
        <input type="color" value={settings.arc} onInput={(event) => onChange({ ...settings, arc: event.currentTarget.value })} />
      </label>
      <label>
        Largest box
        <input type="range" min={20} max={300} value={settings.largest} onInput={(event) => onChange({ ...settings, largest: Number(event.currentTarget.value) })} />
        <span class="dim">{settings.largest} pixels</span>
      </label>
      <button type="button" class="quiet" onClick={() => onChange(usual)}>
        As before
      </button>
    </Dialog>
  );
}
