"""What the exercises of extensions share: their steps one after the other, and what leaks."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

_LEFT_MOST = 4096


def check_leaks(work: Callable[[], object], rounds: int, file: str) -> None:
    """Make sure that work, done often, leaves no memory that was allocated in a file.

    Args:
        work: it has been done before: what is kept of the first time is no leak.
        rounds: how often it is done.
        file: the exercise's own.
    """
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.take_snapshot()
    for _ in range(rounds):
        work()
    gc.collect()
    grown = tracemalloc.take_snapshot().compare_to(before, "filename")
    left = sum(row.size_diff for row in grown if row.traceback[0].filename == file)
    assert left < _LEFT_MOST, left


def run(*steps: Callable[[], object]) -> int:
    """Do the steps, say of each that it is done, and return 0."""
    for step in steps:
        step()
        print(step.__name__, "ok", flush=True)
    return 0
