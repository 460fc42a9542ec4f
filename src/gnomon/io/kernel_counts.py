"""What the kernel counted of a process, without the children that it waited for.

Source: proc(5), /proc/PID/io; kernel/exit.c of Linux, which adds the counts of a child to those of
the process that waits for it.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from gnomon.measurement.totals_file import TotalsFile
    from gnomon.measurement.totals_processes import TotalsProcess

_WITH_CHILDREN = ("read_bytes", "written_bytes", "device_read_bytes", "device_written_bytes")
_ALONE = ("thread_read_bytes", "thread_written_bytes", "major_faults")
_LEAST = {"read_bytes": "thread_read_bytes", "written_bytes": "thread_written_bytes"}
"""A child that nobody waited for is taken off in vain: what a thread moved is left at least."""


class KernelCounts:
    """The kernel's counts of the processes of a run."""

    def __init__(self) -> None:
        """Know of no process yet."""
        self._of_children: dict[tuple[str, int], Counter[str]] = {}

    def look(self, file: TotalsFile) -> None:
        """Take in what a process counted up to its end, which its parent has as well."""
        for record in file.process_io[file.process_io["is_last"] == 1]:
            parent = (file.host, int(record["parent"]))
            self._of_children.setdefault(parent, Counter()).update(
                {name: int(record[name]) for name in _WITH_CHILDREN}
            )

    def of(
        self, process: TotalsProcess, records: Iterable[NDArray[np.void]]
    ) -> Mapping[str, int] | None:
        """Return what was counted from the first call to the end; None: it is not known.

        Args:
            process: a process, of whose children's files this was told.
            records: `process_io` of its files.
        """
        grown: Counter[str] | None = None
        first = None
        # It goes on counting when it executes another program; a number may come again.
        for record in chain.from_iterable(records):
            if not record["is_last"]:
                is_another = first is None or record["read_bytes"] < first["read_bytes"]
                first = record if is_another else first
            elif first is not None:
                grown = Counter() if grown is None else grown
                for name in (*_WITH_CHILDREN, *_ALONE):
                    grown[name] += max(int(record[name]) - int(first[name]), 0)
                first = None
        if grown is None:
            return None
        children = self._of_children.get((process.host, process.pid), Counter())
        return {
            name: max(grown[name] - children[name], grown[_LEAST[name]] if name in _LEAST else 0)
            for name in (*_WITH_CHILDREN, "major_faults")
        }
