"""Where the events of a target are opened: threads, processes and CPUs, as the kernel takes them.

Source: perf_event_open(2), the table of pid and cpu; proc_pid_stat(5), fields 1 and 5.
"""

from __future__ import annotations

import errno
import os

from gnomon import _core
from gnomon.counters.component import Granularity, Target
from gnomon.counters.procfs import entries, read_text, stat_fields, whole
from gnomon.counters.sysfs_pmu import online_cpus
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_PROC = "/proc"


class PerfTarget(NamedTuple):
    """A thread (0 is the calling one, -1 is any) and a CPU (-1 is any) of perf_event_open(2).

    In place of the thread there may be the descriptor of a cgroup (`Target.cgroup`).
    """

    pid: int
    cpu: int


def spots(target: Target, proc: Path | str = _PROC) -> tuple[PerfTarget, ...]:
    """Return where the events of a target are opened, at least one place.

    Threads that begin between this and the opening are children of those listed and inherit, or
    belong to one that is not open yet: such a thread is missed.
    """
    if target.cgroup >= 0:
        return (PerfTarget(target.cgroup, target.cpu),)
    pid = target.pid or 0
    if target.granularity is Granularity.SYSTEM:
        return tuple(PerfTarget(-1, cpu) for cpu in online_cpus())
    if target.granularity is Granularity.CPU:
        return (PerfTarget(-1, target.cpu),)
    if target.granularity is Granularity.PROCESS:
        tids = threads(pid or os.getpid(), proc)
    elif target.granularity is Granularity.PROCESS_GROUP:
        tids = [tid for one in group_of(pid, proc) for tid in threads(one, proc)]
    elif pid > 0 and target.inherit:
        tids = threads(pid, proc)
    else:
        tids = [pid]
    return tuple(PerfTarget(tid, target.cpu) for tid in tids)


def inheritance(target: Target) -> int:
    """Return the flags of `_core.Group` that say which later threads and processes count."""
    if target.inherit or target.granularity is Granularity.PROCESS_GROUP:
        return _core.INHERIT
    return _core.INHERIT_THREADS if target.granularity is Granularity.PROCESS else 0


def threads(pid: int, proc: Path | str = _PROC) -> list[int]:
    """Return the threads of a process, itself first; only itself where they cannot be listed."""
    return sorted(map(int, entries(f"{proc}/{pid}/task"))) or [pid]


def group_of(pid: int, proc: Path | str = _PROC) -> list[int]:
    """Return the processes of the process group of a process (0: the calling one)."""
    try:
        number = os.getpgid(pid)
    except OSError:
        return [pid]
    members = []
    for name in entries(proc):
        if name.isdecimal() and _group_number(f"{proc}/{name}/stat") == number:
            members.append(int(name))
    return sorted(members) or [pid]


def threads_only_is_known() -> bool:
    """Return whether this kernel can leave processes out of an inheritance (Linux 5.13)."""
    return _refusal_of_dummy(PerfTarget(0, -1), _core.INHERIT_THREADS) not in (
        errno.EINVAL,
        errno.E2BIG,
    )


def has_ended(spot: PerfTarget) -> bool:
    """Return whether the thread there has ended; a zombie that is not reaped yet counts as ended.

    The kernel starts what was opened on it all the same, and then counts nothing.
    """
    return spot.pid > 0 and _refusal_of_dummy(spot, 0) == errno.ESRCH


def _refusal_of_dummy(spot: PerfTarget, flags: int) -> int:
    """Return the errno with which an event that counts nothing is refused there, 0 if it opens."""
    software_dummy = (1, 9, 0, 0, 0, _core.EXCLUDE_KERNEL | _core.EXCLUDE_HYPERVISOR, 0)
    try:
        _core.Group([software_dummy], spot.pid, spot.cpu, flags, ((),), _nothing).close()
    except _core.OpenError as error:
        return error.errno or 0
    return 0


def _nothing(*_: object) -> None:
    return None


def _group_number(stat: str) -> int | None:
    fields = stat_fields(read_text(stat) or "")
    return whole(fields[5]) if len(fields) > 5 else None
