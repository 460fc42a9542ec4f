// The size of an element, for what is drawn into it.

import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** A ref for an element, and its width and height in pixels without its border; `first` before it is there. */
export function useBoxSize<T extends HTMLElement>(
  first: readonly [number, number] = [0, 0],
): readonly [RefObject<T | null>, number, number] {
  const box = useRef<T>(null);
  const [[width, height], setSize] = useState(first);
  useEffect(() => {
    const element = box.current!;
    const measure = () => setSize([element.clientWidth, element.clientHeight]);
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    measure();
    return () => watch.disconnect();
  }, []);
  return [box, width, height];
}
