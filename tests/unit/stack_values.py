"""What stacks come to in a run, to be compared with those of a file or of another run."""

from __future__ import annotations

from typing import NamedTuple

from gnomon.store.run import Run

_PATHS = "SELECT t.path, t.parent, r.kind, r.name FROM paths t JOIN regions r USING (region)"
_VALUES = """
SELECT l.tid, p.path, SUM(p.inclusive), SUM(p.exclusive)
FROM profile p JOIN locations l USING (location) JOIN metrics m USING (metric)
WHERE m.name = '{metric}' AND l.kind IN {kinds} GROUP BY ALL
"""


class Values(NamedTuple):
    """Of a stack with all that it calls, and of it alone."""

    inclusive: float
    exclusive: float


def stack_values(
    run: Run, metric: str, *, by_thread: bool = True, digits: int = 9
) -> dict[tuple[int, tuple[str, ...]], Values]:
    """Return the values of each stack of names below the program, by thread number and stack.

    Args:
        run: the run.
        metric: name of the metric.
        by_thread: of each thread; else all have the number -1.
        digits: values are rounded to.
    """
    paths = {path: (parent, kind, name) for path, parent, kind, name in run.query(_PATHS)}

    def stack(path: int) -> tuple[str, ...]:
        parent, kind, name = paths[path]
        above = stack(parent) if parent != -1 else ()
        return above if kind == "hpm" else (*above, name)

    kinds = "('thread')" if by_thread else "('thread', 'command')"
    sums: dict[tuple[int, tuple[str, ...]], list[float]] = {}
    for tid, path, inclusive, exclusive in run.query(_VALUES.format(metric=metric, kinds=kinds)):
        own = sums.setdefault((tid if by_thread else -1, stack(path)), [0.0, 0.0])
        own[0] += inclusive
        own[1] += exclusive
    return {
        key: Values(*(round(value, digits) for value in values)) for key, values in sums.items()
    }


def program_of(run: Run) -> str:
    """Return the name of the region that all paths come from."""
    ((name,),) = run.query(
        "SELECT r.name FROM paths t JOIN regions r USING (region) WHERE t.parent = -1"
    )
    return str(name)
