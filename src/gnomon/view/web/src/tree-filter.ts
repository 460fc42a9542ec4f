// The language of the tree's filter:
//
//   sweep solver        both words, in the name or the file
//   -lookup             without this word
//   file:stencil.c      in the file
//   module:libm         in the program or library
//   /^MPI_.*send/       a regular expression
//   >1%  >1000          at least this much of the metric that is sorted by

const PLACES = ["file", "module"] as const;

export class TreeFilter {
  private constructor(
    private readonly tests: readonly StringTest[],
    private readonly least: number,
    private readonly leastShare: number,
  ) {}

  /** The filter that a text describes, null if the text is empty, or an error message. */
  static parse(text: string): TreeFilter | null | string {
    const tests: StringTest[] = [];
    let least = Number.NaN;
    let leastShare = Number.NaN;
    for (const word of splitWords(text)) {
      const bound = /^>=?([\d.]+(?:e\d+)?)([kMG]?)(%?)$/.exec(word);
      if (bound) {
        const value = Number(bound[1]) * { "": 1, k: 1e3, M: 1e6, G: 1e9 }[bound[2]]!;
        if (Number.isNaN(value)) return `${word}: not a number`;
        if (bound[3]) leastShare = value / 100;
        else least = value;
        continue;
      }
      if (word.startsWith(">")) return `${word}: give a number such as >1% or >1000`;
      const not = word.startsWith("-") && word.length > 1;
      let rest = (not ? word.slice(1) : word).replace(/"/g, "");
      const where = PLACES.find((place) => rest.startsWith(`${place}:`)) ?? "any";
      if (where !== "any") rest = rest.slice(where.length + 1);
      if (rest === "") continue;
      if (rest.length > 2 && rest.startsWith("/") && rest.endsWith("/")) {
        try {
          const pattern = new RegExp(rest.slice(1, -1), "i");
          tests.push({ not, where, test: (string) => pattern.test(string) });
        } catch {
          return `${rest}: not a regular expression`;
        }
      } else {
        const lower = rest.toLowerCase();
        tests.push({ not, where, test: (_, lowered) => lowered.includes(lower) });
      }
    }
    if (tests.length === 0 && Number.isNaN(least) && Number.isNaN(leastShare)) return null;
    return new TreeFilter(tests, least, leastShare);
  }

  get hasText(): boolean {
    return this.tests.some((test) => !test.not);
  }

  /** For every test and every string, whether the string passes it. */
  matchStrings(strings: readonly string[], lowered: readonly string[]): Uint8Array[] {
    return this.tests.map((test) => {
      const passed = new Uint8Array(strings.length);
      for (let at = 0; at < strings.length; at++) {
        if (test.test(strings[at], lowered[at])) passed[at] = 1;
      }
      return passed;
    });
  }

  matches(
    found: readonly Uint8Array[],
    name: number,
    file: number,
    module: number,
    value: number,
    total: number,
  ): boolean {
    if (this.least === this.least && !(value >= this.least)) return false;
    if (this.leastShare === this.leastShare && !(value >= this.leastShare * total)) return false;
    for (let at = 0; at < this.tests.length; at++) {
      const test = this.tests[at];
      const passed = found[at];
      const has =
        test.where === "module" ? passed[module] : passed[file] || (test.where === "any" && passed[name]);
      if (!has !== test.not) return false;
    }
    return true;
  }
}

interface StringTest {
  readonly not: boolean;
  readonly where: "any" | (typeof PLACES)[number];
  test(string: string, lowered: string): boolean;
}

/** Words between blanks; a text in quotes or slashes is one word. */
function splitWords(text: string): string[] {
  return text.match(/-?(?:(?:file|module):)?(?:"[^"]*"|\/(?:[^/\\]|\\.)+\/(?=\s|$))|\S+/g) ?? [];
}
