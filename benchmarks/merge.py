"""Runs of large jobs, put together from what their ranks left: time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.table import Row, Table, verdict

_GNOMON = str(Path(sys.executable).parent / "gnomon")
_ROUNDS_MOST = 3
_RANKS, _REGIONS, _METRICS = 8192, 100, 20
_WRITERS, _EVENTS = 4, 10_000_000


class _Cost(NamedTuple):
    """Seconds, CPU seconds and the most memory in MB of a command."""

    seconds: float
    cpu_seconds: float
    memory: float


def _cost(folder: Path, *command: str) -> _Cost:
    begin = time.perf_counter()
    with (folder / "out").open("wb") as out:
        child = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out, env=_ENVIRONMENT)
        _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    if status:
        raise RuntimeError(f"{command}: status {status}: {(folder / 'out').read_text()[-2000:]}")
    seconds = time.perf_counter() - begin
    return _Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3)


# Where `benchmarks` is, for generators that run in other folders.
_ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}


def _generate(folder: Path, name: str, *numbers: int) -> _Cost:
    words = (sys.executable, "-m", "benchmarks.large_job", name, *map(str, numbers))
    return _cost(folder, *words)


def _rows(name: str, costs: list[_Cost]) -> list[Row]:
    return [
        Row(name, "", 1e3 * median(one.seconds for one in costs)),
        Row("  its CPU time", "", 1e3 * median(one.cpu_seconds for one in costs)),
    ]


def run(rounds: int) -> Table:
    """Return how long `gnomon repair` takes to make the runs, and its memory."""
    few = min(rounds, _ROUNDS_MOST)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ranks, events, written = [], [], []
        for at in range(few):
            _generate(folder, f"ranks{at}", _RANKS, _REGIONS, _METRICS, 0)
            ranks.append(_cost(folder, _GNOMON, "repair", f"ranks{at}"))
            each = str(_EVENTS // _WRITERS)
            written.append(
                _generate(folder, f"events{at}", _WRITERS, _REGIONS, _METRICS, int(each))
            )
            events.append(_cost(folder, _GNOMON, "repair", f"events{at}"))
    seconds = [one.seconds + other.seconds for one, other in zip(written, events, strict=True)]
    return Table(
        "runs of large jobs",
        "ms",
        [
            *_rows("8,192 ranks x 100 regions x 20 metrics, merged", ranks),
            *_rows("10 million events written, one rank after the other", written),
            *_rows("the same merged from the parts of 4 ranks", events),
        ],
        [
            verdict("8,192 ranks merged", median(one.seconds for one in ranks), 10.0, "s"),
            verdict("8,192 ranks, memory", max(one.memory for one in ranks) / 1e3, 1.0, "GB"),
            verdict("10 million events written and merged", median(seconds), 5.0, "s"),
            verdict(
                "10 million events, memory", max(one.memory for one in events) / 1e3, 1.0, "GB"
            ),
        ],
    )
