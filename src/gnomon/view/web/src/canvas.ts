// Canvases whose units are those of the page, however fine the screen.

/** The context of a canvas made so large, cleared; `ratio` is how many pixels a unit has. */
export function scaledContext(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
  ratio = devicePixelRatio,
): CanvasRenderingContext2D {
  const wide = Math.max(1, Math.round(width * ratio));
  const high = Math.max(1, Math.round(height * ratio));
  // To set them anew takes a new piece of memory, even to what they are.
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d")!;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

/** Where one of equal parts of a line begins, and how wide it is: in whole pixels, which leave no stripes between parts. */
export function wholePixels(nth: number, wide: number): readonly [number, number] {
  const begin = Math.floor(nth * wide);
  return [begin, Math.max(1, Math.floor((nth + 1) * wide) - begin)];
}
