"""A metric's rows of the profile, and which of them make up the value of a path or a place.

A count may be there several times: of the whole command, of its processes, of their threads. Of
rows of one path those of the outermost places count, so that nothing is added up twice; seen place
by place, those of the innermost. Calls of sections have one location each: all of theirs count.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gnomon.errors import RunDirectoryError
from gnomon.model.array_types import Flags, Floats, Ints, Longs
from gnomon.named_tuple import NamedTuple
from gnomon.view.database import Arrays
from gnomon.view.run_metadata import Dataset, positions

# They are all in memory at once, some 100 bytes each while they are read.
_ROWS_MOST = 20_000_000


class ProfileRows(NamedTuple):
    """Rows of one metric, by position of their location and path; NaN for NULL."""

    repetition: Ints
    location: Ints
    path: Ints
    inclusive: Floats
    exclusive: Floats
    calls: Floats

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.path)

    def chosen(self, wanted: Flags) -> ProfileRows:
        """Return some of the rows."""
        return ProfileRows(
            self.repetition[wanted], self.location[wanted], self.path[wanted],
            self.inclusive[wanted], self.exclusive[wanted], self.calls[wanted],
        )  # fmt: skip

    def executions(self) -> int:
        """Return in how many executions of the command there are rows, at least 1."""
        if not self.repetition.any():
            return 1
        return len(np.unique(self.repetition))


_COLUMNS = (
    "COALESCE(repetition, 0) AS repetition, location, path, "
    "COALESCE(inclusive, 'nan'::DOUBLE) AS inclusive, "
    "COALESCE(exclusive, 'nan'::DOUBLE) AS exclusive, "
    "COALESCE(CAST(calls AS DOUBLE), 'nan'::DOUBLE) AS calls"
)
_THERE = "location IS NOT NULL AND path IS NOT NULL"


def read_profile_rows(data: Dataset, metric: int) -> ProfileRows:
    """Return all rows of a metric.

    Raises:
        RunDirectoryError: the tables cannot be read, or the rows are too many.
    """
    of_metric = f"FROM profile WHERE metric = ? AND {_THERE}"
    ((n,),) = data.tables.rows(f"SELECT COUNT(*) {of_metric}", [metric])
    if n > _ROWS_MOST:
        raise RunDirectoryError(
            f"{data.name}: {n} values of {data.metric_of[metric].name} are more than the "
            f"{_ROWS_MOST} that can be shown; see gnomon report RUN profile, or gnomon export"
        )
    sql = f"SELECT {_COLUMNS} {of_metric}"
    return _placed(data, data.tables.arrays(sql, [metric]))


def rows_of_paths(data: Dataset, paths: Ints) -> dict[int, ProfileRows]:
    """Return the rows of some paths, by position, for each metric that has any.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    arrays = data.tables.arrays(
        f"SELECT metric, {_COLUMNS} FROM profile "
        f"WHERE path IN (SELECT unnest(?::INTEGER[])) AND metric IS NOT NULL AND {_THERE}",
        [data.paths.number[paths].tolist()],
    )
    metric = arrays.pop("metric")
    order = np.argsort(metric, kind="stable")
    begins = np.flatnonzero(np.diff(metric[order], prepend=-1 if len(metric) else 0))
    ends = np.append(begins[1:], len(order))
    return {
        int(metric[order[begin]]): _placed(
            data, {name: column[order[begin:end]] for name, column in arrays.items()}
        )
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=False)
    }


def _placed(data: Dataset, arrays: Arrays) -> ProfileRows:
    known = np.array([one.location for one in data.locations], dtype=np.int32)
    location = positions(known, arrays["location"])
    path = positions(data.paths.number, arrays["path"])
    rows = ProfileRows(
        arrays["repetition"],
        location,
        path,
        arrays["inclusive"],
        arrays["exclusive"],
        arrays["calls"],
    )
    # A row of no location or path, or without a finite value, says nothing.
    chosen = rows.chosen((location >= 0) & (path >= 0) & np.isfinite(rows.inclusive))
    finite = np.where(np.isfinite(chosen.exclusive), chosen.exclusive, np.nan)
    return chosen._replace(exclusive=finite)


def within(data: Dataset, location: int) -> Flags:
    """Return which locations are a location or in it, by position."""
    return data.within(location)


def top_level_rows(data: Dataset, rows: ProfileRows) -> ProfileRows:
    """Return for each path the rows of the outermost places that have any."""
    rows = _who_not_where(data, rows)
    covered = np.zeros(rows.n, dtype=bool)
    own = _keys(data, rows.path, rows.location)
    for indices, above in _ancestors(data, rows):
        outer = np.zeros(len(data.locations), dtype=bool)
        outer[above] = True
        wanted = own[outer[rows.location]]
        covered[indices] |= _is_in(_keys(data, rows.path[indices], above), wanted)
    return rows.chosen(~covered | data.is_recorded_once[rows.path])


def leaf_location_rows(data: Dataset, rows: ProfileRows) -> ProfileRows:
    """Return for each path the rows of the innermost places that have any."""
    covering = np.zeros(rows.n, dtype=bool)
    for indices, above in _ancestors(data, rows):
        outer = np.zeros(len(data.locations), dtype=bool)
        outer[above] = True
        suspects = np.flatnonzero(outer[rows.location])
        own = _keys(data, rows.path[suspects], rows.location[suspects])
        covering[suspects] |= _is_in(own, _keys(data, rows.path[indices], above))
    return rows.chosen(~covering | data.is_recorded_once[rows.path])


def _who_not_where(data: Dataset, rows: ProfileRows) -> ProfileRows:
    """Leave out CPUs and cores where the same was counted for processes or the whole command."""
    if not rows.n or not data.is_where.any():
        return rows
    of_place = data.is_where[rows.location]
    return rows if of_place.all() else rows.chosen(~of_place)


def _keys(data: Dataset, path: Ints, location: Ints) -> Longs:
    return path.astype(np.int64) * len(data.locations) + location


def _is_in(keys: Longs, wanted: Longs) -> Flags:
    if not len(wanted):
        return np.zeros(len(keys), dtype=bool)
    ordered = np.sort(wanted)
    found: Flags = ordered[np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)] == keys
    return found


def _ancestors(data: Dataset, rows: ProfileRows) -> Iterator[tuple[Longs, Ints]]:
    """Yield for each step upwards which rows have an ancestor that has rows too, and which one."""
    parents = data.location_parents
    with_rows = np.zeros(len(data.locations) + 1, dtype=bool)
    with_rows[rows.location] = True
    above = np.arange(len(data.locations), dtype=np.int32)
    while True:
        above = np.where(above >= 0, parents[above], -1).astype(np.int32)
        if not (above >= 0).any():
            return
        at = np.flatnonzero(with_rows[above][rows.location])
        if len(at):
            yield at, above[rows.location[at]]
