"""Memory: how much there is, on which NUMA nodes, in pages of which sizes, and what limits us.

Source: proc(5), Documentation/ABI/stable/sysfs-devices-node, Documentation/admin-guide/mm/
{hugetlbpage,transhuge,numaperf}.rst, Documentation/admin-guide/cgroup-v{1,2}.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from gnomon.counters.procfs import (
    entries,
    keyed,
    kilobytes,
    read_line,
    read_number,
    read_text,
    whole,
)
from gnomon.counters.sysfs_pmu import cpu_list
from gnomon.named_tuple import NamedTuple

_NODES = "sys/devices/system/node"
_POOL = re.compile(r"hugepages-(\d{1,12})kB")
_NODE = re.compile(r"node(\d{1,5})")
_CHOSEN = re.compile(r"\[(\S+)\]")
_MOST_LEVELS = 64
_NO_LIMIT = 1 << 62
"""cgroup v1 writes the largest multiple of a page where there is no limit."""


class HugePool(NamedTuple):
    """The huge pages of one size that are set aside: how many, and how many are free."""

    page_bytes: int
    pages: int | None
    free: int | None
    reserved: int | None
    surplus: int | None


class Node(NamedTuple):
    """One NUMA node.

    Attributes:
        number: the kernel's.
        cpus: () for memory without CPUs (CXL, HBM).
        total_bytes, free_bytes: None if not told.
        distances: to each node in the order of the nodes' numbers (10 is itself), () if not told.
        pools: its huge pages.
        side_caches: sizes of memory-side caches.
        read_mb_per_s, read_latency_ns: from the best initiator, as the firmware tells (HMAT);
            None if it does not.
    """

    number: int
    cpus: tuple[int, ...]
    total_bytes: int | None
    free_bytes: int | None
    distances: tuple[int, ...]
    pools: tuple[HugePool, ...]
    side_caches: tuple[int, ...]
    read_mb_per_s: int | None
    read_latency_ns: int | None


class Pages(NamedTuple):
    """The sizes of pages.

    Attributes:
        base_bytes: the smallest, None if not told.
        pools: huge pages set aside (hugetlb), by size.
        transparent: "always", "madvise" or "never"; "" without transparent huge pages.
        transparent_bytes: their size.
    """

    base_bytes: int | None
    pools: tuple[HugePool, ...]
    transparent: str
    transparent_bytes: int | None


class Memory(NamedTuple):
    """Memory and swap of the machine, in bytes; None if not told."""

    total_bytes: int | None
    available_bytes: int | None
    swap_bytes: int | None
    swap_free_bytes: int | None


class Limits(NamedTuple):
    """What the control groups leave to this process; None where they do not limit it.

    Attributes:
        memory_bytes: the lowest limit of memory on the way to the root.
        cpus: CPU time per second of all threads together, 1.5 for one and a half CPUs.
    """

    memory_bytes: int | None
    cpus: float | None


def memory(root: Path) -> Memory:
    """Return how much memory and swap there is."""
    info = keyed(read_text(root / "proc/meminfo") or "")
    return Memory(*(
        kilobytes(info.get(key, ""))
        for key in ("MemTotal", "MemAvailable", "SwapTotal", "SwapFree")
    ))  # fmt: skip


def nodes(root: Path) -> tuple[Node, ...]:
    """Return the NUMA nodes, () for a kernel without."""
    folder = root / _NODES
    numbers = sorted(
        int(match[1]) for name in entries(folder) if (match := _NODE.fullmatch(name)) is not None
    )
    return tuple(_node(folder / f"node{number}", number) for number in numbers)


def pages(root: Path) -> Pages:
    """Return the sizes of pages that programs can have."""
    maps = keyed(read_text(root / "proc/self/smaps", most_bytes=8192) or "")
    base = kilobytes(maps.get("KernelPageSize", ""))
    folder = root / "sys/kernel/mm"
    chosen = _CHOSEN.search(read_line(folder / "transparent_hugepage/enabled"))
    return Pages(
        base,
        _pools(folder / "hugepages"),
        chosen[1] if chosen else "",
        read_number(folder / "transparent_hugepage/hpage_pmd_size"),
    )


def limits(root: Path) -> Limits:
    """Return the limits of this process's control groups (v1 or v2)."""
    memory_limits: list[int] = []
    cpu_limits: list[float] = []
    for line in (read_text(root / "proc/self/cgroup") or "").split("\n"):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        mount = root / "sys/fs/cgroup"
        names = controllers.split(",")
        if not controllers:
            for folder in _upwards(mount, path):
                memory_limits += _present(read_number(folder / "memory.max"))
                cpu_limits += _quota(*[*read_line(folder / "cpu.max").split(), "", ""][:2])
        if "memory" in names:
            for folder in _upwards(mount / "memory", path):
                memory_limits += _present(read_number(folder / "memory.limit_in_bytes"))
        if "cpu" in names:
            for folder in _upwards(mount / controllers, path):
                quota = read_line(folder / "cpu.cfs_quota_us")
                cpu_limits += _quota(quota, read_line(folder / "cpu.cfs_period_us"))
    real = [limit for limit in memory_limits if limit < _NO_LIMIT]
    return Limits(min(real, default=None), min(cpu_limits, default=None))


def _node(folder: Path, number: int) -> Node:
    meminfo: dict[str, int | None] = {}
    for line in (read_text(folder / "meminfo") or "").split("\n"):
        words = line.split()
        if len(words) >= 4 and words[0] == "Node":
            meminfo[words[2].rstrip(":")] = kilobytes(" ".join(words[3:5]))
    far = [whole(word) for word in read_line(folder / "distance").split()]
    caches = folder / "memory_side_cache"
    sizes = [read_number(caches / name / "size") for name in entries(caches)]
    best = folder / "access0/initiators"
    return Node(
        number,
        cpu_list(read_line(folder / "cpulist")),
        meminfo.get("MemTotal"),
        meminfo.get("MemFree"),
        tuple(d for d in far if d is not None) if None not in far else (),
        _pools(folder / "hugepages"),
        tuple(size for size in sizes if size),
        read_number(best / "read_bandwidth") or None,
        read_number(best / "read_latency") or None,
    )


def _pools(folder: Path) -> tuple[HugePool, ...]:
    pools = []
    for name in entries(folder):
        match = _POOL.fullmatch(name)
        if match is not None:
            numbers = (
                read_number(folder / name / file)
                for file in ("nr_hugepages", "free_hugepages", "resv_hugepages",
                             "surplus_hugepages")
            )  # fmt: skip
            pools.append(HugePool(int(match[1]) * 1024, *numbers))
    return tuple(sorted(pools, key=lambda pool: pool.page_bytes))


def _upwards(mount: Path, path: str) -> Iterator[Path]:
    """Yield the folder of a control group and those above it, up to where it is mounted.

    In a container the path may be the host's, which is not there: only the mount itself is then.
    """
    parts = [part for part in PurePosixPath(path).parts if part not in ("/", "..")]
    for depth in range(min(len(parts), _MOST_LEVELS), -1, -1):
        yield mount.joinpath(*parts[:depth])


def _present(number: int | None) -> list[int]:
    return [] if number is None else [number]


def _quota(quota: str, period: str) -> list[float]:
    allowed, every = whole(quota), whole(period)
    return [allowed / every] if allowed and every else []
