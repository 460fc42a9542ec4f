// What a picture leaves out, puts together or turns around: frames made of other frames.

import { FrameBuilder, type Frames } from "./frames";

/** Whether a node of the tree is meant. */
export type NodeTest = (node: number) => boolean;

/** Frames without those that are meant and all that these call. */
export function hidden(frames: Frames, functions: Int32Array, isMeant: NodeTest): Frames {
  const gone = new Uint8Array(frames.n);
  return rebuilt(frames, functions, (frame, above) => {
    const parent = frames.parent[frame]!;
    if ((parent >= 0 && gone[parent]) || isMeant(frames.node[frame]!)) {
      gone[frame] = 1;
      return null;
    }
    return { parent: above, node: frames.node[frame]! };
  });
}

/** Frames in which those that are meant and stand on each other are the lowest of them. */
export function folded(frames: Frames, functions: Int32Array, isMeant: NodeTest): Frames {
  return rebuilt(frames, functions, (frame, above) => {
    const parent = frames.parent[frame]!;
    const node = frames.node[frame]!;
    if (parent >= 0 && isMeant(node) && isMeant(frames.node[parent]!)) return above;
    return { parent: above, node };
  });
}

type Moved = { parent: number; node: number } | number | null;

/**
 * Frames moved one by one: to below the frame that its parent became, into that, or to nowhere.
 *
 * @param move Of a frame, and what its parent became (-1 for none).
 */
function rebuilt(
  frames: Frames,
  functions: Int32Array,
  move: (frame: number, above: number) => Moved,
): Frames {
  const builder = new FrameBuilder(functions);
  const became = new Int32Array(frames.n).fill(-1);
  for (let frame = 0; frame < frames.n; frame++) {
    const parent = frames.parent[frame]!;
    const moved = move(frame, parent < 0 ? -1 : became[parent]!);
    if (moved === null) continue;
    const to = typeof moved === "number" ? moved : builder.frame(moved.parent, moved.node);
    became[frame] = to;
    builder.add(to, frames.own[frame]!, frames.ownWaiting[frame]!);
  }
  return builder.frames();
}

/** A function with all that it calls, from all of its calls: of recursive ones the outermost. */
export function calleesOf(frames: Frames, functions: Int32Array, wanted: number): Frames {
  const inside = new Uint8Array(frames.n);
  return rebuilt(frames, functions, (frame, above) => {
    const parent = frames.parent[frame]!;
    const node = frames.node[frame]!;
    if (parent >= 0 && inside[parent]) {
      inside[frame] = 1;
      return { parent: above, node };
    }
    if (functions[node] !== wanted) return null;
    inside[frame] = 1;
    return { parent: -1, node };
  });
}

/** A function with those that call it below it, and so on: widths are what it has when called so. */
export function callersOf(frames: Frames, functions: Int32Array, wanted: number): Frames {
  const builder = new FrameBuilder(functions);
  const inside = new Uint8Array(frames.n);
  for (let frame = 0; frame < frames.n; frame++) {
    const parent = frames.parent[frame]!;
    inside[frame] = parent >= 0 && inside[parent] ? 1 : 0;
    if (inside[frame] || functions[frames.node[frame]!] !== wanted) continue;
    inside[frame] = 1;
    let to = builder.frame(-1, frames.node[frame]!);
    for (let at = parent; at >= 0; at = frames.parent[at]!) {
      to = builder.frame(to, frames.node[at]!);
    }
    builder.add(to, frames.value[frame]!, frames.waiting[frame]!);
  }
  return builder.frames();
}
