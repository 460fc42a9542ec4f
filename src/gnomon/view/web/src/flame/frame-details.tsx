// What is said of a frame: in the tooltip, and in the menu of what can be done with it.

import { useEffect, useRef } from "preact/hooks";

import type { Metric } from "../api";
import { baseName, formatQuantity, formatShare } from "../format";
import { samplingError } from "../sampling-error";
import { withoutReturnType } from "../name-parts";
import type { Tree } from "../tree-model";
import type { OrderedFrames } from "./frames";

interface TooltipProps {
  readonly tree: Tree;
  readonly frames: OrderedFrames;
  readonly frame: number;
  readonly metric: Metric;
  /** Of the whole picture, and of what it is narrowed to. */
  readonly total: number;
  readonly shown: number;
  readonly isOfTime: boolean;
  /** What is to be said of the difference to another run. */
  readonly change: string;
}

export function FrameTooltip({ tree, frames, frame, metric, total, shown, isOfTime, change }: TooltipProps) {
  const node = frames.node[frame]!;
  const value = frames.value[frame]!;
  const own = frames.own[frame]!;
  const waiting = frames.waiting[frame]!;
  const module = tree.data.strings[tree.data.module[node]!];
  const line = tree.line(node);
  const place = [module, tree.file(node) && `${baseName(tree.file(node))}${line > 0 ? `:${line}` : ""}`];
  const share = (part: number) => {
    const ofAll = formatShare(part, total);
    const ofShown = shown < total ? formatShare(part, shown) : "";
    return [ofAll && `${ofAll} %`, ofShown && `${ofShown} % of what is shown`].filter(Boolean).join(", ");
  };
  const rows: [string, number, string][] = [
    ["total", value, share(value)],
    ["self", own, share(own)],
  ];
  // What is known of both apart is how long a thread ran, and how long it waited.
  if (isOfTime && waiting > 0 && waiting < value) {
    rows.push(["running", value - waiting, share(value - waiting)], ["waiting", waiting, share(waiting)]);
  }
  return (
    <>
      <b>{withoutReturnType(tree.name(node))}</b>
      <div class="dim">{place.filter(Boolean).join(", ")}</div>
      <table>
        <tbody>
          {rows.map(([title, part, shares]) => (
            <tr key={title}>
              <th>{title}</th>
              <td class="number">{formatQuantity(part, metric.unit)}</td>
              <td>{shares}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {change && <div>{change}</div>}
      <div class="dim">{samplingError(metric, value - (isOfTime ? waiting : 0))}</div>
    </>
  );
}

export interface MenuItem {
  readonly label: string;
  readonly hint?: string;
  readonly act: () => void;
}

interface MenuProps {
  readonly label: string;
  readonly x: number;
  readonly y: number;
  readonly items: readonly MenuItem[];
  readonly onClose: () => void;
}

/** A menu at a point of the window, which ends with a choice, Esc or a click elsewhere. */
export function FrameMenu({ label, x, y, items, onClose }: MenuProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { offsetWidth, offsetHeight, style } = box.current!;
    style.left = `${Math.max(4, Math.min(x, window.innerWidth - offsetWidth - 8))}px`;
    style.top = `${Math.max(4, Math.min(y, window.innerHeight - offsetHeight - 8))}px`;
    box.current!.querySelector<HTMLElement>("button")?.focus();
    const outside = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) onClose();
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [x, y]);
  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = [...box.current!.querySelectorAll<HTMLElement>("button")];
    const at = buttons.indexOf(document.activeElement as HTMLElement);
    const last = buttons.length - 1;
    const to = { ArrowDown: at < last ? at + 1 : 0, ArrowUp: at > 0 ? at - 1 : last, Home: 0, End: last }[event.key];
    if (to !== undefined) buttons[to]!.focus();
    else if (event.key === "Escape" || event.key === "Tab") onClose();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div ref={box} class="menu flame-menu" role="menu" aria-label={label} onKeyDown={onKeyDown}>
      {items.map(({ label, hint, act }) => (
        <button
          key={label}
          type="button"
          role="menuitem"
          class="item"
          title={hint}
          onClick={() => {
            onClose();
            act();
          }}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
