// Rectangles as pixels of a canvas. A picture of many call paths has tens of thousands, most of them
// a pixel wide; for a browser without a GPU that many fillRects take longer than a frame may.

export class PixelRows {
  private readonly image: ImageData;
  private readonly pixels: Uint32Array;
  private readonly ratio: number;
  // The rectangles of one row of frames go into its first line; the lines below it are copies.
  private first = 0;
  private behind = 0;
  private from = 0;
  private to = 0;

  /**
   * @param pen Of a canvas whose transformation is a scale.
   * @param ground What is behind all rectangles.
   */
  constructor(
    private readonly pen: CanvasRenderingContext2D,
    ground: string,
  ) {
    this.image = imageOf(pen.canvas);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.pixels.fill(packed(ground));
    this.ratio = pen.getTransform().a;
  }

  /** Fill a rectangle, in units of the pen: those of a row, one after another. */
  fill(x: number, y: number, width: number, height: number, colour: string): void {
    const first = Math.max(0, Math.round(y * this.ratio));
    const behind = Math.min(this.image.height, Math.round((y + height) * this.ratio));
    const from = Math.max(0, x * this.ratio);
    const to = Math.min(this.image.width, (x + width) * this.ratio);
    if (behind <= first || to <= from) return;
    if (first !== this.first || behind !== this.behind) {
      this.copyRow();
      this.first = first;
      this.behind = behind;
      this.from = from;
      this.to = to;
    }
    this.from = Math.min(this.from, from);
    this.to = Math.max(this.to, to);
    const line = first * this.image.width;
    const own = packed(colour);
    const left = Math.floor(from);
    const right = Math.floor(to);
    if (left === right) {
      this.blend(line + left, own, to - from);
      return;
    }
    this.blend(line + left, own, left + 1 - from);
    this.pixels.fill(own, line + left + 1, line + right);
    if (to > right) this.blend(line + right, own, to - right);
  }

  /** Put all of them on the canvas, over everything that is there. */
  put(): void {
    this.copyRow();
    this.pen.putImageData(this.image, 0, 0);
  }

  private copyRow(): void {
    const { width } = this.image;
    const from = Math.floor(this.from);
    const to = Math.ceil(this.to);
    const line = this.first * width;
    for (let below = this.first + 1; below < this.behind; below++) {
      this.pixels.copyWithin(below * width + from, line + from, line + to);
    }
  }

  /** Cover a part of a pixel. */
  private blend(at: number, colour: number, part: number): void {
    const over = Math.round(part * 256);
    if (over === 256) {
      this.pixels[at] = colour;
      return;
    }
    const under = this.pixels[at]!;
    const rest = 256 - over;
    const even = ((under & 0xff00ff) * rest + (colour & 0xff00ff) * over) >>> 8;
    const odd = ((under >>> 8) & 0xff00ff) * rest + ((colour >>> 8) & 0xff00ff) * over;
    this.pixels[at] = (even & 0xff00ff) | (odd & 0xff00ff00);
  }
}

const images = new WeakMap<HTMLCanvasElement, ImageData>();

/** The pixels of a canvas that was drawn before, to be drawn anew: new memory has to be cleared. */
function imageOf(canvas: HTMLCanvasElement): ImageData {
  const { width, height } = canvas;
  let image = images.get(canvas);
  if (image?.width !== width || image.height !== height) {
    images.set(canvas, (image = new ImageData(width, height)));
  }
  return image;
}

const known = new Map<string, number>();
let sample: OffscreenCanvasRenderingContext2D | null = null;

/** A colour without transparency as a pixel, its bytes in the order of this machine. */
function packed(colour: string): number {
  let pixel = known.get(colour);
  if (pixel === undefined) {
    sample ??= new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true })!;
    sample.fillStyle = colour;
    sample.fillRect(0, 0, 1, 1);
    pixel = new Uint32Array(sample.getImageData(0, 0, 1, 1).data.buffer)[0]!;
    known.set(colour, pixel);
  }
  return pixel;
}
