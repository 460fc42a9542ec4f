"""What the tables of an imported run say of MPI-IO: its calls by file.

They are no calls of POSIX, but what these were made for: sums of the two have both twice.
"""

from __future__ import annotations

from gnomon.io import io_metrics as names
from gnomon.named_tuple import NamedTuple
from gnomon.store.call_sums import IS_VALUE, NS, VALUE, CallSums


class MpiIoCalls(NamedTuple):
    """Calls of MPI-IO of a kind on a file; None is what is not known."""

    path: str
    name: str
    calls: float | None
    bytes: float | None
    seconds: float | None


class MpiIoSums(CallSums):
    """The sums of a run; raises RunDirectoryError where its tables cannot be read."""

    def calls(self) -> list[MpiIoCalls]:
        """Return calls by file and kind, those with most time first."""
        wanted = (names.MPI_IO_CALLS, names.MPI_IO_BYTES, names.MPI_IO_TIME)
        if not any(self._has(name) for name in wanted):
            return []
        n = self.executions
        calls, moved, time = (
            f"SUM({VALUE}) FILTER (p.metric IN {self._of(name)})" for name in wanted
        )
        rows = self._run.query(
            f"""
            SELECT a.name, r.name, {calls} / {n}, {moved} / {n}, {time} / {NS} / {n} AS seconds
            FROM profile p JOIN paths t USING (path) JOIN regions r USING (region)
            JOIN paths above ON above.path = t.parent JOIN regions a ON a.region = above.region
            WHERE r.kind = '{names.MPI_IO_FILE}' AND p.metric IN {self._of(*wanted)} AND {IS_VALUE}
            GROUP BY a.name, r.name ORDER BY seconds DESC NULLS LAST, a.name, r.name
            """
        )
        return [MpiIoCalls(*row) for row in rows]
