// Where labels of arcs stand: on their curves, and off each other as far as that is cheap.

/** What a label takes, that of a number with seven digits. */
export const LABEL_WIDTH = 44;
export const LABEL_HEIGHT = 13;

const WIDE = 2 * LABEL_WIDTH;
const HIGH = 2 * LABEL_HEIGHT;
const ROWS = 2 ** 22;

/** Labels that have their places, by cells of twice their size: what is near a place is in four of them. */
export class LabelGrid {
  private readonly cells = new Map<number, number[]>();

  isFree(x: number, y: number): boolean {
    const [left, top] = [Math.floor((x - LABEL_WIDTH) / WIDE), Math.floor((y - LABEL_HEIGHT) / HIGH)];
    for (let column = left; column <= left + 1; column++) {
      for (let row = top; row <= top + 1; row++) {
        const labels = this.cells.get(column * ROWS + row);
        if (!labels) continue;
        for (let at = 0; at < labels.length; at += 2) {
          if (Math.abs(labels[at]! - x) < LABEL_WIDTH && Math.abs(labels[at + 1]! - y) < LABEL_HEIGHT) return false;
        }
      }
    }
    return true;
  }

  take(x: number, y: number): void {
    const key = Math.floor(x / WIDE) * ROWS + Math.floor(y / HIGH);
    const labels = this.cells.get(key);
    if (labels) labels.push(x, y);
    else this.cells.set(key, [x, y]);
  }
}
