"""Reports of runs of MPI programs of many ranks, generated: time, and memory."""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks import large_mpi
from benchmarks.cost import cost_of, typical
from benchmarks.table import Table, verdict

_GNOMON = str(Path(sys.executable).parent / "gnomon")
_RANKS = (8192, 131_072)
_ROUNDS_MOST = 3


def run(rounds: int) -> Table:
    """Return how long `gnomon report RUN mpi` takes, and its memory."""
    few = min(rounds, _ROUNDS_MOST)
    rows, seconds, memory = [], 0.0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for ranks in _RANKS:
            path = Path(folder) / f"ranks{ranks}.gnomon"
            # In a process of its own: a child's most memory is at least its parent's.
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
                apart.submit(large_mpi.write, path, ranks).result()
            for title, words in (
                ("the screen", ()), ("by site", ("--by", "site")), ("by rank", ("--by", "rank")),
                ("all of it, as JSON", ("--json",)),
            ):  # fmt: skip
                costs = [cost_of(_GNOMON, "report", path, "mpi", *words) for _ in range(few)]
                rows += typical(costs).rows(f"{ranks:,} ranks: {title}")
                seconds = max(seconds, typical(costs).seconds)
                memory = max(memory, typical(costs).memory)
    return Table(
        "reports of MPI",
        "ms",
        rows,
        [
            verdict("131,072 ranks, the slowest", seconds, 60.0, "s"),
            verdict("131,072 ranks, most memory", memory / 1e3, 4.0, "GB"),
        ],
    )
