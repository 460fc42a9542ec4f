"""Whether a user may sample programs here, and what refusals mean.

Source: perf_event_open(2), /proc/sys/kernel/perf_event_*.
"""

from __future__ import annotations

import errno
import os
import re

from gnomon import _core
from gnomon.counters.component import Availability
from gnomon.counters.perf_errors import ON_EMULATED, explain, no_pmu
from gnomon.counters.procfs import read_number
from gnomon.counters.sysfs_pmu import core_pmus

_KERNEL = "/proc/sys/kernel"
_TYPE_SOFTWARE, _CPU_CLOCK = 1, 0
_READS_GROUPS = (6, 13)
_NO_PMU = (errno.ENOENT, errno.ENODEV, errno.ENXIO, errno.EOPNOTSUPP)
# Source: Linux, arch/x86/events/intel/core.c; of EINVAL arch/x86/events/amd/brs.c.
_NO_BRANCHES = {
    errno.EOPNOTSUPP: (
        "its PMU records no branches, or the hypervisor does not pass them on",
        "measure on hardware that does (Intel with LBR, AMD from Zen 4 on, Arm with BRBE), or "
        "sample without branches",
    ),
    errno.EINVAL: (
        "the PMU records no branches with this event and rate",
        "sample cycles, on AMD Zen 3 cpu/branch-brs/ with a period (1000003), or sample "
        "without branches",
    ),
}


def availability() -> Availability:
    """Return whether stacks can be unwound, and the default event be opened here: by trying."""
    from gnomon.sampling import _sampler

    if not _sampler.UNWINDS:
        return Availability(
            False,
            f"the stacks of this processor ({os.uname().machine}) cannot be unwound",
            "sample on x86-64 or arm64, or count here: gnomon count",
        )
    exclude = _core.EXCLUDE_KERNEL | _core.EXCLUDE_HYPERVISOR
    try:
        spec = (_TYPE_SOFTWARE, _CPU_CLOCK, 0, 0, 0, exclude, 0)
        _core.Group([spec], 0, -1, 0, ("",), lambda *counts: counts).close()
    except _core.OpenError as error:
        number = error.errno or 0
        return Availability(False, *explain(number, hardware=False, tracepoint=False), number)
    return Availability(True)


def highest_rate() -> int | None:
    """Return the most samples per second that the kernel takes of one event on one CPU."""
    return read_number(f"{_KERNEL}/perf_event_max_sample_rate")


def reads_groups() -> bool:
    """Return whether the kernel gives samples of inherited events the counts of their group."""
    numbers = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return numbers is None or (int(numbers[1]), int(numbers[2])) >= _READS_GROUPS


def branch_refusal(number: int) -> tuple[str, str] | None:
    """Return why an event has no branches, and the remedy; None where the refusal is not of them.

    Args:
        number: the error of perf_event_open(2).
    """
    if number in _NO_PMU and not core_pmus():
        reason, remedy = no_pmu()
        return reason, f"{remedy.removesuffix(ON_EMULATED)}; or sample without branches"
    return _NO_BRANCHES.get(number)


def ring_refusal(cpus: int) -> tuple[str, str]:
    """Return why the kernel gives no memory for rings, and the remedy."""
    limit = read_number(f"{_KERNEL}/perf_event_mlock_kb")
    granted = "" if limit is None else f" (kernel.perf_event_mlock_kb = {limit})"
    return (
        f"the kernel grants no memory for the rings of {cpus} CPUs{granted}",
        "end what else uses perf events, raise the limit (sudo sysctl "
        "kernel.perf_event_mlock_kb=2048), or copy less of the stack (8 KB)",
    )
