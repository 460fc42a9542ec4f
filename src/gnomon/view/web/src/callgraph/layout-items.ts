// What a picture is made of: boxes, places where arcs pass, and groups, which are rows of these.

/** A rectangle; x and y are within the group that has it until `place` makes them absolute. */
export interface Item {
  x: number;
  y: number;
  width: number;
  height: number;
  /** The box that it is, -1 for none. */
  readonly box: number;
  /** What a group is made of, from top to bottom; null for boxes and passages. */
  readonly rows: readonly Row[] | null;
  parent: Item | null;
  /** Its row in the group that has it. */
  row: number;
  /** Where it was in the picture before, NaN if it was not there. */
  previousLeft: number;
  previousTop: number;
  /** Of a passage: how many arcs go through. */
  shared: number;
  /** Of a stack: room at its left for arcs to what is in it. */
  alley: number;
}

/** Items beside each other, from left to right; nothing else lies between top and bottom. */
export interface Row {
  top: number;
  bottom: number;
  readonly items: readonly Item[];
}

export function boxItem(box: number, width: number, height: number): Item {
  return item(box, null, width, height);
}

export function passageItem(width: number): Item {
  return item(-1, null, width, 0);
}

/** A group of rows whose items have their places in it. */
export function group(rows: readonly Row[], width: number, height: number): Item {
  const whole = item(-1, rows, width, height);
  let [left, top, known] = [0, 0, 0];
  rows.forEach((row, at) => {
    for (const each of row.items) {
      each.parent = whole;
      each.row = at;
      if (Number.isNaN(each.previousLeft)) continue;
      left += each.previousLeft - each.x;
      top += each.previousTop - each.y;
      known += 1;
    }
  });
  if (known > 0) [whole.previousLeft, whole.previousTop] = [left / known, top / known];
  return whole;
}

/** Make places within groups absolute, of a group and all in it. */
export function place(whole: Item, x: number, y: number): void {
  const waiting: [Item, number, number][] = [[whole, x, y]];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [one, dx, dy] = next;
    one.x += dx;
    one.y += dy;
    for (const row of one.rows ?? []) {
      row.top += one.y;
      row.bottom += one.y;
      for (const each of row.items) waiting.push([each, one.x, one.y]);
    }
  }
}

function item(box: number, rows: readonly Row[] | null, width: number, height: number): Item {
  return {
    x: 0, y: 0, width, height, box, rows,
    parent: null, row: 0, previousLeft: NaN, previousTop: NaN, shared: 0, alley: 0,
  };
}
