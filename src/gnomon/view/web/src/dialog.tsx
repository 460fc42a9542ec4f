// A modal dialog: Escape closes it and returns the focus.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface Props {
  readonly title: ComponentChildren;
  readonly class?: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog(props: Props) {
  const box = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = box.current!;
    const before = document.activeElement as HTMLElement | null;
    dialog.showModal();
    return () => {
      // Nothing outside can have the focus before it is closed.
      dialog.close();
      before?.focus({ preventScroll: true });
    };
  }, []);
  return (
    <dialog
      ref={box}
      class={props.class}
      aria-label={typeof props.title === "string" ? props.title : undefined}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose();
      }}
      onClick={(event) => {
        if (event.target === box.current) props.onClose();
      }}
    >
      <div class="dialog-head">
        <h2>{props.title}</h2>
        <button type="button" class="quiet" onClick={props.onClose} title="close (Esc)">
          Close
        </button>
      </div>
      <div class="dialog-body">{props.children}</div>
    </dialog>
  );
}
