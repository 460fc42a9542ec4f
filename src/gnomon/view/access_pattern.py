"""Where in a file its requests are, and when: each of them, or what of them a picture can show.

A request goes from the moment and the offset that it begins at to those that it ends at. Where
more of them are in a window than can be sent one by one, those that begin and end in the same
points of the picture are one, with how many they are.
"""

from __future__ import annotations

from gnomon.errors import UsageError
from gnomon.model.array_types import Bytes, Floats, Ints
from gnomon.named_tuple import NamedTuple
from gnomon.view.call_trace import Selection, calls_query
from gnomon.view.open_run import OpenRun
from gnomon.view.traced_time import TimeSpan

EXACT_MOST = 20_000
"""So many requests of a window are sent one by one."""
POINTS_MOST = 4096
_CELLS_MOST = 250_000


class Window(NamedTuple):
    """A part of a picture: from and to in time, and in the file.

    Attributes:
        time: in nanoseconds since the run's time began.
        low: the first byte.
        high: the byte behind the last one.
    """

    time: TimeSpan
    low: int
    high: int


class Requests(NamedTuple):
    """Requests in the order in which they began.

    Attributes:
        start: nanoseconds since the run's time began.
        duration: nanoseconds.
        offset: the first byte.
        bytes, asked: how many were moved, and how many were to be.
        access: 1 for writes, 0 for reads.
        path, location: numbers of these; -1 for a path that is not known.
        opening: which open file of its process; -1 where not known.
    """

    start: Floats
    duration: Floats
    offset: Floats
    bytes: Floats
    asked: Floats
    access: Bytes
    path: Ints
    location: Ints
    opening: Floats


class Cells(NamedTuple):
    """Requests that begin and end in the same points of a picture.

    Attributes:
        columns, rows: how many points the picture has.
        first, last: the columns that they begin and end in.
        lower, upper: the rows, from the first byte of the window on.
        access: 1 for writes, 0 for reads.
        counts: how many they are.
        bytes: what all of them moved.
    """

    columns: int
    rows: int
    first: Ints
    last: Ints
    lower: Ints
    upper: Ints
    access: Bytes
    counts: Floats
    bytes: Floats


def file_end(opened: OpenRun, wanted: Selection) -> tuple[int, int]:
    """Return how many requests of a file have an offset, and the byte behind their last one.

    Raises:
        UsageError: no call of the run has a time.
        RunDirectoryError: the tables cannot be read.
    """
    wanted = wanted._replace(locations=())

    def work() -> tuple[int, int]:
        ((count, end),) = opened.data.tables.rows(
            f"SELECT COUNT(*), MAX(high) FROM ({calls_query(opened, wanted)}) "
            "WHERE low IS NOT NULL AND NOT failed"
        )
        return int(count), max(int(end or 0), 1)

    bounds: tuple[int, int] = opened.once(("file end", wanted), work)
    return bounds


def count_requests(opened: OpenRun, wanted: Selection, window: Window) -> int:
    """Return how many requests are in a window, wholly or in part; raises as `file_end`."""
    ((count,),) = opened.data.tables.rows(
        f"SELECT COUNT(*) FROM ({_inside(opened, wanted, window)})"
    )
    return int(count)


def requests(opened: OpenRun, wanted: Selection, window: Window) -> Requests:
    """Return the requests of a window, `EXACT_MOST` at most; raises as `file_end`."""
    columns = opened.data.tables.arrays(
        "SELECT CAST(b AS DOUBLE) AS start, CAST(e - b AS DOUBLE) AS duration, "
        'CAST(low AS DOUBLE) AS "offset", CAST(bytes AS DOUBLE) AS bytes, '
        "CAST(asked AS DOUBLE) AS asked, CAST(is_write AS UTINYINT) AS access, path, location, "
        "CAST(COALESCE(opening, -1) AS DOUBLE) AS opening "
        f"FROM ({_inside(opened, wanted, window)}) ORDER BY b, e, location, low, path "
        f"LIMIT {EXACT_MOST}"
    )
    return Requests(**columns)


def cells(opened: OpenRun, wanted: Selection, window: Window, points: tuple[int, int]) -> Cells:
    """Return the requests of a window as points of a picture.

    Args:
        opened: the run.
        wanted: of which calls.
        window: of which part of the time and the file.
        points: columns and rows of the picture. It has fewer where requests differ in too many.

    Raises:
        UsageError: no call of the run has a time.
        RunDirectoryError: the tables cannot be read.
    """
    columns, rows = (max(1, min(count, POINTS_MOST)) for count in points)
    while True:
        by_name = opened.data.tables.arrays(
            _cells_query(_inside(opened, wanted, window), window, columns, rows)
        )
        if len(by_name["first"]) <= _CELLS_MOST or columns * rows == 1:
            return Cells(columns, rows, **by_name)
        columns, rows = (columns + 1) // 2, (rows + 1) // 2


def _cells_query(inside: str, window: Window, columns: int, rows: int) -> str:
    time = window.time
    wide = f"{time.length_ns / columns!r}::DOUBLE"
    high = f"{(window.high - window.low) / rows!r}::DOUBLE"

    def point(value: str, size: str, points: int) -> str:
        return f"CAST(LEAST(GREATEST(FLOOR(({value}) / {size}), 0), {points - 1}) AS INTEGER)"

    return f"""
    WITH placed AS (
        SELECT {point(f"b - {time.begin_ns}", wide, columns)} AS first,
               {point(f"e - {time.begin_ns}", wide, columns)} AS last,
               {point(f"low - {window.low}", high, rows)} AS lower,
               {point(f"GREATEST(high - 1, low) - {window.low}", high, rows)} AS upper,
               CAST(is_write AS UTINYINT) AS access, bytes
        FROM ({inside})
    )
    SELECT first, last, lower, upper, access, CAST(COUNT(*) AS DOUBLE) AS counts,
           CAST(SUM(bytes) AS DOUBLE) AS bytes
    FROM placed GROUP BY first, last, lower, upper, access
    ORDER BY first, lower, last, upper, access LIMIT {_CELLS_MOST + 1}
    """


def _inside(opened: OpenRun, wanted: Selection, window: Window) -> str:
    time = window.time
    return (
        f"SELECT * FROM ({calls_query(opened, wanted)}) WHERE low IS NOT NULL AND NOT failed "
        f"AND b < {time.end_ns} AND (e > {time.begin_ns} OR b >= {time.begin_ns}) "
        f"AND low < {window.high} AND GREATEST(high, low + 1) > {window.low}"
    )


def window_of(
    opened: OpenRun, wanted: Selection, length_ns: int, asked: tuple[int, int, int, int]
) -> Window:
    """Return a part of a picture: begin and end in time, low and high in the file, -1 for all.

    Raises:
        UsageError: nothing is within it.
        RunDirectoryError: the tables cannot be read.
    """
    begin, end, low, high = asked
    time = TimeSpan(max(begin, 0), min(end, length_ns) if end >= 0 else length_ns)
    if time.length_ns <= 0:
        raise UsageError(f"a window from {begin} to {end} ns: the run is from 0 to {length_ns}")
    if high < 0:
        high = file_end(opened, wanted)[1]
    if high <= max(low, 0):
        raise UsageError(f"a window from byte {low} to {high} has nothing within")
    return Window(time, max(low, 0), high)
