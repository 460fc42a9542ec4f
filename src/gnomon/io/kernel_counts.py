"""What the kernel counted of each process of a run, without its children and without what is ours.

Source: proc(5), /proc/PID/io; kernel/exit.c of Linux, which adds the counts of a child to those of
the process that waits for it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy as np

    from gnomon.measurement.totals_file import TotalsFile
    from gnomon.measurement.totals_processes import TotalsProcess

_READ, _WRITTEN, _DEVICE_WRITTEN = "read_bytes", "written_bytes", "device_written_bytes"
_COUNTS = (_READ, _WRITTEN, "device_read_bytes", _DEVICE_WRITTEN)
_FLOORS = {_READ: "thread_read_bytes", _WRITTEN: "thread_written_bytes"}
"""A child that nobody waited for is taken off in vain: what a thread moved is left at least."""
_FAULTS = "major_faults"
_LOADER_BYTES = 1 << 16
"""What a loader reads at most of a program and its libraries, where it is not known."""

_Key = tuple[str, int]


class _Image(NamedTuple):
    """A program that a process executed: its counts at the begin, at the end, what is ours."""

    first: Mapping[str, int]
    last: Mapping[str, int] | None
    own_bytes: int


class KernelCounts:
    """The kernel's counts of processes.

    Args:
        is_on_device: what the library writes goes to a device, and not to memory.
    """

    def __init__(self, *, is_on_device: bool) -> None:
        """Know of no process yet."""
        self._own_names = (_WRITTEN, _DEVICE_WRITTEN) if is_on_device else (_WRITTEN,)
        self._images: dict[_Key, list[_Image]] = {}
        self._parents: dict[_Key, int] = {}
        self._below: dict[_Key, Counter[str]] = {}

    def look(self, file: TotalsFile, own_bytes: int) -> None:
        """Take in a file of a process, of which those that it left come one after another.

        Args:
            file: what it left.
            own_bytes: that the library wrote in the process by system calls.
        """
        key = (file.host, file.pid)
        first, last = (_record(file.process_io, is_last) for is_last in (0, 1))
        told = last or first
        if told is not None:
            self._parents[key] = told["parent"]
        self._images.setdefault(key, []).append(_Image(first or Counter(), last, own_bytes))

    def close(self, processes: Iterable[TotalsProcess]) -> None:
        """Let the counts of each process be known, when all files have been looked at.

        Args:
            processes: all of them. Of two with one number (in two containers) nothing is known.
        """
        keys = Counter((process.host, process.pid) for process in processes)
        for key in [key for key, n in keys.items() if n > 1]:
            self._images.pop(key, None)
        for key, images in self._images.items():
            above = self._counted_above(key)
            if above is not None:
                below = self._below.setdefault(above, Counter())
                lives = [image.last for image in images if image.last is not None]
                below.update({name: sum(life[name] for life in lives) for name in _COUNTS})
                if not lives:
                    own = sum(image.own_bytes for image in images)
                    below.update(dict.fromkeys(self._own_names, own))

    def _counted_above(self, key: _Key) -> _Key | None:
        """Return the nearest process above one whose counts are known, which have its own."""
        seen = {key}
        while True:
            key = (key[0], self._parents.get(key, 0))
            if key in seen or key not in self._images:
                return None
            if any(image.last is not None for image in self._images[key]):
                return key
            seen.add(key)

    def of(self, process: TotalsProcess) -> Mapping[str, int] | None:
        """Return what was counted of a process to its end; None: it is not known."""
        key = (process.host, process.pid)
        lives = list(_lives(self._images.get(key, [])))
        if not lives:
            return None
        grown: Counter[str] = Counter()
        for first, last, own_bytes in lives:
            for name in (*_COUNTS, *_FLOORS.values(), _FAULTS):
                own = own_bytes if name in (*self._own_names, _FLOORS[_WRITTEN]) else 0
                grown[name] += max(last[name] - first[name] - own, 0)
        below = self._below.get(key, Counter())
        return {
            name: max(grown[name] - below[name], grown[_FLOORS[name]] if name in _FLOORS else 0)
            for name in (*_COUNTS, _FAULTS)
        }


def _record(records: np.ndarray, is_last: int) -> Counter[str] | None:
    own = records[records["is_last"] == is_last]
    if not len(own):
        return None
    names = (*_COUNTS, *_FLOORS.values(), _FAULTS, "parent")
    return Counter({name: int(own[name][0]) for name in names})


def _lives(images: Iterable[_Image]) -> Iterator[tuple[Counter[str], Mapping[str, int], int]]:
    """Yield counts at the begin and the end of processes that had one number, and what is ours.

    They go on when another program is executed, but for what its loader reads.
    """
    first: Counter[str] | None = None
    own_bytes, before = 0, 0
    for image in images:
        if first is None or image.first[_READ] < before:
            first, own_bytes = Counter(image.first), 0
        else:
            loaded = min(image.first[_READ] - before, _LOADER_BYTES)
            first[_READ] += loaded
            first[_FLOORS[_READ]] += loaded
        before = image.first[_READ]
        own_bytes += image.own_bytes
        if image.last is not None:
            yield first, image.last, own_bytes
            first = None
