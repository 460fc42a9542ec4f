// Layouts by workers, so that the page goes on meanwhile; where there are none, in the page.

import { layOut, type Layout, type LayoutInput } from "./layout";
import type { LayoutAnswer, LayoutQuestion } from "./layout-worker";

interface Waiting {
  readonly input: LayoutInput;
  readonly done: (layout: Layout) => void;
}

class LayoutThread {
  private worker: Worker | null = null;
  private readonly waiting = new Map<number, Waiting>();
  private asked = 0;

  constructor() {
    try {
      this.worker = new Worker(new URL("./layout-worker.ts", import.meta.url), { type: "module" });
    } catch {
      return;
    }
    this.worker.onmessage = ({ data }: MessageEvent<LayoutAnswer>) => {
      const { done } = this.waiting.get(data.id)!;
      this.waiting.delete(data.id);
      done(data.layout);
    };
    this.worker.onerror = () => this.withoutWorker();
  }

  get isBusy(): boolean {
    return this.waiting.size > 0;
  }

  ask(input: LayoutInput, done: (layout: Layout) => void): void {
    const id = this.asked++;
    this.waiting.set(id, { input, done });
    const question: LayoutQuestion = { id, input };
    if (this.worker) this.worker.postMessage(question);
    else window.setTimeout(() => this.withoutWorker());
  }

  private withoutWorker(): void {
    this.worker?.terminate();
    this.worker = null;
    const left = [...this.waiting.values()];
    this.waiting.clear();
    for (const { input, done } of left) done(layOut(input));
  }
}

/** Two of them: what is waited for is not kept by what is laid out ahead. */
const threads: LayoutThread[] = [];
let turn = 0;

export function layOutBeside(input: LayoutInput, done: (layout: Layout) => void): void {
  if (threads.length === 0) {
    threads.push(new LayoutThread(), new LayoutThread());
    // What a worker does for the first time takes it three times as long: nobody is to wait for that.
    threads[0]!.ask(input, () => {});
  }
  turn = 1 - turn;
  if (threads[turn]!.isBusy) turn = 1 - turn;
  threads[turn]!.ask(input, done);
}
