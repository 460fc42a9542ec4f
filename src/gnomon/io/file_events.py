"""The events of a run on one file, as columns; and how its requests follow each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.io import io_metrics
from gnomon.io.calls import POSIX, calls
from gnomon.named_tuple import NamedTuple
from gnomon.store.call_sums import sql_texts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gnomon.store.run_queries import RunQueries

ROWS_MOST = 2_000_000
"""Of a file that are looked at: the first ones."""
BLOCK = 1 << 16
"""Bytes of a page of a cache, as it is proposed."""
_NS = 1e9
_ACCESSES = ("", "read", "write")


class FileEvents(NamedTuple):
    """Calls of POSIX on a file, in the order of their beginnings; NaN is not known.

    Attributes:
        location: which process.
        opening: which of its open files; NaN for none.
        path: of the call site; -1 where not known.
        name: of the call.
        access: "read", "write" or "".
        offset: where the request began.
        asked: bytes that it was to move.
        moved: bytes that it moved.
        start_ns: since 1970.
        duration_ns: of the call.
    """

    location: NDArray[Any]
    opening: NDArray[np.float64]
    path: NDArray[Any]
    name: NDArray[Any]
    access: NDArray[Any]
    offset: NDArray[np.float64]
    asked: NDArray[np.float64]
    moved: NDArray[np.float64]
    start_ns: NDArray[Any]
    duration_ns: NDArray[np.float64]

    def where(self, mask: NDArray[Any]) -> FileEvents:
        """Return some of them: those of a mask, or in the order of numbers."""
        return FileEvents(*(column[mask] for column in self))

    def of_access(self, access: str) -> FileEvents:
        """Return reads, or writes, of which it is known where they were."""
        import numpy as np

        return self.where(
            (self.access == access) & np.isfinite(self.offset) & np.isfinite(self.opening)
        )

    @property
    def seconds(self) -> float:
        """In all of the calls."""
        import numpy as np

        return float(np.nansum(self.duration_ns)) / _NS


def has_events(run: RunQueries) -> bool:
    """Return whether calls on files were recorded one by one; raises RunDirectoryError."""
    sql = f"""
        SELECT 1 FROM events e JOIN regions r USING (region)
        WHERE r.kind = '{io_metrics.CALL}' AND e.file >= 0 AND e.access IS NOT NULL LIMIT 1
        """
    return bool(run.query(sql))


def events_of(run: RunQueries, file: str) -> FileEvents:
    """Return those of a file, by its path, of the first execution; raises RunDirectoryError."""
    import numpy as np

    posix = sql_texts(dict.fromkeys(one.counted_as for one in calls() if one.layer == POSIX))
    names = dict(
        run.query(
            f"""
            SELECT r.region, r.name FROM regions r
            WHERE r.kind = '{io_metrics.CALL}' AND r.name IN ({posix})
            """
        )
    )
    # Numbers in place of texts: of these each would be an object.
    columns = run.columns(
        f"""
        SELECT e.location, e.opening, e.path, e.region,
            CASE e.access WHEN 'read' THEN 1 WHEN 'write' THEN 2 ELSE 0 END AS access,
            e.file_offset, e.asked, e.bytes, e.start_ns, e.duration_ns
        FROM events e JOIN files f ON f.file = e.file
        WHERE f.name IN ({sql_texts([file])}) AND e.repetition = 0
            AND e.region IN ({", ".join(map(str, (-1, *names)))})
        ORDER BY e.start_ns LIMIT {ROWS_MOST}
        """
    )
    of_region = np.full(max(names, default=0) + 1, "", object)
    of_region[list(names)] = list(names.values())
    accesses = np.array(_ACCESSES, object)

    def numbers_of(name: str) -> NDArray[np.float64]:
        return np.asarray(columns[name]).astype(np.float64)

    return FileEvents(
        np.asarray(columns["location"]), numbers_of("opening"), np.asarray(columns["path"]),
        of_region[np.asarray(columns["region"])], accesses[np.asarray(columns["access"])],
        numbers_of("file_offset"), numbers_of("asked"), numbers_of("bytes"),
        np.asarray(columns["start_ns"]),
        numbers_of("duration_ns"),
    )  # fmt: skip


class Pattern(NamedTuple):
    """How reads, or writes, of a file follow each other within each open file.

    Attributes:
        requests: how many there are.
        bytes: that they moved.
        seconds: in them.
        sequential: those that begin where the last one ended.
        backward: those that end where the last one began, or lie as far before it as that before
            the one before; from sums, all that begin before the last one ended.
        strided: those as far behind the last one as that behind the one before, with a gap.
        unique_bytes: that they moved at least once; None where it is not known.
        block_bytes: of whole blocks of `BLOCK` with these bytes; None likewise.
        is_traced: known from events; else from sums, where `strided` is all that left out a part.
    """

    requests: float
    bytes: float
    seconds: float
    sequential: float
    backward: float
    strided: float
    unique_bytes: float | None
    block_bytes: float | None
    is_traced: bool


def pattern_of(events: FileEvents) -> Pattern:
    """Return it of requests: `events` are reads alone, or writes alone (`of_access`)."""
    import numpy as np

    order = np.lexsort((events.start_ns, events.opening, events.location))
    own = events.where(order)
    size = np.where(np.isfinite(own.moved), own.moved, 0.0)
    n = len(size)
    if not n:
        return Pattern(0, 0, 0, 0, 0, 0, 0.0, 0.0, is_traced=True)
    same = np.zeros(n, bool)
    same[1:] = (own.location[1:] == own.location[:-1]) & (own.opening[1:] == own.opening[:-1])
    step = np.zeros(n)
    step[1:] = own.offset[1:] - own.offset[:-1]
    follows = same.copy()
    follows[1:] &= step[1:] == size[:-1]
    is_regular = np.zeros(n, bool)
    is_regular[1:] = same[:-1] & (step[1:] == step[:-1])
    goes_back = same & (step < 0) & (is_regular | (step == -size))
    has_stride = same & ~follows & (step > 0) & is_regular
    first = np.floor(own.offset / BLOCK) * BLOCK
    last = np.ceil((own.offset + size) / BLOCK) * BLOCK
    return Pattern(
        n, float(size.sum()), own.seconds, int(follows.sum()), int(goes_back.sum()),
        int(has_stride.sum()), _union(own.offset, size), _union(first, last - first),
        is_traced=True,
    )  # fmt: skip


def _union(offset: NDArray[np.float64], size: NDArray[np.float64]) -> float:
    """Return how many bytes lie in any of the requests."""
    import numpy as np

    order = np.argsort(offset, kind="stable")
    begin, end = offset[order], (offset + size)[order]
    reached = np.maximum.accumulate(end)
    before = np.concatenate([[-1.0], reached[:-1]])
    return float(np.maximum(end - np.maximum(begin, before), 0.0).sum())


def are_open_at_once(events: FileEvents, writers: frozenset[int]) -> bool:
    """Return whether a process that wrote the file, and another one, had it open at one time."""
    spans = {location: _span(events, location) for location in set(events.location.tolist())}
    return any(
        spans[writer][0] <= other[1] and other[0] <= spans[writer][1]
        for writer in writers & spans.keys()
        for location, other in spans.items()
        if location != writer
    )


def _span(events: FileEvents, location: int) -> tuple[float, float]:
    """Return when a process first and last had it open: for ever, if it did not close all."""
    import numpy as np

    own = events.where(events.location == location)
    openings = len(np.unique(own.opening[np.isfinite(own.opening)]))
    closed = int(np.isin(own.name, ("close", "close_range", "closefrom")).sum())
    begin = float(own.start_ns.min())
    return begin, float(own.start_ns.max()) if closed >= openings else float("inf")


def busiest_site(events: FileEvents) -> int:
    """Return the path of the call site with most time, -1 for none."""
    import numpy as np

    with_path = events.where(events.path >= 0)
    if not len(with_path.path):
        return -1
    paths, numbers = np.unique(with_path.path, return_inverse=True)
    seconds = np.bincount(numbers, np.nan_to_num(with_path.duration_ns))
    return int(paths[int(seconds.argmax())])
