// Colours of frames: by module, by language, or by the difference to another run. Hues are those of
// Okabe and Ito (2008), told apart with and without colour vision deficiency; they are as bright or
// as dark as the text upon them needs.

import type { Tree } from "../tree-model";

export type ColourScheme = "module" | "language";

export interface Legend {
  readonly label: string;
  readonly colour: string;
  readonly isHatched?: boolean;
}

export interface FrameColours {
  readonly ofNode: (node: number) => string;
  readonly legend: readonly Legend[];
}

type Theme = "bright" | "dark";

// Hue and how colourful: grey is for what has none of its own.
const HUES: readonly (readonly [number, number])[] = [
  [205, 0.62],
  [40, 0.8],
  [160, 0.45],
  [325, 0.42],
  [20, 0.72],
  [250, 0.45],
  [60, 0.6],
  [185, 0.5],
];
const GREY = [210, 0.06] as const;
const MODULES_MOST = HUES.length;

export const LANGUAGES = {
  "C and C++": 0,
  Fortran: 2,
  Python: 1,
  Rust: 4,
  kernel: 3,
  JIT: 6,
  waiting: 5,
} as const;
export type Language = keyof typeof LANGUAGES | "not known";

const ENDS: readonly (readonly [RegExp, Language])[] = [
  [/\.(c|cc|cpp|cxx|c\+\+|h|hh|hpp|hxx|tcc|inl|s|S|cu)$/, "C and C++"],
  [/\.(f|f\d\d|for|ftn|F|F\d\d|FOR)$/, "Fortran"],
  [/\.(py|pyx|pxd)$|^<(string|stdin|module|frozen .*)>$/, "Python"],
  [/\.rs$/, "Rust"],
];
// Of what has no file: names of libraries and of symbols tell.
const MODULES: readonly (readonly [RegExp, Language])[] = [
  [/^\[(kernel|kernel\.kallsyms|guest\.kernel)|\.ko(\.\w+)?$/, "kernel"],
  [/^\/?(tmp\/)?perf-\d+\.map$|\[(jit|anon)|^\/\/anon/i, "JIT"],
  [/^lib(gfortran|caf)/, "Fortran"],
  [/\.so(\.|$)|^\[vdso\]/, "C and C++"],
];

/** The language of a node's code, as far as file, module and kind tell. */
export function languageOf(tree: Tree, node: number): Language {
  if (isWait(tree, node)) return "waiting";
  const { strings, file, module } = tree.data;
  const own = strings[file[node]!] ?? "";
  for (const [end, language] of ENDS) if (end.test(own)) return language;
  const where = strings[module[node]!] ?? "";
  for (const [name, language] of MODULES) if (name.test(where)) return language;
  return "not known";
}

/** Whether a node is what a thread waited for, and no code. */
export function isWait(tree: Tree, node: number): boolean {
  return tree.kind(node).name === "wait";
}

/** The colours of a tree's nodes, and what they say; `value` decides which modules have their own. */
export function frameColours(
  tree: Tree,
  scheme: ColourScheme,
  theme: Theme,
  own: Float64Array,
): FrameColours {
  return scheme === "language" ? byLanguage(tree, theme) : byModule(tree, theme, own);
}

function byLanguage(tree: Tree, theme: Theme): FrameColours {
  const language = Array.from({ length: tree.n }, (_, node) => languageOf(tree, node));
  const present = new Set(language.filter((_, node) => tree.parent(node) >= 0));
  const hue = (name: Language) => (name === "not known" ? GREY : HUES[LANGUAGES[name]]!);
  return {
    ofNode: (node) =>
      shade(tree.parent(node) < 0 ? GREY : hue(language[node]!), theme, variation(tree.data.name[node]!)),
    legend: ([...Object.keys(LANGUAGES), "not known"] as Language[])
      .filter((name) => present.has(name))
      .map((name) => ({ label: name, colour: shade(hue(name), theme, 0), isHatched: name === "waiting" })),
  };
}

function byModule(tree: Tree, theme: Theme, own: Float64Array): FrameColours {
  const { module, strings } = tree.data;
  const weight = new Map<number, number>();
  for (let node = 0; node < tree.n; node++) {
    if (isWait(tree, node)) continue;
    weight.set(module[node]!, (weight.get(module[node]!) ?? 0) + (own[node]! || 0));
  }
  const most = [...weight].filter(([number, value]) => strings[number] && value > 0);
  most.sort((a, b) => b[1] - a[1]);
  const hueOf = new Map(most.slice(0, MODULES_MOST).map(([number], at) => [number, HUES[at]!]));
  const legend: Legend[] = [...hueOf].map(([number, hue]) => ({
    label: strings[number]!,
    colour: shade(hue, theme, 0),
  }));
  if (most.length > MODULES_MOST) {
    legend.push({ label: `${most.length - MODULES_MOST} others`, colour: shade(GREY, theme, 0) });
  }
  return {
    ofNode: (node) =>
      shade(
        isWait(tree, node) || tree.parent(node) < 0 ? GREY : (hueOf.get(module[node]!) ?? GREY),
        theme,
        variation(tree.data.name[node]!),
      ),
    legend,
  };
}

/** From -1 to 1, the same for the same name: neighbours are told apart. */
function variation(name: number): number {
  return (((name * 2654435761) >>> 16) % 5) / 2 - 1;
}

const shades = new Map<string, string>();

function shade([hue, colourful]: readonly [number, number], theme: Theme, variation: number): string {
  const key = `${hue} ${colourful} ${theme} ${variation}`;
  let colour = shades.get(key);
  if (colour === undefined) {
    const lightness = theme === "dark" ? 0.25 + 0.03 * variation : 0.8 + 0.035 * variation;
    const saturation = theme === "dark" ? 0.75 * colourful : colourful;
    shades.set(key, (colour = `hsl(${hue} ${Math.round(100 * saturation)}% ${(100 * lightness).toFixed(1)}%)`));
  }
  return colour;
}
