"""Calls on files and of MPI as they happened: which of the events of a run they are, and when.

Times are nanoseconds from the beginning of the run's time, which is that of its samples too: the
first of either begins at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.errors import UsageError
from gnomon.io import calls, io_metrics
from gnomon.model.array_types import Ints
from gnomon.mpi import mpi_metrics
from gnomon.named_tuple import NamedTuple
from gnomon.view.database import Arrays
from gnomon.view.open_run import OpenRun
from gnomon.view.run_metadata import Location, positions
from gnomon.view.traced_time import LASTS_MOST_NS, LATEST_NS, TimeSpan, traced_time

IO, MPI = io_metrics.CALL, mpi_metrics.CALL
KINDS = (IO, MPI)
LAYERS = (calls.POSIX, calls.STDIO)
_BYTES_MOST = 1 << 50
_OFFSETS_MOST = 1 << 61
_PLACES_MOST = 8192


class Selection(NamedTuple):
    """Which calls are wanted.

    Attributes:
        kind: one of `KINDS`.
        layer: one of `LAYERS`, of calls on files; "" for both.
        file: number of the only file that is wanted, -1 for all.
        locations: numbers of the only locations that are wanted; () for all.
    """

    kind: str = IO
    layer: str = calls.POSIX
    file: int = -1
    locations: tuple[int, ...] = ()


def trace_time(opened: OpenRun) -> TimeSpan:
    """Return when a run's time begins, in nanoseconds since 1970, and when it ends.

    Raises:
        UsageError: it has neither samples nor calls with a time, or is several runs.
        RunDirectoryError: the tables cannot be read.
    """
    if opened.parts:
        raise UsageError(f"{opened.title}: runs that were combined have no time in common")
    time: TimeSpan | None = opened.once("trace time", lambda: _time(opened))
    if time is None:
        raise UsageError(f"{opened.title}: no call has a time; record them with gnomon io --trace")
    return time


def _time(opened: OpenRun) -> TimeSpan | None:
    try:
        sampled = opened.sampled_time()
    except UsageError:
        return traced_time(opened.data)
    return TimeSpan(sampled.origin_ns, sampled.origin_ns + sampled.length_ns)


def traced_kinds(opened: OpenRun) -> list[str]:
    """Return those of `KINDS` that the run has calls of, with their times.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    if opened.parts:
        return []
    kinds: list[str] = opened.once("traced kinds", lambda: _kinds(opened))
    return kinds


def _kinds(opened: OpenRun) -> list[str]:
    rows = opened.data.tables.rows(
        "SELECT kind FROM regions WHERE kind IN (?, ?) AND region IN "
        "(SELECT region FROM events) GROUP BY kind",
        list(KINDS),
    )
    present = {row[0] for row in rows}
    return [kind for kind in KINDS if kind in present]


def calls_query(opened: OpenRun, wanted: Selection) -> str:
    """Return a query for calls.

    Its columns: repetition, location, region, path, file, opening; `b` and `e`, when each began
    and ended; `asked` and `bytes`; `is_read` and `is_write`; `low` and `high`, where in the file
    its bytes are, NULL where not known; `failed`, nothing could be moved.
    """
    origin = trace_time(opened).begin_ns
    streams = ", ".join(f"'{name}'" for name in sorted(_stream_calls()))
    which = f"kind = '{wanted.kind}'"
    if wanted.kind == IO and wanted.layer:
        is_stream = f"COALESCE(name, '') IN ({streams})"
        which += f" AND {is_stream}" if wanted.layer == calls.STDIO else f" AND NOT {is_stream}"
    conditions = [f"region IN (SELECT region FROM regions WHERE {which})"]
    if wanted.file >= 0:
        conditions.append(f"file = {wanted.file}")
    if wanted.locations:
        conditions.append(f"location IN ({', '.join(map(str, wanted.locations))})")
    moved = f"LEAST(GREATEST(COALESCE(bytes, 0), 0), {_BYTES_MOST})"
    # LEAST of NULL and a number is the number.
    offset = f"LEAST(file_offset, {_OFFSETS_MOST})"
    begins = f"CASE WHEN file_offset >= 0 AND access IN ('read', 'write') THEN {offset} END"
    return f"""
        SELECT *, low + bytes AS high FROM (
            SELECT COALESCE(repetition, 0) AS repetition, location, region,
                   COALESCE(path, -1) AS path, COALESCE(file, -1) AS file, opening,
                   start_ns - {origin} AS b,
                   start_ns - {origin} + LEAST(GREATEST(COALESCE(duration_ns, 0), 0),
                                               {LASTS_MOST_NS}) AS e,
                   {moved} AS bytes, bytes IS NULL AS failed,
                   LEAST(GREATEST(COALESCE(asked, bytes, 0), 0), {_BYTES_MOST}) AS asked,
                   COALESCE(access, '') = 'read' AS is_read,
                   COALESCE(access, '') = 'write' AS is_write,
                   {begins} AS low
            FROM events WHERE {" AND ".join(conditions)} AND location IS NOT NULL
            AND start_ns BETWEEN 0 AND {LATEST_NS}
        )"""


def timed_metrics(opened: OpenRun) -> dict[str, int]:
    """Return the metrics of calls whose values are known of any part of the time, with numbers.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    if IO not in traced_kinds(opened):
        return {}
    return {one.name: one.metric for one in opened.data.metrics if one.name in _VALUES}


def values_within(opened: OpenRun, span: TimeSpan) -> Arrays:
    """Return what calls on files come to within a part of the run's time, by path.

    What a call moves is spread evenly over the time that it takes.

    Returns:
        repetition, location and path of each row; metric, a number of those of the run that it is
        of; n, how many calls; own, the value.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    queries = [
        f"SELECT repetition, location, path, CAST({number} AS INTEGER) AS metric, COUNT(*) AS n, "
        f"SUM({_VALUES[name][0]} * share) AS own FROM inside WHERE {_VALUES[name][1]} GROUP BY ALL"
        for name, number in timed_metrics(opened).items()
    ]
    if not queries:
        return {}
    share = (
        f"CASE WHEN e > b THEN (LEAST(e, {span.end_ns}) - GREATEST(b, {span.begin_ns})) / "
        "CAST(e - b AS DOUBLE) ELSE 1.0 END"
    )
    return opened.data.tables.arrays(
        f"WITH inside AS (SELECT *, {share} AS share "
        f"FROM ({calls_query(opened, Selection(layer=''))}) WHERE path >= 0 "
        f"AND b < {span.end_ns} AND (e > {span.begin_ns} OR b >= {span.begin_ns})) "
        f"{' UNION ALL '.join(queries)} ORDER BY ALL"
    )


_VALUES = {
    io_metrics.TIME: ("CAST(e - b AS DOUBLE)", "TRUE"),
    io_metrics.ASKED: ("CAST(asked AS DOUBLE)", "is_read OR is_write"),
    io_metrics.DELIVERED: ("CAST(bytes AS DOUBLE)", "is_read OR is_write"),
}
"""Metrics of calls, what each of these has of them, and which have any."""


def _stream_calls() -> set[str]:
    return {call.counted_as for call in calls.calls() if call.layer == calls.STDIO}


def layers(opened: OpenRun) -> list[str]:
    """Return those of `LAYERS` that the run has calls of.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    rows = opened.data.tables.rows(
        "SELECT DISTINCT COALESCE(name, '') FROM regions WHERE kind = ? AND region IN "
        "(SELECT region FROM events)",
        [IO],
    )
    present = {calls.layer_of(row[0]) for row in rows}
    return [layer for layer in LAYERS if layer in present]


def places(opened: OpenRun, kind: str) -> Ints:
    """Return positions of the locations that have calls of a kind, by rank and number.

    Raises:
        UsageError: they are too many.
        RunDirectoryError: the tables cannot be read.
    """
    of_kind: Ints = opened.once(("places", kind), lambda: _places(opened, kind))
    return of_kind


def _places(opened: OpenRun, kind: str) -> Ints:
    rows = opened.data.tables.arrays(
        "SELECT DISTINCT location FROM events WHERE location IS NOT NULL AND region IN "
        "(SELECT region FROM regions WHERE kind = ?)",
        [kind],
    )
    located = opened.data.locations
    number = np.array([one.location for one in located], dtype=np.int32)
    place = positions(number, rows["location"])
    place = place[place >= 0]
    if len(place) > _PLACES_MOST:
        raise UsageError(f"{opened.title}: calls of more than {_PLACES_MOST} processes")

    def order(position: int) -> tuple[int, int, int]:
        location = located[position]
        return (location.rank if location.rank >= 0 else 1 << 31, location.pid, position)

    return np.array(sorted(place.tolist(), key=order), dtype=np.int32)


def titles(located: Sequence[Location]) -> list[str]:
    """Return what locations are called: processes of one rank by their number, too."""
    names = [location.title for location in located]
    return [
        f"{name}, process {location.pid}" if names.count(name) > 1 and location.pid >= 0 else name
        for name, location in zip(names, located, strict=True)
    ]


def sites(opened: OpenRun, numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Return `CallPlace` of the contract for paths, by their numbers.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    data = opened.data
    regions, paths = data.regions, data.paths
    found = positions(paths.number, np.array(numbers, dtype=np.int32))
    called: list[dict[str, Any]] = []
    for position in found.tolist():
        if position < 0:
            called.append({"name": "", "caller": "", "file": "", "line": 0})
            continue
        region, above = int(paths.region[position]), int(paths.parent[position])
        caller = str(regions.name[paths.region[above]]) if above >= 0 else ""
        called.append({
            "name": str(regions.name[region]), "caller": caller,
            "file": str(regions.file[region]), "line": int(regions.line[region]),
        })  # fmt: skip
    return called
