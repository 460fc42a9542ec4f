"""What the errors of perf_event_open(2) mean here, and what to do about each.

Source: perf_event_open(2), ERRORS; Documentation/admin-guide/perf-security.rst; the meaning of
kernel.perf_event_paranoid 3 and more is Debian's and Ubuntu's.
"""

from __future__ import annotations

import errno
import os
from functools import cache
from typing import TYPE_CHECKING

from gnomon.counters.pmu import core_pmus
from gnomon.counters.procfs import below, read_number

if TYPE_CHECKING:
    from pathlib import Path

_ROOT = "/"
_NO_SUCH_EVENT = (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP, errno.ENXIO)

# error: reason, remedy
_PLAIN = {
    errno.ESRCH: (
        "the process to be counted does not exist (any more)",
        "name a process or thread that runs: see `ps -eL`",
    ),
    errno.E2BIG: (
        "the kernel is older than what was asked of it (E2BIG)",
        "leave out what is new, or use a newer kernel",
    ),
    errno.ENFILE: (
        "the whole system has reached its limit of open files",
        "as root: raise `sysctl fs.file-max`",
    ),
    errno.ENOSPC: (
        "no counter or breakpoint register is left",
        "count fewer events at once",
    ),
    errno.EOPNOTSUPP: (
        "the PMU cannot do what was asked: sampling, precise sampling, branch stacks, or leaving "
        "out a privilege level",
        "count without sampling and without the modifiers u, k and h",
    ),
    errno.ENOMEM: ("the kernel is out of memory for events", "count fewer events at once"),
}


ON_EMULATED = "; or count on an emulated one: gnomon count --pmu emulated"
"""The end of a remedy where a machine has no counters."""


def explain(
    number: int, *, hardware: bool, tracepoint: bool, cpu: int = -1, root: Path | str = _ROOT
) -> tuple[str, str]:
    """Return why perf_event_open(2) failed, and the remedy.

    Args:
        number: the error number.
        hardware: the event counts on a PMU.
        tracepoint: the event is a tracepoint.
        cpu: the CPU that it was to be counted on, -1 for any.
        root: what /proc and /sys lie under, "/" but for recorded trees.
    """
    if number == errno.EMFILE:
        return _too_many_files(root)
    if number in (errno.EACCES, errno.EPERM):
        return _forbidden(number, tracepoint=tracepoint, root=root)
    if number == errno.ENOSYS:
        return _no_perf_events(root)
    if number in (errno.EINVAL, errno.ENODEV) and cpu >= 0:
        from gnomon.counters.pmu import cpu_ranges, online_cpus

        online = online_cpus(below(root, "sys"))
        if cpu not in online:
            return f"CPU {cpu} is not there, or offline", f"take one of {cpu_ranges(online)}"
    if hardware and number in _NO_SUCH_EVENT and not core_pmus(below(root, "sys")):
        return no_pmu(root)
    if number in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        return _no_such_event(number, hardware=hardware, tracepoint=tracepoint)
    if number == errno.EINVAL:
        return _invalid(hardware=hardware, tracepoint=tracepoint)
    if number == errno.EBUSY:
        return _busy(root)
    if number in _PLAIN:
        return _PLAIN[number]
    name = errno.errorcode.get(number, str(number))
    return f"the kernel refused it: {os.strerror(number)} ({name})", "see perf_event_open(2)"


def no_pmu(root: Path | str = _ROOT) -> tuple[str, str]:
    """Return why this machine has no PMU for its cores, and what to do about it."""
    reason, remedy = _own_lack() if root == _ROOT else _lack(root)
    return reason, f"{remedy}{ON_EMULATED}"


@cache
def _own_lack() -> tuple[str, str]:
    # Many events may lack it: the machine is looked at once.
    return _lack(_ROOT)


def _lack(root: Path | str) -> tuple[str, str]:
    # Only a refusal needs the facts of the machine.
    from gnomon.counters.virtualization import hypervisor

    host = hypervisor(root)
    if host is not None:
        reason = f"no core PMU: the hypervisor ({host.name}) does not give this virtual machine one"
        return reason, host.pmu_remedy
    if not os.access(below(root, "sys/bus/event_source/devices"), os.F_OK):
        return (
            "no core PMU: the kernel shows no PMU at all (/sys/bus/event_source is not there)",
            "mount sysfs on /sys, or use a kernel built with CONFIG_PERF_EVENTS",
        )
    return (
        "no core PMU: the kernel has no driver for it, or the firmware hides it",
        "see `dmesg | grep -i -e pmu -e 'performance events'`; switch performance counters on in "
        "the firmware's setup, or use a newer kernel",
    )


def lower_paranoid(level: int) -> str:
    """Return the command that sets kernel.perf_event_paranoid to a level, until the next boot."""
    return f"as root: sysctl kernel.perf_event_paranoid={level}"


def _forbidden(number: int, *, tracepoint: bool, root: Path | str) -> tuple[str, str]:
    from pathlib import Path

    from gnomon.counters.machine import SECCOMP_FILTER, rights
    from gnomon.counters.virtualization import container

    root = Path(root)
    have = rights(root)
    where = container(root)
    if have.seccomp == SECCOMP_FILTER and number == errno.EPERM:
        inside = f" of the {where.kind} container" if where else ""
        return (
            f"a seccomp filter{inside} forbids perf_event_open",
            "start the container with `--cap-add PERFMON` (Kubernetes: securityContext "
            "capabilities add PERFMON), or with `--security-opt seccomp=unconfined`",
        )
    paranoid = have.paranoid
    if tracepoint and (have.is_privileged or paranoid == -1):
        return "this tracepoint cannot be counted", "count another one: see `gnomon events`"
    if have.is_privileged or paranoid is None:
        return (
            f"a security module or sandbox forbids it ({os.strerror(number)})",
            "see `dmesg` and the audit log (SELinux, AppArmor, lockdown), or run outside the "
            "sandbox",
        )
    setting = f"kernel.perf_event_paranoid is {paranoid}: without CAP_PERFMON "
    if paranoid <= 0 and not tracepoint:
        return (
            "the process belongs to another user or may not be watched",
            "run as root or as the owner of the process",
        )
    if paranoid <= 0:
        reason, level = f"{setting}this tracepoint may not be read", -1
    elif paranoid == 1:
        reason, level = f"{setting}only one's own processes may be counted, no whole CPU", 0
    elif paranoid == 2:
        reason, level = f"{setting}only user mode of one's own processes may be counted", 1
    else:
        reason, level = f"{setting}nothing may be counted", 1
    remedy = lower_paranoid(level)
    if have.is_in_user_namespace or where:
        remedy += " on the host, or start the container with `--cap-add PERFMON`"
    elif paranoid <= 2:
        remedy += "; to count a process of another user, run as root"
    return reason, remedy


def _no_perf_events(root: Path | str) -> tuple[str, str]:
    if os.access(below(root, "proc/sys/kernel/perf_event_paranoid"), os.F_OK):
        return (
            "a filter or sandbox answers perf_event_open with ENOSYS",
            "run outside the sandbox, or allow perf_event_open in its seccomp profile",
        )
    return "this kernel has no perf events", "use a kernel built with CONFIG_PERF_EVENTS"


def _no_such_event(number: int, *, hardware: bool, tracepoint: bool) -> tuple[str, str]:
    if tracepoint:
        return (
            "the kernel has no such tracepoint (any more)",
            "load the module that brings it; `gnomon events` lists those there are",
        )
    if hardware and number == errno.ENODEV:
        return (
            "the PMU does not count this on the CPU it was asked to",
            "count it on another CPU, or where the program happens to run",
        )
    if hardware:
        return "this CPU's PMU has no such event", "`gnomon events` lists those it has"
    return "this kernel has no such event", "use a newer kernel; `gnomon events` lists what is here"


def _invalid(*, hardware: bool, tracepoint: bool) -> tuple[str, str]:
    if tracepoint:
        return "the kernel does not take this tracepoint", "`gnomon events` lists those there are"
    if hardware:
        return (
            "the PMU does not take this combination of event, parameters and modifiers, or has no "
            "counter for it",
            "check its parameters and modifiers, and count fewer events together",
        )
    return (
        "the kernel does not take this combination of event, CPU and modifiers",
        "check the CPU's number and leave out the modifiers",
    )


def _too_many_files(root: Path | str) -> tuple[str, str]:
    try:
        from pathlib import Path

        from gnomon.counters.machine import rights

        soft, hard = rights(Path(root)).open_files
    except OSError:
        # Neither a module nor /proc can be read where no descriptor is left.
        soft, hard = os.sysconf("SC_OPEN_MAX"), None
    limit = "" if soft is None else f" ({soft})"
    reason = f"the limit of open files{limit} is reached: every event of every thread takes one"
    if hard is not None and soft is not None and hard > soft:
        return reason, f"ulimit -n {hard}"
    return reason, "as root: raise `nofile` in /etc/security/limits.conf; or count fewer events"


def _busy(root: Path | str) -> tuple[str, str]:
    if (read_number(below(root, "proc/sys/kernel/nmi_watchdog")) or 0) > 0:
        return (
            "the counters are taken, one of them by the NMI watchdog",
            "as root: sysctl kernel.nmi_watchdog=0; and end other profilers",
        )
    return (
        "another user of the PMU has it to himself",
        "end other profilers (perf, VTune, oprofile, a BPF collector) and try again",
    )
