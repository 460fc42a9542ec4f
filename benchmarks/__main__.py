"""`python -m benchmarks [NAME...]`: run benchmarks and print their tables (make bench)."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path

from benchmarks import (
    browser,
    callgraph,
    callgrind,
    clocks,
    compare,
    contended,
    emulated,
    exchange,
    graph_picture,
    io_calls,
    io_modules,
    layout,
    leaks,
    merge,
    mpi,
    mpi_report,
    mpi_starts,
    overflow,
    perf_data,
    pictures,
    ranks,
    reads,
    records,
    sampling,
    sections,
    sets,
    startup,
    stat,
    store,
    symbols,
    throughput,
    unwind,
    view,
    waits,
)
from benchmarks.table import Table

# name: what it measures, function from the number of rounds to a table
BENCHMARKS = {
    "startup": ("gnomon count true beside perf stat true, and gnomon -h", startup.run),
    "reads": ("reading a group of events from C and from Python", reads.run),
    "records": ("a record of a library that is preloaded, written and read", records.run),
    "sets": ("event sets in C beside the bare system calls and PAPI", sets.run),
    "overflow": ("a call at each overflow of an event, beside a bare signal handler", overflow.run),
    "sections": ("a section's start and stop beside PAPI's regions", sections.run),
    "leaks": ("event sets that come and go, 100,000 times", leaks.run),
    "clocks": ("reading the clock", clocks.run),
    "unwind": ("call stacks from copies of a Python program's stack", unwind.run),
    "emulated": ("CPU time of emulated counting, beside Valgrind", emulated.run),
    "ranks": ("one report for all tasks of an MPI job", ranks.run),
    "stat": ("watching all CPUs every second, beside perf stat and vmstat", stat.run),
    "callgraph": ("reports of gmon.out files, beside gprof", callgraph.run),
    "callgrind": ("a callgrind.out file of 20 MB, beside callgrind_annotate", callgrind.run),
    "graph": ("a call graph of 5,000 functions in a browser", graph_picture.run),
    "compare": ("slow-downs found and false alarms in measured noise", compare.run),
    "contended": ("false alarms of comparisons on a machine that others use", contended.run),
    "merge": ("runs of large jobs from what their ranks left: time, and memory", merge.run),
    "io-modules": ("prefetch of cold files, and small writes put together", io_modules.run),
    "mpi": ("what the profile of MPI adds to calls, beside floors", mpi.run),
    "io": ("what recording calls on files adds to them, beside floors", io_calls.run),
    "store": ("reports of large runs: time, and the memory they take", store.run),
    "mpi-starts": ("what the profile of MPI adds to the start of programs", mpi_starts.run),
    "mpi-report": ("reports of MPI, up to 131,072 ranks: time, and memory", mpi_report.run),
    "view": ("opening runs in gnomon view, and what a click waits for", view.run),
    "pictures": ("a flame graph of 100,000 nodes, in Chromium", pictures.run),
    "browser": ("clicks and keys on 100,000 nodes, in Chromium", browser.run),
    "layout": ("the layout of call graphs, in Node and Chromium, beside dot", layout.run),
    "symbols": ("functions, inlined calls and lines of 10,000 addresses", symbols.run),
    "sampling": ("what sampling takes from a program, its reader's CPU, its files", sampling.run),
    "waits": ("what recording where threads wait adds to a switch of threads", waits.run),
    "exchange": ("profiles of other tools: imports of large ones, and exports", exchange.run),
    "perf-data": ("a perf.data file of 120,000 samples, read by Gnomon and by perf", perf_data.run),
    "throughput": ("programs that fork and call the kernel a lot, while counted", throughput.run),
}


def main() -> int:
    """Run the benchmarks that were asked for and return 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], metavar="NAME",
                        help=f"which ({', '.join(BENCHMARKS)}; default: all)")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=20, help="interleaved rounds (default 20)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    arguments = parser.parse_args()
    tables: list[Table] = []
    print(f"{platform.release()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, "
          f"load {os.getloadavg()[0]:.1f}, {time.strftime('%Y-%m-%d')}")  # fmt: skip
    for name in arguments.names or BENCHMARKS:
        title, run = BENCHMARKS[name]
        print(f"\n{name}: {title}")
        table = run(arguments.rounds)
        print(table.text(), end="")
        tables.append(table)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps([t.as_dict() for t in tables], indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
