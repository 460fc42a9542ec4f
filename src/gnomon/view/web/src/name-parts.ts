// Splits names of functions and files into scope and own name, which is cut off last.

/** `operator` and its symbol, whose characters are not brackets. */
const OPERATOR = /^operator\s*(\(\)|\[\]|<=>|<<=|>>=|->\*|<<|>>|<=|>=|->|[-+*/%^&|~!=<>,]+)?/;

interface NameParts {
  /** Where the name begins, behind the return type. */
  readonly begin: number;
  /** Where its own part begins, behind namespaces, classes or folders. */
  readonly own: number;
}

/** The parts of a C++ name, or of one that looks like one. */
function splitSymbol(name: string): NameParts {
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

/** Whether a name is `FILE:LINE`. */
export function isFileLine(name: string): boolean {
  return LINE.test(name);
}

export function splitName(name: string): NameParts {
  if (isFileLine(name)) return { begin: 0, own: name.lastIndexOf(":") };
  if (PATH.test(name)) return { begin: 0, own: name.lastIndexOf("/") + 1 };
  return splitSymbol(name);
}

/** A name without the return type that template functions have in theirs. */
export function withoutReturnType(name: string): string {
  return name.includes(">(") ? name.slice(splitName(name).begin) : name;
}

/** A path without `.` and `..`, which compilers leave in: `src/./a.c`, `src/../a.c`. */
export function normalizePath(path: string): string {
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
