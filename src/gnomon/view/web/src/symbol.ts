// Names of functions and files: which part of them tells most, and is cut off last.

/** What `operator` is followed by: signs that are no brackets here. */
const OPERATOR = /^operator\s*(\(\)|\[\]|<=>|<<=|>>=|->\*|<<|>>|<=|>=|->|[-+*/%^&|~!=<>,]+)?/;

interface Parts {
  /** Where the name begins, behind the type of what it returns. */
  readonly begin: number;
  /** Where its own part begins, behind namespaces, classes or folders. */
  readonly own: number;
}

/** The parts of a C++ name, or of one that looks like one. */
function symbol(name: string): Parts {
  let depth = 0;
  let own = 0;
  let blank = 0;
  for (let at = 0; at < name.length; at++) {
    const letter = name[at]!;
    const before = name[at - 1] ?? " ";
    if (depth === 0 && letter === "o" && !/\w/.test(before)) {
      const found = OPERATOR.exec(name.slice(at));
      if (found && !/\w/.test(name[at + found[0].length] ?? " ")) {
        at += found[0].length - 1;
        continue;
      }
    }
    if (depth === 0 && letter === "(" && !name.startsWith("(anonymous", at)) {
      // Only names of templates begin with the type of what they return.
      const begin = before === ">" ? blank : 0;
      return { begin, own: Math.max(begin, own) };
    }
    if ("([{<".includes(letter)) depth++;
    else if (")]}>".includes(letter)) depth = Math.max(0, depth - 1);
    else if (depth === 0 && letter === " " && name[at + 1] !== "<") blank = at + 1;
    else if (depth === 0 && letter === ":" && name[at + 1] === ":" && name[at + 2] !== ":") own = ++at + 1;
  }
  return { begin: 0, own: own < name.length ? own : 0 };
}

const LINE = /^[^:]+:\d+$/;
const PATH = /^[^\s:(<]*\/[^/\s]+$/;

/** Whether a name is a file's with a line. */
export function isLine(name: string): boolean {
  return LINE.test(name);
}

export function partsOf(name: string): Parts {
  if (isLine(name)) return { begin: 0, own: name.lastIndexOf(":") };
  if (PATH.test(name)) return { begin: 0, own: name.lastIndexOf("/") + 1 };
  return symbol(name);
}

/** A name as it is looked for: without the type of what a template returns. */
export function called(name: string): string {
  return name.includes(">(") ? name.slice(partsOf(name).begin) : name;
}

/** A path without the detours that a compiler was given: `src/./a.c`, `src/../a.c`. */
export function tidy(path: string): string {
  if (!path.includes("./")) return path;
  const kept: string[] = [];
  for (const part of path.split("/")) {
    if (part === "." && kept.length > 0) continue;
    const last = kept[kept.length - 1];
    if (part === ".." && last !== undefined && last !== ".." && last !== "." && last !== "") kept.pop();
    else kept.push(part);
  }
  return kept.join("/");
}
