// The search box above a list: `/` moves the focus to it, Enter and Esc back to the list.

import { useRef } from "preact/hooks";

import { useShortcuts } from "./shortcuts";

interface Props {
  readonly value: string;
  readonly placeholder: string;
  readonly label: string;
  readonly hint?: string;
  readonly isWrong?: boolean;
  readonly onInput: (text: string) => void;
  /** Go to the list; of Enter and the arrow down first, `onEnter`. Esc empties the box. */
  readonly onLeave: () => void;
  readonly onEnter?: (() => void) | undefined;
}

export function SearchBox(props: Props) {
  const box = useRef<HTMLInputElement>(null);
  useShortcuts({
    "/": () => {
      box.current?.focus();
      box.current?.select();
    },
  });
  return (
    <input
      ref={box}
      class={props.isWrong ? "filter is-wrong" : "filter"}
      type="search"
      value={props.value}
      placeholder={`${props.placeholder}   ( / )`}
      aria-label={props.label}
      aria-invalid={props.isWrong ? "true" : undefined}
      title={props.hint}
      spellcheck={false}
      onInput={(event) => props.onInput(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          if (props.value) props.onInput("");
        } else if (event.key === "Enter" || event.key === "ArrowDown") {
          props.onEnter?.();
        } else {
          return;
        }
        props.onLeave();
        event.preventDefault();
      }}
    />
  );
}
