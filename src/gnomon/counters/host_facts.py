"""Facts about this machine that explain which counters it has, each found by looking.

Every function takes the root that /proc, /sys and the rest lie under, so that the facts of another
machine can be read from a recorded tree. What cannot be found out is None or "".

Source: proc(5), capabilities(7), perf_event_open(2), Documentation/admin-guide/sysctl/kernel.rst,
Documentation/ABI/testing/sysfs-hypervisor-xen and sysfs-firmware-dmi.
"""

from __future__ import annotations

from pathlib import Path

from gnomon import _core
from gnomon.counters.procfs import entries, keyed, kilobytes, read_line, read_text, whole
from gnomon.counters.sysfs_pmu import core_pmus, online_cpus
from gnomon.counters.virtualization import (
    Container,
    Hypervisor,
    container,
    first_cpu,
    hypervisor,
)
from gnomon.named_tuple import NamedTuple

ROOT = Path("/")
CAP_SYS_ADMIN = 21
CAP_PERFMON = 38
SECCOMP_FILTER = 2


class Rights(NamedTuple):
    """What this process may do.

    Attributes:
        paranoid: kernel.perf_event_paranoid, None where the kernel has no perf events.
        capabilities: bits of the effective capabilities.
        is_privileged: kernel.perf_event_paranoid does not bind it (CAP_PERFMON or CAP_SYS_ADMIN).
        is_in_user_namespace: its capabilities are worth nothing outside its user namespace.
        seccomp: mode of its system call filter (0 none, 1 strict, 2 filter), None if unknown.
        open_files: soft and hard limit of open files, None where unlimited or unknown.
        kptr_restrict: kernel.kptr_restrict, None if unknown.
        mlock_kb: kernel.perf_event_mlock_kb, the KiB of sampling buffers a user may have.
    """

    paranoid: int | None
    capabilities: int
    is_privileged: bool
    is_in_user_namespace: bool
    seccomp: int | None
    open_files: tuple[int | None, int | None]
    kptr_restrict: int | None
    mlock_kb: int | None


class Tracefs(NamedTuple):
    """Where tracefs is, and whether its events may be read."""

    path: Path
    is_readable: bool


class Clock(NamedTuple):
    """The clock that the kernel keeps time with.

    Attributes:
        current: the clock source in use, "" if unknown.
        available: those that could be used.
        is_tsc_steady: the TSC ticks at one rate and never stops; None where there is no TSC.
    """

    current: str
    available: tuple[str, ...]
    is_tsc_steady: bool | None


class Machine(NamedTuple):
    """The facts of a machine that decide which counters it has.

    Attributes:
        kernel: its release.
        architecture: what the kernel was built for ("x86_64"), "" in a recorded tree.
        cpu_model: as the CPU names itself, "" if it does not.
        cpus: how many are online.
        memory_bytes: what the kernel manages.
        core_pmus: the PMUs of the cores; none in most virtual machines.
        hypervisor: None on bare metal.
        container: None outside of one.
        tracefs: None if it is not mounted.
        nmi_watchdog: whether it holds a hardware counter, None if unknown.
        user_reads: what the kernel's switch for user-space counter reads says: on x86 the `rdpmc`
            file of the PMU, on arm64 kernel.perf_user_access; None where there is none.
    """

    kernel: str
    architecture: str
    cpu_model: str
    cpus: int
    memory_bytes: int | None
    core_pmus: tuple[str, ...]
    hypervisor: Hypervisor | None
    container: Container | None
    rights: Rights
    tracefs: Tracefs | None
    clock: Clock
    nmi_watchdog: bool | None
    user_reads: int | None


def machine(root: Path = ROOT) -> Machine:
    """Return the facts of this machine, or of the one whose tree was recorded under `root`."""
    cpuinfo = first_cpu(root)
    meminfo = keyed(read_text(root / "proc/meminfo") or "")
    watchdog = read_integer(root / "proc/sys/kernel/nmi_watchdog")
    return Machine(
        kernel=read_line(root / "proc/sys/kernel/osrelease"),
        architecture=read_line(root / "proc/sys/kernel/arch"),
        cpu_model=_cpu_model(cpuinfo, root),
        cpus=len(online_cpus(root / "sys")),
        memory_bytes=kilobytes(meminfo.get("MemTotal", "")),
        core_pmus=core_pmu_names(root),
        hypervisor=hypervisor(root),
        container=container(root),
        rights=rights(root),
        tracefs=tracefs(root),
        clock=clock(root, cpuinfo.get("flags")),
        nmi_watchdog=None if watchdog is None else watchdog != 0,
        user_reads=_user_reads(root),
    )


def core_pmu_names(root: Path = ROOT) -> tuple[str, ...]:
    """Return the names of the PMUs of the CPU cores, () where there is none."""
    return tuple(pmu.name for pmu in core_pmus(root / "sys"))


def rights(root: Path = ROOT) -> Rights:
    """Return the rights of this process."""
    paranoid, capabilities, is_privileged, is_nested, seccomp, soft, hard = _core.rights(root)
    kernel = root / "proc/sys/kernel"
    return Rights(
        paranoid=paranoid,
        capabilities=capabilities,
        is_privileged=is_privileged,
        is_in_user_namespace=is_nested,
        seccomp=seccomp,
        open_files=(soft, hard),
        kptr_restrict=read_integer(kernel / "kptr_restrict"),
        mlock_kb=read_integer(kernel / "perf_event_mlock_kb"),
    )


def tracefs(root: Path = ROOT) -> Tracefs | None:
    """Return where tracefs is mounted and whether it can be read, None if it is not mounted."""
    for line in (read_text(root / "proc/self/mounts") or "").split("\n"):
        words = line.split(" ")
        if len(words) > 2 and words[2] == "tracefs":
            path = Path(words[1])
            return Tracefs(path, bool(entries(root / words[1].lstrip("/") / "events")))
    return None


def clock(root: Path = ROOT, flags: str | None = None) -> Clock:
    """Return the kernel's clock; `flags` are those of /proc/cpuinfo, None without a TSC."""
    folder = root / "sys/devices/system/clocksource/clocksource0"
    words = None if flags is None else flags.split()
    steady = None
    if words is not None and "tsc" in words:
        steady = "constant_tsc" in words and "nonstop_tsc" in words
    return Clock(
        current=read_line(folder / "current_clocksource"),
        available=tuple(read_line(folder / "available_clocksource").split()),
        is_tsc_steady=steady,
    )


def read_integer(path: Path) -> int | None:
    """Return the whole number, of either sign, that a file holds; None if it holds none."""
    text = read_line(path)
    number = whole(text.removeprefix("-"))
    return -number if number is not None and text.startswith("-") else number


def _cpu_model(cpuinfo: dict[str, str], root: Path) -> str:
    """Return the name on x86 and POWER; on arm64, which has numbers only, the board's."""
    for key in ("model name", "cpu", "Model", "uarch"):
        if cpuinfo.get(key):
            return cpuinfo[key]
    if "CPU part" in cpuinfo:
        implementer = cpuinfo.get("CPU implementer", "?")
        return f"arm implementer {implementer} part {cpuinfo['CPU part']}"
    return read_line(root / "proc/device-tree/model")


def _user_reads(root: Path) -> int | None:
    for pmu in core_pmus(root / "sys"):
        switch = read_integer(pmu.path / "rdpmc")
        if switch is not None:
            return switch
    return read_integer(root / "proc/sys/kernel/perf_user_access")
