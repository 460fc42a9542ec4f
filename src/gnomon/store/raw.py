"""The raw files that measured processes leave, one per process, however the process ended.

native/include/gnomon/buffer.h describes the layout. A file is taken for hostile: whatever it holds,
reading it gives records or a `FormatError`.
"""

from __future__ import annotations

import math
import mmap
import os
import re
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from gnomon.errors import FormatError

suffixes = (".gnraw",)

MAGIC = b"\x89GNOMON\n"
VERSION = 1
HEADER_BYTES = 4096
CAPACITY_MAX = 1 << 40

# No features yet. Who does not know one of the lower half cannot read the file.
KNOWN_FEATURES = 0
INCOMPATIBLE = (1 << 32) - 1

CLOSED = 1
STOPPED = 2

RESERVED = 1
COMMITTED = 2

CLOCK_SOURCES = {1: "vdso", 2: "tsc", 3: "cntvct"}

# Threads that die between taking space and using it leave zeros, of the size of their records. A
# sparse file of nothing but zeros would keep us for hours.
HOLES_MAX_BYTES = 1 << 28

_BYTE_ORDERS = {b"\x04\x03\x02\x01": "little", b"\x01\x02\x03\x04": "big"}
_NONZERO = re.compile(rb"[^\0]")


class _At:
    """Where in the header a field lies."""

    BYTE_ORDER = 8
    VERSION = 12
    HEADER_BYTES = 16
    FLAGS = 20
    FEATURES = 24
    CAPACITY = 32
    FINAL = 40
    ANCHORS = 48
    TICKS_HZ = 72
    CLOCK_SOURCE = 80
    PID = 84
    STOP_ERROR = 88
    HOST = 128
    HOST_END = 384
    TAIL = 1024
    LOST = 1088


class RawRecord(NamedTuple):
    """One complete record; the payload is a view into the file."""

    type: int
    payload: memoryview


@dataclass(frozen=True)
class RawFile:
    """What one process left: where and when it ran, and its records.

    Attributes:
        path: the file.
        byte_order: "little" or "big", also of what is in the payloads.
        features: the feature mask, as in the file.
        closed: whether the process closed the file; if not, it was killed or is still running.
        stop_error: the errno that ended recording before the program ended, 0 for none.
        lost: how many records were refused because recording had ended.
        host: name of the host.
        pid: process id in the process's own namespace.
        clock_source: "tsc", "cntvct" or "vdso".
        raw_ns: CLOCK_MONOTONIC_RAW when the file was opened; times in records have this base.
        realtime_ns: CLOCK_REALTIME at the same moment.
        ticks: the processor's counter at the same moment.
        ticks_hz: ticks of that counter per second.
        capacity_bytes: what the file could have grown to.
    """

    path: Path
    byte_order: str
    features: int
    closed: bool
    stop_error: int
    lost: int
    host: str
    pid: int
    clock_source: str
    raw_ns: int
    realtime_ns: int
    ticks: int
    ticks_hz: float
    capacity_bytes: int
    _data: memoryview = field(repr=False, compare=False)

    def records(self) -> Iterator[RawRecord]:
        """Yield the complete records in the order in which their space was taken.

        Raises:
            FormatError: there is something else where a record should be.
        """
        for offset, size, kind, state in self._walk():
            if state == COMMITTED:
                yield RawRecord(kind, self._data[offset + 8 : offset + size])

    @cached_property
    def skipped(self) -> int:
        """How many records were begun but never completed: those that a kill interrupted.

        Raises:
            FormatError: there is something else where a record should be.
        """
        return sum(state == RESERVED for _, _, _, state in self._walk())

    def _walk(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield offset, size, type and state of all records."""
        data, end = self._data, len(self._data)
        unpack = struct.Struct("<IHH" if self.byte_order == "little" else ">IHH").unpack_from
        offset = HEADER_BYTES
        zeros_left = HOLES_MAX_BYTES
        while offset + 8 <= end:
            size, kind, state = unpack(data, offset)
            if not size and not kind and not state:
                next_offset = self._end_of_hole(offset, min(end, offset + zeros_left))
                zeros_left -= next_offset - offset
                offset = next_offset
                if zeros_left <= 0:
                    raise FormatError(
                        self.path, offset, f"{HOLES_MAX_BYTES} zeros where records should be"
                    )
                continue
            if size < 8:
                raise FormatError(self.path, offset, f"a record of {size} bytes; 8 are the least")
            if size > end - offset:
                raise FormatError(
                    self.path,
                    offset,
                    f"a record of {size} bytes where {end - offset} are left; the file was cut "
                    "short or damaged, copy it again",
                )
            if state not in (RESERVED, COMMITTED):
                raise FormatError(self.path, offset, f"a record of unknown state {state}")
            yield offset, size, kind, state
            offset += (size + 7) & ~7
        if any(data[offset:end]):
            raise FormatError(self.path, offset, "less than a record at the end")

    def _end_of_hole(self, offset: int, end: int) -> int:
        """Return where records go on after the zeros at `offset`."""
        found = _NONZERO.search(self._data, offset, end)
        return end if found is None else found.start() & ~7


def sniff(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is a raw file."""
    return head.startswith(MAGIC)


def read_raw(path: Path | str) -> RawFile:
    """Return the raw file at `path`, with all records that were complete.

    The file is mapped, not read; the mapping goes when nothing refers to its records any more. Of
    a file that is still being written to, what it holds at this moment is read.

    Raises:
        FormatError: the file is not what a Gnomon of this version writes.
        OSError: the file cannot be opened or read.
    """
    path = Path(path)
    # A named pipe would otherwise keep us waiting for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FormatError(path, 0, "not a regular file")
        return _read(path, descriptor, status.st_size)
    finally:
        os.close(descriptor)


def _read(path: Path, descriptor: int, file_bytes: int) -> RawFile:
    head = os.pread(descriptor, HEADER_BYTES, 0)
    order = _check_head(path, head)

    def number(code: str, offset: int) -> int:
        return int(struct.unpack_from(order + code, head, offset)[0])

    flags = number("I", _At.FLAGS)
    closed = bool(flags & CLOSED)
    capacity = number("Q", _At.CAPACITY)
    if not HEADER_BYTES < capacity <= CAPACITY_MAX:
        raise FormatError(path, _At.CAPACITY, f"a capacity of {capacity} bytes")
    if file_bytes > capacity:
        raise FormatError(
            path, _At.CAPACITY, f"a capacity of {capacity} bytes, but the file has {file_bytes}"
        )
    ticks_hz = struct.unpack_from(order + "d", head, _At.TICKS_HZ)[0]
    if not math.isfinite(ticks_hz) or ticks_hz <= 0:
        raise FormatError(path, _At.TICKS_HZ, f"a counter of {ticks_hz} ticks per second")
    source = number("I", _At.CLOCK_SOURCE)
    if source not in CLOCK_SOURCES:
        raise FormatError(path, _At.CLOCK_SOURCE, f"unknown clock source {source}")
    raw_ns, realtime_ns, ticks = struct.unpack_from(order + "QQQ", head, _At.ANCHORS)

    end = number("Q", _At.FINAL if closed else _At.TAIL)
    if end < HEADER_BYTES:
        raise FormatError(
            path, _At.FINAL if closed else _At.TAIL, f"records end at byte {end}, in the header"
        )
    if closed and end > file_bytes:
        raise FormatError(
            path,
            file_bytes,
            f"cut short: records end at byte {end}; copy the file again from where it was written",
        )
    end = min(end, file_bytes)

    return RawFile(
        path=path,
        byte_order="little" if order == "<" else "big",
        features=number("Q", _At.FEATURES),
        closed=closed,
        stop_error=number("I", _At.STOP_ERROR) if flags & STOPPED else 0,
        lost=number("Q", _At.LOST),
        host=head[_At.HOST : _At.HOST_END].split(b"\0")[0].decode(errors="replace"),
        pid=number("I", _At.PID),
        clock_source=CLOCK_SOURCES[source],
        raw_ns=raw_ns,
        realtime_ns=realtime_ns,
        ticks=ticks,
        ticks_hz=ticks_hz,
        capacity_bytes=capacity,
        _data=memoryview(mmap.mmap(descriptor, end, access=mmap.ACCESS_READ)),
    )


def _check_head(path: Path, head: bytes) -> str:
    """Return the struct module's sign for the byte order of a header that can be read."""
    if not sniff(head):
        if len(head) >= len(MAGIC) and not any(head[: len(MAGIC)]):
            raise FormatError(path, 0, "an empty header: the process ended before it was written")
        raise FormatError(path, 0, "not a raw file of Gnomon")
    if len(head) < HEADER_BYTES:
        raise FormatError(path, len(head), f"cut short: the header has {HEADER_BYTES} bytes")
    mark = head[_At.BYTE_ORDER : _At.BYTE_ORDER + 4]
    if mark not in _BYTE_ORDERS:
        raise FormatError(path, _At.BYTE_ORDER, f"unknown byte order {mark.hex(' ')}")
    order = "<" if _BYTE_ORDERS[mark] == "little" else ">"
    version, header_bytes = struct.unpack_from(order + "II", head, _At.VERSION)
    if version != VERSION:
        raise FormatError(
            path,
            _At.VERSION,
            f"version {version} of the format, this Gnomon reads version {VERSION}; "
            "use the Gnomon that wrote it, or a newer one",
        )
    if header_bytes != HEADER_BYTES:
        raise FormatError(path, _At.HEADER_BYTES, f"a header of {header_bytes} bytes")
    unknown = struct.unpack_from(order + "Q", head, _At.FEATURES)[0] & INCOMPATIBLE
    unknown &= ~KNOWN_FEATURES
    if unknown:
        raise FormatError(
            path,
            _At.FEATURES,
            f"features {unknown:#x} that this Gnomon does not know; use a newer one",
        )
    return order
