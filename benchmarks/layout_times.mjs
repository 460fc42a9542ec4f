// Times of the layout, for Node and for a page: bundled with the name `layoutTimes`.

import { layOut } from "../src/gnomon/view/web/src/callgraph/layout";
import { program } from "./call_graphs.mjs";

/** Milliseconds of each round; the first has code that was never run before. */
export function times(n, m, rounds) {
  const graph = program(n, m, { seed: 3 });
  return Array.from({ length: rounds }, () => {
    const begin = performance.now();
    layOut(graph);
    return performance.now() - begin;
  });
}

/** The graph for dot: the same arcs between boxes of the same sizes. */
export function dotSource(n, m) {
  const { width, height, from, to } = program(n, m, { seed: 3 });
  const boxes = Array.from(width, (each, box) => `${box}[width=${each / 72},height=${height[box] / 72}];`);
  const arcs = Array.from(from, (tail, arc) => `${tail}->${to[arc]};`);
  return `digraph{node[shape=box,fixedsize=true,label=""];\n${boxes.join("\n")}\n${arcs.join("\n")}\n}`;
}

if (globalThis.process?.argv[2]) {
  const [what, n, m, rounds] = process.argv.slice(2);
  const found = what === "dot" ? dotSource(+n, +m) : JSON.stringify(times(+n, +m, +rounds));
  process.stdout.write(found);
}
