// What frames are drawn on: a canvas, and an SVG that is a file of its own.

import type { Look, Surface } from "./frame-drawing";
import { PixelRows } from "./pixel-rows";

export const FONT_PX = 11.5;

export class CanvasSurface implements Surface {
  private readonly rows: PixelRows;
  private readonly ruler: Ruler;
  // What stands on rectangles is drawn when all of them are.
  private readonly hatches: Box[] = [];
  private readonly texts: Text[] = [];

  constructor(
    private readonly pen: CanvasRenderingContext2D,
    private readonly font: string,
    private readonly hatch: string,
    ground: string,
  ) {
    this.rows = new PixelRows(pen, ground);
    this.ruler = new Ruler(pen, font);
  }

  rect(x: number, y: number, width: number, height: number, look: Look): void {
    this.rows.fill(x, y, width, height, look.fill);
    if (look.isHatched && width > 2) this.hatches.push({ x, y, width, height });
  }

  text(x: number, y: number, text: string, colour: string, isStrong = false): void {
    this.texts.push({ x, y, text, colour, isStrong });
  }

  widthOf(text: string): number {
    return this.ruler.widthOf(text);
  }

  /** Show what was drawn, in place of all that was on the canvas. */
  show(): void {
    const { pen } = this;
    this.rows.put();
    for (const box of this.hatches) this.drawHatch(box);
    pen.textBaseline = "middle";
    // Few are strong: the font is changed once.
    for (const isStrong of [false, true]) {
      pen.font = isStrong ? `600 12px ${this.font}` : `${FONT_PX}px ${this.font}`;
      for (const one of this.texts) {
        if (one.isStrong !== isStrong) continue;
        pen.fillStyle = one.colour;
        pen.fillText(one.text, one.x, one.y);
      }
    }
  }

  private drawHatch({ x, y, width, height }: Box): void {
    const { pen } = this;
    pen.save();
    pen.beginPath();
    pen.rect(x, y, width, height);
    pen.clip();
    pen.strokeStyle = this.hatch;
    pen.lineWidth = 1;
    pen.beginPath();
    const step = 6;
    for (let at = Math.floor((x - height) / step) * step; at < x + width; at += step) {
      pen.moveTo(at, y + height);
      pen.lineTo(at + height, y);
    }
    pen.stroke();
    pen.restore();
  }
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface Text {
  readonly x: number;
  readonly y: number;
  readonly text: string;
  readonly colour: string;
  readonly isStrong: boolean;
}

const letters = new Map<string, Map<string, number>>();

/** Letters are measured anew: the font is there only now. */
export function forgetLetters(): void {
  letters.clear();
}

/** How wide texts are, by their letters: to measure each name costs as much as to draw it. */
export class Ruler {
  private readonly widths: Map<string, number>;

  constructor(
    private readonly pen: CanvasRenderingContext2D,
    font: string,
  ) {
    pen.font = `${FONT_PX}px ${font}`;
    let widths = letters.get(pen.font);
    if (!widths) letters.set(pen.font, (widths = new Map()));
    this.widths = widths;
  }

  widthOf(text: string): number {
    let sum = 0;
    for (const letter of text) {
      let width = this.widths.get(letter);
      if (width === undefined) this.widths.set(letter, (width = this.pen.measureText(letter).width));
      sum += width;
    }
    return sum;
  }
}

export class SvgSurface implements Surface {
  private readonly parts: string[] = [];

  constructor(
    private readonly ruler: Ruler,
    private readonly hatch: string,
  ) {}

  rect(x: number, y: number, width: number, height: number, look: Look): void {
    const box = `x="${short(x)}" y="${short(y)}" width="${short(Math.max(width, 0.1))}" height="${height}"`;
    const title = look.title ? `<title>${escaped(look.title())}</title>` : "";
    this.parts.push(`<g>${title}<rect ${box} fill="${look.fill}"/>`);
    if (look.isHatched) this.parts.push(`<rect ${box} fill="url(#waiting)"/>`);
    this.parts.push("</g>");
  }

  text(x: number, y: number, text: string, colour: string, isStrong = false): void {
    const weight = isStrong ? ' font-weight="600"' : "";
    this.parts.push(
      `<text x="${short(x)}" y="${short(y)}" dy="0.35em" fill="${colour}"${weight}>${escaped(text)}</text>`,
    );
  }

  widthOf(text: string): number {
    return this.ruler.widthOf(text);
  }

  /** The whole file. */
  document(width: number, height: number, ground: string, title: string): string {
    return `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="'IBM Plex Sans', 'DejaVu Sans', sans-serif" font-size="${FONT_PX}">
<title>${escaped(title)}</title>
<defs><pattern id="waiting" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M0 6L6 0" stroke="${this.hatch}"/></pattern></defs>
<rect width="100%" height="100%" fill="${ground}"/>
${this.parts.join("\n")}
</svg>
`;
  }
}

function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}

// A name may have characters that XML does not allow at all.
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

function escaped(text: string): string {
  return text
    .replace(FORBIDDEN, "\ufffd")
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/"/g, "&quot;");
}
