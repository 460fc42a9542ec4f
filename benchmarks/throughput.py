"""What counting costs a program that is all system calls: floor uncounted, peer perf stat."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from benchmarks.table import Row, Table, interleaved, wall_ms

_ROOT = Path(__file__).parent.parent
_GNOMON = str(Path(sys.executable).parent / "gnomon")
_FOUR = "task-clock,page-faults,context-switches,cpu-migrations"
_TRACED = f"{_FOUR},raw_syscalls:sys_enter"


def run(rounds: int) -> Table:
    """Return wall times of a program that forks 2,000 times and calls getppid 2 million times."""
    program = _ROOT / "build" / "bench" / "busy"
    program.parent.mkdir(parents=True, exist_ok=True)
    compiler = shutil.which("cc") or "gcc"
    source = str(Path(__file__).parent / "native" / "busy.c")
    subprocess.run([compiler, "-O2", "-o", str(program), source], check=True)
    busy = str(program)
    commands = {
        "uncounted": [busy],
        "perf stat, 4 events": ["perf", "stat", "-e", _FOUR, busy],
        "gnomon count, 4 events": [_GNOMON, "count", "-e", _FOUR, "--", busy],
        "gnomon count --per thread": [_GNOMON, "count", "--per", "thread", "-e", _FOUR, busy],
        "perf stat, and a tracepoint": ["perf", "stat", "-e", _TRACED, busy],
        "gnomon count, and a tracepoint": [_GNOMON, "count", "-e", _TRACED, "--", busy],
    }
    medians = interleaved(
        max(3, rounds // 4),
        {name: partial(wall_ms, command) for name, command in commands.items()},
    )
    roles = {"uncounted": "floor", "perf stat, 4 events": "peer"}
    return Table(
        "throughput",
        "ms",
        [Row(name, roles.get(name, ""), value) for name, value in medians.items()],
        [],
    )
