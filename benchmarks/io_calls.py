"""What recording calls on files adds to each, and to the start of a program.

Beside two floors, a library that passes calls on and one that reads the counter before and after,
and beside Darshan, where GNOMON_BENCH_DARSHAN has the path of its libdarshan.so. All take turns.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.table import Grid, verdict

_SOURCES = Path(__file__).parent / "native"
_CALLS = "200000"
_STARTS = 40
_CALL_LIMIT_NS, _TRACE_LIMIT_NS, _START_LIMIT_MS = 60.0, 80.0, 1.5
_TRACE_BYTES = 1 << 30
_NOTHING, _FLOOR, _TIMED, _DARSHAN = "none", "passes on", "two clocks", "Darshan"
_GNOMON, _TRACE = "gnomon", "with trace"
_VARIABLE = "GNOMON_BENCH_DARSHAN"
_STRACE = "strace -c"


def run(rounds: int) -> Grid:
    """Return nanoseconds of calls, and what each way adds to them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ways, notes = _ways(folder)
        program = folder / "bench_io"
        _compile(program, "bench_io.c")
        times: dict[str, dict[str, list[float]]] = {}
        for _ in range(rounds):
            for way, words in ways.items():
                for call, ns in _calls(program, words, folder):
                    times.setdefault(call, {}).setdefault(way, []).append(ns)
        starts = {
            way: median(_start(words, folder) for _ in range(_STARTS))
            for way, words in ways.items()
            if way != _STRACE
        }
    rows = {}
    for call, of_ways in times.items():
        plain = median(of_ways[_NOTHING])
        added = {way: median(ns) - plain for way, ns in of_ways.items() if way != _NOTHING}
        rows[call] = {_NOTHING: plain, **added}
        notes.append(verdict(f"{call}, more", added[_GNOMON], _CALL_LIMIT_NS, "ns"))
        notes.append(verdict(f"{call}, with trace", added[_TRACE], _TRACE_LIMIT_NS, "ns"))
    more = starts[_GNOMON] - starts[_FLOOR]
    notes.append(
        verdict("start of a program, beyond an empty library", more, _START_LIMIT_MS, "ms")
    )
    notes += [f"start of a program, {way}: {ms:.2f} ms" for way, ms in starts.items()]
    return Grid("io", "ns", [_NOTHING, *(way for way in ways if way != _NOTHING)], rows, notes)


def _ways(folder: Path) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return what a program is started with in each way, and what is not here."""
    import gnomon.io

    passing, timed = folder / "floor.so", folder / "timed.so"
    _compile(passing, "floor_io.c", "-shared", "-fPIC")
    ways = {_NOTHING: (), _FLOOR: ("env", f"LD_PRELOAD={passing}")}
    notes = []
    if platform.machine() == "x86_64":
        _compile(timed, "floor_io.c", "-shared", "-fPIC", "-DFLOOR_TIMED")
        ways[_TIMED] = ("env", f"LD_PRELOAD={timed}")
    library = Path(gnomon.io.__file__).with_name("libgnomon_io.so")
    ways[_GNOMON] = ("env", f"LD_PRELOAD={library}", f"GNOMON_RUN_DIR={folder / 'run'}")
    ways[_TRACE] = (*ways[_GNOMON], f"GNOMON_IO_TRACE={_TRACE_BYTES}")
    darshan = os.environ.get(_VARIABLE)
    if darshan:
        ways[_DARSHAN] = ("env", f"LD_PRELOAD={darshan}", "DARSHAN_ENABLE_NONMPI=1",
                          f"DARSHAN_LOGPATH={folder}")  # fmt: skip
    else:
        notes.append(f"Darshan: not here ({_VARIABLE} names none)")
    if shutil.which("strace"):
        ways[_STRACE] = ("strace", "-c", "-o", str(folder / "strace"))
    return ways, notes


def _compile(target: Path, source: str, *flags: str) -> None:
    words: list[str | Path] = ["gcc", "-O2", "-D_GNU_SOURCE", *flags, "-o", target]
    subprocess.run([*words, _SOURCES / source, "-ldl"], check=True)


def _calls(program: Path, words: tuple[str, ...], folder: Path) -> list[tuple[str, float]]:
    shutil.rmtree(folder / "run", ignore_errors=True)
    (folder / "run").mkdir()
    calls = "5000" if words[:1] == ("strace",) else _CALLS
    command = [*words, str(program), str(folder / "data"), calls]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    pairs = [line.split() for line in printed.splitlines()]
    return [(name, float(ns)) for name, ns in pairs]


def _start(words: tuple[str, ...], folder: Path) -> float:
    from time import perf_counter

    shutil.rmtree(folder / "run", ignore_errors=True)
    (folder / "run").mkdir()
    begin = perf_counter()
    subprocess.run([*words, "/bin/true"], check=True)
    return 1e3 * (perf_counter() - begin)
