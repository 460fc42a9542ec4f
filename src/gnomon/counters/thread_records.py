"""Records of threads that exit, put together into a row for each thread.

Source: perf_event_open(2), PERF_RECORD_READ; kernel/events/core.c, `sync_child_event`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from gnomon.counters.component import RawCount
from gnomon.counters.perf_spec import PerfSpec, combine
from gnomon.named_tuple import NamedTuple

_LOST, _COMM, _EXIT, _FORK, READ = 2, 3, 4, 7, 8
HEADER = struct.Struct("<IHH")
_TASK = struct.Struct("<IIIIQ")
_TASK_ID = struct.Struct("<II")
_SAMPLE_ID = struct.Struct("<IIQ")
_COUNTS = struct.Struct("<IIQQQQ")
_LOST_RECORD = struct.Struct("<QQ")
# How long records are, with and without the trailer of a sample (sample_id_all); a name has up to
# 16 bytes and its padding.
_BARE_SIZES = {
    _LOST: (_LOST_RECORD.size,),
    _COMM: tuple(_TASK_ID.size + name for name in (8, 16, 24)),
    _EXIT: (_TASK.size,),
    _FORK: (_TASK.size,),
    READ: (_COUNTS.size,),
}
_SIZES = {
    kind: tuple(HEADER.size + size + trailer for size in sizes for trailer in (0, _SAMPLE_ID.size))
    for kind, sizes in _BARE_SIZES.items()
}

DUMMY_NATIVE = -1
"""The native event that counts nothing: its running times are how long a thread ran."""


class TaskRow(NamedTuple):
    """One thread of the measured command.

    Attributes:
        pid, tid, ppid: process, thread, and the process that created it.
        name: its last name (comm).
        counts: per event, in the events' order; None while it still runs, since the kernel
            tells a thread's own counts only at its exit, and where its record was lost.
        running: it had not ended when the rows were made.
        rank: of its process in an MPI job, by its environment or that of a process above it; -1
            outside one, and where it ended before it could be asked.
    """

    pid: int
    tid: int
    ppid: int
    name: str
    counts: tuple[RawCount, ...] | None
    running: bool = False
    rank: int = -1


class _Task:
    __slots__ = ("ended", "forked_at", "names", "parent", "pid", "ppid", "tid")

    def __init__(self, pid: int, tid: int) -> None:
        self.pid = pid
        self.tid = tid
        self.ppid = self.parent = self.forked_at = 0
        self.names: list[tuple[int, str]] = []
        self.ended = False


# [raw, running_ns] of a native event.
_Sum = list[int]


class TaskRecords:
    """Puts the kernel's records together into rows; hostile to none, tolerant of all.

    A thread that exits writes the counts of each event into the ring of the event's CPU, also
    from another CPU, and the kernel does not guard a ring against two CPUs at once: a record can
    be overwritten. The total of each event on each CPU is known, so what one missing record held
    follows from it, and so it does for many if nothing is missing from the total.
    """

    def __init__(self, native_of_id: dict[int, int]) -> None:
        self._native_of_id = native_of_id
        self._tasks: dict[int, _Task] = {}
        self._counts: dict[int, dict[int, _Sum]] = {event: {} for event in native_of_id}
        self.lost = 0
        # Processes that have executed something since somebody last looked.
        self.executed: set[int] = set()
        self.ranks: dict[int, int] = {}

    def feed(self, data: bytes) -> None:
        """Take records of one ring buffer; what is damaged is left out and counted as lost."""
        offset = 0
        damaged = False
        while offset + HEADER.size <= len(data):
            kind, _, size = HEADER.unpack_from(data, offset)
            if size in _SIZES.get(kind, ()) and offset + size <= len(data):
                self._take(kind, data[offset + HEADER.size : offset + size])
                offset += size
                damaged = False
                continue
            self.lost += not damaged
            damaged = True
            offset += 8

    def rows(
        self, specs: Sequence[PerfSpec], totals: dict[int, tuple[int, int]]
    ) -> tuple[TaskRow, ...]:
        """Return a row per thread, by pid and tid, for events of these specs.

        Args:
            specs: of the events, in their order.
            totals: (raw, running_ns) of each event on each CPU over all threads, by its id.
        """
        running = {tid for tid, task in self._tasks.items() if not self._has_ended(task)}
        natives: dict[int, dict[int, _Sum]] = {tid: {} for tid in self._tasks}
        unknown: set[int] = set(running)
        is_restored = False
        for event, by_thread in self._counts.items():
            missing = self._tasks.keys() - by_thread.keys()
            of_threads = dict(by_thread)
            seen = [sum(column) for column in zip(*by_thread.values(), strict=True)] or [0, 0]
            rest = [whole - part for whole, part in zip(totals[event], seen, strict=True)]
            if min(rest) < 0 or (not missing and any(rest)):
                # Two records were mixed into one, and nobody can tell which.
                unknown |= self._tasks.keys()
            elif len(missing) == 1 or not any(rest):
                of_threads.update((tid, rest) for tid in missing)
                is_restored |= any(rest)
            else:
                unknown |= missing
            for tid, (raw, ran) in of_threads.items():
                of = natives[tid].setdefault(self._native_of_id[event], [0, 0])
                of[0] += raw
                of[1] += ran
        # What a missing record held does not follow where another one has some of its fields.
        known = [of for tid, of in natives.items() if tid not in unknown]
        if is_restored and any(map(_is_beyond_its_thread, known)):
            unknown |= self._tasks.keys()
        rows = []
        for task in sorted(self._tasks.values(), key=lambda t: (t.pid, t.tid)):
            counts = None if task.tid in unknown else counts_of_natives(natives[task.tid], specs)
            rows.append(
                TaskRow(
                    task.pid, task.tid, task.ppid, self._name(task), counts,
                    task.tid in running, self._rank(task),
                )
            )  # fmt: skip
        return tuple(rows)

    def _has_ended(self, task: _Task) -> bool:
        if task.ended or any(task.tid in by_thread for by_thread in self._counts.values()):
            return True
        return not Path(f"/proc/{task.pid}/task/{task.tid}").exists()

    def _rank(self, task: _Task) -> int:
        """Return the rank of a task's process, or of the nearest above it that has one."""
        for _ in range(len(self._tasks)):
            if task.pid in self.ranks:
                return self.ranks[task.pid]
            above = self._tasks.get(task.ppid)
            if above is None:
                break
            task = above
        return -1

    def _name(self, task: _Task) -> str:
        """Return the last name a task gave itself, else the one its parent had at the fork."""
        latest = 1 << 64
        for _ in range(len(self._tasks)):
            before = [named for named in task.names if named[0] <= latest]
            if before:
                return max(before)[1]
            parent = self._tasks.get(task.parent)
            if parent is None:
                break
            task, latest = parent, task.forked_at
        return ""

    def _take(self, kind: int, body: bytes) -> None:
        """Take one record, whose size is one that its kind can have (`_SIZES`)."""
        if kind == READ:
            pid, tid, value, _, running, event = _COUNTS.unpack_from(body)
            by_thread = self._counts.get(event)
            # No thread has the number 0: two CPUs have written over each other.
            if by_thread is not None and tid:
                self._task(pid, tid)
                # A number that was given anew adds to its first bearer.
                total = by_thread.setdefault(tid, [0, 0])
                total[0] += value
                total[1] += running
        elif kind == _EXIT:
            pid, _, tid, _, _ = _TASK.unpack_from(body)
            if tid:
                self._task(pid, tid).ended = True
        elif kind == _FORK:
            pid, ppid, tid, parent, record_time = _TASK.unpack_from(body)
            if tid:
                task = self._task(pid, tid)
                task.ppid, task.parent, task.forked_at = ppid, parent, record_time
        elif kind == _COMM and len(body) >= _TASK_ID.size + _SAMPLE_ID.size:
            pid, tid = _TASK_ID.unpack_from(body)
            _, _, record_time = _SAMPLE_ID.unpack_from(body, len(body) - _SAMPLE_ID.size)
            name = body[_TASK_ID.size :].partition(b"\0")[0].decode(errors="replace")
            if tid:
                self._task(pid, tid).names.append((record_time, name))
                self.executed.add(pid)
        elif kind == _LOST:
            self.lost += _LOST_RECORD.unpack_from(body)[1]

    def _task(self, pid: int, tid: int) -> _Task:
        task = self._tasks.get(tid)
        if task is None:
            task = self._tasks[tid] = _Task(pid, tid)
        return task


def _is_beyond_its_thread(natives: dict[int, _Sum]) -> bool:
    """Return whether an event counted for longer than its thread ran."""
    enabled = natives.get(DUMMY_NATIVE, [0, 0])[1]
    return any(running > enabled for _, running in natives.values())


def counts_of_natives(
    natives: dict[int, list[int]], specs: Sequence[PerfSpec]
) -> tuple[RawCount, ...]:
    """Return counts from sums over CPUs of [raw, running_ns] of native events.

    An event that is bound to one CPU is enabled while its thread runs on another, and the kernel
    keeps that time only roughly. The dummy never waits for a counter, so that its running times
    are, added up, the time for which every event was meant to count.
    """
    enabled = natives.get(DUMMY_NATIVE, [0, 0])[1]
    counts = []
    first_native = 0
    for spec in specs:
        n = len(spec.terms)
        parts = [natives.get(native, [0, 0]) for native in range(first_native, first_native + n)]
        counts.append(
            combine(spec, [(raw, enabled, min(running, enabled)) for raw, running in parts])
        )
        first_native += n
    return tuple(counts)
