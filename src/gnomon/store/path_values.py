"""Values of call paths as arrays: of one metric, over the locations whose values add up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.named_tuple import NamedTuple
from gnomon.store import call_paths

if TYPE_CHECKING:
    from gnomon.model.array_types import Flags, Floats, Ints, Longs
    from gnomon.store.call_paths import CallPaths
    from gnomon.store.run import Run

_WIDEST = ("run", "host", "rank", "command", "process", "thread", "core", "cpu")
"""Kinds of locations, those first that others are in."""
_PLACES_MOST = 1 << 31
_RANK = {kind: at for at, kind in enumerate(_WIDEST)}


class PathRows(NamedTuple):
    """Rows of the profile of one metric, in the order of the table.

    Attributes:
        at: position of each one's path.
        place: a number of each one's location and execution.
        kind: position of the location's kind in `_WIDEST`.
        inclusive, exclusive, samples: its values; NaN where not known.
    """

    at: Ints
    place: Ints
    kind: Ints
    inclusive: Floats
    exclusive: Floats
    samples: Floats


class PathValues(NamedTuple):
    """Values of each path over all locations and executions, in the order of `CallPaths`.

    Attributes:
        own: without what is called from there.
        inclusive: with it.
        samples: how many stand behind `inclusive`; NaN of what is not sampled.
        own_samples: likewise, behind `own`.
    """

    own: Floats
    inclusive: Floats
    samples: Floats
    own_samples: Floats


def rows(run: Run, paths: CallPaths, metric: int, only: str = "") -> PathRows:
    """Return the rows of a metric.

    Args:
        run: the run.
        paths: its paths.
        metric: number of the metric.
        only: a condition on rows `p`, as " AND ..."; "" for all.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    import numpy as np

    locations = run.columns("SELECT location, kind FROM locations ORDER BY location", threads=1)
    kind_of = np.array([_RANK.get(kind, len(_WIDEST)) for kind in locations["kind"]], np.int32)
    # One thread: sums of the same numbers in another order differ in their last digit.
    columns = run.columns(
        "SELECT p.path, p.location, p.repetition, p.inclusive, p.exclusive, p.raw FROM profile p "
        f"WHERE p.metric = {metric} {only}",
        threads=1,
    )
    path = call_paths.positions(paths.path, columns["path"])
    where = call_paths.positions(locations["location"], columns["location"])
    repetition = columns["repetition"].astype(np.int64)
    place = where.astype(np.int64) * (repetition.max(initial=0) + 1) + repetition
    if place.max(initial=0) > _PLACES_MOST:  # of a damaged run
        place = np.unique(place, return_inverse=True)[1]
    is_there = (path >= 0) & (where >= 0)
    if not is_there.all():
        path, where, place = path[is_there], where[is_there], place[is_there]
        columns = {name: column[is_there] for name, column in columns.items()}
    values = (_finite(columns[name]) for name in ("inclusive", "exclusive", "raw"))
    return PathRows(path, place, kind_of[where], *values)


def _finite(column: Floats) -> Floats:
    import numpy as np

    values = column.astype(np.float64)
    is_known = np.isfinite(values)
    return values if is_known.all() else np.where(is_known, values, np.nan)


def added(position: Ints | Longs, values: Floats, n: int) -> Floats:
    """Return the sums of values at each of `n` positions, in the order of the rows; NaN adds 0."""
    import numpy as np

    return np.bincount(position, np.nan_to_num(values), minlength=n).astype(np.float64)


def widest(kinds: Ints) -> int:
    """Return the kind of locations that others are in, of those that are there; -1 for none."""
    return int(kinds.min(initial=len(_WIDEST) + 1)) if len(kinds) else -1


def kind_name(kind: int) -> str:
    """Return what a kind of locations is called."""
    return _WIDEST[kind] if 0 <= kind < len(_WIDEST) else ""


def of_metric(run: Run, metric: int, *, is_elapsed: bool, only: str = "") -> PathValues:
    """Return the values of each path of one execution.

    What processes and threads both have counts once, from the widest kind of location that has
    values of code; calls of sections are recorded at one location each, and are added up.

    Args:
        run: the run.
        metric: number of the metric, whose values add up or are elapsed times.
        is_elapsed: they are times of the same moments at several locations.
        only: a condition on rows `p`, as " AND ..."; "" for all. None of elapsed times.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    import numpy as np

    paths = call_paths.of_run(run, run.region_kinds.code())
    if not is_elapsed:
        return of_rows(run, paths, rows(run, paths, metric, only))
    n = len(paths.path)
    given = elapsed_rows(run, paths, metric)
    own, inclusive = (added(given.at, one, n) for one in (given.exclusive, given.inclusive))
    return PathValues(own, inclusive, np.full(n, np.nan), np.full(n, np.nan))


def of_rows(run: Run, paths: CallPaths, given: PathRows) -> PathValues:
    """Return the values of each path of one execution, of rows of a metric whose values add up.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    import numpy as np

    n = len(paths.path)
    unknown = np.full(n, np.nan)
    is_root = paths.parent < 0
    once = _is_section(run, paths) & ~is_root
    keep = once[given.at]
    for some in (paths.is_code, ~paths.is_code & ~is_root & ~once, is_root):
        of_some = some[given.at]
        keep |= of_some & (given.kind == widest(given.kind[of_some]))
    own, inclusive, samples = (
        added(given.at[keep], column[keep], n)
        for column in (given.exclusive, given.inclusive, given.samples)
    )
    times = max(int(run.head["repetitions"]), 1)
    if np.isnan(given.samples).any():
        return PathValues(own / times, inclusive / times, unknown, unknown)
    called = added(paths.parent[~is_root], samples[~is_root], n)
    return PathValues(own / times, inclusive / times, samples, samples - called)


def _is_section(run: Run, paths: CallPaths) -> Flags:
    import numpy as np

    sections = run.columns(
        f"SELECT region FROM regions WHERE kind IN {run.region_kinds.sections()}"
    )["region"]
    return np.isin(paths.region, sections)


def elapsed_rows(run: Run, paths: CallPaths, metric: int) -> PathRows:
    """Return a time of several locations at once: a row for each path that has it.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    import numpy as np

    from gnomon.store import moments

    times = moments.of_run(run, metric).values
    columns = np.array(list(times.values()), dtype=np.float64).reshape(-1, 2)
    path = call_paths.positions(paths.path, np.array(list(times), dtype=np.int64))
    is_there = path >= 0
    n = int(is_there.sum())
    return PathRows(
        path[is_there],
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int32),
        columns[is_there, 0],
        columns[is_there, 1],
        np.full(n, np.nan),
    )
