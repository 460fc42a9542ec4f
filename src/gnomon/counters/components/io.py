"""The `io` component: what a process reads and writes, and what the disks do.

Source: proc(5) on /proc/PID/io; Documentation/admin-guide/iostats.rst and
Documentation/ABI/testing/procfs-diskstats for /proc/diskstats.

What a process's numbers cover: all of its threads, those that have ended too, and every child that
it has waited for, with that child's whole life. A child that still runs, that was never waited for
or that the kernel reaped by itself (SIGCHLD ignored) is not in them.

What a sum over disks covers: every disk at the bottom of the stack, once. Partitions are parts of
their disk; disks made of others (device mapper, md, drbd, bcache, zvol, an NVMe multipath head)
would count the same bytes again; loop, ram and zram are not disks. Each of them can be counted by
its own name: `io:::md0:read_bytes`.
"""

from __future__ import annotations

import errno
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property

from gnomon.counters.component import EventInfo
from gnomon.counters.procfs import (
    ProcessFiles,
    entries,
    keyed,
    read_errno,
    read_number,
    read_text,
    whole,
)
from gnomon.counters.snapshot_component import OfferedEvent, Problem, SnapshotComponent
from gnomon.counters.snapshot_counters import PROCESS, CountedField, Snapshot, Unit
from gnomon.model.value import Scope
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_COVERS = "the process, its threads and the children it has waited for"

# name: unit, description
_PROCESS_FIELDS: dict[str, tuple[str, str]] = {
    "rchar": ("bytes", "bytes that read(2) and its kin returned, from cache, pipe or disk alike"),
    "wchar": ("bytes", "bytes that write(2) and its kin took, to cache, pipe or disk alike"),
    "syscr": ("", "system calls that read"),
    "syscw": ("", "system calls that wrote"),
    "read_bytes": ("bytes", "bytes fetched from storage for it"),
    "write_bytes": ("bytes", "bytes it caused to be written to storage, now or later"),
    "cancelled_write_bytes": (
        "bytes",
        "bytes of write_bytes that were never written because it truncated or deleted the file",
    ),
}


class _Column(NamedTuple):
    """A number of /proc/diskstats.

    Attributes:
        place: its place in a line, 0 for the first after the name.
        factor: what one of it is in `unit`.
        is_wide: it is an unsigned long; otherwise it has 32 bits on every machine.
    """

    place: int
    factor: int
    is_wide: bool
    unit: str
    description: str


_COLUMNS: dict[str, _Column] = {
    "reads": _Column(0, 1, True, "", "reads completed"),
    "read_bytes": _Column(2, 512, True, "bytes", "bytes read"),
    "read_ns": _Column(3, 1_000_000, False, "ns", "time from a read's arrival to its completion"),
    "writes": _Column(4, 1, True, "", "writes completed"),
    "write_bytes": _Column(6, 512, True, "bytes", "bytes written"),
    "write_ns": _Column(7, 1_000_000, False, "ns", "time from a write's arrival to its completion"),
    "busy_ns": _Column(9, 1_000_000, False, "ns", "time with at least one request under way"),
    "queue_ns": _Column(10, 1_000_000, False, "ns", "time of all requests under way, added up"),
    "discards": _Column(11, 1, True, "", "discards completed"),
    "discard_bytes": _Column(13, 512, True, "bytes", "bytes discarded"),
    "flushes": _Column(15, 1, True, "", "cache flushes completed"),
}
_MOST_COLUMNS = 64
_LONG_BITS = 64 if sys.maxsize > 1 << 32 else 32
_WRAPS = {name: 1 << (_LONG_BITS if c.is_wide else 32) for name, c in _COLUMNS.items()}

_NOT_A_DISK = r"(?:loop|ram|zram)\d"
_STACKED = r"(?:dm-|md|md_d|drbd|bcache|zd)\d"
_NVME_PATH = r"(nvme\d+)c\d+(n\d+)"


class IoComponent(SnapshotComponent):
    """What processes read and write (/proc/PID/io), and what disks do (/proc/diskstats)."""

    name = "io"
    description = "bytes and calls of processes, and transfers of the disks"
    how_measured = "counted by the kernel; read from /proc/PID/io and /proc/diskstats"
    scope = Scope.PROCESS

    def file_of(self, field: str) -> str:  # noqa: ARG002
        """Return the file of /proc/PID that every field of a process comes from."""
        return "io"

    def offers(self, *, idle: bool) -> Iterator[OfferedEvent]:
        """Yield the process's events, the sums over disks, then those of each disk."""
        for field, (unit, description) in _PROCESS_FIELDS.items():
            info = EventInfo(
                f"io:::{field}", self.name, f"{description}; {_COVERS}", unit, Scope.PROCESS
            )
            yield OfferedEvent(info, CountedField((field,), PROCESS, Scope.PROCESS))
        disks = self._numbers()
        for unit_name in (None, *disks):
            if unit_name is not None and not idle and not self._is_listed(unit_name, disks):
                continue
            for field, column in _COLUMNS.items():
                if unit_name is not None and field not in disks[unit_name]:
                    continue
                yield _disk_offer(self.name, unit_name, field, column)

    def node_snapshot(self, tallies: Sequence[CountedField]) -> Snapshot:
        """Return the numbers of the disks that the tallies name, or of all if one is a sum."""
        wanted = {tally.unit for tally in tallies}
        units = {}
        for name, numbers in self._numbers().items():
            is_summed = None in wanted and self._is_bottom(name)
            if is_summed or name in wanted:
                identity = read_number(self._block / _sysfs_name(name) / "diskseq") or 0
                units[name] = Unit(numbers, identity, is_summed, _WRAPS)
        return units

    def process_snapshot(self, files: ProcessFiles, fields: frozenset[str]) -> Snapshot:
        """Return the numbers of /proc/PID/io."""
        text = files.read("io")
        if text is None:
            return {}
        numbers = {key: whole(value) for key, value in keyed(text).items() if key in fields}
        return {PROCESS: Unit({key: n for key, n in numbers.items() if n is not None})}

    def node_problem(self, tally: CountedField) -> Problem:
        """Return why a disk's number is not there."""
        path = self.proc / "diskstats"
        number = read_errno(path)
        if number == errno.ENOENT:
            return f"this kernel has no {path}", "a kernel built with CONFIG_BLOCK", number
        if number:
            return f"{path} may not be read", "run outside the container", number
        if tally.unit is not None:
            return f"{path} does not tell this of '{tally.unit}'", "a newer kernel does", 0
        return (
            f"no disk in {path} that {self._block} lists",
            "name a device: io:::DEVICE:read_bytes",
            0,
        )

    @property
    def _block(self) -> Path:
        return self.sys / "block"

    @cached_property
    def _kinds(self) -> dict[str, bool]:
        """Whether each block device seen so far counts in sums: sysfs is asked once for each."""
        return {}

    def _is_bottom(self, name: str) -> bool:
        is_bottom = self._kinds.get(name)
        if is_bottom is None:
            is_bottom = self._kinds[name] = self._find_bottom(name)
        return is_bottom

    def _find_bottom(self, name: str) -> bool:
        if re.match(_NOT_A_DISK, name) or re.match(_STACKED, name):
            return False
        devices = entries(self._block)
        if _sysfs_name(name) not in devices or entries(self._block / _sysfs_name(name) / "slaves"):
            return False
        # The paths of an NVMe multipath disk do the work; its head only passes requests on.
        heads = (re.fullmatch(_NVME_PATH, device) for device in devices)
        return name not in {match[1] + match[2] for match in heads if match}

    def _is_listed(self, name: str, disks: dict[str, dict[str, int]]) -> bool:
        """Whether `gnomon events` shows it: whole disks, and loop and the like only if in use."""
        if not (self._block / _sysfs_name(name)).is_dir():
            return False
        return not re.match(_NOT_A_DISK, name) or any(disks[name].values())

    def _numbers(self) -> dict[str, dict[str, int]]:
        """Return the numbers of every block device in /proc/diskstats."""
        by_device: dict[str, dict[str, int]] = {}
        for line in (read_text(self.proc / "diskstats") or "").split("\n"):
            words = line.split(None, _MOST_COLUMNS)
            if len(words) < 3 + 11:
                continue
            numbers = {}
            for field, column in _COLUMNS.items():
                number = whole(words[3 + column.place]) if 3 + column.place < len(words) else None
                if number is not None:
                    numbers[field] = number
            by_device[words[2]] = numbers
        return by_device


COMPONENT = IoComponent()


def _disk_offer(component: str, disk: str | None, field: str, column: _Column) -> OfferedEvent:
    name = f"disk_{field}" if disk is None else f"{disk}:{field}"
    where = "all disks, each once" if disk is None else f"block device {disk}"
    steps = ""
    if column.unit == "ns":
        # 2^32 ms of one request; of n requests at once an nth of it.
        turn = "49 days" if field == "busy_ns" else "49 days over the mean number of requests"
        steps = f", in steps of 1 ms; right for runs shorter than half its turn of {turn}"
    info = EventInfo(
        f"io:::{name}", component, f"{column.description}: {where}{steps}", column.unit, Scope.NODE
    )
    return OfferedEvent(info, CountedField((field,), disk, Scope.NODE, factor=column.factor))


def _sysfs_name(name: str) -> str:
    """Return a device's name in sysfs, where "!" stands for "/"."""
    return name.replace("/", "!")
