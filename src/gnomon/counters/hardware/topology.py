"""Sockets, cores and threads, and the caches that they share.

Source: Documentation/ABI/stable/sysfs-devices-system-cpu, the kernel's cputopology.rst,
Documentation/ABI/testing/sysfs-devices-system-cpu (cache); cpuid leaves 0x4 and 0x8000001D.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gnomon.counters.hardware.cpuid import Answers, bits, parts
from gnomon.counters.procfs import entries, keyed, read_line, read_number, read_text, whole
from gnomon.counters.sysfs_pmu import core_pmus, cpu_list
from gnomon.named_tuple import NamedTuple

CPUS = "sys/devices/system/cpu"
_MOST_CACHES = 16
_SIZES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_CACHE_TYPES = {"Data": "data", "Instruction": "instruction", "Unified": "unified"}
_CPUID_TYPES = {1: "data", 2: "instruction", 3: "unified"}


class Cpu(NamedTuple):
    """One logical CPU (hardware thread), as the kernel numbers it.

    Attributes:
        number: the kernel's.
        is_online: programs can run there.
        is_allowed: this process may run there (cpuset, affinity).
        socket, die, cluster: the numbers of what it is part of, None if not told. Dies are
            numbered per socket, clusters and cores as the kernel does.
        core: the kernel's number of the core within its socket or die, None if not told.
        siblings: all CPUs of the same core, itself included.
        node: NUMA node, None if not told.
        kind: name of its kind of core where there are several, else "".
    """

    number: int
    is_online: bool
    is_allowed: bool
    socket: int | None
    die: int | None
    cluster: int | None
    core: int | None
    siblings: tuple[int, ...]
    node: int | None
    kind: str


class CoreKind(NamedTuple):
    """A kind of core of a CPU that has several: its name, and the CPUs of that kind."""

    name: str
    cpus: tuple[int, ...]


class Topology(NamedTuple):
    """How many there are of what; None where it is not told.

    Attributes:
        cpus: every CPU that is present.
        sockets, dies, cores: distinct ones with a CPU that is online.
        threads_per_core: the fewest and the most CPUs of a core.
        smt: what the kernel says of simultaneous multithreading ("on", "off", "notsupported", ...).
        kinds: the kinds of cores, () where all are alike.
        isolated: CPUs that the scheduler leaves alone (isolcpus=).
        unknown: why nothing is told.
    """

    cpus: tuple[Cpu, ...]
    sockets: int | None
    dies: int | None
    cores: int | None
    threads_per_core: tuple[int, int] | None
    smt: str
    kinds: tuple[CoreKind, ...]
    isolated: tuple[int, ...]
    unknown: str = ""


class Cache(NamedTuple):
    """All caches of one make.

    Attributes:
        level: 1 is nearest to the core.
        kind: "data", "instruction" or "unified".
        size_bytes, line_bytes, ways, sets: of each; None if not told. `ways` 0 is fully
            associative.
        groups: for each such cache the CPUs that share it; () if not told.
        shared_by: the most CPUs that share one, None if not told.
        source: what tells it.
    """

    level: int
    kind: str
    size_bytes: int | None
    line_bytes: int | None
    ways: int | None
    sets: int | None
    groups: tuple[tuple[int, ...], ...]
    shared_by: int | None
    source: str


def topology(root: Path) -> Topology:
    """Return how the CPUs of a machine belong together."""
    folder = root / CPUS
    online = cpu_list(read_line(folder / "online"))
    numbers = cpu_list(read_line(folder / "present")) or online
    if not numbers:
        reason = f"/{CPUS}/present and online cannot be read: is sysfs mounted?"
        return Topology((), None, None, None, None, "", (), (), reason)
    status = keyed(read_text(root / "proc/self/status") or "")
    allowed = cpu_list(status.get("Cpus_allowed_list", "")) or numbers
    kinds = core_kinds(root)
    kind_of = {cpu: kind.name for kind in kinds for cpu in kind.cpus}
    online_set, allowed_set = frozenset(online or numbers), frozenset(allowed)
    cpus = tuple(
        _cpu(folder, n, n in online_set, n in allowed_set, kind_of.get(n, "")) for n in numbers
    )
    running = [cpu for cpu in cpus if cpu.is_online]
    sizes = [len(cpu.siblings) for cpu in running if cpu.siblings]
    return Topology(
        cpus,
        _distinct([cpu.socket for cpu in running]),
        _distinct([(cpu.socket, cpu.die) if cpu.die is not None else None for cpu in running]),
        _distinct([cpu.siblings or None for cpu in running]),
        (min(sizes), max(sizes)) if sizes and len(sizes) == len(running) else None,
        read_line(folder / "smt/control"),
        kinds,
        cpu_list(read_line(folder / "isolated")),
    )


def core_kinds(root: Path) -> tuple[CoreKind, ...]:
    """Return the kinds of cores, () where there is but one.

    Told by the core PMUs' own CPU lists; where these are one, by the identification registers of
    arm64, else by the CPUs' capacity.
    """
    pmus = [(pmu.name, cpu_list(pmu.cpus())) for pmu in core_pmus(root / "sys")]
    named = [CoreKind(name, cpus) for name, cpus in pmus if cpus]
    if len(named) > 1:
        return tuple(sorted(named, key=lambda kind: kind.cpus))
    for file, title in (
        ("regs/identification/midr_el1", "MIDR {}"),
        ("cpu_capacity", "capacity {}"),
    ):
        cpus_of: dict[str, list[int]] = {}
        for name in entries(root / CPUS):
            number = whole(name.removeprefix("cpu")) if name.startswith("cpu") else None
            text = "" if number is None else read_line(root / CPUS / name / file)
            if number is not None and text:
                cpus_of.setdefault(text, []).append(number)
        if len(cpus_of) > 1:
            kinds = (CoreKind(title.format(k), tuple(sorted(v))) for k, v in cpus_of.items())
            return tuple(sorted(kinds, key=lambda kind: kind.cpus))
    return ()


def caches(root: Path, cpus: Sequence[int], answers: Answers) -> tuple[tuple[Cache, ...], str]:
    """Return the caches of the CPUs, nearest first, and why there are none if none is told."""
    groups: dict[tuple[int, str, int | None, int | None, int | None, int | None],
                 set[tuple[int, ...]]] = {}  # fmt: skip
    for cpu in cpus:
        folder = root / CPUS / f"cpu{cpu}/cache"
        for name in entries(folder)[:_MOST_CACHES]:
            index_folder = folder / name
            level, kind = (
                read_number(index_folder / "level"),
                _CACHE_TYPES.get(read_line(index_folder / "type")),
            )
            if not name.startswith("index") or level is None or kind is None:
                continue
            ways, sets = (
                read_number(index_folder / "ways_of_associativity"),
                read_number(index_folder / "number_of_sets"),
            )
            size, line = (
                cache_size(read_line(index_folder / "size")),
                read_number(index_folder / "coherency_line_size"),
            )
            make = (level, kind, size, line or None, ways if sets else ways or None, sets or None)
            sharing = cpu_list(read_line(index_folder / "shared_cpu_list")) or (cpu,)
            groups.setdefault(make, set()).add(sharing)
    sorted_caches = [
        Cache(*make, tuple(sorted(sharing)), max(map(len, sharing)), "sysfs")
        for make, sharing in groups.items()
    ]
    if sorted_caches:
        return tuple(sorted(sorted_caches, key=_cache_order)), ""
    sorted_caches = _caches_of_cpuid(answers)
    reason = "" if sorted_caches else f"neither /{CPUS}/cpu*/cache nor cpuid tells them"
    return tuple(sorted(sorted_caches, key=_cache_order)), reason


def cache_size(text: str) -> int | None:
    """Return the bytes of "48K", None for other text and for 0."""
    factor = _SIZES.get(text[-1:], 1)
    number = whole(text[:-1] if text[-1:] in _SIZES else text)
    return number * factor if number else None


def _cpu(folder: Path, number: int, is_online: bool, is_allowed: bool, kind: str) -> Cpu:
    own = folder / f"cpu{number}"
    part = own / "topology"
    siblings = cpu_list(read_line(part / "core_cpus_list")) or cpu_list(
        read_line(part / "thread_siblings_list")
    )
    nodes = [whole(n.removeprefix("node")) for n in entries(own) if n.startswith("node")]
    return Cpu(
        number,
        is_online,
        is_allowed,
        read_number(part / "physical_package_id"),
        read_number(part / "die_id"),
        read_number(part / "cluster_id"),
        read_number(part / "core_id"),
        siblings,
        next((n for n in nodes if n is not None), None),
        kind,
    )


def _distinct(keys: Sequence[object]) -> int | None:
    """Return how many different keys there are, None if any is not told."""
    return len(set(keys)) if keys and None not in keys else None


def _caches_of_cpuid(answers: Answers) -> list[Cache]:
    """Return the caches by Intel's leaf 4 or AMD's 0x8000001D, which have the same form."""
    for leaf in (0x4, 0x8000001D):
        caches_of_leaf = []
        for eax, ebx, ecx, _ in parts(answers, leaf):
            kind = _CPUID_TYPES.get(bits(eax, 4, 0))
            if kind is None:
                break
            line, partitions = bits(ebx, 11, 0) + 1, bits(ebx, 21, 12) + 1
            ways, sets = bits(ebx, 31, 22) + 1, ecx + 1
            size = line * partitions * ways * sets
            is_full = bool(eax >> 9 & 1)
            caches_of_leaf.append(
                Cache(
                    bits(eax, 7, 5),
                    kind,
                    size,
                    line,
                    0 if is_full else ways,
                    sets,
                    (),
                    bits(eax, 25, 14) + 1,
                    f"cpuid leaf {leaf:#x}",
                )
            )
        if caches_of_leaf:
            return caches_of_leaf
    return []


def _cache_order(cache: Cache) -> tuple[int, str, tuple[tuple[int, ...], ...]]:
    return cache.level, cache.kind, cache.groups
