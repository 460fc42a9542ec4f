"""A metric's rows of the profile, and which of them make up the value of a path or a place.

A count may be there several times: of the whole command, of its processes, of their threads. Of
rows of one path those of the outermost places count, so that nothing is added up twice; seen place
by place, those of the innermost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnomon.view.columns import Flags, Floats, Ints, Longs
from gnomon.view.dataset import PLACES, Dataset, positions


class Readings(NamedTuple):
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

    def chosen(self, wanted: Flags) -> Readings:
        """Return some of the rows."""
        return Readings(
            self.repetition[wanted], self.location[wanted], self.path[wanted],
            self.inclusive[wanted], self.exclusive[wanted], self.calls[wanted],
        )  # fmt: skip

    def executions(self) -> int:
        """Return in how many executions of the command there are rows, at least 1."""
        return max(len(np.unique(self.repetition)), 1)


def read(data: Dataset, metric: int) -> Readings:
    """Return all rows of a metric.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    found = data.tables.arrays(
        "SELECT COALESCE(repetition, 0) AS repetition, location, path, "
        "COALESCE(inclusive, 'nan'::DOUBLE) AS inclusive, "
        "COALESCE(exclusive, 'nan'::DOUBLE) AS exclusive, "
        "COALESCE(CAST(calls AS DOUBLE), 'nan'::DOUBLE) AS calls FROM {s}.profile "
        "WHERE metric = ? AND location IS NOT NULL AND path IS NOT NULL",
        [metric],
    )
    known = np.array([one.location for one in data.locations], dtype=np.int32)
    location = positions(known, found["location"])
    path = positions(data.paths.number, found["path"])
    rows = Readings(
        found["repetition"], location, path, found["inclusive"], found["exclusive"], found["calls"]
    )
    # A row of no location or path, or without a value, says nothing.
    return rows.chosen((location >= 0) & (path >= 0) & ~np.isnan(rows.inclusive))


def within(data: Dataset, location: int) -> Flags:
    """Return which locations are a location or in it, by position."""
    inside = np.zeros(len(data.locations), dtype=bool)
    for at, parent in enumerate(data.location_parents.tolist()):
        inside[at] = at == location or (parent >= 0 and inside[parent])
    return inside


def outermost(data: Dataset, rows: Readings) -> Readings:
    """Return for each path the rows of the outermost places that have any."""
    rows = _who_not_where(data, rows)
    covered = np.zeros(rows.n, dtype=bool)
    for above, key in _ancestors(data, rows):
        covered |= (above >= 0) & np.isin(key, _own(data, rows), kind="sort")
    return rows.chosen(~covered)


def innermost(data: Dataset, rows: Readings) -> Readings:
    """Return for each path the rows of the innermost places that have any."""
    covering = np.zeros(rows.n, dtype=bool)
    own = _own(data, rows)
    for above, key in _ancestors(data, rows):
        covering |= np.isin(own, key[above >= 0], kind="sort")
    return rows.chosen(~covering)


def _who_not_where(data: Dataset, rows: Readings) -> Readings:
    """Leave out CPUs and cores where the same was counted for processes or the whole command."""
    is_place = np.array([one.kind in PLACES for one in data.locations], dtype=bool)
    if not rows.n or not is_place.any():
        return rows
    of_place = is_place[rows.location]
    return rows if of_place.all() else rows.chosen(~of_place)


def _own(data: Dataset, rows: Readings) -> Longs:
    return rows.path.astype(np.int64) * len(data.locations) + rows.location


def _ancestors(data: Dataset, rows: Readings) -> list[tuple[Ints, Longs]]:
    """Return for each step upwards the rows' ancestors and their keys with the same path.

    Steps in which no ancestor has any rows are left out: most runs then have none at all.
    """
    parents = data.location_parents
    with_rows = np.zeros(len(data.locations) + 1, dtype=bool)
    with_rows[rows.location] = True
    steps = []
    above = np.where(rows.location >= 0, parents[rows.location], -1) if rows.n else rows.location
    while (above >= 0).any():
        if with_rows[above].any():
            key = rows.path.astype(np.int64) * len(data.locations) + above
            steps.append((above, key))
        above = np.where(above >= 0, parents[above], -1).astype(np.int32)
    return steps
