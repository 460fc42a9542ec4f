// The messages of a run: senders by receivers as a heat map, which a cell opens to what is in it.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { getMatrix, type Division, type Measure, type MessageMatrix } from "../api";
import { useLoaded } from "../api-cache";
import { useBoxSize } from "../box-size";
import { formatNumber, formatQuantity, plural } from "../format";
import { navigate, setParams, useRoute } from "../route";
import { Segments } from "../segments";
import { useShortcuts } from "../shortcuts";
import { SplitPane } from "../split-pane";
import { useTheme } from "../theme";
import type { ViewProps } from "../view-props";
import { ColourLegend } from "./colour-legend";
import { cellAt, drawMatrix, matrixLayout, valueBounds, type Chosen } from "./matrix-drawing";
import { parseSteps, partText, stepsText, type Step } from "./matrix-zoom";

const DIVISIONS: readonly (readonly [Division, string, string])[] = [
  ["block", "rank", "consecutive ranks together"],
  ["host", "node", "ranks of a node together"],
  ["community", "community", "ranks together that exchange more with each other than with others"],
];
const MEASURES: readonly Measure[] = ["bytes", "messages"];
const LEAST_PX = 2;

interface Props extends ViewProps {
  readonly choice: ComponentChildren;
}

export function formatMeasure(of: Measure, value: number): string {
  return of === "bytes" ? formatQuantity(value, "bytes") : formatNumber(value);
}

export function MessageView(props: Props) {
  const { run, choice } = props;
  const { params } = useRoute();
  const by = DIVISIONS.find(([name]) => name === params["mby"])?.[0] ?? "block";
  const of = MEASURES.find((name) => name === params["mof"]) ?? "bytes";
  const steps = useMemo(() => parseSteps(params["mzoom"] ?? ""), [params["mzoom"]]);
  const part = steps[steps.length - 1];
  const [box, width, height] = useBoxSize<HTMLDivElement>();
  const room = Math.min(width - 80, height - 60);
  const cells = [256, 128, 64].find((most) => most * LEAST_PX <= room) ?? 32;
  const query = {
    by, of, cells,
    rows: part && partText(part.rows),
    columns: part && partText(part.columns),
  };
  const key = width > 0 ? `${run.id}/matrix/${JSON.stringify(query)}` : null;
  const loaded = useLoaded(key, () => getMatrix(run.id, query));
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const matrix = loaded.value;
  useEffect(() => setChosen(null), [matrix]);
  const zoom = (next: readonly Step[]) => navigate("ranks", { mzoom: stepsText(next) });
  useShortcuts({ Backspace: () => zoom(steps.slice(0, -1)), Escape: () => zoom([]) });

  const picture = (
    <section class="pane matrix-pane" aria-label="messages">
      <div class="tools">
        {choice}
        <Segments label="senders and receivers by" options={DIVISIONS} chosen={by} onChoose={(name) => setParams({ mby: name === "block" ? null : name, mzoom: null })} />
        <Segments label="colour" options={MEASURES.map((name) => [name, name, `colours are ${name}`] as const)} chosen={of} onChoose={(name) => setParams({ mof: name === "bytes" ? null : name })} />
        <button type="button" class="quiet" disabled={steps.length === 0} title="the part before this one (Backspace)" onClick={() => zoom(steps.slice(0, -1))}>
          Zoom out
        </button>
        <button type="button" class="quiet" disabled={steps.length === 0} title="the whole matrix (Esc)" onClick={() => zoom([])}>
          Whole
        </button>
      </div>
      {loaded.error && <p class="trouble">{loaded.error}</p>}
      {!matrix && !loaded.error && <p class="waiting">adding up the messages</p>}
      <div class="matrix-box" ref={box}>
        {matrix && matrix.ends > 0 && (
          <MatrixCanvas
            matrix={matrix}
            of={of}
            width={width}
            height={height}
            chosen={chosen}
            onChoose={setChosen}
            onOpen={(step) => canOpen(step) && zoom([...steps, step])}
          />
        )}
      </div>
      {matrix && matrix.ends > 0 && <Legend matrix={matrix} of={of} />}
    </section>
  );
  return (
    <SplitPane
      name="messages"
      start={0.64}
      first={picture}
      second={
        <section class="pane list-pane" aria-label="messages in numbers">
          {matrix?.ends === 0 && (
            <div class="matrix-facts">
              <p>This run has no messages from one rank to another. Those of an MPI program are recorded by</p>
              <pre>gnomon run -- mpirun -n 4 ./app</pre>
            </div>
          )}
          {matrix && matrix.ends > 0 && <CellFacts matrix={matrix} of={of} chosen={chosen} onOpen={(step) => zoom([...steps, step])} />}
        </section>
      }
    />
  );
}

/** One sender and one receiver have nothing within. */
function canOpen({ rows, columns }: Step): boolean {
  return rows.end - rows.begin > 1 || columns.end - columns.begin > 1;
}

function Legend({ matrix, of }: { matrix: MessageMatrix; of: Measure }) {
  const [least, most] = valueBounds(matrix[of]);
  if (most === 0) return <p class="matrix-foot dim">nobody here sends anything to anybody</p>;
  return (
    <div class="matrix-foot">
      <ColourLegend least={least} most={most} title={of} format={(value) => formatMeasure(of, value)} base={of === "bytes" ? 1024 : 10} />
    </div>
  );
}

interface CanvasProps {
  readonly matrix: MessageMatrix;
  readonly of: Measure;
  readonly width: number;
  readonly height: number;
  readonly chosen: Chosen | null;
  readonly onChoose: (cell: Chosen | null) => void;
  readonly onOpen: (step: Step) => void;
}

function cellStep(matrix: MessageMatrix, first: Chosen, last: Chosen): Step {
  const edges = (all: Int32Array, one: number, other: number) => ({
    begin: all[Math.min(one, other)]!,
    end: all[Math.max(one, other) + 1]!,
  });
  return {
    rows: edges(matrix.rowEdges, first.row, last.row),
    columns: edges(matrix.columnEdges, first.column, last.column),
  };
}

function MatrixCanvas({ matrix, of, width, height, chosen, onChoose, onOpen }: CanvasProps) {
  const theme = useTheme();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [dragged, setDragged] = useState<readonly [Chosen, Chosen] | null>(null);
  const layout = useMemo(() => matrixLayout(matrix, width, height), [matrix, width, height]);
  useEffect(() => {
    drawMatrix(canvas.current!, matrix, matrix[of], layout, chosen, dragged);
  }, [matrix, of, layout, chosen, dragged, theme]);
  const under = (event: { clientX: number; clientY: number }) => {
    const { left, top } = canvas.current!.getBoundingClientRect();
    return cellAt(layout, event.clientX - left, event.clientY - top);
  };
  const move = (rows: number, columns: number) => {
    const from = chosen ?? { row: 0, column: 0 };
    if (!chosen) return onChoose(from);
    onChoose({
      row: Math.max(0, Math.min(layout.rows - 1, from.row + rows)),
      column: Math.max(0, Math.min(layout.columns - 1, from.column + columns)),
    });
  };
  return (
    <canvas
      ref={canvas}
      class="matrix"
      tabIndex={0}
      role="img"
      aria-label={`${of} of ${plural(matrix.rows.length, "row")} of senders and ${plural(matrix.columns.length, "column")} of receivers; arrows move from cell to cell, Enter opens one`}
      onPointerDown={(event) => {
        const cell = under(event);
        if (!cell || event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setDragged([cell, cell]);
      }}
      onPointerMove={(event) => {
        const cell = under(event);
        if (dragged) {
          if (cell) setDragged([dragged[0], cell]);
        } else onChoose(cell);
      }}
      onPointerUp={() => {
        if (dragged) onOpen(cellStep(matrix, dragged[0], dragged[1]));
        setDragged(null);
      }}
      onPointerCancel={() => setDragged(null)}
      onKeyDown={(event) => {
        const far = event.shiftKey ? 10 : 1;
        const steps: Record<string, readonly [number, number]> = {
          ArrowDown: [far, 0], ArrowUp: [-far, 0], ArrowRight: [0, far], ArrowLeft: [0, -far],
        };
        const step = steps[event.key];
        if (step) move(step[0], step[1]);
        else if (event.key === "Enter" && chosen) onOpen(cellStep(matrix, chosen, chosen));
        else return;
        event.preventDefault();
      }}
    />
  );
}

interface FactsProps {
  readonly matrix: MessageMatrix;
  readonly of: Measure;
  readonly chosen: Chosen | null;
  readonly onOpen: (step: Step) => void;
}

function CellFacts({ matrix, of, chosen, onOpen }: FactsProps) {
  const columns = matrix.columns.length;
  const covers = (edges: Int32Array) => edges[edges.length - 1]! - edges[0]! === matrix.ends;
  const isPart = !covers(matrix.rowEdges) || !covers(matrix.columnEdges);
  const shown = useMemo(() => {
    const order = Array.from({ length: matrix.n }, (_, at) => at);
    return order.sort((one, other) => matrix[of][other]! - matrix[of][one]!).slice(0, 12);
  }, [matrix, of]);
  const isPairs = matrix.n === matrix.pairs.reduce((sum, count) => sum + count, 0);
  const part = (values: Float64Array) => values.reduce((sum, value) => sum + value, 0);
  const sums = [part(matrix.bytes), part(matrix.messages)] as const;
  return (
    <div class="matrix-facts">
      <dl class="summary">
        <div>
          <dt>{isPart ? "in this part" : "all messages"}</dt>
          <dd>{formatNumber(isPart ? sums[1] : matrix.totalMessages)}</dd>
        </div>
        <div>
          <dt>bytes</dt>
          <dd>{formatQuantity(isPart ? sums[0] : matrix.totalBytes, "bytes")}</dd>
        </div>
        <div>
          <dt>senders and receivers</dt>
          <dd>{formatNumber(matrix.ends)}</dd>
        </div>
        {matrix.groups > 0 && (
          <div>
            <dt>{matrix.by === "host" ? "nodes" : "communities"}</dt>
            <dd>{formatNumber(matrix.groups)}</dd>
          </div>
        )}
      </dl>
      {matrix.unknownMessages > 0 && (
        <p class="hint">
          Of {plural(matrix.unknownMessages, "message")} the sender or the receiver is not known: they are in no cell.
        </p>
      )}
      <ChosenCell matrix={matrix} chosen={chosen} />
      {!isPairs && (
        <>
          <h3>Heaviest cells here</h3>
          <table class="plain heaviest-cells">
            <thead>
              <tr>
                <th scope="col">senders</th>
                <th scope="col">receivers</th>
                <th scope="col" class="number">bytes</th>
                <th scope="col" class="number">messages</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((at) => {
                const cell = { row: Math.floor(matrix.cell[at]! / columns), column: matrix.cell[at]! % columns };
                return (
                  <tr key={at}>
                    <td>
                      <button type="button" class="link" title="open the cell" onClick={() => onOpen(cellStep(matrix, cell, cell))}>
                        {matrix.rows[cell.row]}
                      </button>
                    </td>
                    <td>{matrix.columns[cell.column]}</td>
                    <td class="number">{formatQuantity(matrix.bytes[at]!, "bytes")}</td>
                    <td class="number">{formatNumber(matrix.messages[at]!)}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </>
      )}
      <h3>Heaviest pairs here</h3>
      <table class="plain heaviest-pairs">
        <thead>
          <tr>
            <th scope="col">sender</th>
            <th scope="col">receiver</th>
            <th scope="col" class="number">bytes</th>
            <th scope="col" class="number">messages</th>
          </tr>
        </thead>
        <tbody>
          {matrix.top.map((pair) => (
            <tr key={`${pair.sender} ${pair.receiver}`}>
              <td>{pair.sender}</td>
              <td>{pair.receiver}</td>
              <td class="number">{formatQuantity(pair.bytes, "bytes")}</td>
              <td class="number">{formatNumber(pair.messages)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ChosenCell({ matrix, chosen }: { matrix: MessageMatrix; chosen: Chosen | null }) {
  const number = chosen ? chosen.row * matrix.columns.length + chosen.column : -1;
  const at = useMemo(() => matrix.cell.indexOf(number), [matrix, number]);
  if (!chosen) {
    return (
      <p class="cell-facts dim" role="status">
        Point at a cell, or move to one with the arrow keys; a click or Enter opens it, and dragging opens several.
      </p>
    );
  }
  const facts: [string, string][] = [
    ["senders", matrix.rows[chosen.row] ?? ""],
    ["receivers", matrix.columns[chosen.column] ?? ""],
  ];
  if (at < 0) facts.push(["messages", "none"]);
  else {
    facts.push(["bytes", formatQuantity(matrix.bytes[at]!, "bytes")], ["messages", formatNumber(matrix.messages[at]!)]);
    if (matrix.pairs[at]! > 1) {
      const heaviest = `${formatQuantity(matrix.heaviestBytes[at]!, "bytes")} in ${plural(matrix.heaviestMessages[at]!, "message")}`;
      facts.push(
        ["pairs", formatNumber(matrix.pairs[at]!)],
      );
      const [sender, receiver] = [matrix.heaviestSender[at]!, matrix.heaviestReceiver[at]!];
      if (sender >= 0 && receiver >= 0) facts.push(["heaviest pair", `rank ${sender} to rank ${receiver}: ${heaviest}`]);
    }
  }
  return (
    <div class="cell-facts" role="status">
      <dl>
        {facts.map(([title, value]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
