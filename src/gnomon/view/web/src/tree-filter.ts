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

  /**
   * 1 for each place whose strings pass all tests.
   *
   * @param lowered The strings in small letters.
   * @param places Where in the strings the name, file and module of each place are.
   */
  matchPlaces(strings: readonly string[], lowered: readonly string[], places: PlaceStrings): Uint8Array {
    const { name, file, module } = places;
    const all = new Uint8Array(name.length).fill(1);
    for (const { not, where, test } of this.tests) {
      const passed = new Uint8Array(strings.length);
      for (let at = 0; at < strings.length; at++) if (test(strings[at], lowered[at])) passed[at] = 1;
      const wanted = not ? 0 : 1;
      // Loops of their own, and short: of large trees every letter that is typed goes through them.
      if (where === "any") {
        for (let at = 0; at < all.length; at++) if ((passed[name[at]] | passed[file[at]]) !== wanted) all[at] = 0;
      } else {
        const own = where === "file" ? file : module;
        for (let at = 0; at < all.length; at++) if (passed[own[at]] !== wanted) all[at] = 0;
      }
    }
    return all;
  }

  /** Whether a value is as large as asked for; `total` is what shares are of. */
  isEnough(value: number, total: number): boolean {
    if (this.least === this.least && !(value >= this.least)) return false;
    return this.leastShare !== this.leastShare || value >= this.leastShare * total;
  }
}

interface PlaceStrings {
  readonly name: Uint32Array;
  readonly file: Uint32Array;
  readonly module: Uint32Array;
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
