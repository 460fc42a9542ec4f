"""Counts of every thread that a command starts, however short its life.

Each event is opened once per CPU with `inherit_stat`, so that the kernel writes a thread's
counts into that CPU's ring buffer when the thread exits (PERF_RECORD_READ), next to records of
forks, exits and names. Source: perf_event_open(2), PERF_RECORD_READ; kernel/events/core.c,
`sync_child_event`.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Sequence

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
from gnomon.counters.perf_spec import PerfSpec, native_specs
from gnomon.counters.sysfs_pmu import Encoding, online_cpus
from gnomon.counters.thread_records import (
    DUMMY_NATIVE,
    HEADER,
    READ,
    TaskRecords,
    TaskRow,
    counts_of_natives,
)
from gnomon.errors import EventSetError
from gnomon.model.value import Domain, Scope, Value

_DUMMY = Event(
    "task records",
    EventInfo("task records", "kernel", "", "", Scope.THREAD),
    Domain.ALL,
    # It counts nothing; leaving the kernel out is what everybody may do.
    PerfSpec.of(Encoding(1, 9, exclude=_core.EXCLUDE_KERNEL | _core.EXCLUDE_HYPERVISOR)),
)
_SOON_S, _SOON_MS, _LATER_MS = 1.0, 10.0, 50.0
# What an unprivileged user may lock by default (perf_event_mlock_kb: 512 KiB and one page, on each
# CPU), and a quarter of it where there is little more (RLIMIT_MEMLOCK): samples need the rest.
_RING_PAGES, _RING_PAGES_LEAST = 128, 32


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
        return counts_of_natives(natives, self._specs)

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
    pages = _ring_pages(len(groups))
    rings = [_core.Ring(group.fds, pages) for group in groups]
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


def _ring_pages(cpus: int) -> int:
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    is_limited = soft != resource.RLIM_INFINITY and os.geteuid() != 0
    has_little = is_limited and soft < cpus * _RING_PAGES * resource.getpagesize()
    return _RING_PAGES_LEAST if has_little else _RING_PAGES


def _open_on(cpu: int, events: Sequence[Event]) -> tuple[_core.Group[Value], list[int]]:
    """Return the events opened on a CPU, and which native event each descriptor is of.

    An event of a PMU that this CPU is not part of (hybrid CPUs) counts on the others only.
    """
    specs, owners = native_specs(events, together=False)
    natives = list(range(DUMMY_NATIVE, len(specs) + DUMMY_NATIVE))
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
        while offset + HEADER.size <= len(data):
            kind, _, size = HEADER.unpack_from(data, offset)
            seen = seen or kind == READ
            offset += max(size, HEADER.size)
    return seen
