"""Counts of every thread that a command starts, however short its life.

Each event is opened once per CPU with `inherit_stat`, so that the kernel writes a thread's
counts into that CPU's ring buffer when the thread exits (PERF_RECORD_READ), next to records of
forks, exits and names. Source: perf_event_open(2), PERF_RECORD_READ; kernel/events/core.c,
`sync_child_event`.
"""

from __future__ import annotations

import errno
import os
import struct
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from gnomon import _core
from gnomon.counters.component import (
    Event,
    EventInfo,
    OpenResult,
    RawCount,
    Sharing,
    Target,
    make_value,
)
from gnomon.counters.perf_component import open_events
from gnomon.counters.perf_spec import PerfSpec, combine, native_specs
from gnomon.counters.sysfs_pmu import Encoding, online_cpus
from gnomon.errors import EventSetError
from gnomon.model.value import Domain, Scope, Value
from gnomon.named_tuple import NamedTuple

_LOST, _COMM, _EXIT, _FORK, _READ = 2, 3, 4, 7, 8
_HEADER = struct.Struct("<IHH")
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
    _READ: (_COUNTS.size,),
}
_SIZES = {
    kind: tuple(_HEADER.size + size + trailer for size in sizes for trailer in (0, _SAMPLE_ID.size))
    for kind, sizes in _BARE_SIZES.items()
}

_DUMMY = Event(
    "task records",
    EventInfo("task records", "kernel", "", "", Scope.THREAD),
    Domain.ALL,
    # It counts nothing; leaving the kernel out is what everybody may do.
    PerfSpec.of(Encoding(1, 9, exclude=_core.EXCLUDE_KERNEL | _core.EXCLUDE_HYPERVISOR)),
)
_DUMMY_NATIVE = -1
_SOON_S, _SOON_MS, _LATER_MS = 1.0, 10.0, 50.0
# What an unprivileged user may lock by default (perf_event_mlock_kb: 512 KiB and one page).
_RING_PAGES = 128


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
        while offset + _HEADER.size <= len(data):
            kind, _, size = _HEADER.unpack_from(data, offset)
            if size in _SIZES.get(kind, ()) and offset + size <= len(data):
                self._take(kind, data[offset + _HEADER.size : offset + size])
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
            counts = None if task.tid in unknown else _by_event(natives[task.tid], specs)
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
        if kind == _READ:
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
    enabled = natives.get(_DUMMY_NATIVE, [0, 0])[1]
    return any(running > enabled for _, running in natives.values())


def _by_event(natives: dict[int, list[int]], specs: Sequence[PerfSpec]) -> tuple[RawCount, ...]:
    """Return counts from sums over CPUs of [raw, running_ns] of native events.

    An event that is bound to one CPU is enabled while its thread runs on another, and the kernel
    keeps that time only roughly. The dummy never waits for a counter, so that its running times
    are, added up, the time for which every event was meant to count.
    """
    enabled = natives.get(_DUMMY_NATIVE, [0, 0])[1]
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


class TaskSession:
    """A command's events, kept apart by thread; meets `component.CounterSession` for the totals."""

    def __init__(
        self,
        groups: Sequence[_core.Group[Value]],
        rings: Sequence[_core.Ring],
        natives: Sequence[Sequence[int]],
        specs: Sequence[PerfSpec],
        anchor: _core.Group[Value],
    ) -> None:
        self._groups = tuple(groups)
        self._anchor = anchor
        self._rings = tuple(rings)
        self._executed_at = time.monotonic()
        self._specs = tuple(specs)
        self._natives = tuple(tuple(of) for of in natives)
        self._ids = tuple(tuple(map(_core.event_id, group.fds)) for group in groups)
        self._records = TaskRecords(
            {
                event: native
                for ids, of in zip(self._ids, natives, strict=True)
                for event, native in zip(ids, of, strict=True)
            }
        )

    def start(self, pid: int | None = None) -> None:
        """Nothing to do: counting began when the command was executed."""

    rank_of: Callable[[int], int | None] | None = None
    """Asked, if it is set, for the rank of each process soon after it has executed a program."""

    def read(self) -> tuple[RawCount, ...]:
        """Return the totals over all threads, those that still run included."""
        natives: dict[int, list[int]] = {}
        for group, of in zip(self._groups, self._natives, strict=True):
            for native, (raw, _, running) in zip(of, group.read().counts(), strict=True):
                total = natives.setdefault(native, [0, 0])
                total[0] += raw
                total[1] += running
        return _by_event(natives, self._specs)

    def stop(self) -> tuple[RawCount, ...]:
        """Return the final totals."""
        self.drain()
        return self.read()

    def close(self) -> None:
        """Unmap the rings and close every descriptor."""
        for ring in self._rings:
            ring.close()
        for group in (*self._groups, self._anchor):
            group.close()

    def fds(self) -> tuple[int, ...]:
        """Return the descriptors to wait on: readable when a ring fills."""
        return tuple(group.fds[0] for group in self._groups)

    def drain(self) -> None:
        """Take what the kernel has written since the last call."""
        for ring in self._rings:
            self._records.feed(ring.drain())
        if self.rank_of is not None:
            if self._records.executed:
                self._executed_at = time.monotonic()
            for pid in self._records.executed:
                rank = self.rank_of(pid)
                if rank is not None:
                    self._records.ranks[pid] = rank
            self._records.executed.clear()

    def due_ms(self) -> float:
        """Return in how many milliseconds to look again: soon after programs were executed.

        A process can be asked for its environment as long as it lives, and nobody tells that it
        has executed a program but the records.
        """
        is_soon = time.monotonic() - self._executed_at < _SOON_S
        return _SOON_MS if is_soon and self.rank_of is not None else _LATER_MS

    def rows(self) -> tuple[TaskRow, ...]:
        """Return a row per thread seen so far."""
        self.drain()
        totals = {
            event: (raw, running)
            for group, ids in zip(self._groups, self._ids, strict=True)
            for event, (raw, _, running) in zip(ids, group.read().counts(), strict=True)
        }
        rows = self._records.rows(self._specs, totals)
        # Threads of ours that sample gauges are children of the counted events, but not the
        # command's.
        return tuple(row for row in rows if row.pid != os.getpid())

    @property
    def lost(self) -> int:
        """Records that the kernel had no room for, so that threads are missing from `rows`."""
        return self._records.lost


def open_tasks(events: Sequence[Event]) -> OpenResult:
    """Open perf-backed events on the next command, to be told apart by thread.

    `OpenResult.counting` is a TaskSession. Events that do not open at all are refused as
    `perf_component.open_events` refuses them.

    Raises:
        EventSetError: this kernel does not report the counts of exiting threads.
        OSError: it refuses events of single CPUs or their ring buffers.
    """
    tried = open_events(events, Target(inherit=True, command=True, sharing=Sharing.KERNEL))
    if tried.counting is None:
        return tried
    tried.counting.close()
    together = [_DUMMY, *tried.events]
    groups: list[_core.Group[Value]] = []
    natives: list[list[int]] = []
    for cpu in online_cpus():
        group, of = _open_on(cpu, together)
        groups.append(group)
        natives.append(of)
    rings = [_core.Ring(group.fds, _RING_PAGES) for group in groups]
    # When a thread and its child hold the same inherited events, the kernel may exchange their
    # contexts instead of switching the counters, and the original events, whose end writes no
    # record, wander into the command. One event that is not inherited forbids that.
    anchor = _core.Group(native_specs([_DUMMY], together=True)[0], 0, -1, 0, (_DUMMY,), make_value)
    specs = [event.spec for event in tried.events]
    counting = TaskSession(groups, rings, natives, specs, anchor)
    if not _reports_exits(rings):
        counting.close()
        raise EventSetError(
            f"this kernel ({os.uname().release}) does not report the counts of exiting threads, "
            "as Linux 6.18 does and 6.1 does not; count without it, or on a newer kernel"
        )
    return OpenResult(counting, tried.events, tried.refused, tried.notes)


def _open_on(cpu: int, events: Sequence[Event]) -> tuple[_core.Group[Value], list[int]]:
    """Return the events opened on a CPU, and which native event each descriptor is of.

    An event of a PMU that this CPU is not part of (hybrid CPUs) counts on the others only.
    """
    specs, owners = native_specs(events, together=False)
    natives = list(range(_DUMMY_NATIVE, len(specs) + _DUMMY_NATIVE))
    flags = _core.INHERIT | _core.INHERIT_STAT | _core.ENABLE_ON_EXEC | _core.TASK_RECORDS
    while True:
        descriptors = tuple(events[owner] for owner in owners)
        try:
            return _core.Group(specs, 0, cpu, flags, descriptors, make_value), natives
        except _core.OpenError as error:
            refused_index = error.index
            if error.errno not in (errno.ENOENT, errno.ENODEV, errno.EINVAL) or refused_index < 1:
                raise
            leads = sum(spec[-1] == refused_index for spec in specs) > 1
            if leads:
                raise
            del owners[refused_index], natives[refused_index]
            specs = [
                (*spec[:-1], spec[-1] - (spec[-1] > refused_index))
                for n, spec in enumerate(specs)
                if n != refused_index
            ]


def _reports_exits(rings: Sequence[_core.Ring]) -> bool:
    """Return whether the end of a child writes its counts, found by trying.

    Kernels from 4.5 on forgot whose events they were before they came to the record
    (TASK_TOMBSTONE in `sync_child_event`) until this was mended.
    """
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    seen = False
    for ring in rings:
        data = ring.drain()
        offset = 0
        while offset + _HEADER.size <= len(data):
            kind, _, size = _HEADER.unpack_from(data, offset)
            seen = seen or kind == _READ
            offset += max(size, _HEADER.size)
    return seen
