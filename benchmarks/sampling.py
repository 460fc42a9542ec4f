"""What sampling costs, beside `perf record --call-graph dwarf` and no profiler.

The program's loss is the time stolen from a thread that spins on the time-stamp counter: wall times
of pairs differ by more than that. The recorder's own CPU time is that of the thread which reads
samples; for perf that of its process, less what it takes with a program that does nothing. Names
are found after the program's end, and their time stands apart.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from benchmarks.cost import cost_of
from benchmarks.table import Row, Table, interleaved, verdict

_SOURCES = Path(__file__).parent / "native"
_GNOMON = str(Path(sys.executable).with_name("gnomon"))
_SPIN_S = "1.5"
_STOLEN_LIMIT, _READER_LIMIT = 4.0, 3.0
_PYTHON = """
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
class Tree:
    def __init__(self, depth): self.under = [Tree(depth - 1) for _ in range(2)] if depth else []
    def size(self): return 1 + sum(one.size() for one in self.under)
print(fib(30), sum(Tree(12).size() for _ in range(60)))
"""
Command = Sequence[str]


def run(rounds: int) -> Table:
    """Return what sampling costs the program and its recorder, and how large the files are."""
    few = max(3, rounds // 4)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = _stolen(folder, few)
        limits = [verdict("time stolen at 997 Hz", rows[1].value, _STOLEN_LIMIT, "%")]
        for program, command in _programs(folder).items():
            figures = _figures(folder, command, few)
            rows += [Row(f"{program}: {what}", "", value) for what, value in figures.items()]
            limits.append(
                verdict(f"{program}: reader's CPU", figures["reader's CPU, %"], _READER_LIMIT, "%")
            )
    return Table("sampling", "%, or ratio", rows, limits)


# --- what the program loses -----------------------------------------------------------------------


def _stolen(folder: Path, rounds: int) -> list[Row]:
    spin = folder / "stolen"
    subprocess.run(["cc", "-O2", "-o", spin, _SOURCES / "stolen.c"], check=True)
    subjects: dict[str, Callable[[], float]] = {
        "stolen, no profiler": lambda: _share([str(spin), _SPIN_S], folder),
        "stolen, gnomon 997 Hz": lambda: _share(_gnomon("997", [str(spin), _SPIN_S]), folder),
        "stolen, gnomon 249 Hz": lambda: _share(_gnomon("249", [str(spin), _SPIN_S]), folder),
    }
    if shutil.which("perf"):
        subjects["stolen, perf dwarf 997 Hz"] = lambda: _share(_perf([str(spin), _SPIN_S]), folder)
    medians = interleaved(rounds, subjects)
    bare = medians["stolen, no profiler"]
    rows = [Row("stolen, no profiler, %", "", bare)]
    rows += [
        Row(f"{name}: more, %", "", value - bare)
        for name, value in medians.items()
        if name != "stolen, no profiler"
    ]
    return rows


def _share(command: Command, folder: Path) -> float:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    _clean(folder)
    return 100 * float(done.stdout.split()[0])


# --- what recording costs, and leaves -------------------------------------------------------------


def _programs(folder: Path) -> dict[str, Command]:
    deep, data = folder / "deep", folder / "data"
    subprocess.run(
        ["g++", "-g", "-O2", "-fomit-frame-pointer", "-o", deep, _SOURCES / "deep_calls.cpp"],
        check=True,
    )
    with data.open("wb") as file:
        for part in (sys.executable, "/bin/bash", "/usr/bin/perl"):
            if Path(part).exists():
                file.write(Path(part).read_bytes())
    return {
        "xz": ["xz", "-9", "-k", "-c", str(data)],
        "deep C++": [str(deep), "80000"],
        "Python": ["/usr/bin/python3", "-c", _PYTHON],
    }


def _figures(folder: Path, command: Command, rounds: int) -> dict[str, float]:
    """Return the reader's CPU and the files' sizes, against perf's."""
    ours: list[tuple[float, float, float]] = []
    for _ in range(rounds):
        before = time.perf_counter()
        subprocess.run(
            _gnomon("997", command), cwd=folder, check=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        wall = time.perf_counter() - before
        head = json.loads((folder / "b.gnomon" / "run.json").read_text())
        facts = head["facts"]["samples"]
        ours.append((
            facts["cpu_us"] / 1e6, facts["samples"] / 997, wall - head["wall_seconds"],
        ))  # fmt: skip
        size = sum(path.stat().st_size for path in (folder / "b.gnomon").rglob("*"))
        complete = 100 * facts["complete"] / max(facts["stacks"], 1)
        _clean(folder)
    cpu, of, after = (median(column) for column in zip(*ours, strict=True))
    figures = {
        "reader's CPU, %": 100 * cpu / of,
        "complete stacks, %": complete,
        "bytes per sample": size / (of * 997),
        "start and assembly, ms": 1e3 * after,
    }
    if shutil.which("perf"):
        idle = median(cost_of(*_perf(["true"]), folder=folder).cpu_seconds for _ in range(rounds))
        bare = median(cost_of(*command, folder=folder).cpu_seconds for _ in range(rounds))
        both = []
        for _ in range(rounds):
            both.append(cost_of(*_perf(command), folder=folder).cpu_seconds)
            theirs = (folder / "b.data").stat().st_size
        figures["perf's CPU beyond its fixed part, %"] = 100 * (median(both) - bare - idle) / bare
        figures["perf's file ÷ ours"] = theirs / size
    return figures


def _gnomon(rate: str, command: Command) -> list[str]:
    return [_GNOMON, "record", "-F", rate, "--name", "b", "--", *command]


def _perf(command: Command) -> list[str]:
    return [
        "perf", "record", "-q", "-e", "cpu-clock", "-F", "997", "--call-graph", "dwarf",
        "-o", "b.data", "--", *command,
    ]  # fmt: skip


def _clean(folder: Path) -> None:
    shutil.rmtree(folder / "b.gnomon", ignore_errors=True)
    (folder / "b.data").unlink(missing_ok=True)
