"""When the calls of a run happened that are recorded one by one: those on files and of MPI."""

from __future__ import annotations

from gnomon.io import io_metrics
from gnomon.mpi import mpi_metrics
from gnomon.named_tuple import NamedTuple
from gnomon.view.run_metadata import Dataset

LATEST_NS = 7_300_000_000_000_000_000
"""No moment is later: the year 2200."""
LASTS_MOST_NS = 8_000_000_000_000_000
"""Nothing lasts longer: three months."""


class TimeSpan(NamedTuple):
    """A part of a run's time, in nanoseconds since its first sample or call began."""

    begin_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        """How long it is."""
        return self.end_ns - self.begin_ns


def traced_time(data: Dataset) -> TimeSpan | None:
    """Return from when to when there are calls, in nanoseconds since 1970; None without any.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    ((begin, end),) = data.tables.rows(
        "SELECT MIN(start_ns), MAX(start_ns + LEAST(GREATEST(COALESCE(duration_ns, 0), 0), "
        f"{LASTS_MOST_NS})) FROM events WHERE location IS NOT NULL "
        f"AND start_ns BETWEEN 0 AND {LATEST_NS} "
        "AND region IN (SELECT region FROM regions WHERE kind IN (?, ?))",
        [io_metrics.CALL, mpi_metrics.CALL],
    )
    if begin is None:
        return None
    return TimeSpan(int(begin), max(int(end), int(begin) + 1))
