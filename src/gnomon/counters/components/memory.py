"""The `memory` component: what memory a process holds, its page faults, and where pages come from.

Source: proc(5) on /proc/PID/status, /proc/PID/stat and /proc/PID/numa_maps;
Documentation/admin-guide/numastat.rst.

Resident memory, its peak, swap and the pages of each node are gauges: they have a present value and
no total. Those of a command end with it, so they are sampled while it runs. The kernel's own figure
for the peak of a command that has ended is getrusage(2)'s ru_maxrss.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from gnomon.counters.component import EventInfo
from gnomon.counters.procfs import (
    ProcessFiles,
    entries,
    keyed,
    kilobytes,
    read_errno,
    read_line,
    read_text,
    stat_fields,
    whole,
)
from gnomon.counters.snapshot_component import OfferedEvent, Problem, SnapshotComponent
from gnomon.counters.snapshot_counters import PROCESS, CountedField, Snapshot, Unit
from gnomon.model.value import Scope

_COVERS = "the process, its threads and the children it has waited for"
_ALONE = "the process without its children; of a command, sampled"

# name: fields of /proc/PID/stat that are added up, description
_FAULTS: dict[str, tuple[tuple[str, ...], str]] = {
    "minor_faults": (("minflt", "cminflt"), "page faults served without the disk"),
    "major_faults": (("majflt", "cmajflt"), "page faults that had to wait for the disk"),
}
_STAT_PLACES = {"minflt": 10, "cminflt": 11, "majflt": 12, "cmajflt": 13}

# name: key in /proc/PID/status, keeps its highest value, description
_GAUGES: dict[str, tuple[str, bool, str]] = {
    "rss": ("VmRSS", False, "resident memory"),
    "peak_rss": ("VmHWM", True, "highest resident memory since the program was executed"),
    "swap": ("VmSwap", False, "memory of the process that is swapped out, shared memory apart"),
}

_NUMASTAT: dict[str, str] = {
    "numa_hit": "pages allocated on the node where they were wanted",
    "numa_miss": "pages allocated here that were wanted on another node",
    "numa_foreign": "pages wanted here that were allocated on another node",
    "interleave_hit": "pages allocated here as an interleaving policy wanted",
    "local_node": "pages allocated here for a process that ran here",
    "other_node": "pages allocated here for a process that ran on another node",
}
_SMALL_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class MemoryComponent(SnapshotComponent):
    """Resident memory, page faults, swap and NUMA placement (/proc/PID, numastat)."""

    name = "memory"
    description = "resident memory, page faults, swap and NUMA placement"
    how_measured = "counted by the kernel; read from /proc/PID/{status,stat,numa_maps} and sysfs"
    scope = Scope.PROCESS

    def offers(self, *, idle: bool) -> Iterator[OfferedEvent]:  # noqa: ARG002
        """Yield the process's events, then the machine's NUMA counts."""
        for name, (fields, description) in _FAULTS.items():
            info = EventInfo(
                f"memory:::{name}", self.name, f"{description}; {_COVERS}", "", Scope.PROCESS
            )
            yield OfferedEvent(info, CountedField(fields, PROCESS, Scope.PROCESS))
        for name, (key, highest, description) in _GAUGES.items():
            tally = CountedField((key,), PROCESS, Scope.PROCESS, gauge=True, highest=highest)
            yield self._gauge(name, f"{description}; {_ALONE}", "bytes", tally)
        nodes = self._nodes()
        for node in nodes:
            tally = CountedField((node,), PROCESS, Scope.PROCESS, gauge=True)
            text = f"pages of {_SMALL_PAGE_BYTES} bytes that the process has on {node}"
            yield self._gauge(f"{node}:pages", f"{text}; {_ALONE}", "pages", tally)
        for unit in (None, *nodes):
            for field, description in _NUMASTAT.items():
                name = field if unit is None else f"{unit}:{field}"
                text = f"{description}: {unit or 'all nodes'}"
                info = EventInfo(f"memory:::{name}", self.name, text, "pages", Scope.NODE)
                yield OfferedEvent(info, CountedField((field,), unit, Scope.NODE))

    def node_snapshot(self, tallies: Sequence[CountedField]) -> Snapshot:  # noqa: ARG002
        """Return the numastat of every node; nothing while the kernel has them switched off."""
        if self._numastat_is_off():
            return {}
        units = {}
        for node in self._nodes():
            lines = keyed(read_text(self._node_folder / node / "numastat") or "", " ")
            numbers = {key: whole(value) for key, value in lines.items()}
            units[node] = Unit({key: n for key, n in numbers.items() if n is not None})
        return units

    def process_snapshot(self, files: ProcessFiles, fields: frozenset[str]) -> Snapshot:
        """Return the given fields, reading only the files that hold one of them."""
        numbers: dict[str, int | None] = {}
        wanted = {self.file_of(field) for field in fields}
        if "stat" in wanted:
            parts = stat_fields(files.read("stat") or "")
            for field, place in _STAT_PLACES.items():
                numbers[field] = whole(parts[place]) if place < len(parts) else None
        if "status" in wanted:
            status = keyed(files.read("status") or "")
            for key, _, _ in _GAUGES.values():
                numbers[key] = kilobytes(status.get(key, ""))
        if "numa_maps" in wanted:
            numbers.update(_pages_by_node(files.reopen("numa_maps") or "", fields))
        return {PROCESS: Unit({key: n for key, n in numbers.items() if n is not None})}

    def node_problem(self, tally: CountedField) -> Problem:
        """Return why a node's count is not there."""
        if self._numastat_is_off():
            remedy = "as root: sysctl vm.numa_stat=1"
            return "the kernel's NUMA counts are switched off (vm.numa_stat=0)", remedy, 0
        path = self._node_folder / (tally.unit or "node0") / "numastat"
        number = read_errno(path)
        if number:
            return f"{path} cannot be read", "a kernel built with CONFIG_NUMA", number
        return f"{path} does not hold it", "see numastat in the kernel's documentation", 0

    def file_of(self, field: str) -> str:
        """Return the file of /proc/PID that a field comes from."""
        if field in _STAT_PLACES:
            return "stat"
        return "status" if field.startswith("Vm") else "numa_maps"

    def _gauge(self, name: str, description: str, unit: str, tally: CountedField) -> OfferedEvent:
        info = EventInfo(
            f"memory:::{name}", self.name, description, unit, Scope.PROCESS, gauge=True
        )
        return OfferedEvent(info, tally)

    @property
    def _node_folder(self) -> Path:
        return self.sys / "devices" / "system" / "node"

    def _nodes(self) -> list[str]:
        names = [n for n in entries(self._node_folder) if n.startswith("node")]
        return sorted((n for n in names if whole(n[4:]) is not None), key=lambda n: int(n[4:]))

    def _numastat_is_off(self) -> bool:
        return read_line(self.proc / "sys" / "vm" / "numa_stat") == "0"


COMPONENT = MemoryComponent()


def _pages_by_node(numa_maps: str, fields: frozenset[str]) -> dict[str, int | None]:
    """Return the base pages that a process has on each node, {} if it has no memory (any more).

    A line counts in pages of its own kernelpagesize_kB, as in "N0=2 N1=5 kernelpagesize_kB=4".
    """
    if not numa_maps.strip():
        return {}
    totals = {field: 0 for field in fields if field.startswith("node")}
    for line in numa_maps.split("\n"):
        # File names in a line have their blanks escaped, so no name looks like a pair.
        pairs = dict(word.split("=", 1) for word in line.split() if "=" in word)
        page_bytes = (whole(pairs.get("kernelpagesize_kB", "")) or 0) * 1024 or _SMALL_PAGE_BYTES
        for key, value in pairs.items():
            pages = whole(value)
            if f"node{key[1:]}" in totals and key[0] == "N" and pages is not None:
                totals[f"node{key[1:]}"] += pages * page_bytes // _SMALL_PAGE_BYTES
    return dict(totals)
