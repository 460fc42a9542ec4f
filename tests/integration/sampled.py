"""What sampled runs hold, by the stacks of their samples."""

from __future__ import annotations

from collections import Counter
from math import sqrt
from pathlib import Path

from gnomon.store import run_directory
from gnomon.store.run import Run

Stack = tuple[str, ...]

CPU_TIME = "(SELECT s.* FROM samples s JOIN metrics m USING (metric) WHERE m.name = 'CPU time')"
"""The samples of a run's clock, without its waits."""

# Planted shares are held to three standard errors.
ERRORS = 3


def opened(path: Path) -> Run:
    """Return a run."""
    return run_directory.find(str(path))


def stacks(run: Run, metric: str = "CPU time") -> Counter[Stack]:
    """Return how many samples have each stack of functions, the outermost first."""
    above = {
        path: (parent, name)
        for path, parent, name in run.query(
            "SELECT path, parent, name FROM paths JOIN regions USING (region)"
        )
    }
    counted: Counter[Stack] = Counter()
    for path, n in run.query(
        "SELECT path, COUNT(*) FROM samples JOIN metrics m USING (metric) "
        f"WHERE m.name = '{metric}' GROUP BY path"
    ):
        stack: Stack = ()
        while path != 0:
            path, name = above[path]
            stack = (name, *stack)
        counted[stack] += n
    return counted


def samples_with(counted: Counter[Stack], function: str) -> int:
    """Return how many samples have a function on their stacks."""
    return sum(n for stack, n in counted.items() if any(function in name for name in stack))


def check_shares(counted: Counter[Stack], shares: dict[str, float], *, least: int = 300) -> None:
    """Fail if functions do not have their shares, within the sampling error."""
    total = sum(samples_with(counted, function) for function in shares)
    assert total >= least, counted.most_common(5)
    for function, share in shares.items():
        error = sqrt(share * (1 - share) / total)
        found = samples_with(counted, function) / total
        assert abs(found - share) <= ERRORS * error, (function, found, share, total)


def facts(run: Run) -> dict[str, int]:
    """Return what the sampler says of itself."""
    found: dict[str, int] = run.head["facts"]["samples"]
    return found
