"""How often `gnomon compare` cries wolf on a machine that others use: equal runs beside a load.

Pairs of runs of one program are measured while others come and go: so many processes as there are
CPUs, and one more, each busy and idle by turns of lengths drawn at random, other ones in each run.
A third of the pairs is of a program of one thread, a third of two threads that wait for each other,
a third of processes that are started one after the other. Whatever differs is the machine's.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.build import program
from benchmarks.table import Row, Table, verdict
from gnomon.store.comparison.engine import compare
from gnomon.store.comparison.model import SURE, Breach, Comparison, ComparisonOptions, Limit
from gnomon.store.comparison.samples import side

_GNOMON = str(Path(sys.executable).parent / "gnomon")
_REPETITIONS = 10
_ROUNDS = 12_000_000
# Pairs of each program, for each round that is asked for: 90 pairs of three in 20 rounds.
_PAIRS = 1.5
_FAIL_ON = 0.05
_MEAN_S = 0.7
_WARM_S = 0.1
_MOST_ALARMS = 2 / 90


def _busy_by_turns(seed: int, busy: float) -> None:
    rng = random.Random(seed)
    while True:
        end = time.perf_counter() + rng.expovariate(1 / (2 * busy * _MEAN_S))
        while time.perf_counter() < end:
            pass
        time.sleep(rng.expovariate(1 / (2 * (1 - busy) * _MEAN_S)))


class Load:
    """Processes that are busy for a part of the time, as long as it is entered."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        busy = rng.uniform(0.1, 0.9)
        count = rng.randint(0, (os.cpu_count() or 1) + 1)
        self._processes = [
            multiprocessing.Process(
                target=_busy_by_turns, args=(100 * seed + at, busy), daemon=True
            )
            for at in range(count)
        ]

    def __enter__(self) -> None:
        for process in self._processes:
            process.start()
        time.sleep(_WARM_S)

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.join()


def _measured(name: Path, words: list[str], seed: int) -> str:
    with Load(seed):
        subprocess.run(
            [_GNOMON, "count", "-r", str(_REPETITIONS), "--name", str(name), "-n", "-o",
             os.devnull, "--", *words],
            check=True,
        )  # fmt: skip
    return str(name)


class _Found:
    """How many pairs of a program differ for sure."""

    def __init__(self) -> None:
        self.measured = self.sure = self.failed = self.alarms = 0

    def add(self, comparisons: Sequence[Comparison], breaches: Sequence[Breach]) -> None:
        rows = [row for one in comparisons for row in one.whole if row.worse and row.found]
        is_sure = any(row.is_sure for row in rows)
        self.measured += any((row.measured_p or 0.0) < SURE for row in rows)
        self.sure += is_sure
        self.failed += bool(breaches)
        self.alarms += is_sure or bool(breaches)


def run(rounds: int) -> Table:
    """Return how many of so many pairs of equal runs came out different, and how many failed."""
    contended = program("contended")
    programs = {
        "one thread": [contended, "threads", "1", str(_ROUNDS)],
        "two threads": [contended, "threads", "2", str(_ROUNDS)],
        "four processes": [contended, "processes", "4", str(_ROUNDS // 4)],
    }
    pairs = max(round(_PAIRS * rounds), 2)
    found = {name: _Found() for name in programs}
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(pairs):
            for at, (name, words) in enumerate(programs.items()):
                names = [Path(folder) / f"{at}-{pair}{label}" for label in "ab"]
                seed = 1000 * at + 2 * pair
                sides = [side(_measured(one, words, seed + n)) for n, one in enumerate(names)]
                found[name].add(*compare(sides, ComparisonOptions(limits=(Limit("", _FAIL_ON),))))
    rows = [
        Row(f"{name}, {pairs} pairs: {what}", "", value)
        for name, one in found.items()
        for what, value in (
            ("differ as measured", one.measured),
            ("called worse or better, sure", one.sure),
            ("fail 5 %", one.failed),
        )
    ]
    alarms = sum(one.alarms for one in found.values())
    return Table(
        f"alarms of equal runs beside a load, {_REPETITIONS} executions a run",
        "pairs",
        rows,
        [verdict(f"alarms of {pairs * len(programs)} pairs", alarms,
                 _MOST_ALARMS * pairs * len(programs), "pairs")],
    )  # fmt: skip
