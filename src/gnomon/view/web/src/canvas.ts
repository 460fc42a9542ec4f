// Canvases whose units are those of the page, however fine the screen.

/** The context of a canvas made so large, cleared; `ratio` is how many pixels a unit has. */
export function scaledContext(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
  ratio = devicePixelRatio,
): CanvasRenderingContext2D {
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d")!;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  return pen;
}
