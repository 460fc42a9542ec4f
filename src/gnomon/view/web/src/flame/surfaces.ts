// What frames are drawn on: a canvas, and an SVG that is a file of its own.

import type { Look, Surface } from "./frame-drawing";

export const FONT_PX = 11.5;

export class CanvasSurface implements Surface {
  private readonly widths: Map<string, number>;

  constructor(
    private readonly pen: CanvasRenderingContext2D,
    private readonly font: string,
    private readonly hatch: string,
  ) {
    pen.font = `${FONT_PX}px ${font}`;
    pen.textBaseline = "middle";
    this.widths = widthsOf(pen.font);
  }

  rect(x: number, y: number, width: number, height: number, look: Look): void {
    const { pen } = this;
    pen.fillStyle = look.fill;
    pen.fillRect(x, y, width, height);
    if (look.isHatched && width > 2) this.hatched(x, y, width, height);
    if (look.outline) {
      pen.strokeStyle = look.outline;
      pen.lineWidth = 2;
      pen.strokeRect(x + 1, y + 1, Math.max(width - 2, 1), height - 2);
    }
  }

  private hatched(x: number, y: number, width: number, height: number): void {
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

  text(x: number, y: number, text: string, colour: string, isStrong = false): void {
    const { pen } = this;
    pen.fillStyle = colour;
    if (isStrong) pen.font = `600 12px ${this.font}`;
    pen.fillText(text, x, y);
    if (isStrong) pen.font = `${FONT_PX}px ${this.font}`;
  }

  widthOf(text: string): number {
    let width = this.widths.get(text);
    if (width === undefined) {
      if (this.widths.size > 50_000) this.widths.clear();
      this.widths.set(text, (width = this.pen.measureText(text).width));
    }
    return width;
  }
}

const measured = new Map<string, Map<string, number>>();

function widthsOf(font: string): Map<string, number> {
  let widths = measured.get(font);
  if (!widths) measured.set(font, (widths = new Map()));
  return widths;
}

export class SvgSurface implements Surface {
  private readonly parts: string[] = [];

  /** @param ruler A canvas surface that knows how wide texts are. */
  constructor(
    private readonly ruler: Surface,
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
