// The machine code of the selected function: values, arrows of jumps, and the source line of each instruction.

import { useMemo, useRef, useState } from "preact/hooks";

import { getAssembly, type Assembly, type AssemblyInstruction, type AssemblyJump, type Run } from "./api";
import { useLoaded } from "./api-cache";
import { baseName, formatQuantity, formatShare } from "./format";
import { HowBadge } from "./how-badge";
import type { MetricColumn } from "./metric-columns";
import { loadPreference, savePreference } from "./preferences";
import { setParams } from "./route";
import { saveText } from "./saved-file";
import { TICKS, formatTicks, hasTicks } from "./ticks";
import { VirtualRows, rowShortcuts, type RowsHandle } from "./virtual-rows";

interface Props {
  readonly run: Run;
  /** Whose code is shown, "" for none. */
  readonly function: string;
  /** The source file that it is in, "" if not known. */
  readonly file: string;
  readonly metric: MetricColumn["metric"] | undefined;
  readonly inTicks: boolean;
}

type Syntax = "att" | "intel";
const SYNTAXES: readonly (readonly [Syntax, string])[] = [["att", "AT&T"], ["intel", "Intel"]];

const ROW_HEIGHT = 19;
const LANE_WIDTH = 7;
const LANES_MOST = 12;

export function AssemblyPane(props: Props) {
  const { run, metric } = props;
  const [syntax, setSyntax] = useState<Syntax>(() => (loadPreference("assembly.syntax", "att") === "intel" ? "intel" : "att"));
  const ticks = props.inTicks && hasTicks(metric) ? "yes" : undefined;
  const key = props.function && metric ? `${run.id}/assembly/${metric.metric}/${props.file}/${props.function}` : null;
  const code = useLoaded(key && `${key}/${ticks}/${syntax}`, async () => ({
    of: key, ...(await getAssembly(run.id, props.function, props.file, metric!.metric, ticks, syntax === "intel" ? syntax : undefined)),
  }));
  if (!props.function) return <p class="nothing">Choose a function.</p>;
  if (code.error) return <p class="trouble">{code.error}</p>;
  // In another syntax it is the same code.
  if (!code.value || code.value.of !== key) return <p class="waiting">reading the code</p>;
  if (code.value.whyNone) return <p class="nothing">{code.value.whyNone}</p>;
  const onSyntax = (next: Syntax) => {
    setSyntax(next);
    savePreference("assembly.syntax", next);
  };
  return <Code key={key ?? ""} code={code.value} syntax={syntax} onSyntax={onSyntax} />;
}

/** A value as its column has it; the head says what is in ticks. */
function valueText(value: number, unit: string): string {
  return unit === TICKS ? formatTicks(value) : formatQuantity(value, unit);
}

function amountText(value: number, unit: string): string {
  return unit === TICKS ? `${formatTicks(value)} ticks` : formatQuantity(value, unit);
}

function Code({ code, syntax, onSyntax }: { code: Assembly; syntax: Syntax; onSyntax: (syntax: Syntax) => void }) {
  const [withBytes, setWithBytes] = useState(false);
  const [word, setWord] = useState("");
  const [selected, setSelected] = useState(0);
  const handle = useRef<RowsHandle>(null);
  const { instructions } = code;
  const most = useMemo(() => instructions.reduce((found, one) => Math.max(found, one.value ?? 0), 0), [instructions]);
  const rowOf = useMemo(() => new Map(instructions.map((one, row) => [one.address, row])), [instructions]);
  const jumps = useMemo(() => drawn(code.jumps, rowOf), [code.jumps, rowOf]);
  const lanes = jumps.reduce((found, jump) => Math.max(found, jump.lane + 1), 0);
  const lower = word.toLowerCase();
  const fits = (one: AssemblyInstruction) => lower !== "" && lineOf(one, code.unit).toLowerCase().includes(lower);
  const to = (row: number) => {
    const at = Math.max(0, Math.min(instructions.length - 1, row));
    setSelected(at);
    handle.current?.show(at, "middle");
  };
  const next = (step: 1 | -1) => {
    for (let k = 1; k <= instructions.length; k++) {
      const row = (selected + step * k + instructions.length) % instructions.length;
      const one = instructions[row];
      if (one && fits(one)) return to(row);
    }
  };
  const move = (event: KeyboardEvent) => {
    const act = rowShortcuts(selected, instructions.length, handle.current?.page() ?? 1, to)[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  return (
    <div class="assembly">
      <div class="tools">
        <input
          type="search"
          placeholder="find in the code"
          aria-label="find in the code"
          value={word}
          onInput={(event) => setWord(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") next(event.shiftKey ? -1 : 1);
          }}
        />
        <label>
          <input type="checkbox" checked={withBytes} onChange={(event) => setWithBytes(event.currentTarget.checked)} />
          bytes
        </label>
        {code.isX86 && (
          <select value={syntax} aria-label="syntax" title="the syntax of x86 code" onChange={(event) => onSyntax(event.currentTarget.value as Syntax)}>
            {SYNTAXES.map(([value, title]) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </select>
        )}
        <button type="button" onClick={() => to(instructions.findIndex((one) => one.value === most))}>
          Hottest
        </button>
        <button type="button" onClick={() => save(code)}>
          Save
        </button>
        <span class="tools-rest" />
        <span title={`${code.metric} of ${code.function}`}>
          <HowBadge how={code.how as Parameters<typeof HowBadge>[0]["how"]} /> {code.metric}{" "}
          {amountText(code.total ?? 0, code.unit)}
        </span>
      </div>
      {code.elsewhere ? (
        <p class="hint">{amountText(code.elsewhere, code.unit)} of it is at no address in this code.</p>
      ) : null}
      {code.whyNoLines && <p class="hint">No source lines: {code.whyNoLines}</p>}
      <VirtualRows
        class="assembly-rows"
        count={instructions.length}
        height={ROW_HEIGHT}
        handle={handle}
        attributes={{ "aria-label": "machine code", onKeyDown: move }}
        row={(row) => {
          const one = instructions[row]!;
          const value = one.value ?? 0;
          const isFirst = row === 0 || instructions[row - 1]!.block !== one.block;
          return (
            <div
              key={one.address}
              class={["assembly-row", row === selected && "is-here", fits(one) && "is-match", isFirst && "is-block"]
                .filter(Boolean)
                .join(" ")}
              data-address={one.address.toString(16)}
              onClick={() => setSelected(row)}
            >
              <span
                class={value ? "line-value" : "line-value is-zero"}
                style={{ "--heat": `${most > 0 ? Math.round((100 * value) / most) : 0}%` }}
                title={value && code.whole ? `${formatShare(value, code.whole)} % of the run` : ""}
              >
                {value ? valueText(value, code.unit) : ""}
              </span>
              <Arrows jumps={jumps} lanes={lanes} row={row} />
              <span class="assembly-address">{one.address.toString(16)}</span>
              {withBytes && <span class="assembly-bytes">{one.bytes.replace(/../g, "$& ")}</span>}
              <span class="assembly-text" title={one.target}>
                {one.text}
                {one.target && (
                  <button
                    type="button"
                    class="assembly-target"
                    disabled={!rowOf.has(one.targetAddress ?? -1)}
                    onClick={() => to(rowOf.get(one.targetAddress ?? -1) ?? selected)}
                  >
                    {one.target}
                  </button>
                )}
              </span>
              {one.line > 0 && (
                <button
                  type="button"
                  class="assembly-line"
                  title={`${one.file}:${one.line}${one.function === code.function ? "" : ` (${one.function}, inlined)`}`}
                  onClick={() => setParams({ file: one.file, line: one.line, pane: null })}
                >
                  {baseName(one.file)}:{one.line}
                </button>
              )}
            </div>
          );
        }}
      />
    </div>
  );
}

/** A jump's line in rows. */
interface Drawn {
  readonly lane: number;
  readonly target: number;
  readonly sources: ReadonlySet<number>;
  readonly first: number;
  readonly last: number;
}

function drawn(jumps: readonly AssemblyJump[], rowOf: ReadonlyMap<number, number>): Drawn[] {
  return jumps
    .filter((jump) => jump.lane < LANES_MOST)
    .map((jump) => {
      const target = rowOf.get(jump.target) ?? 0;
      const sources = new Set(jump.sources.map((address) => rowOf.get(address) ?? 0));
      const rows = [target, ...sources];
      return { lane: jump.lane, target, sources, first: Math.min(...rows), last: Math.max(...rows) };
    });
}

/** What stands of the jumps' lines before one instruction. */
function Arrows({ jumps, lanes, row }: { jumps: readonly Drawn[]; lanes: number; row: number }) {
  const width = lanes * LANE_WIDTH + 9;
  const middle = ROW_HEIGHT / 2;
  const here = jumps.filter((jump) => jump.first <= row && row <= jump.last);
  return (
    <svg class="assembly-arrows" width={width} height={ROW_HEIGHT} aria-hidden="true">
      {here.map((jump) => {
        const x = (lanes - 1 - jump.lane) * LANE_WIDTH + 4;
        const isEnd = jump.target === row || jump.sources.has(row);
        const top = jump.first === row ? middle : 0;
        const bottom = jump.last === row ? middle : ROW_HEIGHT;
        return (
          <g key={jump.target}>
            {bottom > top && <line x1={x} y1={top} x2={x} y2={bottom} />}
            {isEnd && <line x1={x} y1={middle} x2={width - 2} y2={middle} />}
            {jump.target === row && (
              <path d={`M${width - 7} ${middle - 3.5}L${width - 1} ${middle}L${width - 7} ${middle + 3.5}Z`} />
            )}
          </g>
        );
      })}
    </svg>
  );
}

function lineOf(one: AssemblyInstruction, unit: string): string {
  const value = one.value ? valueText(one.value, unit) : "";
  const target = one.target ? `  <${one.target}>` : "";
  const place = one.line > 0 ? `  ${one.file}:${one.line}` : "";
  return `${value.padStart(12)}  ${one.address.toString(16)}: ${one.text}${target}${place}`;
}

function save(code: Assembly): void {
  const lines = [`${code.function} (${code.module}): ${code.metric}, ${code.how}${code.unit === TICKS ? ", in ticks of 0.01 s" : ""}`];
  for (const one of code.instructions) lines.push(lineOf(one, code.unit));
  saveText(code.function, lines);
}
