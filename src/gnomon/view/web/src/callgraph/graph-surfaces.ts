// What a call graph is drawn on: a canvas, and a file of SVG.

import type { Surface } from "./graph-drawing";

export const FONT_PX = 11;
const HEAD = 7;

/** So many curves are one path: each by itself takes longer, all of them together, too. */
const CURVES_AT_ONCE = 64;

export class CanvasSurface implements Surface {
  private pending = 0;
  private colour = "";
  private width = 0;
  private curves = new Path2D();
  private heads = new Path2D();

  constructor(
    private readonly pen: CanvasRenderingContext2D,
    private readonly font: string,
  ) {
    pen.font = `${FONT_PX}px ${font}`;
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
  }

  box(x: number, y: number, width: number, height: number, fill: string, line: string): void {
    this.done();
    this.pen.fillStyle = fill;
    this.pen.fillRect(x, y, width, height);
    if (line === fill) return;
    this.pen.strokeStyle = line;
    this.pen.lineWidth = 1.5;
    this.pen.strokeRect(x, y, width, height);
  }

  curve(points: Float32Array, begin: number, end: number, colour: string, width: number, hasHead: boolean): void {
    if (this.pending >= CURVES_AT_ONCE || colour !== this.colour || width !== this.width) this.done();
    this.pending++;
    this.colour = colour;
    this.width = width;
    const { curves, heads } = this;
    curves.moveTo(points[begin]!, points[begin + 1]!);
    for (let at = begin + 2; at + 5 < end; at += 6) {
      curves.bezierCurveTo(points[at]!, points[at + 1]!, points[at + 2]!, points[at + 3]!, points[at + 4]!, points[at + 5]!);
    }
    if (!hasHead) return;
    const head = arrowHead(points, begin, end);
    heads.moveTo(head[0], head[1]);
    heads.lineTo(head[2], head[3]);
    heads.lineTo(head[4], head[5]);
    heads.closePath();
  }

  text(x: number, y: number, text: string, colour: string, most: number, align: "left" | "center"): void {
    this.done();
    this.pen.fillStyle = colour;
    this.pen.textAlign = align;
    this.pen.fillText(shortened(text, most), x, y);
  }

  name(x: number, y: number, text: string, colour: string, ground: string, unit: number, align: "left" | "center"): void {
    const { pen } = this;
    this.done();
    pen.font = `${FONT_PX * unit}px ${this.font}`;
    pen.textAlign = align;
    pen.strokeStyle = ground;
    pen.lineWidth = 3 * unit;
    pen.strokeText(text, x, y);
    pen.fillStyle = colour;
    pen.fillText(text, x, y);
    pen.font = `${FONT_PX}px ${this.font}`;
  }

  done(): void {
    if (this.pending === 0) return;
    const { pen } = this;
    pen.strokeStyle = pen.fillStyle = this.colour;
    pen.lineWidth = this.width;
    pen.stroke(this.curves);
    pen.fill(this.heads);
    this.curves = new Path2D();
    this.heads = new Path2D();
    this.pending = 0;
  }
}

function arrowHead(points: Float32Array, begin: number, end: number): [number, number, number, number, number, number] {
  const x = points[end - 2]!;
  const y = points[end - 1]!;
  // Control points may lie where the curve ends.
  let from = end - 4;
  while (from > begin && points[from] === x && points[from + 1] === y) from -= 2;
  const angle = Math.atan2(y - points[from + 1]!, x - points[from]!);
  const wing = (turn: number): [number, number] => [x - HEAD * Math.cos(angle + turn), y - HEAD * Math.sin(angle + turn)];
  return [x, y, ...wing(0.4), ...wing(-0.4)];
}

const LETTER_PX = 6;

/** A text that takes about so much room: its end stays, which tells names apart. */
export function shortened(text: string, most: number): string {
  const letters = Math.floor(most / LETTER_PX);
  if (text.length <= letters || letters < 4) return text;
  const tail = Math.floor((letters - 1) * 0.55);
  return `${text.slice(0, letters - 1 - tail)}…${text.slice(text.length - tail)}`;
}

export class SvgSurface implements Surface {
  private readonly parts: string[] = [];

  box(x: number, y: number, width: number, height: number, fill: string, line: string, title: () => string): void {
    const place = `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;
    this.parts.push(`<g><title>${escaped(title())}</title><rect ${place} fill="${fill}" stroke="${line}"/></g>`);
  }

  curve(points: Float32Array, begin: number, end: number, colour: string, width: number, hasHead: boolean): void {
    const place = (at: number) => `${short(points[at]!)},${short(points[at + 1]!)}`;
    const steps: string[] = [];
    for (let at = begin + 2; at + 5 < end; at += 6) steps.push(`C${place(at)} ${place(at + 2)} ${place(at + 4)}`);
    this.parts.push(`<path d="M${place(begin)}${steps.join("")}" fill="none" stroke="${colour}" stroke-width="${width}"/>`);
    if (!hasHead) return;
    const head = arrowHead(points, begin, end).map(short);
    this.parts.push(
      `<path d="M${head[0]},${head[1]}L${head[2]},${head[3]}L${head[4]},${head[5]}Z" fill="${colour}"/>`,
    );
  }

  text(x: number, y: number, text: string, colour: string, most: number, align: "left" | "center"): void {
    const anchor = align === "center" ? ' text-anchor="middle"' : "";
    this.parts.push(`<text x="${short(x)}" y="${short(y)}" dy="0.35em" fill="${colour}"${anchor}>${escaped(shortened(text, most))}</text>`);
  }

  name(x: number, y: number, text: string, colour: string, ground: string, unit: number, align: "left" | "center"): void {
    const anchor = align === "center" ? ' text-anchor="middle"' : "";
    const margin = `stroke="${ground}" stroke-width="${short(3 * unit)}" paint-order="stroke"`;
    this.parts.push(
      `<text x="${short(x)}" y="${short(y)}" dy="0.35em" font-size="${short(FONT_PX * unit)}" fill="${colour}" ${margin}${anchor}>${escaped(text)}</text>`,
    );
  }

  done(): void {
    // Each part is there as soon as it is drawn.
  }

  /** The whole file. */
  file(width: number, height: number, ground: string, title: string): string {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${Math.ceil(height)}" viewBox="0 0 ${Math.ceil(width)} ${Math.ceil(height)}" font-family="'IBM Plex Sans', 'DejaVu Sans', sans-serif" font-size="${FONT_PX}">
<title>${escaped(title)}</title>
<rect width="100%" height="100%" fill="${ground}"/>
${this.parts.join("\n")}
</svg>
`;
  }
}

function short(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}
