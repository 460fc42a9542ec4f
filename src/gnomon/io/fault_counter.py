"""Counts the pages of mapped files that were fetched from storage when they were touched, by file.

The kernel tells of every major page fault with its address, and of mappings.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from pathlib import Path

from gnomon import _core
from gnomon.io import observer_files
from gnomon.io.fault_records import FaultRecords
from gnomon.launch import preloads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_KIND = "faults"
_TYPE_SOFTWARE, _MAJOR_FAULTS = 1, 6
_EVERY_FAULT = (_TYPE_SOFTWARE, _MAJOR_FAULTS, 0, 0, 0, 0, 0)
# Not those of system calls that touch a mapping: these take rights.
_OF_USER = (*_EVERY_FAULT[:5], _core.EXCLUDE_KERNEL | _core.EXCLUDE_HYPERVISOR, 0)
_FLAGS = _core.INHERIT | _core.ENABLE_ON_EXEC | _core.ADDRESS_RECORDS
_PAGES, _PAGES_LEAST = 64, 4
_LATER_MS = 200.0
_SPARE_DESCRIPTORS = 256
"""That others need beside an event for each CPU."""
_TOLD = 5
"""Static programs that are named."""


class FaultCounter:
    """The events of one execution, on each CPU with a ring."""

    def __init__(self) -> None:
        self._groups: list[_core.Group[None]] = []
        self._rings: list[_core.Ring] = []
        self._records = FaultRecords()

    def attach(self, pid: int) -> None:
        """Begin with a process that waits for its execve; nothing is counted where none may be."""
        for spec in (_EVERY_FAULT, _OF_USER):
            for pages in (_PAGES, _PAGES_LEAST):
                try:
                    self._open(pid, spec, pages)
                except OSError:
                    self.close()
                    continue
                return

    def _open(self, pid: int, spec: tuple[int, int, int, int, int, int, int], pages: int) -> None:
        from gnomon.counters.sysfs_pmu import online_cpus
        from gnomon.launch.process import raise_nofile

        cpus = online_cpus()
        raise_nofile(len(cpus) + _SPARE_DESCRIPTORS)
        for cpu in cpus:
            group = _core.Group([spec], pid, cpu, _FLAGS, ((),), _nothing)
            self._groups.append(group)
            self._rings.append(_core.Ring(group.fds, pages))

    def descriptors(self) -> Sequence[int]:
        """Return descriptors that are readable when a ring fills."""
        return tuple(group.fds[0] for group in self._groups)

    def due_ms(self) -> float | None:
        """Return in how many milliseconds to look again, so that nothing piles up."""
        return _LATER_MS if self._rings else None

    def drain(self, *, is_last: bool = False) -> None:
        """Take what the kernel has written since the last call."""
        self._records.feed([ring.drain() for ring in self._rings], is_last=is_last)

    def finish(self, folder: Path) -> None:
        """Leave the counts in the staging folder, at the end of the program."""
        if not self._rings:
            return
        self.drain(is_last=True)
        faults = [[pid, path, n] for (pid, path), n in self._records.faults.items()]
        static = {path: n for path, n in self._records.executed.items() if preloads.is_static(path)}
        observer_files.write(
            folder, _KIND, {"faults": faults, "lost": self._records.lost, "static": static}
        )

    def close(self) -> None:
        """Give back every descriptor."""
        for ring in self._rings:
            ring.close()
        for group in self._groups:
            group.close()
        self._rings, self._groups = [], []


def _nothing(*_: object) -> None:
    return None


def faults_in(folder: Path) -> dict[int, dict[str, int]] | None:
    """Return how many pages were fetched, by process and path; None where it was not counted."""
    faults: dict[int, dict[str, int]] | None = None
    for content in observer_files.read(folder, _KIND):
        faults = {} if faults is None else faults
        rows = content.get("faults")
        for row in rows if isinstance(rows, list) else ():
            with contextlib.suppress(TypeError, ValueError):
                pid, path, n = row
                own = faults.setdefault(int(pid), {})
                own[str(path)] = own.get(str(path), 0) + int(n)
    return faults


def notes_in(folder: Path) -> list[str]:
    """Return what is not known for lack of records, or as programs load no library."""
    lost, static = 0, Counter[str]()
    for content in observer_files.read(folder, _KIND):
        with contextlib.suppress(AttributeError, TypeError, ValueError):
            lost += int(content.get("lost", 0))
            static.update({str(path): int(n) for path, n in content.get("static", {}).items()})
    told = [
        f"io: {path}, executed {n:,} time{'' if n == 1 else 's'}, is statically linked: its calls "
        "on files were not seen"
        for path, n in static.most_common(_TOLD)
    ]
    if len(static) > _TOLD:
        told.append(f"io: {len(static) - _TOLD:,} more programs are statically linked")
    if lost:
        told.append(
            f"io: {lost:,} records of page faults and mappings had no room: pages that were "
            "fetched are more than is told"
        )
    return told
