"""What watching a machine costs: CPU time of `gnomon stat 1`, beside perf and vmstat."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.table import Row, Table, verdict

_GNOMON = str(Path(sys.executable).parent / "gnomon")
_EIGHT = (
    "context-switches,cpu-migrations,page-faults,minor-faults,major-faults,cpu-clock,"
    "sched:sched_switch,raw_syscalls:sys_enter"
)
_INTERVALS = 10
_LIMIT = 1.0


def run(rounds: int) -> Table:  # noqa: ARG001
    """Return the CPU time of programs that watch all CPUs, in percent of one core.

    Each runs for one interval of a second and for eleven: the difference is what ten intervals
    cost, without the start.
    """
    perf = ["perf", "stat", "-a", "-x;", "-I", "1000", "-e", _EIGHT, "--interval-count"]
    subjects = {
        "vmstat 1": ("floor", lambda n: ["vmstat", "1", n]),
        "perf stat -a -I 1000, 8 events": ("peer", lambda n: [*perf, n]),
        "perf stat -A, 8 events": ("", lambda n: [*perf[:3], "-A", *perf[3:], n]),
        "gnomon stat 1": ("", lambda n: [_GNOMON, "stat", "1", n]),
        "gnomon stat 1, 8 events": ("", lambda n: [_GNOMON, "stat", "-e", _EIGHT, "1", n]),
        "gnomon stat 1 -A --json, 8 events": (
            "",
            lambda n: [_GNOMON, "stat", "-A", "--json", "-e", _EIGHT, "1", n],
        ),
    }
    short = _cpu_seconds({name: make("1") for name, (_, make) in subjects.items()})
    whole = _cpu_seconds({name: make(str(_INTERVALS + 1)) for name, (_, make) in subjects.items()})
    rows = [
        Row(name, role, 100 * (whole[name] - short[name]) / _INTERVALS)
        for name, (role, _) in subjects.items()
    ]
    limits = [
        verdict(row.name, row.value, _LIMIT, "% of a core")
        for row in rows
        if row.name.startswith("gnomon")
    ]
    return Table("stat", "% of a core", rows, limits)


def _cpu_seconds(commands: dict[str, list[str]]) -> dict[str, float]:
    """Return user and system time of each command; they run one after the other."""
    found = {}
    for name, command in commands.items():
        with Path(os.devnull).open("w") as nowhere:
            process = subprocess.Popen(command, stdout=nowhere, stderr=nowhere)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)}: status {process.returncode}")
        found[name] = usage.ru_utime + usage.ru_stime
    return found
