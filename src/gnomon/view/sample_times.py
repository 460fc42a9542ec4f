"""When samples of a run were taken, and for how long each stands: time spans as queries.

A sample of CPU time ends at its moment, having lasted as long as its weight; what is counted with
each duration (the time that a thread waited) begins there. A sample of anything else is a moment.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnomon.errors import UsageError
from gnomon.model.array_types import Floats, Ints
from gnomon.model.metric import Metric
from gnomon.model.value import How
from gnomon.named_tuple import NamedTuple
from gnomon.view.run_metadata import Dataset, positions
from gnomon.view.traced_time import LATEST_NS, TimeSpan, traced_time

_SECOND_NS = 1_000_000_000
# What is more than this was never measured: three months, the year 2200.
_SECONDS_MOST = 8_000_000
_WEIGHT_MOST = 10**18


class BinnedSamples(NamedTuple):
    """Values of samples by position of their location and path, and by the part of a span."""

    location: Ints
    path: Ints
    bin: Ints
    value: Floats


class SampledTime(NamedTuple):
    """The time of a run in which there are samples, and calls that were recorded one by one.

    Attributes:
        origin_ns: when the first of these began, in nanoseconds since 1970.
        length_ns: from there to the end of the last one.
        metrics: numbers of the metrics that samples with a time are of.
    """

    origin_ns: int
    length_ns: int
    metrics: tuple[int, ...]

    def span(self, begin_ns: int, end_ns: int) -> TimeSpan:
        """Return what is asked for of it.

        Raises:
            UsageError: it ends before it begins, or has nothing of this time.
        """
        span = TimeSpan(max(begin_ns, 0), min(end_ns, self.length_ns))
        if span.length_ns <= 0:
            raise UsageError(
                f"a window from {begin_ns} to {end_ns} ns: samples are from 0 to {self.length_ns}"
            )
        return span


def lasts(metric: Metric) -> bool:
    """Return whether samples of a metric are times: each lasts as long as its weight."""
    return metric.unit == "s" and metric.is_additive


def intervals(metrics: Sequence[Metric]) -> str:
    """Return a query for the samples of metrics that have a time and a path.

    Its columns are those of the table, and `begin_ns` and `end_ns`, in nanoseconds since 1970.
    """
    sampled = [one for one in metrics if lasts(one) and one.how == How.SAMPLED.value]
    counted = [one for one in metrics if lasts(one) and one.how != How.SAMPLED.value]
    length = f"CAST(LEAST(weight, {_SECONDS_MOST}) * {_SECOND_NS} AS BIGINT)"
    return (
        "SELECT COALESCE(repetition, 0) AS repetition, location, path, metric, time_ns, weight, "
        f"time_ns - CASE WHEN metric IN {_numbers(sampled)} THEN {length} ELSE 0 END AS begin_ns, "
        f"time_ns + CASE WHEN metric IN {_numbers(counted)} THEN {length} ELSE 0 END AS end_ns "
        f"FROM samples WHERE metric IN {_numbers(metrics)} AND location IS NOT NULL AND path >= 0 "
        f"AND time_ns BETWEEN 0 AND {LATEST_NS} AND weight BETWEEN 0 AND {_WEIGHT_MOST}"
    )


def _numbers(metrics: Sequence[Metric]) -> str:
    # A number that no metric has, lest the list be empty.
    return f"({', '.join(['-1', *(str(one.metric) for one in metrics)])})"


def sampled_time(data: Dataset) -> SampledTime | None:
    """Return the time in which a run has samples, None for one that has none with a time.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    additive = [one for one in data.metrics if one.is_additive]
    rows = data.tables.rows(
        f"SELECT metric, MIN(begin_ns), MAX(end_ns) FROM ({intervals(additive)}) "
        "GROUP BY metric ORDER BY metric"
    )
    if not rows:
        return None
    begin = min(int(row[1]) for row in rows)
    end = max(int(row[2]) for row in rows)
    traced = traced_time(data)
    if traced is not None:
        begin, end = min(begin, traced.begin_ns), max(end, traced.end_ns)
    return SampledTime(begin, max(end - begin, 1), tuple(int(row[0]) for row in rows))


def _bins_query(metric: Metric, origin_ns: int, span: TimeSpan, bins: int) -> str:
    """Return a query for the samples of a metric within a span, by the bins that they lie in.

    Its columns: location, path; `first` and `last`, the bins that they begin and end in, of so
    many that the span is divided into; the sum of what they have in each of these two (`in_first`,
    `in_last`; in the first where these are one) and in each bin between (`in_each`).
    """
    begin, length = origin_ns + span.begin_ns, span.length_ns
    # A number with a point would be a decimal, of few digits.
    wide = f"{length / bins!r}::DOUBLE"
    return f"""
    WITH inside AS (
        SELECT location, path, weight, GREATEST(begin_ns - {begin}, 0) AS b,
               LEAST(end_ns - {begin}, {length}) AS e, end_ns - begin_ns AS lasting
        FROM ({intervals([metric])}) WHERE end_ns >= {begin} AND begin_ns < {begin + length}
    ), placed AS (
        SELECT location, path, weight, b, e,
               CASE WHEN lasting > 0 THEN weight / lasting END AS rate,
               CAST(LEAST(FLOOR(b / {wide}), {bins - 1}) AS INTEGER) AS first,
               CAST(LEAST(GREATEST(CEIL(e / {wide}) - 1, FLOOR(b / {wide})), {bins - 1})
                    AS INTEGER) AS last
        FROM inside
    )
    SELECT location, path, first, last,
           SUM(CASE WHEN rate IS NULL THEN weight WHEN first = last THEN (e - b) * rate
                    ELSE ((first + 1) * {wide} - b) * rate END) AS in_first,
           SUM(CASE WHEN first = last THEN 0.0 ELSE (e - last * {wide}) * rate END) AS in_last,
           SUM(CASE WHEN last > first + 1 THEN {wide} * rate ELSE 0.0 END) AS in_each
    FROM placed GROUP BY location, path, first, last ORDER BY location, path, first, last
    """


def in_bins(data: Dataset, metric: Metric, time: SampledTime, span: TimeSpan, bins: int,
            location: int) -> BinnedSamples:  # fmt: skip
    """Return what samples of a metric come to in each of so many equal parts of a span.

    Args:
        data: the run.
        metric: of which metric.
        time: that of the run.
        span: within it.
        bins: how many parts.
        location: position of the only location that is wanted, with what is in it; -1 for all.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    rows = data.tables.arrays(_bins_query(metric, time.origin_ns, span, bins))
    known = np.array([one.location for one in data.locations], np.int32)
    place = positions(known, rows["location"])
    path = positions(data.paths.number, rows["path"])
    wanted = (place >= 0) & (path >= 0)
    if location >= 0:
        wanted &= data.within(location)[place]
    rows = {name: column[wanted] for name, column in rows.items()}
    counts = rows["last"] - rows["first"] + 1
    row = np.repeat(np.arange(len(counts)), counts)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    later = np.where(nth == counts[row] - 1, rows["in_last"][row], rows["in_each"][row])
    return BinnedSamples(
        place[wanted][row],
        path[wanted][row],
        (rows["first"][row] + nth).astype(np.int32),
        np.where(nth == 0, rows["in_first"][row], later),
    )
