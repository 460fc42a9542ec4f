// A column's title: sorts, moves, hides and resizes the column.

import { useEffect, useRef, useState } from "preact/hooks";

import type { Column } from "./api";
import { HowBadge } from "./how-badge";

interface HeadProps {
  readonly column: Column;
  readonly isChosen: boolean;
  readonly sorted: string;
  readonly width: number;
  readonly onSort: () => void;
  readonly onHide: () => void;
  readonly onShift: (by: number) => void;
  readonly onAll: () => void;
  readonly onDrag: () => void;
  readonly onDrop: () => void;
  readonly onWidth: (width: number) => void;
}

export function TableHead(props: HeadProps) {
  const { column } = props;
  const [isOpen, setOpen] = useState(false);
  const begin = useRef({ x: 0, width: 0 });
  useEffect(() => {
    if (!isOpen) return;
    const close = () => setOpen(false);
    window.addEventListener("click", close);
    window.addEventListener("keydown", close);
    return () => {
      window.removeEventListener("click", close);
      window.removeEventListener("keydown", close);
    };
  }, [isOpen]);
  return (
    <span
      class={`head-box ${props.isChosen ? "is-here" : ""}`}
      role="columnheader"
      aria-sort={props.sorted === "" ? "none" : props.sorted === "▲" ? "ascending" : "descending"}
      onDragOver={(event) => event.preventDefault()}
      onDrop={props.onDrop}
      onContextMenu={(event) => {
        event.preventDefault();
        setOpen(true);
      }}
    >
      <button
        type="button"
        tabIndex={-1}
        draggable
        class={`head ${column.type === "number" ? "is-number" : "is-text"} ${props.sorted ? "is-sorted" : ""}`}
        title={`${column.title}${column.description ? "\n" + column.description : ""}\nclick to sort, drag to move, right click for more`}
        onClick={props.onSort}
        onDragStart={props.onDrag}
      >
        <span class="head-words">
          <span class="head-name">{column.title}</span>
          {(column.how || column.kind) && (
            <small>
              {column.how && <HowBadge how={column.how} />} {column.kind}
            </small>
          )}
        </span>
        <span class="sort-mark" aria-hidden="true">
          {props.sorted}
        </span>
      </button>
      <span
        class="head-edge"
        onPointerDown={(event) => {
          begin.current = { x: event.clientX, width: props.width };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          if (event.currentTarget.hasPointerCapture(event.pointerId)) {
            props.onWidth(begin.current.width + event.clientX - begin.current.x);
          }
        }}
      />
      {isOpen && (
        <span class="menu head-menu">
          <button type="button" class="item" onClick={props.onSort}>
            Sort by {column.title}
          </button>
          <button type="button" class="item" onClick={props.onHide}>
            Hide
          </button>
          <button type="button" class="item" onClick={() => props.onShift(-1)}>
            Move left
          </button>
          <button type="button" class="item" onClick={() => props.onShift(1)}>
            Move right
          </button>
          <button type="button" class="item" onClick={props.onAll}>
            Show all columns
          </button>
        </span>
      )}
    </span>
  );
}
