"""Counts what a program asks of the kernel by io_uring, which no library sees.

A tracepoint fires for each request, in the thread that hands it over; the event is inherited by all
processes and threads. It has the operation, but neither file nor bytes.

Source: include/trace/events/io_uring.h and include/uapi/linux/io_uring.h of Linux.
"""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from pathlib import Path

from gnomon import _core
from gnomon.io import observer_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

READS, WRITES, REQUESTS, UNSEEN = "uring_reads", "uring_writes", "uring_requests", "uring_unseen"
"""Names of what is counted, and of how many executions it was not."""
_KIND = "uring"
# The second is its name since Linux 6.5.
_TRACEPOINTS = ("io_uring:io_uring_submit_sqe", "io_uring:io_uring_submit_req")
# Of enum io_uring_op: READV, READ_FIXED, READ, READ_MULTISHOT, READV_FIXED; WRITEV, WRITE_FIXED,
# WRITE, WRITEV_FIXED; and all.
_OPERATIONS = {READS: (1, 4, 22, 49, 60), WRITES: (2, 5, 23, 61), REQUESTS: ()}
_TYPE_TRACEPOINT = 2
_SET_FILTER = 0x40082406 if not os.uname().machine.startswith("ppc") else 0x80082406


class UringCounter:
    """The counters of one execution."""

    def __init__(self) -> None:
        self._groups: dict[str, _core.Group[int]] = {}

    def attach(self, pid: int) -> None:
        """Begin with a process that waits for its execve; nothing is counted where none may be."""
        from gnomon.counters.event_resolver import tracepoint_number

        number = next(filter(None, map(tracepoint_number, _TRACEPOINTS)), 0)
        if not number:
            return
        spec = (_TYPE_TRACEPOINT, number, 0, 0, 0, 0, 0)
        flags = _core.INHERIT | _core.ENABLE_ON_EXEC
        try:
            for name, operations in _OPERATIONS.items():
                self._groups[name] = _core.Group([spec], pid, -1, flags, ((),), _count)
                if operations:
                    chosen = " || ".join(f"opcode == {own}" for own in operations)
                    fcntl.ioctl(self._groups[name].fds[0], _SET_FILTER, chosen.encode() + b"\0")
        except OSError:
            self.close()

    def finish(self, folder: Path) -> None:
        """Leave the counts in the staging folder, at the end of the program."""
        counts = {name: int(group.read()[0]) for name, group in self._groups.items()}
        observer_files.write(folder, _KIND, counts or {UNSEEN: 1})

    def close(self) -> None:
        """Give back every descriptor."""
        groups, self._groups = list(self._groups.values()), {}
        if not groups:
            return
        # The kernel waits for tens of milliseconds until no CPU is in the tracepoint: meanwhile the
        # run is written.
        import threading

        threading.Thread(target=_close, args=(groups,)).start()


def _count(_: object, value: int, *__: int) -> int:
    return value


def _close(groups: Iterable[_core.Group[int]]) -> None:
    for group in groups:
        group.close()


def counts_in(folder: Path) -> dict[str, int]:
    """Return what was counted in the executions that left their counts in a staging folder."""
    sums = Counter[str]()
    for counts in observer_files.read(folder, _KIND):
        for name in (*_OPERATIONS, UNSEEN):
            if isinstance(counts.get(name), int):
                sums[name] += max(counts[name], 0)
    return dict(sums)
