// A list that renders only the rows on the screen.

import type { ComponentChildren, ComponentProps, Ref } from "preact";
import { useImperativeHandle, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface RowsHandle {
  /** Scroll to a row; to the middle of the screen if it was not visible. */
  show(row: number, where?: "near" | "middle"): void;
  focus(): void;
  /** How many rows fit. */
  page(): number;
}

interface Props {
  readonly count: number;
  readonly height: number;
  readonly head?: ComponentChildren;
  readonly headHeight?: number;
  readonly row: (at: number) => ComponentChildren;
  readonly handle?: Ref<RowsHandle>;
  readonly onRange?: (first: number, last: number) => void;
  readonly empty?: ComponentChildren;
  readonly class?: string;
  readonly attributes?: ComponentProps<"div">;
}

/** The keys that move through the rows of a list. */
export function rowShortcuts(at: number, count: number, page: number, to: (row: number) => void): Record<string, () => void> {
  return {
    ArrowDown: () => to(at + 1),
    ArrowUp: () => to(at - 1),
    PageDown: () => to(at + page),
    PageUp: () => to(at - page),
    Home: () => to(0),
    End: () => to(count - 1),
  };
}

// Browsers make nothing higher than some 17 million pixels: with more rows than fit into this, a
// pixel of the scroll bar is more than a pixel of the rows.
const HIGHEST = 8_000_000;
const SPARE = 4;

export function VirtualRows(props: Props) {
  const { count, height, headHeight = 0 } = props;
  const scroller = useRef<HTMLDivElement>(null);
  // Until it is measured: never more rows than the window is high.
  const [view, setView] = useState({ first: 0, seen: Math.ceil(window.innerHeight / height) });
  const whole = count * height;
  const body = Math.min(whole, HIGHEST);

  const measure = () => {
    const box = scroller.current;
    if (!box) return;
    const room = Math.max(box.clientHeight - headHeight, height);
    const seen = Math.ceil(room / height) + 1;
    const top = box.scrollTop;
    const scale = whole > body && body > room ? (whole - room) / (body - room) : 1;
    const first = Math.max(0, Math.floor((top * scale) / height));
    setView((old) => (old.first === first && old.seen === seen ? old : { first, seen }));
  };

  useLayoutEffect(() => {
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(scroller.current!);
    return () => watch.disconnect();
  }, [count, height, headHeight]);

  useImperativeHandle(props.handle ?? null, () => ({
    show(row, where = "near") {
      const box = scroller.current;
      if (!box) return;
      const room = box.clientHeight - headHeight;
      const scale = whole > body && body > room ? (whole - room) / (body - room) : 1;
      const top = box.scrollTop * scale;
      const at = row * height;
      if (at >= top && at + height <= top + room) return;
      const far = at < top - room || at > top + 2 * room;
      const to =
        where === "middle" || far
          ? at - room / 2 + height / 2
          : at < top
            ? at
            : at + height - room;
      box.scrollTop = Math.max(0, to / scale);
      measure();
    },
    focus() {
      scroller.current?.focus({ preventScroll: true });
    },
    page() {
      return Math.max(1, Math.floor(((scroller.current?.clientHeight ?? 0) - headHeight) / height));
    },
  }));

  const begin = Math.max(0, Math.min(view.first, count - 1) - SPARE);
  const end = Math.min(count, view.first + view.seen + SPARE);
  useLayoutEffect(() => props.onRange?.(begin, end), [begin, end, count]);

  const box = scroller.current;
  const rows: ComponentChildren[] = [];
  for (let at = begin; at < end; at++) rows.push(props.row(at));
  // Rows are put where they belong while all of them fit, else where the scroll bar stands.
  const offset = whole > body && box ? box.scrollTop - (view.first - begin) * height : begin * height;
  return (
    <div
      ref={scroller}
      tabIndex={0}
      {...props.attributes}
      class={`rows ${props.class ?? ""}`}
      onScroll={measure}
    >
      {props.head}
      <div class="rows-body" style={{ height: `${body}px` }}>
        <div class="rows-seen" style={{ transform: `translateY(${Math.max(0, offset)}px)` }}>
          {rows}
        </div>
      </div>
      {count === 0 && <div class="rows-empty">{props.empty}</div>}
    </div>
  );
}
