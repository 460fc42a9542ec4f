// A call graph as the server sends it, with the calls of each function at hand.

import type { CallGraphData } from "../api";

/** Positions of arcs by function: those of function f are arcs[start[f]] up to arcs[start[f + 1]]. */
interface ArcsOf {
  readonly start: Int32Array;
  readonly arcs: Int32Array;
}

function arcsOf(n: number, ends: Int32Array): ArcsOf {
  const start = new Int32Array(n + 1);
  for (const end of ends) start[end + 1]!++;
  for (let at = 0; at < n; at++) start[at + 1]! += start[at]!;
  const next = start.slice(0, n);
  const arcs = new Int32Array(ends.length);
  ends.forEach((end, arc) => (arcs[next[end]!++] = arc));
  return { start, arcs };
}

export class GraphModel {
  private readonly from: ArcsOf;
  private readonly to: ArcsOf;
  /** The module of the program itself; -1 where none is. */
  readonly programModule: number;
  readonly hasCounts: boolean;
  private readonly ranked: readonly number[];

  constructor(readonly data: CallGraphData) {
    this.from = arcsOf(data.n, data.caller);
    this.to = arcsOf(data.n, data.callee);
    const named = data.modules.findIndex((module) => module.name === data.program);
    const main = data.names.findIndex((name) => name === "main");
    this.programModule = named >= 0 ? named : main >= 0 ? data.module[main]! : -1;
    this.hasCounts = data.arcCalls.every((calls) => calls >= 0);
    this.ranked = Array.from({ length: data.n }, (_, f) => f).sort((a, b) => data.index[a]! - data.index[b]!);
  }

  get n(): number {
    return this.data.n;
  }

  /** Arcs that leave a function. */
  arcsFrom(f: number): Int32Array {
    return this.from.arcs.subarray(this.from.start[f]!, this.from.start[f + 1]!);
  }

  arcsTo(f: number): Int32Array {
    return this.to.arcs.subarray(this.to.start[f]!, this.to.start[f + 1]!);
  }

  children(f: number): number[] {
    return [...this.arcsFrom(f)].map((arc) => this.data.callee[arc]!);
  }

  parents(f: number): number[] {
    return [...this.arcsTo(f)].map((arc) => this.data.caller[arc]!);
  }

  /** What can be reached from a function by calls, or can call it: it is among them. */
  reached(f: number, next: (one: number) => readonly number[]): number[] {
    const seen = new Set([f]);
    const waiting = [f];
    for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
      for (const other of next(one)) {
        if (seen.has(other)) continue;
        seen.add(other);
        waiting.push(other);
      }
    }
    return [...seen];
  }

  cycleOf(f: number): number[] {
    const cycle = this.data.cycle[f]!;
    if (cycle === 0) return [f];
    const members: number[] = [];
    this.data.cycle.forEach((one, at) => one === cycle && members.push(at));
    return members;
  }

  isLibrary(f: number): boolean {
    return this.programModule >= 0 && this.data.module[f] !== this.programModule;
  }

  /** Functions by what they come to, those with most first. */
  byTotal(): readonly number[] {
    return this.ranked;
  }
}

/** A name with its cycle and index, as labels and reports have it. */
export function functionLabel(model: GraphModel, f: number): string {
  const { names, cycle, index } = model.data;
  return `${names[f]}${cycle[f] ? ` <cycle ${cycle[f]}>` : ""} [${index[f]}]`;
}

/** A value in seconds as the chapter's labels have it, others shortened. */
export function labelValue(value: number, unit: string): string {
  if (unit === "s") return value.toFixed(3);
  if (Math.abs(value) < 1e5) return String(Math.round(value * 100) / 100);
  const exponent = Math.min(Math.floor(Math.log10(Math.abs(value)) / 3), 4);
  return `${(value / 10 ** (3 * exponent)).toFixed(2)}${["", "k", "M", "G", "T"][exponent]}`;
}

/** `total x self`. */
export function valuesLabel(model: GraphModel, f: number): string {
  const { total, own, unit } = model.data;
  return `${labelValue(total[f]!, unit)} x ${labelValue(own[f]!, unit)}`;
}
