"""The record files that measured processes leave, one per process, however the process ended.

native/include/gnomon/record_file.h describes the layout. A file says itself which kinds of records
it has: those of a fixed size are read as NumPy arrays with a field for each member, texts by their
numbers. A file is taken for hostile: whatever it holds, reading it gives records or a
`FormatError`.
"""

from __future__ import annotations

import math
import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon._core import crc32c
from gnomon.errors import FormatError
from gnomon.named_tuple import NamedTuple
from gnomon.store import file_head
from gnomon.store.file_head import FileKind
from gnomon.store.record_kinds import PAGE_BYTES, RecordKind, read_kinds, text_of
from gnomon.store.record_kinds import SUFFIX as SUFFIX

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KIND = FileKind("a record file", b"\x89GNOMON\n", version=2)
CAPACITY_MAX = 1 << 40
BLOCK_BYTES_MIN, BLOCK_BYTES_MAX = 1 << 12, 1 << 24
BLOCK_HEAD_BYTES = 32
BLOCK_MAGIC = b"GNBK"

CLOSED = 1
STOPPED = 2

CLOCK_SOURCES = {1: "vdso", 2: "tsc", 3: "cntvct"}
TICKS_HZ_MIN, TICKS_HZ_MAX = 1e3, 1e12

# Threads that die between taking a block and using it leave zeros. A sparse file of nothing but
# zeros would keep us for hours.
UNUSED_MAX_BYTES = 1 << 28

# What is read at a time, at least a block.
CHUNK_BYTES = 1 << 20


class _At:
    """Where in the header a field lies, behind those that all files have."""

    CAPACITY = 32
    FINAL = 40
    ANCHORS = 48
    TICKS_HZ = 72
    CLOCK_SOURCE = 80
    PID = 84
    STOP_ERROR = 88
    BLOCK_BYTES = 92
    RANK = 104
    HOST = 128
    HOST_END = 384
    WRITER_END = 448
    TAIL = 1024
    LOST = 1088


class RecordBlock(NamedTuple):
    """Records of one kind that one thread wrote one after the other.

    Attributes:
        kind: of what kind they are.
        records: an array of the kind's dtype, or the texts by their numbers.
    """

    kind: RecordKind
    records: NDArray[np.void] | dict[int, str]


@dataclass(frozen=True)
class RecordFile:
    """What one process left: where and when it ran, and its records.

    Attributes:
        path: the file.
        byte_order: "little" or "big".
        features: the feature mask, as in the file.
        closed: whether the process closed the file; if not, it was killed, called _exit or exec, or
            is still running.
        stop_error: the errno that ended recording before the program ended, 0 for none.
        lost: how many records were refused.
        host: name of the host.
        writer: the capability that recorded.
        pid: process id in the process's own namespace.
        rank: of the process in its job, -1 where it is not known.
        clock_source: "tsc", "cntvct" or "vdso".
        raw_ns: CLOCK_MONOTONIC_RAW when the file was opened.
        realtime_ns: CLOCK_REALTIME at the same moment.
        ticks: the processor's counter at the same moment.
        ticks_hz: ticks of that counter per second.
        capacity_bytes: what the file could have grown to.
        kinds: the kinds of its records.
    """

    path: Path
    byte_order: str
    features: int
    closed: bool
    stop_error: int
    lost: int
    host: str
    writer: str
    pid: int
    rank: int
    clock_source: str
    raw_ns: int
    realtime_ns: int
    ticks: int
    ticks_hz: float
    capacity_bytes: int
    kinds: tuple[RecordKind, ...]
    _identity: tuple[int, int] = field(repr=False, compare=False)
    _block_bytes: int = field(repr=False, compare=False)
    _begin: int = field(repr=False, compare=False)
    _end: int = field(repr=False, compare=False)

    def blocks(self, *, errors: str = "replace") -> Iterator[RecordBlock]:
        """Yield the records block by block, in the order in which their space was taken.

        Records of one thread and kind come in the order in which they were written. No more than
        1 MiB of the file is held at a time.

        Args:
            errors: what becomes of bytes of texts that are no UTF-8, as of `bytes.decode`.

        Raises:
            FormatError: there is something else where a block should be.
        """
        descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        unused_bytes = 0
        try:
            status = os.fstat(descriptor)
            if (status.st_dev, status.st_ino) != self._identity:
                raise FormatError(self.path, 0, "another file has its name by now")
            step = max(CHUNK_BYTES // self._block_bytes, 1) * self._block_bytes
            for offset in range(self._begin, self._end, step):
                chunk = memoryview(os.pread(descriptor, min(step, self._end - offset), offset))
                for start in range(0, len(chunk), self._block_bytes):
                    block = chunk[start : start + self._block_bytes]
                    found = self._block(block, offset + start, errors)
                    if found is not None:
                        yield found
                        continue
                    unused_bytes += self._block_bytes
                    if unused_bytes > UNUSED_MAX_BYTES:
                        raise FormatError(
                            self.path, offset + start, f"{unused_bytes} bytes of unused blocks"
                        )
        finally:
            os.close(descriptor)

    def columns(self, name: str) -> NDArray[np.void]:
        """Return all records of a kind as one array with a field for each member.

        Raises:
            KeyError: the file has no such kind, or it is one of texts.
            FormatError: there is something else where a block should be.
        """
        import numpy as np

        (dtype,) = [kind.dtype for kind in self.kinds if kind.name == name] or [None]
        if dtype is None:
            raise KeyError(name)
        parts = [
            records
            for kind, records in self.blocks()
            if kind.name == name and not isinstance(records, dict)
        ]
        return np.concatenate(parts) if parts else np.empty(0, dtype)

    def texts(self, name: str) -> dict[int, str]:
        """Return the texts of a kind by their numbers; the first of a number holds.

        Raises:
            FormatError: there is something else where a block should be.
        """
        texts: dict[int, str] = {}
        for kind, records in self.blocks():
            if kind.name == name and isinstance(records, dict):
                texts = records | texts
        return texts

    def to_ns(self, ticks: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return times of records, CLOCK_MONOTONIC_RAW in nanoseconds."""
        return self._since_opening_ns(ticks) + min(self.raw_ns, 1 << 62)

    def to_epoch_ns(self, ticks: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return times of records in nanoseconds since 1970, as the tables of a run have them."""
        return self._since_opening_ns(ticks) + min(self.realtime_ns, 1 << 62)

    def _since_opening_ns(self, ticks: NDArray[np.uint64]) -> NDArray[np.int64]:
        import numpy as np

        elapsed = (ticks.astype(np.uint64) - np.uint64(self.ticks)).view(np.int64)
        limit = float(1 << 62)
        ns = np.clip(elapsed * (1e9 / self.ticks_hz), -limit, limit)
        whole: NDArray[np.int64] = np.rint(ns).astype(np.int64)
        return whole

    def _block(self, block: memoryview, offset: int, errors: str) -> RecordBlock | None:
        """Return a block's content, None for one that was taken and never begun."""
        import numpy as np

        if len(block) < self._block_bytes:
            raise FormatError(self.path, offset + len(block), "cut short within a block")
        order = "<" if self.byte_order == "little" else ">"
        state, magic, number, place = struct.unpack_from(f"{order}Q4sIQ", block)
        used, checksum = state & 0xFFFFFFFF, state >> 32
        if not state:
            return None
        if magic != BLOCK_MAGIC:
            raise FormatError(self.path, offset + 8, "this is not the beginning of a block")
        if number >= len(self.kinds):
            raise FormatError(self.path, offset + 12, f"a block of unknown kind {number}")
        if place != offset:
            raise FormatError(self.path, offset + 16, f"the block that was at byte {place}")
        if used > self._block_bytes - BLOCK_HEAD_BYTES:
            raise FormatError(self.path, offset, f"{used} bytes of records in a block")
        if crc32c(block[8 : BLOCK_HEAD_BYTES + used]) != checksum:
            raise FormatError(
                self.path,
                offset,
                "the checksum of this block is wrong: the file was damaged, copy it again",
            )
        kind = self.kinds[number]
        if kind.dtype is None:
            return RecordBlock(kind, self._texts(block, offset, BLOCK_HEAD_BYTES + used, errors))
        if used % kind.dtype.itemsize:
            raise FormatError(
                self.path, offset, f"{used} bytes of records of {kind.dtype.itemsize} bytes"
            )
        count = used // kind.dtype.itemsize
        return RecordBlock(kind, np.frombuffer(block, kind.dtype, count, BLOCK_HEAD_BYTES))

    def _texts(self, block: memoryview, offset: int, end: int, errors: str) -> dict[int, str]:
        head = struct.Struct("<II" if self.byte_order == "little" else ">II")
        texts: dict[int, str] = {}
        begin = BLOCK_HEAD_BYTES
        while begin < end:
            number, length = head.unpack_from(block, begin) if begin + 8 <= end else (0, end)
            if begin + 8 + length > end:
                raise FormatError(self.path, offset + begin, "a text that ends beyond its block")
            text = bytes(block[begin + 8 : begin + 8 + length]).decode(errors=errors)
            texts.setdefault(number, text)
            begin += (8 + length + 7) & ~7
        return texts


def sniff(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is a record file."""
    return head.startswith(KIND.magic)


def open_records(path: Path | str) -> RecordFile:
    """Return the record file at `path`, with all records that were complete.

    Of a file that is still being written to, what it holds at this moment is read.

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
        return _open(path, descriptor, status)
    finally:
        os.close(descriptor)


def _open(path: Path, descriptor: int, status: os.stat_result) -> RecordFile:
    head = os.pread(descriptor, PAGE_BYTES, 0)
    order = file_head.byte_order(path, head, KIND)
    if len(head) < PAGE_BYTES:
        raise FormatError(path, len(head), f"cut short: the header has {PAGE_BYTES} bytes")

    def number(code: str, offset: int) -> int:
        return int(struct.unpack_from(order + code, head, offset)[0])

    flags = number("I", file_head.FLAGS_AT)
    closed = bool(flags & CLOSED)
    capacity = number("Q", _At.CAPACITY)
    if not PAGE_BYTES < capacity <= CAPACITY_MAX or status.st_size > capacity:
        raise FormatError(
            path,
            _At.CAPACITY,
            f"a capacity of {capacity} bytes; the file has {status.st_size}",
        )
    ticks_hz = struct.unpack_from(order + "d", head, _At.TICKS_HZ)[0]
    if not math.isfinite(ticks_hz) or not TICKS_HZ_MIN <= ticks_hz <= TICKS_HZ_MAX:
        raise FormatError(path, _At.TICKS_HZ, f"a counter of {ticks_hz} ticks per second")
    source = number("I", _At.CLOCK_SOURCE)
    if source not in CLOCK_SOURCES:
        raise FormatError(path, _At.CLOCK_SOURCE, f"unknown clock source {source}")
    raw_ns, realtime_ns, ticks = struct.unpack_from(order + "QQQ", head, _At.ANCHORS)
    block_bytes = number("I", _At.BLOCK_BYTES)
    if not BLOCK_BYTES_MIN <= block_bytes <= BLOCK_BYTES_MAX or block_bytes & (block_bytes - 1):
        raise FormatError(path, _At.BLOCK_BYTES, f"blocks of {block_bytes} bytes")
    kinds, begin = read_kinds(path, descriptor, order, head)

    end = number("Q", _At.FINAL if closed else _At.TAIL)
    if end < begin or (end - begin) % block_bytes:
        raise FormatError(
            path, _At.FINAL if closed else _At.TAIL, f"blocks end at byte {end}: within one"
        )
    if closed and end > status.st_size:
        raise FormatError(
            path,
            status.st_size,
            f"cut short: blocks end at byte {end}; copy the file again from where it was written",
        )
    whole = max(status.st_size - begin, 0) // block_bytes * block_bytes
    return RecordFile(
        path=path,
        byte_order="little" if order == "<" else "big",
        features=number("Q", file_head.FEATURES_AT),
        closed=closed,
        stop_error=number("I", _At.STOP_ERROR) if flags & STOPPED else 0,
        lost=number("Q", _At.LOST),
        host=text_of(head[_At.HOST : _At.HOST_END]),
        writer=text_of(head[_At.HOST_END : _At.WRITER_END]),
        pid=number("I", _At.PID),
        rank=number("i", _At.RANK),
        clock_source=CLOCK_SOURCES[source],
        raw_ns=raw_ns,
        realtime_ns=realtime_ns,
        ticks=ticks,
        ticks_hz=ticks_hz,
        capacity_bytes=capacity,
        kinds=kinds,
        _identity=(status.st_dev, status.st_ino),
        _block_bytes=block_bytes,
        _begin=begin,
        _end=min(end, begin + whole),
    )
