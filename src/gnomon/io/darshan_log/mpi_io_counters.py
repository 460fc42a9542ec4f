"""What each counter of Darshan's module MPI-IO is in the tables of a run.

Source: include/darshan-mpiio-log-format.h; darshan-runtime's lib/darshan-mpiio.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gnomon.io import io_metrics
from gnomon.io.darshan_log.log_values import RecordCounters, Values
from gnomon.measurement.call_rows import Measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

MPI_IO = "MPI-IO"
MEASURES = (
    Measure(io_metrics.MPI_IO_TIME, "ns", "in calls of MPI-IO, which call POSIX"),
    Measure(io_metrics.MPI_IO_BYTES, "bytes", "what calls of MPI-IO moved"),
    Measure(io_metrics.MPI_IO_CALLS, "", "calls of MPI-IO"),
)
_OTHERS = (
    ("INDEP_OPENS", "independent opens"), ("COLL_OPENS", "collective opens"), ("SYNCS", "syncs"),
    ("HINTS", "hints"), ("VIEWS", "views"),
)  # fmt: skip
_HOW = (
    ("INDEP", "independent"), ("COLL", "collective"), ("SPLIT", "split collective"),
    ("NB", "nonblocking"),
)  # fmt: skip


class MpiIoValues(RecordCounters):
    """The values of the module's records."""

    prefix = "MPIIO"

    def all(self) -> list[Values]:
        """Return everything that is in the tables of a run."""
        values = [
            _of(io_metrics.MPI_IO_CALLS, name, self.count(counter)) for counter, name in _OTHERS
        ]
        syncs = self.count("SYNCS")
        for way, moved, word in (("READ", "READ", "reads"), ("WRITE", "WRITTEN", "writes")):
            kinds = [(f"{how} {word}", self.count(f"{part}_{way}S")) for part, how in _HOW]
            values += [_of(io_metrics.MPI_IO_CALLS, name, own) for name, own in kinds]
            n_kinds = sum((own > 0).astype(np.int64) for _, own in kinds)
            # Bytes and time are one number for all kinds: that of the only one where it is.
            owners = [(name, (n_kinds == 1) & (own > 0)) for name, own in kinds]
            owners.append((f"all {word}", n_kinds > 1))
            ns = self.ns(way)
            with_syncs = (syncs > 0) if way == "WRITE" else np.zeros(len(ns), bool)
            for name, is_own in owners:
                values += [
                    _of(io_metrics.MPI_IO_BYTES, name,
                        np.where(is_own, self.count(f"BYTES_{moved}"), -1)),
                    _of(io_metrics.MPI_IO_TIME, name, np.where(is_own & ~with_syncs, ns, -1)),
                ]  # fmt: skip
            if way == "WRITE":
                values.append(
                    _of(io_metrics.MPI_IO_TIME, "writes and syncs", np.where(with_syncs, ns, -1))
                )
        values.append(_of(io_metrics.MPI_IO_TIME, "opens and other calls", self.ns("META")))
        return values


def _of(metric: str, name: str, values: NDArray[np.float64]) -> Values:
    return Values(metric, io_metrics.MPI_IO_FILE, name, values)
