"""A perf.data file of some 70 MB, 120,000 samples of 65 frames, read by Gnomon and by perf.

It is recorded here, of a program whose calls take other ways each time. The floor is to read the
file's bytes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.table import Row, Table, interleaved, verdict
from gnomon.sampling._perf_data import PerfFile
from gnomon.sampling.perf_data.profile import read_perf_data

_PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static volatile unsigned long sink;
#define APART __attribute__((noinline, noclone))
APART static unsigned long work(unsigned long n)
{
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i * i ^ sum;
    return sink = sum;
}
static unsigned long one(int, unsigned long), two(int, unsigned long), three(int, unsigned long);
#define WAY(name, left, right) \
    APART static unsigned long name(int depth, unsigned long ways) \
    { \
        if (!depth) return work(3000) + 1; \
        return (ways >> depth % 10 & 1 ? left(depth - 1, ways) : right(depth - 1, ways)) + 1; \
    }
WAY(one, two, three)
WAY(two, three, one)
WAY(three, one, two)
int main(int n, char **words)
{
    const double seconds = n > 1 ? atof(words[1]) : 1;
    for (unsigned long i = 0; clock() < seconds * CLOCKS_PER_SEC; i++)
        one(80, i * 2654435761u % 1009);
    return 0;
}
"""
_SECONDS, _HERTZ = "6.2", "20000"
_PATHS_MS, _TIMES_PERF_SCRIPT = 1000, 10


def run(rounds: int) -> Table:
    """Return the times to read the file, by Gnomon in steps, by perf, and its bytes alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = _recorded(Path(folder))
        subjects = {
            "its bytes": partial(_bytes, path),
            "to call paths": partial(_paths, path),
            "to a run, with names": partial(_run, path),
            "gnomon report profile": partial(
                _command, [sys.executable, "-m", "gnomon", "report", str(path), "profile"]
            ),
            "perf report": partial(_command, ["perf", "report", "-i", str(path), "--stdio"]),
            "perf script": partial(_command, ["perf", "script", "-i", str(path)]),
        }
        medians = interleaved(max(3, rounds // 4), subjects)
        size = path.stat().st_size / 1e6
        with path.open("rb") as file:
            _, tables = read_perf_data(path, file)
            rows = {table.schema.name: len(table) for table in tables}
    roles = {"its bytes": "floor", "perf report": "peer", "perf script": "peer"}
    paths, whole, script = (
        medians[name] for name in ("to call paths", "to a run, with names", "perf script")
    )
    title = f"perf.data of {size:.0f} MB, {rows['samples']:,} samples, {rows['paths']:,} call paths"
    return Table(
        title,
        "ms",
        [Row(name, roles.get(name, ""), value) for name, value in medians.items()],
        [
            f"{title}; perf script takes {script / paths:.1f} times as long as to call paths, "
            f"{script / whole:.1f} times as long as to a run",
            verdict("to call paths", paths, _PATHS_MS, "ms"),
            verdict(f"{_TIMES_PERF_SCRIPT} times that", _TIMES_PERF_SCRIPT * paths, script, "ms"),
        ],
    )


def _recorded(folder: Path) -> Path:
    if not shutil.which("perf"):
        raise SystemExit("perf_data: there is no perf to record the file with")
    (folder / "ways.c").write_text(_PROGRAM)
    subprocess.run(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
                    "ways.c", "-o", "ways"], cwd=folder, check=True)  # fmt: skip
    command = ["perf", "record", "-q", "-o", "perf.data", "-e", "cpu-clock", "-F", _HERTZ, "-g"]
    subprocess.run([*command, "--", "./ways", _SECONDS], cwd=folder, check=True)
    return folder / "perf.data"


def _bytes(path: Path) -> float:
    begin = time.perf_counter()
    buffer = bytearray(1 << 20)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return 1e3 * (time.perf_counter() - begin)


def _paths(path: Path) -> float:
    begin = time.perf_counter()
    with path.open("rb") as file, tempfile.TemporaryFile() as unpacked:
        PerfFile(file.fileno(), unpacked.fileno()).read(-1)
    return 1e3 * (time.perf_counter() - begin)


def _run(path: Path) -> float:
    begin = time.perf_counter()
    with path.open("rb") as file:
        _, tables = read_perf_data(path, file)
        for _ in tables:
            pass
    return 1e3 * (time.perf_counter() - begin)


def _command(command: Sequence[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env={**os.environ, "PERF_PAGER": "cat"})  # fmt: skip
    return 1e3 * (time.perf_counter() - begin)
