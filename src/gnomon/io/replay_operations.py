"""What gnomon-io-replay is to do (native/mio/replay/operation_list.h), from events of a process."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

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
_KIND_OF = {"lseek": SEEK, "fsync": SYNC, "fdatasync": DATA_SYNC, "fstat": STATUS}
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

    replayed = _replayed(events)
    later = len(events.name) - len(replayed.name)
    operations, left_out = _operations(replayed)
    # What is left may be of another kind than what is not there.
    if left_out > len(operations):
        return None
    writes = bool((operations["kind"] == WRITE).any())
    if not writes and not (operations["kind"] == READ).any():
        return None
    if not has_pauses:
        operations["pause_ns"] = 0
    if not writes:
        # A request may reach beyond the end, but what it read is there.
        begin_bytes = _read_end(replayed)
    header = np.zeros(1, np.dtype(list(_HEADER)))
    flags = _ON_SCRATCH * writes | _COLD * is_cold | _PAUSES * has_pauses
    header[0] = (
        _MAGIC, _BYTE_ORDER, _VERSION, flags, 0, len(operations), min(begin_bytes, _FILE_MOST),
        int((operations["offset"] + operations["bytes"]).max()),
    )  # fmt: skip
    return OperationList(
        header.tobytes() + operations.tobytes(), len(operations), left_out, later, writes,
        replayed.seconds,
    )  # fmt: skip


def _read_end(events: FileEvents) -> int:
    ends = (events.offset + events.moved)[events.access == "read"]
    return int(ends[ends <= _FILE_MOST].max(initial=0.0))


def _replayed(events: FileEvents) -> FileEvents:
    """Return those that are not too late, or too many."""
    import numpy as np

    seconds = np.cumsum(np.nan_to_num(events.duration_ns, posinf=0.0)) / 1e9
    n = int(np.searchsorted(seconds, SECONDS_MOST, side="right")) + 1
    return events.where(np.arange(min(n, OPERATIONS_MOST, len(events.name))))


def _operations(events: FileEvents) -> tuple[NDArray[np.void], int]:
    """Return operations, and how many reads and writes are not among them."""
    import numpy as np

    kinds, is_known = _kinds(events)
    openings, number = np.unique(events.opening, return_inverse=True)
    first, last = _span(number, len(openings))
    slots = _slots(first, last)
    slots[~np.isfinite(openings)] = -1
    slot = slots[number] if len(number) else number
    chosen = np.flatnonzero(is_known & (slot >= 0))
    used = np.flatnonzero(slots >= 0)
    n = len(chosen) + 2 * len(used)
    operations = np.zeros(n, np.dtype(list(_OPERATION)))
    own, opened, closed = np.split(operations, [len(chosen), len(chosen) + len(used)])
    own["kind"], own["slot"] = kinds[chosen], slot[chosen]
    for column, values, of in (
        ("offset", events.offset, (READ, WRITE, SEEK)), ("bytes", events.asked, (READ, WRITE)),
    ):  # fmt: skip
        has_value = np.isin(own["kind"], of)
        own[column][has_value] = values[chosen][has_value]
    own["pause_ns"] = _pauses(events)[chosen]
    opened["kind"], opened["slot"] = OPEN, slots[used]
    closed["kind"], closed["slot"] = CLOSE, slots[used]
    # Before the first call of each open file, and behind its last one.
    order = np.concatenate([3 * chosen + 1, 3 * first[used], 3 * last[used] + 2])
    left_out = int((events.access != "").sum() - np.isin(own["kind"], (READ, WRITE)).sum())
    return operations[np.argsort(order, kind="stable")], left_out


def _kinds(events: FileEvents) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return of each call its kind, and whether it is one that is replayed as such."""
    import numpy as np

    kinds = np.full(len(events.name), CLOSE)
    for name, kind in _KIND_OF.items():
        kinds[events.name == name] = kind
    kinds[events.access == "read"] = READ
    kinds[events.access == "write"] = WRITE
    has_place = (events.offset >= 0) & (events.offset <= _FILE_MOST)
    has_size = (events.asked >= 0) & (events.asked <= _REQUEST_MOST)
    moves = (kinds == READ) | (kinds == WRITE)
    is_known = np.isin(kinds, (SYNC, DATA_SYNC, STATUS))
    is_known |= has_place & ((kinds == SEEK) | (moves & has_size))
    return kinds, is_known


def _span(
    number: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # fmt: skip
    """Return where each number stands first, and where last."""
    import numpy as np

    places = np.arange(len(number))
    first, last = np.zeros(n, np.int64), np.zeros(n, np.int64)
    first[number[::-1]] = places[::-1]
    last[number] = places
    return first, last


def _slots(first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return which slot each open file has from its first to its last call; -1: none is free."""
    import heapq

    import numpy as np

    slots = np.full(len(first), -1)
    free = list(range(SLOTS_MOST))
    busy: list[tuple[int, int]] = []
    for opening in np.argsort(first).tolist():
        while busy and busy[0][0] < first[opening]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            slots[opening] = heapq.heappop(free)
            heapq.heappush(busy, (int(last[opening]), int(slots[opening])))
    return slots


def _pauses(events: FileEvents) -> NDArray[np.float64]:
    """Return the nanoseconds between each call and the end of the one before."""
    import numpy as np

    pauses = np.zeros(len(events.name))
    ends = events.start_ns + np.nan_to_num(events.duration_ns, posinf=0.0)
    pauses[1:] = np.clip(events.start_ns[1:] - ends[:-1], 0, _PAUSE_MOST_NS)
    return pauses
