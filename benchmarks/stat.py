"""What watching a machine costs: CPU time of `gnomon stat 1`, beside perf and vmstat."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.table import Row, Table, verdict

_GNOMON = str(Path(sys.executable).parent / "gnomon")
_EIGHT = (
    "context-switches,cpu-migrations,page-faults,minor-faults,major-faults,cpu-clock,"
    "sched:sched_switch,raw_syscalls:sys_enter"
)
_SETTLED_SECONDS = 2.5
_SECONDS = 10
_LIMIT = 1.0


def run(rounds: int) -> Table:  # noqa: ARG001
    """Return the CPU time of an interval of programs that watch all CPUs, in microseconds.

    It is that of ten seconds, from between two intervals on, so that the start is not in it.
    """
    perf = ["perf", "stat", "-a", "-x;", "-I", "1000", "-e", _EIGHT]
    subjects = {
        "vmstat 1": ("floor", ["vmstat", "1"]),
        "perf stat -a -I 1000, 8 events": ("peer", perf),
        "perf stat -a -A -I 1000, 8 events": ("", [*perf, "-A"]),
        "gnomon stat 1": ("", [_GNOMON, "stat", "1"]),
        "gnomon stat 1, 8 events": ("", [_GNOMON, "stat", "-e", _EIGHT, "1"]),
        "gnomon stat 1 -A --json, 8 events": (
            "",
            [_GNOMON, "stat", "-A", "--json", "-e", _EIGHT, "1"],
        ),
    }
    rows = [Row(name, role, _microseconds(command)) for name, (role, command) in subjects.items()]
    limits = [
        verdict(row.name, row.value / 1e4, _LIMIT, "% of a core")
        for row in rows
        if row.name.startswith("gnomon")
    ]
    return Table("stat", "us", rows, limits)


def _microseconds(command: list[str]) -> float:
    """Return the CPU time that a command which goes on takes in a second."""
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere)
    try:
        time.sleep(_SETTLED_SECONDS)
        before = _cpu_seconds(process.pid)
        time.sleep(_SECONDS)
        if process.poll() is not None:
            raise RuntimeError(f"{' '.join(command)}: ended by itself")
        return 1e6 * (_cpu_seconds(process.pid) - before) / _SECONDS
    finally:
        process.kill()
        process.wait()


def _cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process so far, to the nanosecond.

    Source: clock_getcpuclockid(3); the kernel's MAKE_PROCESS_CPUCLOCK with CPUCLOCK_SCHED.
    """
    return time.clock_gettime((~pid << 3) | 2)
