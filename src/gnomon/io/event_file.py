"""What a process did with files, call by call, as it left it: native/io/event_file.h.

A file is taken for hostile: whatever it holds, reading it gives events or a `FormatError`. That of
a process that was killed has all that was complete. It may be large: events come in blocks.

Its units (native/core/record_spool.h) have a head and room for 8191 records. One that is
mapped into its process has the last events of a thread. While they are being written to another
unit, its head says to which, and that one is not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gnomon.errors import FormatError
from gnomon.measurement.totals_file import SUFFIX as TOTALS_SUFFIX
from gnomon.named_tuple import NamedTuple
from gnomon.store.file_head import FileKind, check_regular, read_header, record_dtype

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Any, BinaryIO

    from numpy.typing import NDArray

    from gnomon.measurement.totals_file import TotalsFile

KIND = FileKind("a file of events of I/O", b"\x89GNIOE\n\0", version=2)
SUFFIX = ".events"
"""In the place of that of the file of totals."""
NO_OFFSET = -(1 << 63)
NO_OPENING = 0xFFFFFFFF
CALL, READ, WRITE = 1, 2, 3
"""Kinds of events: of a call that moves no bytes, or not at once, of a read, of a write."""
RECORD_BYTES = 32

_CLOSED = 1
_HEADER = (
    ("magic", "S8"), ("byte_order", "u4"), ("version", "u4"), ("header_bytes", "u4"),
    ("flags", "u4"), ("features", "u8"), ("records", "u8"), ("tail", "u8"), ("lost", "u8"),
    ("capacity", "u8"), ("realtime_ns", "u8"), ("pid", "u4"), ("stop_error", "u4"),
)  # fmt: skip
_HEADER_BYTES = 80
_RECORD = (
    ("begin", "u8"), ("offset", "i8"), ("site", "u4"), ("opening", "u4"), ("bytes", "u4"),
    ("ticks_and_kind", "u4"),
)  # fmt: skip
_WIDE_RECORD = (
    ("asked", "u8"), ("delivered", "u8"), ("ticks", "u8"), ("zero", "u4"), ("kind", "u4")
)  # fmt: skip
_WIDE, _KINDS, _TICKS_BIT = 4, 7, 4
_EVENT = np.dtype([
    ("begin", "u8"), ("asked", "u8"), ("delivered", "u8"), ("offset", "i8"), ("ticks", "u8"),
    ("site", "u4"), ("opening", "u4"), ("kind", "u4"),
])  # fmt: skip
# Of native/core/record_spool.h.
_UNIT_RECORDS = 8192
UNIT_BYTES = _UNIT_RECORDS * RECORD_BYTES
# What a process may be allowed to leave: TRACE_MB_MOST of trace_options.py, behind a header.
_BYTES_MOST = (1 << 40) + UNIT_BYTES
_HEAD = (("n", "u4"), ("unit", "u4"), ("use", "u4"), ("zero", "u4"))
_SWAPPED = (("unit", "u4"), ("n", "u4"), ("use", "u4"), ("zero", "u4"))
_HEAD_BYTES = 16
_UNUSED, _MAPPED, _WRITTEN = 0, 1, 2
_BLOCK_UNITS = 16
_SECONDS_MOST = 1e9
"""That a process may have run for: 30 years."""


class Unit(NamedTuple):
    """A unit with events: where it begins, and how many it has."""

    begin: int
    n: int


class EventFile(NamedTuple):
    """The events of a process.

    Attributes:
        path: the file.
        totals: what lies beside it: the sites that events are of, and the clock.
        units: in the order of the calls of each thread.
        order: byte order, as the struct module has it.
        is_closed: the process ended by itself, not by a kill, _exit or exec.
        lost: events that there was no room for.
        stop_error: errno that says why, 0 where none were lost.
        written_bytes: what the process wrote of it by system calls, which the kernel counts.
    """

    path: Path
    totals: TotalsFile
    units: Sequence[Unit]
    order: str
    is_closed: bool
    lost: int
    stop_error: int
    written_bytes: int

    def blocks(self) -> Iterator[Events]:
        """Yield the events, those of a thread in the order of its calls.

        Raises:
            FormatError: a record makes no sense.
            OSError: the file cannot be read.
        """
        with self.path.open("rb") as file:
            for first in range(0, len(self.units), _BLOCK_UNITS):
                units = self.units[first : first + _BLOCK_UNITS]
                yield _joined(
                    [self._events(unit, _content(file, self.path, unit)) for unit in units]
                )

    def _events(self, unit: Unit, content: bytes) -> Events:
        records, numbers = self._records(unit, content)
        kinds = records["kind"].astype(np.int64)
        places = self.totals.site_places
        sites = np.searchsorted(places, records["site"])
        is_site = sites < len(places)
        is_site[is_site] = places[sites[is_site]] == records["site"][is_site]
        # From the begin of the file of totals on; before it, as many ticks less than none.
        since = (records["begin"] - np.uint64(self.totals.ticks)).view(np.int64)
        ticks = records["ticks"]
        most = _SECONDS_MOST * self.totals.ticks_hz
        is_known = np.abs(since.astype(np.float64)) <= most
        is_known &= ticks.astype(np.float64) <= most
        for is_right, why in (
            ((kinds >= CALL) & (kinds <= WRITE), "an event of no kind"),
            (is_site, "an event of no call site"),
            (is_known, "a time that no process had"),
        ):
            if not is_right.all():
                offset = unit.begin + RECORD_BYTES * (1 + int(numbers[is_right.argmin()]))
                raise FormatError(self.path, offset, why)
        start_ns = self._ns(since) + self.totals.realtime_ns
        return Events(records, kinds, sites, start_ns, self._ns(ticks))

    def _records(self, unit: Unit, content: bytes) -> tuple[NDArray[np.void], NDArray[np.int64]]:
        """Return the events of a unit, and the numbers of their records."""
        own = np.frombuffer(content, record_dtype(_RECORD, self.order))
        kinds = own["ticks_and_kind"] & _KINDS
        is_wide = kinds == _WIDE
        of_wide = np.flatnonzero(is_wide) - 1
        if is_wide[:1].any() or is_wide[of_wide].any():
            number = int((of_wide[(of_wide < 0) | is_wide[of_wide]])[0]) + 1
            offset = unit.begin + RECORD_BYTES * (1 + number)
            raise FormatError(self.path, offset, "a part of an event without the event")
        events = np.zeros(len(own), _EVENT)
        for name in ("begin", "offset", "site", "opening"):
            events[name] = own[name]
        events["asked"] = events["delivered"] = own["bytes"]
        events["ticks"] = own["ticks_and_kind"] >> _TICKS_BIT
        events["kind"] = kinds
        wide = np.frombuffer(content, record_dtype(_WIDE_RECORD, self.order))[is_wide]
        for name in ("asked", "delivered", "ticks"):
            events[name][of_wide] = wide[name]
        return events[~is_wide], np.flatnonzero(~is_wide)

    def _ns(self, ticks: NDArray[Any]) -> NDArray[np.int64]:
        ns: NDArray[np.int64] = np.rint(ticks.astype(np.float64) * (1e9 / self.totals.ticks_hz))
        return ns.astype(np.int64)


def _content(file: BinaryIO, path: Path, unit: Unit) -> bytes:
    file.seek(unit.begin + RECORD_BYTES)
    content = file.read(unit.n * RECORD_BYTES)
    if len(content) < unit.n * RECORD_BYTES:
        raise FormatError(path, unit.begin + RECORD_BYTES + len(content), "it became shorter")
    return content


def _joined(parts: Sequence[Events]) -> Events:
    return Events(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class Events(NamedTuple):
    """Some events.

    Attributes:
        records: `begin`, `asked`, `delivered`, `offset`, `ticks`, `site`, `opening`, `kind` of
            each, as in struct gn_io_event.
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
    if (end - begin) % UNIT_BYTES:
        raise FormatError(path, 40, f"no whole number of units of {UNIT_BYTES} bytes")
    if (int(header["realtime_ns"]), int(header["pid"])) != (totals.realtime_ns, totals.pid):
        raise FormatError(path, 64, f"not of the process of {totals.path.name}")
    stop_error = int(header["stop_error"])
    size = path.stat().st_size
    # Room for units is taken before the file has it: there one may be killed, or refused it.
    if is_closed and not stop_error and size < end:
        raise FormatError(path, size, f"cut short: its records end at byte {end}")
    units, n_written = _units(path, begin, (end - begin) // UNIT_BYTES, order)
    return EventFile(
        path,
        totals,
        units,
        order,
        is_closed,
        int(header["lost"]),
        stop_error,
        n_written * UNIT_BYTES,
    )


def _units(path: Path, begin: int, n: int, order: str) -> tuple[list[Unit], int]:
    """Return the units that have events, in their order, and how many were written.

    Raises:
        FormatError: the head of one makes no sense.
    """
    written: dict[int, Unit] = {}
    being_written: dict[int, Unit] = {}
    last: list[Unit] = []
    with path.open("rb") as file:
        for number in range(n):
            offset = begin + number * UNIT_BYTES
            file.seek(offset)
            content = file.read(_HEAD_BYTES)
            if len(content) < _HEAD_BYTES:
                # What follows was taken, and never written.
                break
            head = np.frombuffer(content, record_dtype(_HEAD if order == "<" else _SWAPPED, order))[
                0
            ]
            use, place, unit = int(head["use"]), int(head["unit"]) - 1, Unit(offset, int(head["n"]))
            if use == _UNUSED or place < 0:
                # A process may be killed before it is said which one it is.
                continue
            if use not in (_MAPPED, _WRITTEN) or unit.n >= _UNIT_RECORDS:
                raise FormatError(
                    path, offset, "a unit of no use, or with more than it has room for"
                )
            if place >= n or place < number or (place > number and use == _WRITTEN):
                raise FormatError(path, offset, "a unit in a place where it cannot be")
            if place in being_written and use == _MAPPED:
                raise FormatError(path, offset, "two units in one place")
            if use == _WRITTEN:
                written[place] = unit
            elif place > number:
                being_written[place] = unit
            else:
                last.append(unit)
    units = written | being_written
    ordered = [*(units[place] for place in sorted(units)), *last]
    return [unit for unit in ordered if unit.n], len(written)
