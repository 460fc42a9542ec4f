"""What a process did with files, call by call, as it left it: native/io/event_file.h.

A file is taken for hostile: whatever it holds, reading it gives events or a `FormatError`. That of
a process that was killed has all that was complete. It may be large: events come in blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gnomon.errors import FormatError
from gnomon.measurement.totals_file import SUFFIX as TOTALS_SUFFIX
from gnomon.named_tuple import NamedTuple
from gnomon.store.file_head import FileKind, check_regular, read_header, record_dtype

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from gnomon.measurement.totals_file import TotalsFile

KIND = FileKind("a file of events of I/O", b"\x89GNIOE\n\0", version=1)
SUFFIX = ".events"
"""In the place of that of the file of totals."""
NO_OFFSET = -(1 << 63)
NO_OPENING = 0xFFFFFFFF
CALL, READ, WRITE = 1, 2, 3
"""Kinds of events: of a call that moves no bytes, or not at once, of a read, of a write."""
FAILED = 0x80
RECORD_BYTES = 48

_CLOSED = 1
# What a process may be allowed to leave: TRACE_MB_MOST of trace_options.py, and the header.
_BYTES_MOST = (1 << 40) + 4096
_HEADER = (
    ("magic", "S8"), ("byte_order", "u4"), ("version", "u4"), ("header_bytes", "u4"),
    ("flags", "u4"), ("features", "u8"), ("records", "u8"), ("tail", "u8"), ("lost", "u8"),
    ("capacity", "u8"), ("realtime_ns", "u8"), ("pid", "u4"), ("stop_error", "u4"),
)  # fmt: skip
_HEADER_BYTES = 80
_EVENT = (
    ("begin", "u8"), ("asked", "u8"), ("delivered", "u8"), ("offset", "i8"), ("site", "u4"),
    ("opening", "u4"), ("kind_and_ticks", "u8"),
)  # fmt: skip
_BLOCK = 1 << 17
_SECONDS_MOST = 1e9
"""That a process may have run for: 30 years."""


class EventFile(NamedTuple):
    """The events of a process.

    Attributes:
        path: the file.
        totals: what lies beside it: the sites that events are of, and the clock.
        begin: offset of the first record.
        end: that behind the last one.
        order: byte order, as the struct module has it.
        is_closed: the process ended by itself, not by a kill, _exit or exec.
        lost: events that there was no room for.
        stop_error: errno that says why, 0 where none were lost.
    """

    path: Path
    totals: TotalsFile
    begin: int
    end: int
    order: str
    is_closed: bool
    lost: int
    stop_error: int

    def blocks(self) -> Iterator[Events]:
        """Yield the events, those of a thread in the order of its calls.

        Raises:
            FormatError: a record makes no sense.
            OSError: the file cannot be read.
        """
        with self.path.open("rb") as file:
            file.seek(self.begin)
            offset = self.begin
            while offset < self.end:
                content = file.read(min(self.end - offset, _BLOCK * RECORD_BYTES))
                if len(content) % RECORD_BYTES or not content:
                    raise FormatError(self.path, offset, "it became shorter")
                events = self._events(content, offset)
                if len(events.records):
                    yield events
                offset += len(content)

    def _events(self, content: bytes, begin: int) -> Events:
        records = np.frombuffer(content, record_dtype(_EVENT, self.order))
        kinds = records["kind_and_ticks"] & 0xFF
        is_event = kinds != 0
        own, places = kinds & (FAILED - 1), self.totals.site_places
        sites = np.searchsorted(places, records["site"])
        is_site = sites < len(places)
        is_site[is_site] = places[sites[is_site]] == records["site"][is_site]
        # From the begin of the file of totals on; before it, as many ticks less than none.
        since = (records["begin"] - np.uint64(self.totals.ticks)).view(np.int64)
        is_known = np.abs(since.astype(np.float64)) <= _SECONDS_MOST * self.totals.ticks_hz
        ticks = records["kind_and_ticks"] >> 8
        is_known &= ticks.astype(np.float64) <= _SECONDS_MOST * self.totals.ticks_hz
        for is_right, why in (
            ((own >= CALL) & (own <= WRITE), "an event of no kind"),
            (is_site, "an event of no call site"),
            (is_known, "a time that no process had"),
        ):
            wrong = is_event & ~is_right
            if wrong.any():
                raise FormatError(self.path, begin + RECORD_BYTES * int(wrong.argmax()), why)
        return Events(
            records[is_event],
            own[is_event].astype(np.int64),
            sites[is_event],
            self._ns(since[is_event]) + self.totals.realtime_ns,
            self._ns(ticks[is_event]),
        )

    def _ns(self, ticks: NDArray[np.generic]) -> NDArray[np.int64]:
        ns: NDArray[np.int64] = np.rint(ticks.astype(np.float64) * (1e9 / self.totals.ticks_hz))
        return ns.astype(np.int64)


class Events(NamedTuple):
    """Some events.

    Attributes:
        records: of struct gn_io_event.
        kinds: of each `CALL`, `READ` or `WRITE`.
        sites: of each the number of its site among those of the file of totals.
        start_ns: when each began, in nanoseconds since 1970.
        duration_ns: how long each took.
    """

    records: NDArray[np.void]
    kinds: NDArray[np.int64]
    sites: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]


def event_path(totals: Path) -> Path:
    """Return where the events of a process lie, if there are any."""
    return totals.with_name(totals.name.removesuffix(TOTALS_SUFFIX) + SUFFIX)


def read_event_file(totals: TotalsFile) -> EventFile:
    """Return what a process recorded, its events yet to be read.

    Args:
        totals: of the process.

    Raises:
        FormatError: the file is something else, truncated or damaged.
        OSError: it cannot be read.
    """
    path = event_path(totals.path)
    check_regular(path)
    with path.open("rb") as file:
        header, order, _ = read_header(path, file, KIND, _HEADER)
    begin, end = int(header["records"]), int(header["tail"])
    is_closed = bool(int(header["flags"]) & _CLOSED)
    if not _HEADER_BYTES <= begin <= end or begin % 8:
        raise FormatError(path, 32, "records are where they cannot be")
    if end > _BYTES_MOST:
        raise FormatError(path, 40, f"its records end at byte {end}, which no file has")
    if (end - begin) % RECORD_BYTES:
        raise FormatError(path, 40, f"no whole number of records of {RECORD_BYTES} bytes")
    if (int(header["realtime_ns"]), int(header["pid"])) != (totals.realtime_ns, totals.pid):
        raise FormatError(path, 64, f"not of the process of {totals.path.name}")
    size = path.stat().st_size
    if size < end:
        # Room for records is taken before the file has it: there one may be killed.
        if is_closed or size < begin:
            raise FormatError(path, size, f"cut short: its records end at byte {end}")
        end = begin + (size - begin) // RECORD_BYTES * RECORD_BYTES
    return EventFile(
        path, totals, begin, end, order, is_closed, int(header["lost"]), int(header["stop_error"])
    )
