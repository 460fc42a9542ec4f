"""What gnomon-io-replay is to do (native/mio/replay/operation_list.h), from events of a process."""

from __future__ import annotations

import os
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING

from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.io.file_events import FileEvents

SLOTS_MOST = 256
OPERATIONS_MOST = 1 << 21
_FILE_MOST = 1 << 46
_REQUEST_MOST = 1 << 31
_PAUSE_MOST_NS = 1_000_000_000
"""Longer ones overlap no more I/O."""
SECONDS_MOST = 10.0
"""In the program's calls: what comes later is not replayed."""
_MAGIC = b"\x89GNPLAY\0"
_BYTE_ORDER, _VERSION = 0x01020304, 1
_ON_SCRATCH, _COLD, _PAUSES = 1, 2, 4
OPEN, CLOSE, READ, WRITE, SEEK, SYNC, DATA_SYNC, STATUS = range(8)
_KIND_OF = {
    "lseek": SEEK, "fsync": SYNC, "fdatasync": DATA_SYNC, "fstat": STATUS, "close": CLOSE,
}  # fmt: skip
_HEADER = (
    ("magic", "S8"), ("byte_order", "u4"), ("version", "u4"), ("flags", "u4"), ("zero", "u4"),
    ("n_operations", "u8"), ("begin_bytes", "u8"), ("end", "u8"),
)  # fmt: skip
_OPERATION = (
    ("kind", "u4"), ("slot", "u4"), ("offset", "u8"), ("bytes", "u8"), ("pause_ns", "u8"),
)  # fmt: skip


class OperationList(NamedTuple):
    """Operations.

    Attributes:
        content: the list, as the program reads it.
        operations: how many there are.
        left_out: reads and writes that are not among them, as nobody knows where they were.
        later: calls that are not among them as they came late.
        writes: it writes, to a scratch file.
        seconds: in these calls when they were recorded.
    """

    content: bytes
    operations: int
    left_out: int
    later: int
    writes: bool
    seconds: float

    @contextmanager
    def in_memory(self) -> Iterator[int]:
        """Yield the descriptor of a file without a name that has it."""
        descriptor = os.memfd_create("gnomon-io-replay")
        try:
            left = memoryview(self.content)
            while left:
                left = left[os.write(descriptor, left) :]
            yield descriptor
        finally:
            os.close(descriptor)


class _Slots:
    """Which slot each open file has, while it is open."""

    def __init__(self) -> None:
        self._free = list(range(SLOTS_MOST))[::-1]
        self._of: dict[float, int] = {}

    def find(self, opening: float) -> int | None:
        return self._of.get(opening)

    def take(self, opening: float) -> int | None:
        if not self._free:
            return None
        slot = self._of[opening] = self._free.pop()
        return slot

    def give(self, opening: float) -> None:
        self._free.append(self._of.pop(opening))


def operations_of(
    events: FileEvents, begin_bytes: int, *, is_cold: bool, has_pauses: bool
) -> OperationList | None:
    """Return what a process did with a file, None where that cannot be told.

    Args:
        events: of this process and file alone, in their order.
        begin_bytes: the size of the file before them.
        is_cold: as little of the file as can be is to be in memory.
        has_pauses: the time between calls is to pass, too.
    """
    import numpy as np

    rows, left_out, later, seconds = _rows(events)
    # What is left may be of another kind than what is not there.
    if not rows or left_out > len(rows):
        return None
    operations = np.array(rows, np.dtype(list(_OPERATION)))
    kinds = operations["kind"]
    writes = bool((kinds == WRITE).any())
    if not writes and not (kinds == READ).any():
        return None
    if not has_pauses:
        operations["pause_ns"] = 0
    ends = operations["offset"] + operations["bytes"]
    if not writes:
        # A request may reach beyond the end, but what it read is there.
        begin_bytes = _read_end(events)
    header = np.zeros(1, np.dtype(list(_HEADER)))
    flags = _ON_SCRATCH * writes | _COLD * is_cold | _PAUSES * has_pauses
    header[0] = (
        _MAGIC, _BYTE_ORDER, _VERSION, flags, 0, len(rows), min(begin_bytes, _FILE_MOST),
        int(ends.max()),
    )  # fmt: skip
    return OperationList(
        header.tobytes() + operations.tobytes(), len(rows), left_out, later, writes, seconds,
    )  # fmt: skip


def _read_end(events: FileEvents) -> int:
    ends = (events.offset + events.moved)[events.access == "read"]
    return int(ends[ends <= _FILE_MOST].max(initial=0.0))


class _Rows(NamedTuple):
    """Operations as rows of numbers.

    Attributes:
        rows: kind, slot, offset, bytes and pause of each.
        left_out: reads and writes of which it is not known where they were.
        later: calls that come too late.
        seconds: in the calls before those.
    """

    rows: list[tuple[int, int, int, int, int]]
    left_out: int
    later: int
    seconds: float


def _rows(events: FileEvents) -> _Rows:
    last = {opening: number for number, opening in enumerate(events.opening.tolist())}
    rows: list[tuple[int, int, int, int, int]] = []
    slots, left_out, seconds, end_ns = _Slots(), 0, 0.0, -1
    columns = zip(
        events.name.tolist(), events.access.tolist(), events.opening.tolist(),
        events.offset.tolist(), events.asked.tolist(), events.start_ns.tolist(),
        events.duration_ns.tolist(), strict=True,
    )  # fmt: skip
    for number, (name, access, opening, offset, asked, start, duration) in enumerate(columns):
        if seconds > SECONDS_MOST or len(rows) > OPERATIONS_MOST:
            return _Rows(rows, left_out, len(events.name) - number, seconds)
        lasted = duration if isfinite(duration) else 0.0
        pause = min(max(start - end_ns, 0), _PAUSE_MOST_NS) if end_ns >= 0 else 0
        end_ns = start + int(lasted)
        seconds += lasted / 1e9
        slot = _slot_of(slots, opening, rows)
        operation = _operation(name, access, offset, asked)
        if operation is None or slot is None:
            left_out += access != ""
        else:
            kind, offset_bytes, size = operation
            rows.append((kind, slot, offset_bytes, size, pause))
        if slot is not None and last[opening] == number:
            rows.append((CLOSE, slot, 0, 0, 0))
            slots.give(opening)
    return _Rows(rows, left_out, 0, seconds)


def _slot_of(
    slots: _Slots, opening: float, rows: list[tuple[int, int, int, int, int]]
) -> int | None:
    """Return the slot of an open file, which is opened with its first call; None without one."""
    if not isfinite(opening):
        return None
    slot = slots.find(opening)
    if slot is None:
        slot = slots.take(opening)
        if slot is not None:
            rows.append((OPEN, slot, 0, 0, 0))
    return slot


def _operation(
    name: str, access: str, offset: float, asked: float
) -> tuple[int, int, int] | None:  # fmt: skip
    """Return kind, offset and bytes; None for what is not replayed by itself, as open and close."""
    if access in ("read", "write"):
        is_known = offset >= 0 and 0 <= asked <= _REQUEST_MOST and offset + asked <= _FILE_MOST
        return (READ if access == "read" else WRITE, int(offset), int(asked)) if is_known else None
    kind = _KIND_OF.get(name)
    if kind is None or kind == CLOSE:
        return None
    if kind == SEEK:
        return (SEEK, int(offset), 0) if 0 <= offset <= _FILE_MOST else None
    return (kind, 0, 0)
