"""What counting CPU by CPU takes: their cores, the sum of their counts, and the right to it.

Source: perf_event_open(2); Documentation/admin-guide/cputopology.rst.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path

from gnomon.counters.component import RawCount
from gnomon.counters.procfs import read_number
from gnomon.counters.sysfs_pmu import SYSFS
from gnomon.model.value import Unavailable


def total(counts: Sequence[RawCount]) -> RawCount:
    """Return the sum over CPUs, each scaled by its own times where it was multiplexed."""
    if len(counts) == 1:
        return counts[0]
    on = [count for count in counts if count.enabled_ns]
    enabled, running = sum(c.enabled_ns for c in on), sum(c.running_ns for c in on)
    if enabled == running:
        return RawCount(sum(c.raw for c in on), enabled, running)
    if not all(c.running_ns for c in on):
        return RawCount(0, enabled, 0)
    scaled = sum(c.raw * (c.enabled_ns / c.running_ns) for c in on)
    return RawCount(round(scaled * running / enabled), enabled, running)


def why_forbidden(first: Unavailable) -> str:
    """Return why no event may be counted on a whole CPU, and the remedy."""
    if first.errno in (errno.EACCES, errno.EPERM):
        from gnomon.counters.host_facts import SECCOMP_FILTER, rights
        from gnomon.counters.perf_errors import lower_paranoid

        have = rights()
        is_plain = first.errno == errno.EACCES or have.seccomp != SECCOMP_FILTER
        if is_plain and not have.is_privileged and (have.paranoid or 0) > 0:
            remedy = lower_paranoid(0)
            if have.is_in_user_namespace:
                remedy += " on the host, or start the container with `--cap-add PERFMON`"
            return (
                f"kernel.perf_event_paranoid is {have.paranoid}: without CAP_PERFMON no whole CPU "
                f"may be counted; {remedy}, or count as root"
            )
    return f"{first.reason}; {first.remedy}"


def core_of(cpu: int, sysfs: Path | str = SYSFS) -> tuple[int, int]:
    """Return the numbers of a CPU's socket and core, -1 where the kernel tells none."""
    folder = f"{sysfs}/devices/system/cpu/cpu{cpu}/topology"
    socket, core = (read_number(f"{folder}/{name}") for name in ("physical_package_id", "core_id"))
    return (-1 if socket is None else socket, -1 if core is None else core)
