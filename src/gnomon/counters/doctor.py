"""What `gnomon doctor` looks at: each thing that decides what can be counted here, with a remedy.

Nothing is printed or changed here. Source: the kernel's own settings, through
`gnomon.counters.host_facts`, and the components' attempts to count.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gnomon.counters import pmu_checks, tool_checks
from gnomon.counters.check import Check, State
from gnomon.counters.component import Availability
from gnomon.counters.host_facts import (
    CAP_PERFMON,
    CAP_SYS_ADMIN,
    ROOT,
    SECCOMP_FILTER,
    Machine,
    machine,
)
from gnomon.counters.perf_errors import lower_paranoid
from gnomon.counters.procfs import entries

_ENOUGH_FILES = 4096
_ENOUGH_MLOCK_KB = 516


def diagnose(root: Path = ROOT) -> tuple[Check, ...]:
    """Return every check, in the order in which to read them.

    `root` is where /proc and /sys lie; the components, libraries and programs that are tried are
    always this machine's own.
    """
    facts = machine(root)
    return (
        _machine(facts),
        _container(facts),
        _perf_events(facts),
        *pmu_checks.counters(facts, root),
        _paranoid(facts),
        _capabilities(facts),
        _seccomp(facts),
        _tracepoints(facts),
        *pmu_checks.reading(facts, root),
        _clock(facts),
        _open_files(facts, root),
        _mlock(facts),
        *_file_components(root),
        *_whole_machine(root),
        *pmu_checks.names(facts),
        *tool_checks.tools(),
    )


def _machine(facts: Machine) -> Check:
    memory = "" if facts.memory_bytes is None else f", {facts.memory_bytes / 2**30:.1f} GiB"
    model = facts.cpu_model or "a CPU without a name"
    where = f"{model}, {facts.cpus} CPUs{memory}; Linux {facts.kernel or 'of unknown release'}"
    host = facts.hypervisor
    if host is None:
        return Check("machine", "ok", f"{where}; no hypervisor found")
    return Check("machine", "ok", f"{where}; hypervisor {host.name} ({host.evidence})")


def _container(facts: Machine) -> Check:
    inside = facts.container
    if inside is None:
        return Check("container", "ok", "none found")
    finding = f"{inside.kind} ({inside.evidence})"
    if facts.rights.is_in_user_namespace:
        return Check(
            "container",
            "limited",
            f"{finding}, in a user namespace",
            "root in here is not root for the kernel: its capabilities open no counters",
            lower_paranoid(1) + " on the host",
        )
    return Check("container", "ok", finding)


def _perf_events(facts: Machine) -> Check:
    """Software events are what every kernel with perf events has: counting one is the proof."""
    from gnomon.counters.components import component

    tried = component("kernel").availability()
    if tried.available:
        return Check("perf events", "ok", "the kernel counts software events")
    state: State = "missing" if facts.rights.paranoid is None else "limited"
    return Check(
        "perf events", state, tried.reason, "neither kernel nor CPU events count", tried.remedy
    )


def _paranoid(facts: Machine) -> Check:
    name = "perf_event_paranoid"
    level = facts.rights.paranoid
    if level is None:
        return Check(name, "missing", "not available: this kernel has no perf events")
    if facts.rights.is_privileged:
        return Check(name, "ok", f"{level}, which does not bind this process")
    if level <= 0:
        return Check(name, "ok", str(level))
    consequence = {
        1: "whole CPUs cannot be counted, only your own processes",
        2: "kernel mode and tracepoints of your own processes cannot be counted",
    }.get(level, "nothing can be counted through perf events")
    wanted = 0 if level == 1 else 1
    remedy = (
        f"{lower_paranoid(wanted)} (to keep it: "
        f"echo kernel.perf_event_paranoid={wanted} > /etc/sysctl.d/99-perf.conf)"
    )
    return Check(name, "limited", str(level), consequence, remedy)


def _capabilities(facts: Machine) -> Check:
    have = [
        name
        for name, bit in (("CAP_PERFMON", CAP_PERFMON), ("CAP_SYS_ADMIN", CAP_SYS_ADMIN))
        if facts.rights.capabilities >> bit & 1
    ]
    if facts.rights.is_privileged:
        return Check("capabilities", "ok", ", ".join(have))
    if (facts.rights.paranoid or 0) <= 0:
        return Check("capabilities", "ok", "none, and none needed")
    finding = f"{', '.join(have)} in a user namespace only" if have else "no CAP_PERFMON"
    return Check(
        "capabilities",
        "limited",
        finding,
        "kernel.perf_event_paranoid binds this process",
        _grant(facts),
    )


def _grant(facts: Machine) -> str:
    import os
    import sys

    if facts.container is not None or facts.rights.is_in_user_namespace:
        return "start the container with `--cap-add PERFMON`, as real root"
    # The capability is Linux 5.8's.
    release = tuple(int(n) for n in facts.kernel.split(".")[:2] if n.isdecimal())
    capability = "cap_sys_admin" if len(release) == 2 and release < (5, 8) else "cap_perfmon"
    return (
        f"as root: setcap {capability}=ep {os.path.realpath(sys.executable)} "
        "(every script that it runs then has it); or lower perf_event_paranoid"
    )


def _seccomp(facts: Machine) -> Check:
    if facts.rights.seccomp is None:
        return Check("seccomp", "ok", "the kernel does not say")
    if facts.rights.seccomp != SECCOMP_FILTER:
        return Check("seccomp", "ok", "no filter")
    from gnomon.counters.components import component

    if component("kernel").availability().available:
        return Check("seccomp", "ok", "a filter, which lets perf_event_open pass")
    return Check(
        "seccomp",
        "limited",
        "a filter of system calls",
        "if it forbids perf_event_open (docker's does), nothing counts through perf events",
        "start the container with `--cap-add PERFMON`, or `--security-opt seccomp=unconfined`",
    )


def _tracepoints(facts: Machine) -> Check:
    consequence = "no tracepoints (sched:sched_switch, ...)"
    if facts.tracefs is None:
        remedy = "as root: mount -t tracefs tracefs /sys/kernel/tracing"
        return Check("tracefs", "missing", "not mounted", consequence, remedy)
    path = facts.tracefs.path
    if facts.tracefs.is_readable:
        return Check("tracefs", "ok", str(path))
    remedy = f"as root: mount -o remount,mode=755 {path}"
    return Check("tracefs", "limited", f"{path} may not be read", consequence, remedy)


def _clock(facts: Machine) -> Check:
    clock = facts.clock
    others = ", ".join(name for name in clock.available if name != clock.current)
    finding = (clock.current or "unknown") + (f" (also {others})" if others else "")
    if clock.is_tsc_steady is False:
        return Check(
            "clock",
            "limited",
            f"{finding}; the TSC is not steady (no constant_tsc and nonstop_tsc)",
            "time comes from the kernel, tens of nanoseconds a reading",
        )
    if clock.is_tsc_steady and clock.current != "tsc" and "tsc" in clock.available:
        return Check(
            "clock",
            "limited",
            finding,
            "programs that ask for the time often pay a system call for it",
            "as root: echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
        )
    steady = "; the TSC is steady" if clock.is_tsc_steady else ""
    return Check("clock", "ok", f"{finding}{steady}")


def _open_files(facts: Machine, root: Path) -> Check:
    soft, hard = facts.rights.open_files
    used = len(entries(root / "proc/self/fd"))
    finding = f"{soft}, {used} in use by this program" if used else str(soft)
    if soft is None or soft >= _ENOUGH_FILES:
        return Check("open files", "ok", "no limit found" if soft is None else finding)
    wanted = min(hard, 65536) if hard is not None else 65536
    remedy = f"ulimit -n {wanted}"
    if wanted <= soft:
        remedy = "as root: raise `nofile` in /etc/security/limits.conf"
    consequence = "every event of every thread (attached to) and CPU takes one"
    return Check("open files", "limited", finding, consequence, remedy)


def _mlock(facts: Machine) -> Check:
    name = "perf_event_mlock_kb"
    limit = facts.rights.mlock_kb
    if limit is None:
        return Check(name, "missing", "not available: this kernel has no perf events")
    if limit >= _ENOUGH_MLOCK_KB or facts.rights.is_privileged:
        return Check(name, "ok", f"{limit} KiB a CPU")
    return Check(
        name,
        "limited",
        f"{limit} KiB a CPU",
        "sampling buffers are small, so that samples may be lost",
        f"as root: sysctl kernel.perf_event_mlock_kb={_ENOUGH_MLOCK_KB}",
    )


def _file_components(root: Path) -> Iterator[Check]:
    from gnomon.counters.components.io import IoComponent
    from gnomon.counters.components.memory import MemoryComponent
    from gnomon.counters.components.network import NetworkComponent

    for kind, name, lost in (
        (IoComponent, "I/O accounts", "some of a program's or the disks' transfers are unknown"),
        (NetworkComponent, "network links", "traffic is unknown"),
        (MemoryComponent, "memory accounts", "some of a program's memory is unknown"),
    ):
        component = kind(root / "proc", root / "sys")
        tried = component.availability()
        if tried.reason:
            state: State = "limited" if tried.available else "missing"
            yield Check(name, state, tried.reason, lost, tried.remedy)
        else:
            yield Check(name, "ok", component.how_measured)


def _whole_machine(root: Path) -> Iterator[Check]:
    """What belongs to no program: energy, units outside the cores, GPUs."""
    from gnomon.counters.components.gpu import GpuComponent
    from gnomon.counters.components.power import PowerComponent
    from gnomon.counters.components.uncore import UncoreComponent
    from gnomon.counters.nvml import nvidia_devices

    sysfs = root / "sys"
    lost = "some or all energy counters are missing"
    yield _tried("energy, sensors", PowerComponent(root / "proc", sysfs).availability(), lost)
    lost = "memory traffic and other events outside the cores are missing"
    yield _tried("uncore PMUs", UncoreComponent(sysfs).availability(), lost)
    gpus = GpuComponent(root / "proc", sysfs).availability()
    if not gpus.available and not nvidia_devices(sysfs):
        yield Check("NVIDIA GPUs", "ok", "there is none")
    else:
        yield _tried("NVIDIA GPUs", gpus, "their energy, load and memory are unknown")


def _tried(name: str, tried: Availability, lost: str) -> Check:
    if not tried.reason:
        return Check(name, "ok", "can be read")
    state: State = "limited" if tried.available else "missing"
    return Check(name, state, tried.reason, lost, tried.remedy)
