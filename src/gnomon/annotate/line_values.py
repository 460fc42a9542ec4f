"""What the lines of a function took, those of inlined code at their origin."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from gnomon.named_tuple import NamedTuple
from gnomon.store import call_paths, path_values

if TYPE_CHECKING:
    from gnomon.annotate.function_choice import FunctionPaths
    from gnomon.model.array_types import Ints
    from gnomon.store.call_paths import Code
    from gnomon.store.path_values import PathValues
    from gnomon.store.run import Run


class CallPlace(NamedTuple):
    """The line of a function where another one was inlined."""

    function: str
    file: str
    line: int


class LineValue(NamedTuple):
    """A line of a function's code, of one execution; None is what is not known.

    Attributes:
        code: the line, with the function that it is written in.
        own: without what is called from there.
        total: with it, each recursion once.
        samples: how many stand behind `own`, in all executions.
        inlined_from: the lines of the annotated function where the line's function was inlined;
            () of its own lines.
    """

    code: Code
    own: float
    total: float
    samples: float | None
    inlined_from: tuple[CallPlace, ...]


def line_values(run: Run, chosen: FunctionPaths, values: PathValues) -> list[LineValue]:
    """Return the lines of a function that have any of a metric, in the order of files and lines.

    Their own values add up to what the function has itself, with all that was inlined into it.

    Args:
        run: the run.
        chosen: the paths of the function.
        values: what paths have of a metric.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    import numpy as np

    from gnomon.model import forest

    paths = chosen.paths
    region, first = call_paths.region_groups(run, "line", run.region_kinds.code())
    line_of = first[call_paths.positions(region, paths.region)]
    line_of = np.where(chosen.is_within, line_of, -1).astype(np.int32)
    place_of = _call_places(chosen)
    top = forest.outermost_in_walk(line_of, paths.place, paths.end)
    inner = np.flatnonzero(chosen.is_within)
    lines, row_of = np.unique(line_of[inner], return_inverse=True)
    n = len(lines)
    own = path_values.added(row_of, values.own[inner], n)
    is_top = top[inner] == inner
    total = path_values.added(row_of[is_top], values.inclusive[inner][is_top], n)
    samples = np.bincount(row_of, values.own_samples[inner], minlength=n)  # NaN where one is
    told = call_paths.described(run, lines, "line")
    places: dict[int, set[int]] = {}
    for row, place in zip(row_of.tolist(), place_of[inner].tolist(), strict=True):
        if place >= 0:
            places.setdefault(row, set()).add(place)
    regions = paths.region[np.array(sorted(set().union(*places.values())), np.int64)]
    callers = call_paths.described(run, regions, "line")
    place_of_region = {
        number: CallPlace(code.function, code.file, code.line) for number, code in callers.items()
    }
    listed = [
        LineValue(
            told[line], float(own[row]), float(total[row]),
            float(samples[row]) if isfinite(samples[row]) else None,
            tuple(sorted({place_of_region[int(paths.region[at])] for at in places.get(row, ())})),
        )
        for row, line in enumerate(lines.tolist())
        if line in told
    ]  # fmt: skip
    some = [one for one in listed if one.own or one.total or one.samples]
    return sorted(some, key=lambda one: (bool(one.inlined_from), one.code.file, one.code.line))


def _call_places(chosen: FunctionPaths) -> Ints:
    """Return the position of the function's own path that each inlined one stands in, else -1."""
    import numpy as np

    parent = chosen.paths.parent
    above = np.where(chosen.is_within & ~chosen.is_own, parent, -1).astype(np.int32)
    while True:
        further = (above >= 0) & ~chosen.is_own[np.maximum(above, 0)]
        if not further.any():
            return above
        above = np.where(further, parent[np.maximum(above, 0)], above).astype(np.int32)
