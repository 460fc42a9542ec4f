"""What the rest of the machine did while a program ran.

The kernel keeps for each task how long it could have run and did not (run_delay); that of a process
can be read until it is waited for, that of its threads and children only as long as they live. So
the time is known of a program whose first thread did all the work. CPU time of others is what the
CPUs were not idle, less the program's and our own; it is known to a hundredth of a second.

Source: Documentation/scheduler/sched-stats.rst, /proc/PID/schedstat; proc(5), /proc/stat.
"""

from __future__ import annotations

import os
import time

from gnomon.model.contention import Contention
from gnomon.named_tuple import NamedTuple

# Fields of a line of /proc/stat.
_IDLE, _IOWAIT, _STEAL = 3, 4, 7
# The line of all CPUs and those of each come first, of thousands of CPUs; not all counts of
# interrupts behind them are read.
_STAT_BYTES = 1 << 18
# What the first thread did not do of the CPU time, or less than this, does not matter.
_REST_SHARE = 0.02
_REST_NS = 1_000_000


class _Machine(NamedTuple):
    at_ns: int
    idle_ns: int
    stolen_ns: int
    cpus: int
    own_ns: int


class _Task(NamedTuple):
    ran_ns: int
    waited_ns: int


class Neighbours:
    """Looks at the machine before and after an execution."""

    def __init__(self, pid: int) -> None:
        """Begin with a process that has not executed its program yet."""
        self._pid = pid
        self._machine = _machine()

    def end(self) -> None:
        """Look again at a process that has ended and was not waited for yet."""
        self._after = _machine()
        self._task_after = _task(_read(f"/proc/{self._pid}/schedstat"))

    def contention(self, cpu_ns: int, schedule: bytes) -> Contention | None:
        """Return the CPU time that other programs took from this one; None if /proc does not tell.

        Args:
            cpu_ns: CPU time of the program.
            schedule: /proc/PID/schedstat when its time began; until then it was not the program
                that waited, but the process that was to execute it.
        """
        before, after = self._machine, self._after
        if before is None or after is None:
            return None
        had_ns = after.cpus * (after.at_ns - before.at_ns)
        stolen_ns = max(after.stolen_ns - before.stolen_ns, 0)
        own_ns = cpu_ns + after.own_ns - before.own_ns
        idle_ns = max(after.idle_ns - before.idle_ns, 0)
        others_ns = had_ns - idle_ns - stolen_ns - own_ns
        others_ns = min(max(others_ns, 0), max(had_ns - own_ns, 0))
        return Contention(self._waited_ns(cpu_ns, _task(schedule)), others_ns, idle_ns, stolen_ns)

    def _waited_ns(self, cpu_ns: int, before: _Task | None) -> int | None:
        if before is None or self._task_after is None:
            return None
        ran_ns = self._task_after.ran_ns - before.ran_ns
        if cpu_ns - ran_ns > max(_REST_NS, _REST_SHARE * cpu_ns):
            return None
        return max(self._task_after.waited_ns - before.waited_ns, 0)


def _machine() -> _Machine | None:
    words = _read("/proc/stat").split(b"\ncpu")
    fields = words[0].split()[1:]
    if len(fields) <= _STEAL:
        return None
    ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return _Machine(
        time.monotonic_ns(),
        (int(fields[_IDLE]) + int(fields[_IOWAIT])) * ns,
        int(fields[_STEAL]) * ns,
        len(words) - 1,
        time.process_time_ns(),
    )


def _task(schedule: bytes) -> _Task | None:
    fields = schedule.split()
    return _Task(int(fields[0]), int(fields[1])) if len(fields) > 1 else None


def _read(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, _STAT_BYTES)
    except OSError:
        return b""
    finally:
        os.close(fd)
