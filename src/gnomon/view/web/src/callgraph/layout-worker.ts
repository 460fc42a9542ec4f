// Lays out graphs beside the page, which goes on meanwhile.

import { layOut, type Layout, type LayoutInput } from "./layout";

export interface LayoutQuestion {
  readonly id: number;
  readonly input: LayoutInput;
}

export interface LayoutAnswer {
  readonly id: number;
  readonly layout: Layout;
}

/** Code that has not run often is slow: it runs so often before somebody waits for it. */
let rehearsals = 3;
/** Not all at once: the page has things to do, too. */
const PAUSE_MS = 300;

self.onmessage = ({ data }: MessageEvent<LayoutQuestion>) => {
  const layout = layOut(data.input);
  const arrays = Object.values(layout).filter((part) => ArrayBuffer.isView(part));
  const answer: LayoutAnswer = { id: data.id, layout };
  self.postMessage(answer, { transfer: arrays.map((array) => array.buffer) });
  rehearse(data.input);
};

/** Questions come between. */
function rehearse(input: LayoutInput): void {
  if (rehearsals-- <= 0) return;
  setTimeout(() => {
    layOut(input);
    rehearse(input);
  }, PAUSE_MS);
}
