"""What counting CPU by CPU takes: their cores, the sum of their counts, and the right to it.

Source: perf_event_open(2); Documentation/admin-guide/cputopology.rst.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from pathlib import Path

from gnomon.counters.component import RawCount
from gnomon.counters.procfs import read_number
from gnomon.counters.sysfs_pmu import SYSFS
from gnomon.model.value import Unavailable

_ROOT = Path("/")


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


def refusal(
    number: int, root: Path = _ROOT, is_contained: Callable[[], bool] = lambda: False
) -> tuple[str, str] | None:
    """Return why a user may count nothing on a whole CPU, and the remedy; None: not for rights.

    Args:
        number: the error of perf_event_open(2).
        root: where the kernel's files are.
        is_contained: whether this is a container, besides a user namespace of its own.
    """
    if number not in (errno.EACCES, errno.EPERM):
        return None
    from gnomon.counters.host_facts import SECCOMP_FILTER, rights
    from gnomon.counters.perf_errors import lower_paranoid

    have = rights(root)
    is_plain = number == errno.EACCES or have.seccomp != SECCOMP_FILTER
    if not is_plain or have.is_privileged or (have.paranoid or 0) <= 0:
        return None
    remedy = lower_paranoid(0)
    if have.is_in_user_namespace or is_contained():
        remedy += " on the host, or start the container with `--cap-add PERFMON`"
    return (
        f"kernel.perf_event_paranoid is {have.paranoid}: without CAP_PERFMON no whole CPU may be "
        "counted",
        remedy,
    )


def why_forbidden(first: Unavailable) -> str:
    """Return why no event may be counted on a whole CPU, and the remedy."""
    refused = refusal(first.errno)
    if refused is None:
        return f"{first.reason}; {first.remedy}"
    reason, remedy = refused
    return f"{reason}; {remedy}, or count as root"


def core_of(cpu: int, sysfs: Path | str = SYSFS) -> tuple[int, int]:
    """Return the numbers of a CPU's socket and core, -1 where the kernel tells none."""
    folder = f"{sysfs}/devices/system/cpu/cpu{cpu}/topology"
    socket, core = (read_number(f"{folder}/{name}") for name in ("physical_package_id", "core_id"))
    return (-1 if socket is None else socket, -1 if core is None else core)
