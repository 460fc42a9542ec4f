"""What each of Darshan's counters is in the tables of a run.

Source: include/darshan-posix-log-format.h, darshan-stdio-log-format.h; darshan-runtime's
lib/darshan-posix.c and darshan-stdio.c for which call is in which time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gnomon.io import io_metrics
from gnomon.io.calls import OTHERS, STREAM_OTHERS, STREAM_WRITES_AND_FLUSHES, WRITES_AND_SYNCS
from gnomon.io.darshan_log import mpi_io_counters
from gnomon.io.darshan_log.log_values import RecordCounters, Values
from gnomon.measurement.call_rows import Measure
from gnomon.model.metric import Aggregation
from gnomon.model.value import How
from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gnomon.io.darshan_log.log_content import Counters

MEASURES = (
    Measure(io_metrics.TIME, "ns", "in calls on files: of threads at once, once"),
    Measure(io_metrics.DELIVERED, "bytes", "what calls on files moved"),
    Measure(io_metrics.CALLS, "", "calls on files that succeeded"),
    Measure(io_metrics.LONGEST, "ns", "the longest call", aggregation=Aggregation.MAX),
    Measure(io_metrics.TIME_BY_FILE, "ns", "in calls on files, by file"),
    Measure(io_metrics.DELIVERED_BY_FILE, "bytes", "what calls moved, by file"),
    Measure(io_metrics.CALLS_BY_FILE, "", "calls on files that succeeded, by file"),
    Measure(io_metrics.CALLS_BY_SIZE, "", "reads and writes by how much they moved"),
    Measure(io_metrics.COUNTS_BY_FILE_SIZE, "", "reads and writes, by file and size"),
    Measure(io_metrics.FORWARD, "", "requests beyond the byte behind the last one of the file"),
    Measure(
        io_metrics.BACKWARD, "",
        "requests before the end of the last one of the file, at least: all but those that went "
        "on, less the first of each process",
        How.ESTIMATED,
    ),
    Measure(
        io_metrics.UNALIGNED, "", "requests whose offset is no multiple of the file's alignment"
    ),
    Measure(
        io_metrics.END, "bytes", "the offset that requests reached", aggregation=Aggregation.MAX
    ),
    Measure(io_metrics.OPENS, "", "descriptors that were opened"),
    *mpi_io_counters.MEASURES,
)  # fmt: skip
"""The metrics of such a run: what Darshan does not know is none of them."""
NUMBERS = {measure.name: number for number, measure in enumerate(MEASURES)}
KNOWN_ZEROS = (io_metrics.TIME, io_metrics.TIME_BY_FILE, io_metrics.FORWARD, io_metrics.UNALIGNED)
"""Metrics that have rows of 0, too."""
UNKNOWN_WHERE_ABSENT = (
    *KNOWN_ZEROS, io_metrics.BACKWARD, io_metrics.MPI_IO_TIME, io_metrics.MPI_IO_BYTES,
)  # fmt: skip
"""Metrics of which a path without a value may have some."""
NOT_CARRIED_OVER = (
    "strides, common sizes of accesses, turns between reads and writes, alignment in memory, modes "
    "of files, times of first and last calls, fastest and slowest rank"
)
_SIZES = {
    "0_100": "up to 100 bytes", "100_1K": "up to 1 KiB", "1K_10K": "up to 10 KiB",
    "10K_100K": "up to 100 KiB", "100K_1M": "up to 1 MiB", "1M_4M": "up to 4 MiB",
    "4M_10M": "up to 10 MiB", "10M_100M": "up to 100 MiB", "100M_1G": "up to 1 GiB",
    "1G_PLUS": "more than 1 GiB",
}  # fmt: skip
"""Darshan's classes, the smallest first: of bytes that were moved."""


class _Module(NamedTuple):
    """How the counters of a module are called, and what calls they are of."""

    prefix: str
    calls: tuple[tuple[str, str], ...]
    read: str
    write: str
    others: str
    writes_and_syncs: str
    syncs: tuple[tuple[str, str], ...]


_POSIX = _Module(
    "POSIX",
    (("READS", "read"), ("WRITES", "write"), ("SEEKS", "lseek"), ("STATS", "stat"),
     ("MMAPS", "mmap"), ("FSYNCS", "fsync"), ("FDSYNCS", "fdatasync"), ("DUPS", "dup"),
     ("RENAME_SOURCES", "rename")),
    "read", "write", OTHERS, WRITES_AND_SYNCS, (("FSYNCS", "fsync"), ("FDSYNCS", "fdatasync")),
)  # fmt: skip
_STDIO = _Module(
    "STDIO",
    (("READS", "fread"), ("WRITES", "fwrite"), ("SEEKS", "fseek"), ("FLUSHES", "fflush"),
     ("FDOPENS", "fdopen")),
    "fread", "fwrite", STREAM_OTHERS, STREAM_WRITES_AND_FLUSHES, (("FLUSHES", "fflush"),),
)  # fmt: skip
MODULES = {"POSIX": _POSIX, "STDIO": _STDIO}


class ModuleValues(RecordCounters):
    """The values of a module's records."""

    def __init__(self, name: str, counters: Counters, n_processes: int) -> None:
        """Look at records of a job of so many processes."""
        super().__init__(counters)
        self._module = MODULES[name]
        self.prefix = self._module.prefix
        # Of a record of all ranks each may have been the first to use the file.
        self._users = np.where(counters.ranks < 0, n_processes, 1).astype(np.float64)

    def unknown(self) -> list[str]:
        """Return the counters that Darshan did not know of any record."""
        names = [f"{self._module.prefix}_{name}" for name, _ in self._module.calls]
        return [
            name for name in names
            if name in self._counters.counts and (self._counters.counts[name] < 0).all()
            and len(self._counters.files)
        ]  # fmt: skip

    def all(self) -> list[Values]:
        """Return everything that is in the tables of a run."""
        module, of_call = self._module, self._of_call
        values = [own for name, call in module.calls for own in self._calls(call, self.count(name))]
        is_open = "open" if module is _POSIX else "fopen"
        # Source: darshan-posix-log-format.h: opens include those by fileno and dup.
        more = ("FILENOS", "DUPS") if module is _POSIX else ("FDOPENS",)
        opens = self.count("OPENS")
        plain = np.maximum(opens - sum(np.maximum(self.count(name), 0) for name in more), 0)
        values += self._calls(is_open, np.where(opens < 0, -1, plain))
        values.append(Values(io_metrics.OPENS, io_metrics.ACCESS, io_metrics.READS, opens))
        for way, call in (("READ", module.read), ("WRITTEN", module.write)):
            values += of_call(
                io_metrics.DELIVERED,
                io_metrics.DELIVERED_BY_FILE,
                call,
                self.count(f"BYTES_{way}"),
            )
        values += self._times()
        for way, call in (("READ", module.read), ("WRITE", module.write)):
            values.append(Values(io_metrics.LONGEST, io_metrics.CALL, call, self.ns(f"MAX_{way}")))
        values += self._placed()
        if module is _POSIX:
            values += [*self._jumps(), *self._sizes()]
        return values

    def _of_call(
        self, metric: str, by_file: str, call: str, values: NDArray[np.float64]
    ) -> list[Values]:
        return [
            Values(metric, io_metrics.CALL, call, values),
            Values(by_file, io_metrics.FILE, call, values),
        ]

    def _calls(self, call: str, values: NDArray[np.float64]) -> list[Values]:
        return self._of_call(io_metrics.CALLS, io_metrics.CALLS_BY_FILE, call, values)

    def _times(self) -> list[Values]:
        module = self._module
        writes, syncs = self.count("WRITES"), [self.count(name) for name, _ in module.syncs]
        ns = self.ns("WRITE")
        several = sum((own > 0).astype(np.int64) for own in (writes, *syncs))
        named: Sequence[tuple[str, NDArray[np.float64]]] = (
            (module.read, np.where(self.count("READS") > 0, self.ns("READ"), -1)),
            (module.others, np.where(self.ns("META") > 0, self.ns("META"), -1)),
            (module.writes_and_syncs, np.where(several > 1, ns, -1)),
            # One time is of all these calls; where only some are there, it is theirs.
            (module.write, np.where((several < 2) & (writes > 0), ns, -1)),
            *((call, np.where((several < 2) & (own > 0), ns, -1))
              for (_, call), own in zip(module.syncs, syncs, strict=True)),
        )  # fmt: skip
        return [
            own
            for call, times in named
            for own in self._of_call(io_metrics.TIME, io_metrics.TIME_BY_FILE, call, times)
        ]

    def _placed(self) -> list[Values]:
        """Return how far requests reached."""
        values = []
        for way, direction in (("READ", io_metrics.READS), ("WRITTEN", io_metrics.WRITES)):
            last, moved = self.count(f"MAX_BYTE_{way}"), self.count(f"BYTES_{way}")
            ends = np.where((moved > 0) & (last >= 0), last + 1, -1)
            values.append(Values(io_metrics.END, io_metrics.ACCESS, direction, ends))
        return values

    def _jumps(self) -> list[Values]:
        """Return how requests followed each other, and which were not aligned."""
        values = []
        reads, writes = self.count("READS"), self.count("WRITES")
        for way, direction, calls in (
            ("READS", io_metrics.READS, reads), ("WRITES", io_metrics.WRITES, writes),
        ):  # fmt: skip
            following, next_ones = self.count(f"SEQ_{way}"), self.count(f"CONSEC_{way}")
            is_known = (following >= 0) & (next_ones >= 0) & (calls > 0)
            for metric, own in (
                (io_metrics.FORWARD, following - next_ones),
                (io_metrics.BACKWARD, calls - following - self._users),
            ):
                own = np.where(is_known, np.maximum(own, 0), -1)
                values.append(Values(metric, io_metrics.ACCESS, direction, own))
        unaligned = self.count("FILE_NOT_ALIGNED")
        for direction, is_own in (
            (io_metrics.READS, (reads > 0) & (writes <= 0)),
            (io_metrics.WRITES, (writes > 0) & (reads <= 0)),
            (io_metrics.BOTH, (writes > 0) & (reads > 0)),
        ):
            values.append(
                Values(io_metrics.UNALIGNED, io_metrics.ACCESS, direction,
                       np.where(is_own, unaligned, -1))
            )  # fmt: skip
        return values

    def _sizes(self) -> list[Values]:
        values = []
        for way, direction, call in (
            ("READ", io_metrics.READS, self._module.read),
            ("WRITE", io_metrics.WRITES, self._module.write),
        ):
            for part, size in _SIZES.items():
                own = self.count(f"SIZE_{way}_{part}")
                values += [
                    Values(io_metrics.CALLS_BY_SIZE, io_metrics.SIZE, size, own, call),
                    Values(io_metrics.COUNTS_BY_FILE_SIZE, io_metrics.FILE_SIZE,
                           f"{direction}, {size}", own),
                ]  # fmt: skip
        return values
