"""How much is read and written when, and how long calls take: by process or file, over time.

What a call moves is spread evenly over the time that it takes.
"""

from __future__ import annotations

import numpy as np

from gnomon.model.array_types import Floats, Ints
from gnomon.named_tuple import NamedTuple
from gnomon.view import call_trace
from gnomon.view.call_trace import Selection
from gnomon.view.open_run import OpenRun
from gnomon.view.run_metadata import positions
from gnomon.view.traced_time import TimeSpan

LOCATION, FILE = "location", "file"
DIVISIONS = (LOCATION, FILE)
"""What the rows of a grid are of."""
BINS_MOST = 4096
ROWS_MOST = 1024


class CallRates(NamedTuple):
    """Sums of calls in the cells of a grid: rows of processes or files by parts of the time.

    Attributes:
        bins: how many parts.
        edges: positions in `members`, where each row begins, and at the end where the last ends.
        members: numbers of the locations or files of all rows.
        cell: which ones have calls: the number of the row, times `bins`, plus that of the part.
        read, written: bytes.
        seconds: in calls, of all processes and threads together.
    """

    bins: int
    edges: Ints
    members: Ints
    cell: Ints
    read: Floats
    written: Floats
    seconds: Floats


def call_rates(
    opened: OpenRun, wanted: Selection, span: TimeSpan, by: str, bins: int, rows: int
) -> CallRates:
    """Return what calls come to in each of so many equal parts of a span.

    Args:
        opened: the run.
        wanted: of which calls.
        span: a part of the run's time.
        by: what rows are of, one of `DIVISIONS`.
        bins: how many parts.
        rows: of how many rows at most; with more members consecutive ones are one row.

    Raises:
        UsageError: no call of the run has a time, or they are of too many processes.
        RunDirectoryError: the tables cannot be read.
    """
    bins = max(1, min(bins, BINS_MOST))
    members = _files(opened, wanted) if by == FILE else _locations(opened, wanted)
    rows = max(1, min(rows, ROWS_MOST, len(members)))
    edges = (np.arange(rows + 1, dtype=np.int64) * len(members) // rows).astype(np.int32)
    query = _sums_query(call_trace.calls_query(opened, wanted), span, by, bins)
    sums = opened.data.tables.arrays(query)
    member = positions(members, sums[by])
    sums = {name: column[member >= 0] for name, column in sums.items()}
    row = np.searchsorted(edges, member[member >= 0], side="right") - 1
    counts = sums["last"] - sums["first"] + 1
    source = np.repeat(np.arange(len(counts)), counts)
    nth = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    key = row[source].astype(np.int64) * bins + sums["first"][source] + nth
    is_first, is_last = nth == 0, nth == counts[source] - 1
    cell, of_key = np.unique(key, return_inverse=True)
    columns = []
    for name in ("read", "written", "seconds"):
        first, last, between = (sums[f"{name}_{part}"][source] for part in _PARTS)
        value = np.where(is_first, first, np.where(is_last, last, between))
        columns.append(np.bincount(of_key, weights=value, minlength=len(cell)).astype(np.float64))
    return CallRates(bins, edges, members, cell.astype(np.int32), *columns)


def _locations(opened: OpenRun, wanted: Selection) -> Ints:
    """Return the numbers of locations that have calls, by rank."""
    places = call_trace.places(opened, wanted.kind)
    number = np.array([opened.data.locations[at].location for at in places.tolist()], np.int32)
    return number[np.isin(number, wanted.locations)] if wanted.locations else number


def _files(opened: OpenRun, wanted: Selection) -> Ints:
    """Return the numbers of files, in the order of the first calls on them."""

    def work() -> Ints:
        rows = opened.data.tables.arrays(
            f"SELECT file, MIN(b) AS first FROM ({call_trace.calls_query(opened, wanted)}) "
            "WHERE file >= 0 GROUP BY file ORDER BY first, file"
        )
        return rows["file"].astype(np.int32)

    in_order: Ints = opened.once(("files in order", wanted), work)
    return in_order


_PARTS = ("first", "last", "each")


def _sums_query(calls: str, span: TimeSpan, by: str, bins: int) -> str:
    """Return a query for calls within a span, by the bins that they begin and end in.

    Of what they have it gives, as `NAME_first`, `NAME_last` and `NAME_each`, the sums in the first
    bin, in the last one where that is another, and in each one between.
    """
    wide = f"{span.length_ns / bins!r}::DOUBLE"
    sums = ", ".join(
        f"SUM({value} * {part}) AS {name}_{part}"
        for name, value in (("read", "read"), ("written", "written"), ("seconds", "lasting / 1e9"))
        for part in _PARTS
    )
    return f"""
    WITH inside AS (
        SELECT {by}, CASE WHEN is_read THEN bytes ELSE 0 END AS read,
               CASE WHEN is_write THEN bytes ELSE 0 END AS written,
               GREATEST(b - {span.begin_ns}, 0) AS b,
               LEAST(e - {span.begin_ns}, {span.length_ns}) AS e,
               CAST(e - b AS DOUBLE) AS lasting
        FROM ({calls}) WHERE b < {span.end_ns} AND (e > {span.begin_ns} OR b >= {span.begin_ns})
    ), placed AS (
        SELECT *, CAST(LEAST(FLOOR(b / {wide}), {bins - 1}) AS INTEGER) AS first_bin,
               CAST(LEAST(GREATEST(CEIL(e / {wide}) - 1, FLOOR(b / {wide})), {bins - 1})
                    AS INTEGER) AS last_bin
        FROM inside
    ), divided AS (
        SELECT {by}, read, written, lasting, first_bin, last_bin,
               CASE WHEN lasting = 0 THEN 1.0 WHEN first_bin = last_bin THEN (e - b) / lasting
                    ELSE ((first_bin + 1) * {wide} - b) / lasting END AS first,
               CASE WHEN first_bin = last_bin THEN 0.0
                    ELSE (e - last_bin * {wide}) / lasting END AS last,
               CASE WHEN last_bin > first_bin + 1 THEN {wide} / lasting ELSE 0.0 END AS each
        FROM placed
    )
    SELECT {by}, first_bin AS first, last_bin AS last, {sums}
    FROM divided GROUP BY {by}, first_bin, last_bin ORDER BY {by}, first_bin, last_bin
    """
