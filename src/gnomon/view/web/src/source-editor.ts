// A read-only CodeMirror with values of lines in the gutter. It is the largest part of the page and
// loaded when the first source is shown.

import { cpp } from "@codemirror/lang-cpp";
import { python } from "@codemirror/lang-python";
import { rust } from "@codemirror/lang-rust";
import { StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { fortran } from "@codemirror/legacy-modes/mode/fortran";
import { gas } from "@codemirror/legacy-modes/mode/gas";
import { openSearchPanel, search, searchKeymap } from "@codemirror/search";
import {
  Compartment,
  EditorState,
  RangeSet,
  RangeSetBuilder,
  StateEffect,
  StateField,
  type Extension,
} from "@codemirror/state";
import {
  Decoration,
  EditorView,
  GutterMarker,
  gutter,
  keymap,
  lineNumbers,
  type DecorationSet,
} from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

/** What stands beside a line. */
export interface LineMark {
  readonly line: number;
  readonly text: string;
  readonly sign: string;
  readonly how: string;
  /** Part of the most of any line, from 0 to 1. */
  readonly heat: number;
  readonly hint: string;
}

export interface Listener {
  /** A line was chosen. */
  onLine(line: number): void;
  /** Enter: what belongs to the line. */
  onEnter(line: number): void;
  onEscape(): void;
}

/** Fortran in fixed form: a letter or a star in the first column makes a comment of the line. */
const fixedForm: typeof fortran = {
  ...fortran,
  token(stream, state) {
    if (stream.sol() && stream.match(/^[cd*].*/i)) return "comment";
    return fortran.token(stream, state);
  },
};

const LANGUAGES: Readonly<Record<string, () => Extension>> = {
  c: cpp,
  cpp,
  fortran: () => StreamLanguage.define(fortran),
  "fortran-fixed": () => StreamLanguage.define(fixedForm),
  python,
  rust: () => rust(),
  assembler: () => StreamLanguage.define(gas),
};

class ValueMarker extends GutterMarker {
  constructor(readonly mark: LineMark) {
    super();
  }

  override eq(other: ValueMarker): boolean {
    return this.mark === other.mark;
  }

  override toDOM(): HTMLElement {
    const box = document.createElement("span");
    box.className = this.mark.text === "0" ? "line-value is-zero" : "line-value";
    box.title = this.mark.hint;
    box.style.setProperty("--heat", `${Math.round(100 * this.mark.heat)}%`);
    box.append(this.mark.text);
    const sign = document.createElement("span");
    sign.className = `how how-${this.mark.how}`;
    sign.textContent = this.mark.sign;
    box.append(sign);
    return box;
  }
}

const setLit = StateEffect.define<number>();
const highlightField = StateField.define<{ line: number; marks: DecorationSet }>({
  create: () => ({ line: 0, marks: Decoration.none }),
  update(value, change) {
    for (const effect of change.effects) {
      if (!effect.is(setLit)) continue;
      const line = effect.value;
      if (line < 1 || line > change.state.doc.lines) return { line: 0, marks: Decoration.none };
      const from = change.state.doc.line(line).from;
      return { line, marks: Decoration.set(Decoration.line({ class: "cm-lit" }).range(from)) };
    }
    return value;
  },
  provide: (field) => EditorView.decorations.from(field, (value) => value.marks),
});

const EMPTY: RangeSet<GutterMarker> = RangeSet.empty;

export class SourceEditor {
  private readonly view: EditorView;
  private readonly gutters = new Compartment();
  private valued: readonly number[] = [];

  constructor(parent: HTMLElement, text: string, language: string, listener: Listener) {
    const nonce = document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? "";
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        doc: text,
        extensions: [
          EditorView.cspNonce.of(nonce),
          EditorState.readOnly.of(true),
          EditorView.editable.of(false),
          EditorView.contentAttributes.of({
            tabindex: "0",
            class: "source-text",
            "aria-label": "source text",
          }),
          EditorView.domEventHandlers({
            mousedown: (event, view) => {
              const at = view.posAtCoords(event);
              if (at !== null) listener.onLine(view.state.doc.lineAt(at).number);
            },
            keydown: (event) => this.key(event, listener),
          }),
          this.gutters.of([]),
          lineNumbers({
            domEventHandlers: {
              mousedown: (view, block) => {
                listener.onLine(view.state.doc.lineAt(block.from).number);
                return true;
              },
            },
          }),
          highlightField,
          search({ top: true }),
          keymap.of(searchKeymap),
          syntaxHighlighting(classHighlighter),
          (LANGUAGES[language] ?? (() => []))(),
        ],
      }),
    });
  }

  private key(event: KeyboardEvent, listener: Listener): boolean {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const now = this.line;
    const lines = this.view.state.doc.lines;
    const to = (line: number): boolean => {
      if (line >= 1 && line <= lines) listener.onLine(line);
      event.preventDefault();
      event.stopPropagation();
      return true;
    };
    switch (event.key) {
      case "ArrowDown":
        return to(now + 1);
      case "ArrowUp":
        return to(now - 1);
      case "n":
        return to(this.valued.find((line) => line > now) ?? this.valued[0] ?? now);
      case "p":
        return to(this.valued.findLast((line) => line < now) ?? this.valued.at(-1) ?? now);
      case "Enter":
        listener.onEnter(now);
        event.preventDefault();
        return true;
      case "Escape":
        listener.onEscape();
        return false;
      case "/":
        openSearchPanel(this.view);
        event.preventDefault();
        event.stopPropagation();
        return true;
    }
    return false;
  }

  get line(): number {
    return this.view.state.field(highlightField).line;
  }

  get lines(): number {
    return this.view.state.doc.lines;
  }

  /** Highlight a line and scroll to it. */
  light(line: number): void {
    const effects: StateEffect<unknown>[] = [setLit.of(line)];
    if (line >= 1 && line <= this.lines) {
      const from = this.view.state.doc.line(line).from;
      const block = this.view.lineBlockAt(from);
      const box = this.view.scrollDOM;
      const isSeen =
        block.top >= box.scrollTop && block.bottom <= box.scrollTop + box.clientHeight - 8;
      if (!isSeen) effects.push(EditorView.scrollIntoView(from, { y: "center" }));
    }
    this.view.dispatch({ effects });
  }

  /** Put values beside lines: a column of marks for each metric. */
  mark(columns: readonly (readonly LineMark[])[]): void {
    const doc = this.view.state.doc;
    const all = new Set<number>();
    const gutters = columns.map((marks) => {
      const builder = new RangeSetBuilder<GutterMarker>();
      for (const mark of [...marks].sort((a, b) => a.line - b.line)) {
        if (mark.line < 1 || mark.line > doc.lines) continue;
        all.add(mark.line);
        const from = doc.line(mark.line).from;
        builder.add(from, from, new ValueMarker(mark));
      }
      const set = builder.finish();
      return gutter({ class: "cm-values", markers: () => set ?? EMPTY });
    });
    this.valued = [...all].sort((a, b) => a - b);
    this.view.dispatch({ effects: this.gutters.reconfigure(gutters) });
  }

  focus(): void {
    this.view.contentDOM.focus({ preventScroll: true });
  }

  destroy(): void {
    this.view.destroy();
  }
}
