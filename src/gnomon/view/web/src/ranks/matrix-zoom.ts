// Which part of the matrix is shown: each step of a zoom is a part of rows and one of columns.

export interface Part {
  readonly begin: number;
  readonly end: number;
}
export interface Step {
  readonly rows: Part;
  readonly columns: Part;
}

const STEP = /^(\d+)-(\d+)x(\d+)-(\d+)$/;

/** The steps that an address names; what is none is left out. */
export function parseSteps(text: string): Step[] {
  return text.split(",").flatMap((word) => {
    const found = STEP.exec(word)?.slice(1).map(Number);
    if (!found) return [];
    const [r0 = 0, r1 = 0, c0 = 0, c1 = 0] = found;
    return r0 < r1 && c0 < c1 ? [{ rows: { begin: r0, end: r1 }, columns: { begin: c0, end: c1 } }] : [];
  });
}

export const partText = ({ begin, end }: Part): string => `${begin}-${end}`;

/** For the address; null for the whole matrix. */
export function stepsText(steps: readonly Step[]): string | null {
  return steps.map((one) => `${partText(one.rows)}x${partText(one.columns)}`).join(",") || null;
}
