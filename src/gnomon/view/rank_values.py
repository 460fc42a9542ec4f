"""Values of the whole program at each rank, sorted, and in bands where ranks are many.

A rank has what the widest of its locations have: itself, its processes, or their threads. A run
without ranks has its processes instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.errors import UsageError
from gnomon.metrics.outliers import outliers
from gnomon.model import forest
from gnomon.model.array_types import Cells, Flags, Floats, Ints, Longs
from gnomon.model.metric import Metric
from gnomon.model.value import How
from gnomon.mpi import mpi_metrics
from gnomon.mpi.mpi_sums import MpiSums
from gnomon.named_tuple import NamedTuple
from gnomon.view.database import Tables
from gnomon.view.messages import run_of_each
from gnomon.view.run_metadata import Dataset, positions

BANDS_MOST = 4096
"""More marks beside each other no screen shows."""

COMPUTING = "computing"
"""The key of the time between MPI_Init and MPI_Finalize that is not in calls of MPI."""

RANK, HOST = "rank", "host"
"""What ranks are sorted by, beside the keys of series."""

WAITING = "waiting"
"""The key of the time in which a rank waits in collective operations for the last one to come."""

_FIRST = (mpi_metrics.TIME, COMPUTING, WAITING, mpi_metrics.SENT, mpi_metrics.RECEIVED)
_RECORDED = {COMPUTING: mpi_metrics.ELAPSED, WAITING: mpi_metrics.TIME}
_WIDEST = ("rank", "process", "thread")
_TIMES = {"ns": 1.0, "s": 1e9}
_OF_ELAPSED_LEAST, _OF_MEDIAN_LEAST = 0.02, 0.1


class Ranks(NamedTuple):
    """The ranks of a run, or its processes where it has none.

    Attributes:
        what: "rank" or "process".
        rank: number of each, -1 for processes.
        location: its position: the one that has the values of calls.
        host: a number of `hosts`.
        hosts: names.
        of_location: which of them each location of the run is of, -1 for none.
    """

    what: str
    rank: Ints
    location: Ints
    host: Ints
    hosts: list[str]
    of_location: Ints

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.rank)


class Series(NamedTuple):
    """A value of each rank.

    Attributes:
        key: a metric's number, `COMPUTING` or `WAITING`.
        title: what people call it.
        unit, how: of the values.
        value: NaN where there is none.
    """

    key: str
    title: str
    unit: str
    how: str
    value: Floats


class Bands(NamedTuple):
    """Consecutive ranks of an order, and what their values are like; NaN where none has any.

    Attributes:
        edges: the places where bands begin, and at the end where the last one ends.
        least, middle, most: of each band.
        outliers: how many of each band stand out of all ranks.
    """

    edges: Longs
    least: Floats
    middle: Floats
    most: Floats
    outliers: Ints


def ranks_of(data: Dataset) -> Ranks:
    """Return the ranks of a run, in their order."""
    locations = data.locations
    rank = np.array([one.rank for one in locations], dtype=np.int64)
    run = run_of_each(data)
    is_process = np.array([one.kind == "process" for one in locations], dtype=bool)
    has_ranks = bool((rank >= 0).any())
    if has_ranks:
        key = np.where(rank >= 0, (run + 1) << 32 | rank, -1)
    else:
        key = np.where(is_process, np.arange(len(locations)), -1)
        parents = data.location_parents.tolist()
        for at, parent in enumerate(parents):
            if key[at] < 0 <= parent:
                key[at] = key[parent]
    units, inverse = np.unique(key, return_inverse=True)
    skipped = int(len(units) > 0 and units[0] == -1)
    of_location = (inverse - skipped).astype(np.int32)
    n = len(units) - skipped
    location = np.full(n, -1, dtype=np.int32)
    # Those that come last stay: processes before what else has their rank.
    members = np.flatnonzero(of_location >= 0)
    members = members[np.lexsort((-members, is_process[members]))]
    location[of_location[members]] = members
    hosts: dict[str, int] = {}
    host = np.array(
        [hosts.setdefault(locations[at].host, len(hosts)) for at in location.tolist()],
        dtype=np.int32,
    )
    return Ranks(
        "rank" if has_ranks else "process",
        np.array([locations[at].rank for at in location.tolist()], dtype=np.int32),
        location, host, list(hosts), of_location,
    )  # fmt: skip


def first_series(data: Dataset, first_metric: int) -> list[str]:
    """Return the keys of what is shown first: of MPI, else the run's first metric."""
    by_name = _of_mpi(data)
    recorded = data.tables.arrays("SELECT DISTINCT metric FROM profile WHERE metric IS NOT NULL")
    with_values = set(recorded["metric"].tolist())
    keys = []
    for name in _FIRST:
        if name == WAITING and _is_combined(data):
            continue
        metric = by_name.get(_RECORDED.get(name, name))
        if metric is not None and metric.metric in with_values:
            keys.append(name if name in _RECORDED else str(metric.metric))
    if not keys and first_metric >= 0:
        keys = [str(first_metric)]
    return keys


def series(data: Dataset, ranks: Ranks, key: str) -> Series:
    """Return the values of ranks that a key names.

    Raises:
        UsageError: there is no such metric, or no time of MPI to compute with.
        RunDirectoryError: the tables cannot be read.
    """
    if key == COMPUTING:
        by_name = _of_mpi(data)
        try:
            whole, calls = by_name[mpi_metrics.ELAPSED], by_name[mpi_metrics.TIME]
        except KeyError:
            raise UsageError(f"{data.name}: it has no times of MPI") from None
        inside = np.nan_to_num(_values(data, ranks, calls))
        # What is before the one and after the other is no part of the time between them.
        before = np.isin(data.regions.name, mpi_metrics.OUTSIDE)
        before &= data.regions.kind == mpi_metrics.CALL
        beyond = _values_of(data, ranks, calls, np.flatnonzero(before[data.paths.region]))
        value = _values(data, ranks, whole) - (inside - np.nan_to_num(beyond))
        # Several threads of a rank may be in MPI at the same time.
        return Series(key, "time outside of MPI", calls.unit, calls.how, np.maximum(value, 0.0))
    if key == WAITING:
        if _is_combined(data):
            raise UsageError(f"{data.name}: ranks wait for those of their own run: open one alone")
        return _waiting(data, ranks)
    metric = data.metric_of.get(int(key)) if key.isascii() and key.isdigit() else None
    if metric is None:
        raise UsageError(f"{data.name}: there is no metric {key[:40]!a}")
    return Series(key, metric.name, metric.unit, metric.how, _values(data, ranks, metric))


def _is_combined(data: Dataset) -> bool:
    return any(one.kind == "run" for one in data.locations)


class _Queries(NamedTuple):
    """The tables of a run as sums of MPI ask them."""

    head: Mapping[str, Any]
    tables: Tables

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        return self.tables.rows(sql)

    def columns(self, sql: str) -> dict[str, Cells]:
        return self.tables.columns(sql)


def _waiting(data: Dataset, ranks: Ranks) -> Series:
    """Return what `gnomon report RUN mpi` has: measured by a barrier, or else estimated."""
    sums = MpiSums(_Queries({"repetitions": data.repetitions}, data.tables))
    if not sums.is_there:
        raise UsageError(f"{data.name}: it has no times of MPI")
    rows = sums.waiting()
    number = np.array([one.location for one in data.locations], dtype=np.int32)
    location = positions(number, rows["location"])
    unit = np.where(location >= 0, ranks.of_location[location], -1)
    wanted = (unit >= 0) & np.isfinite(rows["waiting"])
    value = np.bincount(unit[wanted], weights=rows["waiting"][wanted], minlength=ranks.n)
    count = np.bincount(unit[wanted], minlength=ranks.n)
    how = How.COUNTED if sums.is_measured else How.ESTIMATED
    waited = np.where(count > 0, value / float(data.repetitions), np.nan).astype(np.float64)
    return Series(WAITING, "waiting in collectives", "s", how.value, waited)


def _of_mpi(data: Dataset) -> dict[str, Metric]:
    return {one.name: one for one in data.metrics if one.component == mpi_metrics.COMPONENT}


def _values(data: Dataset, ranks: Ranks, metric: Metric) -> Floats:
    """Return a metric's values of the whole program, averages over executions."""
    with_values = data.tables.arrays(
        "SELECT DISTINCT path FROM profile WHERE metric = ? AND path IS NOT NULL "
        f"AND location IN (SELECT location FROM locations WHERE kind IN {_WIDEST})",
        [metric.metric],
    )
    group = np.full(len(data.paths.number), -1, dtype=np.int32)
    path = positions(data.paths.number, with_values["path"])
    group[path[path >= 0]] = 0
    outermost = forest.first_of_their_kind(group, data.paths.parent, data.walk)
    return _values_of(data, ranks, metric, np.flatnonzero(outermost))


def _values_of(data: Dataset, ranks: Ranks, metric: Metric, paths: Longs) -> Floats:
    """Return the sums of a metric over paths at each rank, averages over executions."""
    is_sum = metric.is_additive and not metric.is_elapsed
    together = "SUM" if is_sum else "MAX"
    rows = data.tables.arrays(
        f"SELECT location, COALESCE(repetition, 0) AS repetition, {together}(inclusive) AS value "
        "FROM profile WHERE metric = ? AND path IN (SELECT unnest(?::INTEGER[])) "
        "AND location IS NOT NULL AND isfinite(inclusive) GROUP BY ALL",
        [metric.metric, data.paths.number[paths].tolist()],
    )
    number = np.array([one.location for one in data.locations], dtype=np.int32)
    location = positions(number, rows["location"])
    kinds = {kind: nth for nth, kind in enumerate(_WIDEST)}
    width = np.array([kinds.get(one.kind, len(kinds)) for one in data.locations], dtype=np.int32)
    wanted = (location >= 0) & (ranks.of_location[location] >= 0)
    wanted &= (width[location] < len(kinds)) & np.isfinite(rows["value"])
    unit, width = ranks.of_location[location[wanted]], width[location[wanted]]
    widest = np.full(ranks.n, len(kinds), dtype=np.int32)
    np.minimum.at(widest, unit, width)
    is_widest = width == widest[unit]
    unit = unit[is_widest].astype(np.int64)
    value, repetition = (rows[name][wanted][is_widest] for name in ("value", "repetition"))
    # Each execution has processes of its own.
    executions, of_row = np.unique(unit << 32 | repetition, return_inverse=True)
    each = np.full(len(executions), -np.inf)
    if is_sum:
        each = np.bincount(of_row, weights=value, minlength=len(executions)).astype(np.float64)
    else:
        np.maximum.at(each, of_row, value)
    count = np.bincount(executions >> 32, minlength=ranks.n)
    sums = np.bincount(executions >> 32, weights=each, minlength=ranks.n)
    return np.where(count > 0, sums / np.maximum(count, 1), np.nan)


def sorted_ranks(ranks: Ranks, by: str, of_key: Series | None, *, descending: bool) -> Longs:
    """Return positions of ranks by their number, their host, or a value; those of none last.

    Args:
        ranks: those of the run.
        by: `RANK`, `HOST`, or the key of a series.
        of_key: that series.
        descending: largest first.
    """
    number = np.arange(ranks.n)
    if of_key is not None:
        sign = -1.0 if descending else 1.0
        return np.lexsort((number, sign * of_key.value))
    order = number if by == RANK else np.lexsort((number, ranks.host))
    return order[::-1] if descending else order


def bands(values: Floats, stands_out: Flags, begin: int, end: int, many: int) -> Bands:
    """Return what values are like from one place to before another.

    Args:
        values: in the order of the places.
        stands_out: which of them are outliers.
        begin: the first place.
        end: behind the last one.
        many: so many bands at most.
    """
    n = end - begin
    edges = begin + np.unique(np.linspace(0, n, min(many, n) + 1).round().astype(np.int64))
    part = values[begin:end]
    band = np.searchsorted(edges, np.arange(begin, end), side="right") - 1
    # In each band by value, those without one behind the others.
    ordered = part[np.lexsort((part, band))]
    count = np.bincount(band[~np.isnan(part)], minlength=len(edges) - 1)
    first = edges[:-1] - begin
    last = first + np.maximum(count - 1, 0)
    # Halves of each: the sum of the largest numbers is none.
    middle = ordered[(first + last) // 2] / 2 + ordered[(first + last + 1) // 2] / 2
    outlying = np.bincount(band[stands_out[begin:end]], minlength=len(edges) - 1)
    return Bands(edges, ordered[first], middle, ordered[last], outlying.astype(np.int32))


def longest_ns(data: Dataset, ranks: Ranks) -> float | None:
    """Return the longest time between MPI_Init and MPI_Finalize; None where it is not known."""
    metric = _of_mpi(data).get(mpi_metrics.ELAPSED)
    elapsed = np.zeros(0) if metric is None else _values(data, ranks, metric)
    has_value = elapsed[~np.isnan(elapsed)]
    return float(has_value.max()) if len(has_value) else None


def outliers_of(column: Series, elapsed_ns: float | None) -> Flags:
    """Return which ranks stand out of the others, by the rule of `gnomon report RUN mpi`.

    Times that differ by less than a part of the program's time matter to nobody, of others less
    than a part of the median.

    Args:
        column: the values.
        elapsed_ns: the program's time, None where it is not known: the largest value then.
    """
    value = column.value
    flags = np.zeros(len(value), dtype=bool)
    has_value = np.flatnonzero(~np.isnan(value))
    if not len(has_value):
        return flags
    least = _OF_MEDIAN_LEAST * abs(float(np.median(value[has_value])))
    if column.unit in _TIMES:
        longest = float(np.abs(value[has_value]).max())
        if elapsed_ns is not None:
            longest = elapsed_ns / _TIMES[column.unit]
        least = _OF_ELAPSED_LEAST * longest
    flags[has_value] = outliers(value[has_value], least)
    return flags


def keys_of(text: str, known: Sequence[str]) -> list[str]:
    """Return the keys that stand in a request with commas between, or else those known."""
    return [one for one in text.split(",") if one] or list(known)
