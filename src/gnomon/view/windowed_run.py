"""A part of a run's time as a run: what samples and calls within it come to, for all views.

Locations, paths and trees are those of the whole run; metrics of which neither samples nor calls
have a time are left out, since nobody knows how much of them a part of the time had.
"""

from __future__ import annotations

import numpy as np

from gnomon.model.array_types import Cells, Floats, Longs
from gnomon.view import call_trace
from gnomon.view.database import Tables
from gnomon.view.open_run import OpenRun
from gnomon.view.run_metadata import Dataset, positions
from gnomon.view.sample_times import SampledTime, intervals
from gnomon.view.traced_time import TimeSpan


def within(opened: OpenRun, begin_ns: int, end_ns: int) -> OpenRun:
    """Return what an open run had within a part of its time.

    Args:
        opened: the run.
        begin_ns: where the part begins, in nanoseconds since the run's time began.
        end_ns: where it ends.

    Raises:
        UsageError: the run has no samples with a time, or none of that time.
        RunDirectoryError: its tables cannot be read.
    """
    data = opened.data
    time = opened.sampled_time()
    span = time.span(begin_ns, end_ns)
    tables = data.tables.derived()
    try:
        _fill(opened, tables, time, span)
    except BaseException:
        tables.close()
        raise
    return OpenRun(
        opened.id, opened.kind, opened.path, opened.title, data.with_tables(tables), base=opened
    )


def _fill(opened: OpenRun, tables: Tables, time: SampledTime, span: TimeSpan) -> None:
    """Make the tables that are others within a window.

    Args:
        opened: the whole run.
        tables: where they go.
        time: that of the run.
        span: the window.
    """
    data = opened.data
    begin, end = time.origin_ns + span.begin_ns, time.origin_ns + span.end_ns
    samples = intervals([data.metric_of[number] for number in time.metrics])
    inside = f"end_ns > {begin} AND begin_ns < {end} OR begin_ns = end_ns AND begin_ns = {begin}"
    rows = data.tables.arrays(
        "SELECT repetition, location, path, metric, COUNT(*) AS n, "
        f"SUM(CASE WHEN end_ns > begin_ns THEN weight * (LEAST(end_ns, {end}) - "
        f"GREATEST(begin_ns, {begin})) / (end_ns - begin_ns) ELSE weight END) AS own "
        f"FROM ({samples}) WHERE {inside} GROUP BY ALL ORDER BY ALL"
    )
    calls = call_trace.values_within(opened, span)
    if calls:
        rows = {name: np.concatenate([column, calls[name]]) for name, column in rows.items()}
    tables.keep("profile", _with_callers(data, rows), _PROFILE)
    listed = ", ".join(map(str, {*time.metrics, *call_trace.timed_metrics(opened).values()}))
    tables.execute(
        f"CREATE TABLE {tables.schema}.metrics AS "
        f"SELECT * FROM main.metrics WHERE metric IN ({listed})"
    )
    tables.execute(
        f"CREATE VIEW {tables.schema}.samples AS SELECT * FROM main.samples "
        f"WHERE time_ns BETWEEN {begin} AND {end}"
    )


_PROFILE = (
    "repetition, location, path, metric, inclusive, exclusive, CAST(NULL AS BIGINT) AS calls, raw, "
    "CAST(NULL AS BIGINT) AS enabled_ns, CAST(NULL AS BIGINT) AS running_ns"
)


def _with_callers(data: Dataset, rows: dict[str, Cells]) -> dict[str, Cells]:
    """Return the profile of paths that have values of their own, and of all that are above them."""
    path = positions(data.paths.number, rows["path"])
    is_known = path >= 0
    rows = {name: column[is_known] for name, column in rows.items()}
    path = path[is_known].astype(np.int64)
    keys = np.stack([rows["repetition"], rows["location"], rows["metric"]]).astype(np.int64)
    places, group = np.unique(keys, axis=1, return_inverse=True)
    group = group.ravel().astype(np.int64)
    n = max(len(data.paths.number), 1)
    # All paths above those with samples, each once in a group.
    every = new = np.unique(group * n + path)
    while len(new):
        above = data.paths.parent[new % n]
        up = np.unique((new // n * n + above)[above >= 0])
        new = up[~np.isin(up, every, assume_unique=True)]
        every = np.union1d(every, new)
    begin, end = data.walk
    inclusive = _Sums(group * n + begin[path], rows["own"])
    samples = _Sums(group * n + begin[path], rows["n"].astype(np.float64))
    base, place = every // n * n, every % n
    low, high = base + begin[place], base + end[place]
    own = np.zeros(len(every))
    np.add.at(own, np.searchsorted(every, group * n + path), rows["own"])
    repetition, location, metric = places[:, every // n]
    return {
        "repetition": repetition.astype(np.int32), "location": location.astype(np.int32),
        "path": data.paths.number[place].astype(np.int32), "metric": metric.astype(np.int32),
        "inclusive": inclusive.between(low, high), "exclusive": own,
        "raw": samples.between(low, high).round().astype(np.int64),
    }  # fmt: skip


class _Sums:
    """Sums of values whose keys lie between two others."""

    def __init__(self, keys: Longs, values: Floats) -> None:
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._until = np.concatenate(([0.0], np.cumsum(values[order])))

    def between(self, low: Longs, high: Longs) -> Floats:
        """Return the sum of the values from each low key on to before each high one."""
        first, last = np.searchsorted(self._keys, low), np.searchsorted(self._keys, high)
        sums: Floats = self._until[last] - self._until[first]
        return sums
