"""The PMUs that the kernel has a driver for, and the devices near which a program may want to run.

Source: Documentation/ABI/testing/sysfs-bus-event_source-devices*, sysfs-bus-pci, sysfs-class-net;
cpuid leaf 0xA (Intel's architectural PMU) and Fn8000_0022 (AMD).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from gnomon.counters.hardware.cpuid import Answers, bits, vendor
from gnomon.counters.procfs import entries, read_line, read_number, whole
from gnomon.counters.sysfs_pmu import Pmu, cpu_list, find
from gnomon.named_tuple import NamedTuple

_CLASSES = {
    "net": "network",
    "infiniband": "InfiniBand",
    "nvme": "NVMe",
    "block": "disk",
    "drm": "graphics",
    "accel": "accelerator",
}
_AMD = ("AuthenticAMD", "HygonGenuine")


class PmuFacts(NamedTuple):
    """A PMU of this machine's kernel.

    Attributes:
        name, type: as perf_event_open(2) wants them.
        is_core: it counts in CPU cores.
        cpus: of a core PMU those it belongs to, of an uncore one those to open it on; () for all.
        events: how many of its events the kernel names.
        parameters: what can be given to it (`format`).
        counters: general and fixed counters of a core PMU, None if not told.
        counters_source: what tells them.
        mux_interval_ms: how long a group stays on it when events are multiplexed; None if the
            kernel does not tell.
    """

    name: str
    type: int
    is_core: bool
    cpus: tuple[int, ...]
    events: int
    parameters: tuple[str, ...]
    counters: tuple[int, int] | None
    counters_source: str
    mux_interval_ms: int | None


class Device(NamedTuple):
    """A device that has a place on a bus.

    Attributes:
        kind: "network", "disk", "graphics", ...
        name: the kernel's.
        address: on its bus ("0000:00:03.0").
        node: the NUMA node that it is nearest to, None if not told.
        cpus: the CPUs that are nearest to it, () if not told.
        detail: speed or size, "" if not told.
    """

    kind: str
    name: str
    address: str
    node: int | None
    cpus: tuple[int, ...]
    detail: str


def pmus(root: Path, answers_of: Callable[[str], Answers]) -> tuple[PmuFacts, ...]:
    """Return the PMUs of a machine, those of the cores first.

    `answers_of` gives what cpuid says on a core whose PMU has that name.
    """
    found = [_facts(pmu, answers_of(pmu.name) if pmu.is_core else {}) for pmu in find(root / "sys")]
    return tuple(sorted(found, key=lambda pmu: (not pmu.is_core, pmu.name)))


def core_counters(answers: Answers) -> tuple[tuple[int, int] | None, str]:
    """Return how many general and fixed counters a core of x86 has, and what tells it."""
    told = answers.get((0xA, 0))
    if told is not None and bits(told.eax, 7, 0):
        fixed = bits(told.edx, 4, 0) if bits(told.eax, 7, 0) > 1 else 0
        return (bits(told.eax, 15, 8), fixed), "cpuid leaf 0xa"
    if vendor(answers) in _AMD:
        told = answers.get((0x80000022, 0))
        if told is not None and bits(told.ebx, 3, 0):
            return (bits(told.ebx, 3, 0), 0), "cpuid leaf 0x80000022"
        told = answers.get((0x80000001, 0))
        if told is not None:
            # PerfCtrExtCore: six counters instead of four.
            return (6 if told.ecx >> 23 & 1 else 4, 0), "cpuid leaf 0x80000001"
    return None, ""


def devices(root: Path) -> tuple[Device, ...]:
    """Return network links, disks, GPUs and the like that stand on a bus of their own."""
    return tuple(sorted(_devices(root / "sys/class"), key=lambda d: (d.kind, d.name)))


def _facts(pmu: Pmu, known: Answers) -> PmuFacts:
    counters, source = core_counters(known) if pmu.is_core else (None, "")
    if pmu.is_core and counters is None:
        counters, source = _counters_of_libpfm(pmu)
    return PmuFacts(
        pmu.name,
        pmu.type,
        pmu.is_core,
        cpu_list(pmu.cpus()),
        len(pmu.event_names()),
        entries(pmu.path / "format"),
        counters,
        source,
        read_number(pmu.path / "perf_event_mux_interval_ms"),
    )


def _counters_of_libpfm(pmu: Pmu) -> tuple[tuple[int, int] | None, str]:
    """Return the counters by libpfm4's tables, where they know this machine's one core PMU."""
    from gnomon.counters.libpfm import libpfm_pmus

    if not str(pmu.path).startswith("/sys/"):
        return None, ""
    here = [one for one in libpfm_pmus() if one.is_present and one.is_core and one.counters]
    if len(here) != 1:
        return None, ""
    return (here[0].counters, here[0].fixed_counters), f"libpfm4 ({here[0].name})"


def _devices(classes: Path) -> Iterator[Device]:
    seen = set()
    for group, kind in _CLASSES.items():
        for name in entries(classes / group):
            try:
                place = (classes / group / name / "device").resolve(strict=True)
            except (OSError, RuntimeError):
                continue
            place = _on_bus(place)
            if group == "block" and (place, "NVMe") in seen:
                continue
            if (place, kind, name) in seen or (group == "drm" and "-" in name):
                continue
            seen |= {(place, kind), (place, kind, name)}
            node = whole(read_line(place / "numa_node"))
            cpus = cpu_list(read_line(place / "local_cpulist"))
            yield Device(kind, name, place.name, node, cpus, _detail(classes / group / name, group))


def _on_bus(place: Path) -> Path:
    """Return the device that tells its NUMA node: virtio and SCSI devices stand below it."""
    for folder in (place, *list(place.parents)[:6]):
        if (folder / "numa_node").exists() or (folder / "local_cpulist").exists():
            return folder
    return place


def _detail(folder: Path, group: str) -> str:
    if group == "net":
        speed = whole(read_line(folder / "speed"))
        return f"{speed} Mb/s" if speed and speed < 1 << 31 else ""
    if group == "block":
        sectors = read_number(folder / "size")
        return f"{sectors * 512 / 1e9:.1f} GB" if sectors else ""
    if group == "infiniband":
        return read_line(folder / "ports/1/rate")
    return read_line(folder / "model") if group == "nvme" else ""
