// Pictures of a graph, one after the other: small ones at once, large ones from workers. While
// nothing is asked for, those that one step leads to are laid out ahead.

import { isAlike, wholeTree, type Displayed } from "./graph-filters";
import { heaviestFirst } from "./graph-index";
import type { GraphModel } from "./graph-model";
import { areAlike, layoutInput, makePicture, sketched, type Picture, type PictureOptions, type Sketch } from "./graph-picture";
import { prunedPicture } from "./graph-pruning";
import { layOutBeside } from "./layout-thread";

/** Of fewer boxes and arrows a layout is a matter of some milliseconds. */
const SMALL = 800;

interface Wanted {
  readonly shown: Displayed;
  readonly options: PictureOptions;
}

export class Pictures {
  private current: Picture | null;
  private wanted: Wanted | null = null;
  /** What is laid out after the current picture. */
  private underWay: Sketch[] = [];
  private ahead: Picture[] = [];
  /** What a window would apply as it stands. */
  private draft: Wanted | null = null;

  /**
   * @param before The picture of another graph, whose boxes keep their order.
   * @param onReady Called when a picture that was asked for has come.
   */
  constructor(
    private readonly model: GraphModel,
    private readonly before: Picture | null,
    private readonly onReady: () => void,
  ) {
    this.current = null;
  }

  get isBusy(): boolean {
    return this.wanted !== null;
  }

  /** The picture that is asked for; the one before where that is still to come. */
  of(wanted: Wanted): Picture {
    const { current } = this;
    if (!current) return this.become(makePicture(this.model, wanted.shown, wanted.options, this.before));
    this.wanted = null;
    if (isOf(current, wanted)) return current;
    const ready = this.ahead.find((picture) => isOf(picture, wanted));
    if (ready) return this.become(ready);
    this.wanted = wanted;
    if (this.underWay.some((sketch) => isOf(sketch, wanted))) return current;
    const sketch = sketched(this.model, wanted.shown, wanted.options);
    if (sketch.boxes.length + sketch.arrows.length > SMALL) {
      const less = prunedPicture(current, sketch);
      if (less) return this.become(less);
      this.layOut(sketch, current);
      return current;
    }
    return this.become(makePicture(this.model, wanted.shown, wanted.options, current));
  }

  /** Lay out ahead what may be asked for next. */
  expect(draft: Wanted): void {
    this.draft = draft;
    this.lookAhead();
  }

  private become(picture: Picture): Picture {
    this.current = picture;
    this.wanted = this.draft = null;
    this.underWay = [];
    this.ahead = [];
    whenIdle(() => this.lookAhead());
    return picture;
  }

  private layOut(sketch: Sketch, before: Picture): void {
    this.underWay.push(sketch);
    layOutBeside(layoutInput(sketch, before), (layout) => {
      if (this.current !== before) return;
      this.underWay = this.underWay.filter((other) => other !== sketch);
      const picture = { ...sketch, layout };
      if (this.wanted && isOf(picture, this.wanted)) {
        this.become(picture);
        this.onReady();
        return;
      }
      this.ahead.push(picture);
      this.lookAhead();
    });
    // While the worker is at it.
    heaviestFirst(this.model, sketch);
  }

  /** Lay out what is shown most often next: what a window says, all of the graph, and the same functions with or without clusters. */
  private lookAhead(): void {
    const { current, model } = this;
    if (!current || this.underWay.length > 0 || this.wanted) return;
    const { shown, options } = current;
    const next: Wanted[] = [
      ...(this.draft ? [this.draft] : []),
      { shown: wholeTree(model), options },
      { shown, options: { ...options, isClustered: !options.isClustered } },
    ];
    for (const wanted of next) {
      if (isOf(current, wanted) || this.ahead.some((picture) => isOf(picture, wanted))) continue;
      const sketch = sketched(model, wanted.shown, wanted.options);
      if (sketch.boxes.length + sketch.arrows.length > SMALL) return this.layOut(sketch, current);
    }
  }
}

function isOf(sketch: Sketch, { shown, options }: Wanted): boolean {
  return isAlike(sketch.shown, shown) && areAlike(sketch.options, options);
}

function whenIdle(act: () => void): void {
  if ("requestIdleCallback" in window) window.requestIdleCallback(act, { timeout: 1000 });
  else setTimeout(act, 100);
}
