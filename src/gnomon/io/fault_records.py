"""Whose pages were fetched, and what was executed: records of faults, mappings and tasks.

Source: perf_event_open(2), PERF_RECORD_MMAP2, PERF_RECORD_SAMPLE.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence

_LOST, _COMM, _FORK, _SAMPLE, _MMAP2 = 2, 3, 7, 9, 10
_EXECUTES = 1 << 13
"""Of a record of a name: the process has executed a program."""
_HEADER = struct.Struct("=IHH")
_LOST_RECORD = struct.Struct("=QQ")
_TASK = struct.Struct("=IIII")
_SAMPLE_RECORD = struct.Struct("=IIQQ")
_MAPPING = struct.Struct("=IIQQ")
_NAME = 64
"""Where the name stands in a record of a mapping, behind its header."""
_SAMPLE_ID = struct.Struct("=IIQ")

_Record = tuple[int, int, bytes]
"""Its time, its kind (and flags above 16 bits), and what follows its header."""


class Mappings:
    """The mapped files of a process, by address."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._rest: list[tuple[int, str]] = []

    def copy(self) -> Mappings:
        """Return those of a child that was forked."""
        child = Mappings()
        child._starts, child._rest = self._starts.copy(), self._rest.copy()
        return child

    def add(self, start: int, end: int, path: str) -> None:
        """Take note of a mapping, in the place of what was there; path "" is of no file."""
        first = bisect_left(self._starts, start)
        if first and self._rest[first - 1][0] > start:
            first -= 1
        last = bisect_left(self._starts, end)
        if first == last and not path:
            return
        parts: list[tuple[int, int, str]] = []
        if first < last:
            left, (left_end, left_path) = self._starts[first], self._rest[first]
            if left < start:
                parts.append((left, min(left_end, start), left_path))
        if path:
            parts.append((start, end, path))
        if first < last:
            right_end, right_path = self._rest[last - 1]
            if right_end > end:
                parts.append((end, right_end, right_path))
        self._starts[first:last] = [part[0] for part in parts]
        self._rest[first:last] = [part[1:] for part in parts]

    def path_of(self, address: int) -> str:
        """Return the file that is mapped there, "" if there is none."""
        place = bisect_right(self._starts, address) - 1
        if place < 0 or self._rest[place][0] <= address:
            return ""
        return self._rest[place][1]


class FaultRecords:
    """The faults of a program's processes, from the rings of several CPUs.

    Attributes:
        faults: how many there were, by process and path.
        executed: how often each program was executed, by path.
        lost: records that the kernel had no room for.
    """

    def __init__(self) -> None:
        self.faults = Counter[tuple[int, str]]()
        self.executed = Counter[str]()
        self.lost = 0
        self._begun: set[int] = set()
        self._mappings: dict[int, Mappings] = {}
        self._waiting: list[_Record] = []
        self._newest = 0

    def feed(self, rings: Sequence[bytes], *, is_last: bool = False) -> None:
        """Take in what each ring has.

        A record of another CPU that is older than one of these may only come with the next call, so
        that those that are newer than the last of the call before wait until then.
        """
        limit = self._newest
        for ring in rings:
            for record in _records(ring):
                self._waiting.append(record)
                self._newest = max(self._newest, record[0])
        self._waiting.sort(key=lambda record: record[0])
        n = len(self._waiting)
        if not is_last:
            n = bisect_right(self._waiting, limit, key=lambda record: record[0])
        for _, kind, body in self._waiting[:n]:
            self._take(kind, body)
        del self._waiting[:n]

    def _take(self, kind: int, body: bytes) -> None:
        which = kind & 0xFFFF
        if which == _SAMPLE and len(body) >= _SAMPLE_RECORD.size:
            pid, _, _, address = _SAMPLE_RECORD.unpack_from(body)
            path = self._of(pid).path_of(address)
            if path:
                self.faults[pid, path] += 1
        elif which == _MMAP2 and len(body) > _NAME + _SAMPLE_ID.size:
            pid, _, start, length = _MAPPING.unpack_from(body)
            name = body[_NAME : -_SAMPLE_ID.size].split(b"\0", 1)[0]
            path = "" if name.startswith(b"//") or not name.startswith(b"/") else _path(name)
            self._of(pid).add(start, start + length, path)
            if path and pid in self._begun:
                # What is mapped first is the program.
                self._begun.discard(pid)
                self.executed[path] += 1
        elif which == _FORK and len(body) >= _TASK.size:
            pid, parent, _, _ = _TASK.unpack_from(body)
            if pid != parent:
                self._mappings[pid] = self._of(parent).copy()
        elif which == _COMM and kind >> 16 & _EXECUTES and len(body) >= _HEADER.size:
            (pid,) = struct.unpack_from("=I", body)
            self._mappings[pid] = Mappings()
            self._begun.add(pid)
        elif which == _LOST and len(body) >= _LOST_RECORD.size:
            self.lost += _LOST_RECORD.unpack_from(body)[1]

    def _of(self, pid: int) -> Mappings:
        return self._mappings.setdefault(pid, Mappings())


def _path(name: bytes) -> str:
    return name.removesuffix(b" (deleted)").decode(errors="surrogateescape")


def _records(ring: bytes) -> Iterator[_Record]:
    place = 0
    while place + _HEADER.size <= len(ring):
        kind, flags, size = _HEADER.unpack_from(ring, place)
        if size < _HEADER.size + _SAMPLE_ID.size or place + size > len(ring):
            return
        body = ring[place + _HEADER.size : place + size]
        place += size
        if kind == _SAMPLE:
            time = _SAMPLE_RECORD.unpack_from(body)[2] if len(body) >= _SAMPLE_RECORD.size else 0
        else:
            time = _SAMPLE_ID.unpack_from(body, len(body) - _SAMPLE_ID.size)[2]
        yield time, kind | flags << 16, body
