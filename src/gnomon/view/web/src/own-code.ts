// Which nodes are the user's own code: what one can change, and has the source of.

import type { Run } from "./api";
import type { Tree } from "./tree-model";

/** Whether a source file is of a library: those of the system name their files from where they were compiled. */
export function isOfLibrary(path: string): boolean {
  return !path.startsWith("/") || path.startsWith("/usr/") || /\/(site|dist)-packages\//.test(path);
}

/** Whether a file is the user's own, and on this machine. */
export function ownFiles(run: Run): (file: string) => boolean {
  const missing = new Set(run.missingFiles);
  return (file) => file !== "" && !isOfLibrary(file) && !missing.has(file);
}

/** The innermost own function that a node is in, top-down; the node where there is none. */
export function innermostOwnCode(tree: Tree, node: number, isOwn: (file: string) => boolean): number {
  for (let at = node; at >= 0; at = tree.parent(at)) if (isOwn(tree.file(at))) return at;
  return node;
}

/** So many callers above are looked at, and opened. */
const MOST_CALLERS = 8;

/** The nearest own function that has most calls of a function, bottom-up; the function where there is none. */
export function nearestOwnCaller(
  tree: Tree,
  node: number,
  values: Float64Array,
  isOwn: (file: string) => boolean,
): number {
  let at = node;
  for (let level = 0; level <= MOST_CALLERS && at >= 0; level++) {
    if (isOwn(tree.file(at))) return at;
    let most = -1;
    for (const child of tree.children(at)) if (most < 0 || values[child]! > values[most]!) most = child;
    at = most;
  }
  return node;
}
