"""Runs of large jobs, put together from what their ranks left: time and memory."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.cost import Cost, cost_of, typical
from benchmarks.table import Table, verdict

_GNOMON = str(Path(sys.executable).parent / "gnomon")
_ROUNDS_MOST = 3
_RANKS, _REGIONS, _METRICS = 8192, 100, 20
_WRITERS, _EVENTS = 4, 10_000_000


# Where `benchmarks` is, for generators that run in other folders.
_ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}


def _generate(folder: Path, name: str, *numbers: int) -> Cost:
    words = (sys.executable, "-m", "benchmarks.large_job", name, *map(str, numbers))
    return cost_of(*words, folder=folder, environment=_ENVIRONMENT)


def run(rounds: int) -> Table:
    """Return how long `gnomon repair` takes to make the runs, and its memory."""
    few = min(rounds, _ROUNDS_MOST)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ranks, events, written = [], [], []
        for at in range(few):
            _generate(folder, f"ranks{at}", _RANKS, _REGIONS, _METRICS, 0)
            ranks.append(cost_of(_GNOMON, "repair", f"ranks{at}", folder=folder))
            each = _EVENTS // _WRITERS
            written.append(_generate(folder, f"events{at}", _WRITERS, _REGIONS, _METRICS, each))
            events.append(cost_of(_GNOMON, "repair", f"events{at}", folder=folder))
    seconds = [one.seconds + other.seconds for one, other in zip(written, events, strict=True)]
    return Table(
        "runs of large jobs",
        "ms",
        [
            *typical(ranks).rows("8,192 ranks x 100 regions x 20 metrics, merged"),
            *typical(written).rows("10 million events written, one rank after the other"),
            *typical(events).rows("the same merged from the parts of 4 ranks"),
        ],
        [
            verdict("8,192 ranks merged", typical(ranks).seconds, 10.0, "s"),
            verdict("8,192 ranks, memory", typical(ranks).memory / 1e3, 1.0, "GB"),
            verdict("10 million events written and merged", median(seconds), 5.0, "s"),
            verdict("10 million events, memory", typical(events).memory / 1e3, 1.0, "GB"),
        ],
    )
