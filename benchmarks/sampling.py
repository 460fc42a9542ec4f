"""What sampling costs, beside `perf record --call-graph dwarf` and no profiler.

The program's loss is the time stolen from a thread that spins on the time-stamp counter: wall times
of pairs differ by more than that. The recorder's own CPU time is that of the thread which reads
samples; for perf that of its process, less what it takes with a program that does nothing. Names
are found after the program's end, and their time stands apart.
"""

from __future__ import annotations

import json
import os
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
from benchmarks.wide_program import build
from gnomon.store import run_directory

_SOURCES = Path(__file__).parent / "native"
_GNOMON = str(Path(sys.executable).with_name("gnomon"))
_SPIN_S = "1.5"
_SUM_LIMIT, _READER_LIMIT, _DEFAULT_LIMIT = 4.0, 3.0, 1.0
_WARM_LIMIT_S, _COLD_LIMIT_S = 0.5, 1.5
# So that a run has about 100,000 samples.
_MANY_HZ, _MANY_CALLS = "20000", "1000000"
# A thread of Python that spins: its signal handler reads the functions below.
_SPIN_PYTHON = """
import ctypes, sys
spin = ctypes.CDLL(sys.argv[1]).share_stolen
spin.restype, spin.argtypes = ctypes.c_double, [ctypes.c_double]
def call(depth): return call(depth - 1) if depth else spin(float(sys.argv[2]))
print(call(30))
"""
_PYTHON = """
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
class Tree:
    def __init__(self, depth): self.under = [Tree(depth - 1) for _ in range(2)] if depth else []
    def size(self): return 1 + sum(one.size() for one in self.under)
for _ in range(5): print(fib(30), sum(Tree(12).size() for _ in range(60)))
"""
Command = Sequence[str]


def run(rounds: int) -> Table:
    """Return what sampling costs the program and its recorder, and how large the files are."""
    few = max(3, rounds // 4)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stolen = _stolen(folder, rounds)
        rows = [Row(f"stolen, {name}, %", "", value) for name, value in stolen.items()]
        limits = [verdict("stolen at 249 Hz", stolen["gnomon 249 Hz: more"], _DEFAULT_LIMIT, "%")]
        for program, command in _programs(folder).items():
            figures = _figures(folder, command, few)
            rows += [Row(f"{program}: {what}", "", value) for what, value in figures.items()]
            reader = figures["reader's CPU, %"]
            spinning = "in Python, " if program == "Python" else ""
            taken = stolen[f"{spinning}gnomon 997 Hz: more"] + reader
            limits.append(verdict(f"{program}: stolen and reader", taken, _SUM_LIMIT, "%"))
            limits.append(verdict(f"{program}: reader's CPU", reader, _READER_LIMIT, "%"))
        for caches, limit in (("warm", _WARM_LIMIT_S), ("cold", _COLD_LIMIT_S)):
            figures = _end_to_summary(folder, few, caches)
            rows += [Row(f"many addresses, {caches}: {what}", "", value)
                     for what, value in figures.items()]  # fmt: skip
            seconds = figures["from the end to the summary, s"]
            limits.append(verdict(f"from the end to the summary, {caches}", seconds, limit, "s"))
    return Table("sampling", "%, or ratio", rows, limits)


# --- what the program loses -----------------------------------------------------------------------


def _stolen(folder: Path, rounds: int) -> dict[str, float]:
    """Return the shares of time that a thread lost, with profilers beyond those without."""
    spin, library = folder / "stolen", folder / "stolen.so"
    for target, flags in ((spin, []), (library, ["-shared", "-fPIC"])):
        subprocess.run(["cc", "-O2", *flags, "-o", target, _SOURCES / "stolen.c"], check=True)
    native = [str(spin), _SPIN_S]
    python = ["/usr/bin/python3", "-c", _SPIN_PYTHON, str(library), _SPIN_S]
    commands: dict[str, Command] = {
        "no profiler": native,
        "gnomon 997 Hz": _gnomon("997", native),
        "gnomon 249 Hz": _gnomon("249", native),
        "in Python, no profiler": python,
        "in Python, gnomon 997 Hz": _gnomon("997", python),
        "in Python, gnomon 249 Hz": _gnomon("249", python),
    }
    if shutil.which("perf"):
        commands["perf dwarf 997 Hz"] = _perf(native)
        commands["in Python, perf dwarf 997 Hz"] = _perf(python)

    def share_of(command: Command) -> Callable[[], float]:
        return lambda: _share(command, folder)

    subjects = {name: share_of(command) for name, command in commands.items()}
    shares = interleaved(rounds, subjects)
    bare, bare_python = shares["no profiler"], shares["in Python, no profiler"]
    more = {
        f"{name}: more": share - (bare_python if name.startswith("in Python") else bare)
        for name, share in shares.items()
        if not name.endswith("no profiler")
    }
    return {"no profiler": bare, "in Python, no profiler": bare_python, **more}


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


def _end_to_summary(folder: Path, rounds: int, caches: str) -> dict[str, float]:
    """Return the time from a program's end to that of gnomon, with its summary written."""
    program, home = folder / "wide", folder / "home"
    if not program.exists():
        build(program)
    command = _gnomon(_MANY_HZ, [str(program), _MANY_CALLS])
    environment = {**os.environ, "XDG_CACHE_HOME": str(home)}
    times = []
    for _ in range(rounds + 1):
        if caches == "cold":
            shutil.rmtree(home, ignore_errors=True)
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True,
                              check=True)  # fmt: skip
        times.append(1e-9 * (time.monotonic_ns() - int(done.stdout)))
        run = run_directory.find(str(folder / "b"))
        counted = run.query("SELECT COUNT(*), COUNT(DISTINCT address) FROM samples")
        _clean(folder)
    ((samples, addresses),) = counted
    # The first one had no caches.
    return {
        "from the end to the summary, s": median(times[1:]),
        "samples": samples,
        "addresses": addresses,
    }


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
