"""What a run's tables say of MPI, added up: by rank, site, routine, size, communicator and pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.measurement.size_classes import size_name
from gnomon.mpi import mpi_metrics as names
from gnomon.mpi.mpi_metrics import CALL, COMMUNICATOR, SIZE
from gnomon.mpi.mpi_values import Heaviest, Message, Pairs, Ranks, Site
from gnomon.mpi.routines import may_wait_for_all
from gnomon.store.call_sums import CALLS, IS_VALUE, NS, PROCESSES, VALUE, CallSums, sql_texts
from gnomon.store.site_places import described

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gnomon.model.array_types import Cells
    from gnomon.store.run_queries import RunQueries

_SITES = f"""(
SELECT t.path, r.name AS routine FROM paths t JOIN regions r USING (region) WHERE r.kind = '{CALL}'
)"""


class MpiSums(CallSums):
    """The sums of a run.

    Attributes:
        is_measured: waiting was measured, by a barrier, and is not estimated.
    """

    def __init__(self, run: RunQueries) -> None:
        """Look at the run's metrics.

        Raises:
            RunDirectoryError: the tables cannot be read, as of every method.
        """
        super().__init__(run, names.COMPONENT)
        self.is_measured = self._has(names.WAITING)

    @property
    def is_there(self) -> bool:
        """Whether the run has calls of MPI."""
        return self._has(names.TIME)

    # --- ranks ------------------------------------------------------------------------------------

    def ranks(self) -> Ranks:
        """Return the processes, in the order of executions and ranks."""
        import numpy as np

        time = f"p.metric IN {self._of(names.TIME)} AND s.path IS NOT NULL"
        columns = self._run.columns(
            f"""
            SELECT q.*, l.rank, l.host, l.pid, w.waiting FROM (
                SELECT p.repetition, p.location,
                    MAX(p.inclusive / {NS}) FILTER (p.metric IN {self._of(names.ELAPSED)})
                        AS elapsed,
                    SUM({VALUE} / {NS}) FILTER (
                        {time} AND s.routine NOT IN ({sql_texts(names.OUTSIDE)})) AS inside,
                    SUM({CALLS}) FILTER ({time}) AS calls,
                    SUM({VALUE}) FILTER (p.metric IN {self._of(names.SENT)}
                        AND s.path IS NOT NULL) AS sent,
                    SUM({VALUE}) FILTER (p.metric IN {self._of(names.RECEIVED)}
                        AND s.path IS NOT NULL) AS received,
                    SUM(p.inclusive / {NS}) FILTER (p.metric IN {self._of(names.OVERHEAD)}
                        AND p.path IN (SELECT path FROM paths WHERE parent = -1)) AS overhead
                FROM profile p LEFT JOIN {_SITES} s USING (path)
                WHERE p.metric IN {
                self._of(names.TIME, names.SENT, names.RECEIVED, names.ELAPSED, names.OVERHEAD)
            }
                    AND {IS_VALUE} AND {PROCESSES}
                GROUP BY ALL
            ) q JOIN locations l USING (location)
            LEFT JOIN ({self._waiting("repetition, location")}) w USING (repetition, location)
            ORDER BY q.repetition, l.rank, l.host, l.pid, q.location
            """
        )
        numbers = {
            name: np.nan_to_num(columns[name].astype(np.float64))
            for name in ("inside", "calls", "sent", "received", "overhead")
        }
        floats = {name: columns[name].astype(np.float64) for name in ("elapsed", "waiting")}
        # Of a process that was never up nothing is known but its calls.
        floats["elapsed"][~(floats["elapsed"] > 0)] = np.nan
        others = {name: columns[name] for name in ("repetition", "location", "rank", "host", "pid")}
        return Ranks(**others, **numbers, **floats)

    def _waiting(self, key: str) -> str:
        """Return the query for `waiting` by columns of the profile, in seconds, NULL: not known.

        Estimated: what a rank took beyond the quickest one that called the site as often.
        """
        if self.is_measured:
            return (
                f"SELECT {key}, SUM({VALUE}) / {NS} AS waiting FROM profile p "
                f"JOIN {_SITES} s USING (path) WHERE p.metric IN {self._of(names.WAITING)} "
                f"AND {IS_VALUE} AND {PROCESSES} GROUP BY ALL"
            )
        names_there = self._run.query(f"SELECT DISTINCT routine FROM {_SITES}")
        routines = sql_texts(str(name) for (name,) in names_there if may_wait_for_all(str(name)))
        calls = f"""
            SELECT p.repetition, p.location, p.path, {CALLS} AS n, SUM({VALUE}) AS ns
            FROM profile p JOIN {_SITES} s USING (path)
            WHERE p.metric IN {self._of(names.TIME)} AND s.routine IN ({routines})
                AND {IS_VALUE} AND {PROCESSES} GROUP BY ALL"""
        return f"""
            SELECT {key}, SUM(ns - least) FILTER (alike > 1) / {NS} AS waiting
            FROM ({calls}) JOIN (
                SELECT repetition, path, n, MIN(ns) AS least, COUNT(*) AS alike FROM ({calls})
                GROUP BY ALL
            ) USING (repetition, path, n) GROUP BY ALL"""

    def waiting(self) -> dict[str, Cells]:
        """Return `repetition`, `location` and `waiting`, in seconds, of processes that waited."""
        return self._run.columns(f"SELECT * FROM ({self._waiting('repetition, location')})")

    def ranks_of_an_execution(self) -> float:
        """Return how many processes have calls of MPI in one execution, in the mean, at least 1."""
        (row,) = self._run.query(
            "SELECT COUNT(*) FROM (SELECT DISTINCT p.repetition, p.location FROM profile p "
            f"WHERE p.metric IN {self._of(names.TIME)} AND {IS_VALUE} AND {PROCESSES})"
        )
        return max(int(row[0]) / self.executions, 1.0)

    def heaviest(self) -> Heaviest:
        """Return what a summary tells: by two queries that are quickly planned, not by all sums."""
        (shares,) = self._run.query(
            f"""
            SELECT COUNT(*), MIN(part), AVG(part), MAX(part) FROM (
                SELECT LEAST(COALESCE(SUM(ns) FILTER (is_inside), 0), MAX(ns) FILTER (is_elapsed))
                    / NULLIF(MAX(ns) FILTER (is_elapsed), 0) AS part
                FROM (
                    SELECT p.repetition, p.location, {VALUE} AS ns,
                        p.metric IN {self._of(names.ELAPSED)} AS is_elapsed,
                        NOT is_elapsed AND s.routine NOT IN ({sql_texts(names.OUTSIDE)})
                            AS is_inside
                    FROM profile p LEFT JOIN {_SITES} s USING (path)
                    WHERE p.metric IN {self._of(names.TIME, names.ELAPSED)} AND {IS_VALUE}
                        AND {PROCESSES} AND (is_elapsed OR s.path IS NOT NULL)
                ) GROUP BY repetition, location
            )
            """
        )
        rows = self._run.query(
            f"""
            SELECT p.path, SUM({VALUE}) AS ns, SUM(SUM({VALUE})) OVER ()
            FROM profile p JOIN {_SITES} s USING (path)
            WHERE p.metric IN {self._of(names.TIME)} AND {IS_VALUE} AND {PROCESSES}
                AND s.routine NOT IN ({sql_texts(names.OUTSIDE)})
            GROUP BY p.path ORDER BY ns DESC, p.path LIMIT 1
            """
        )
        site, part = None, 0.0
        if rows and rows[0][2] > 0:
            path, ns, whole = rows[0]
            (site,) = (self._site(row, {}, None) for row in described(self._run, [path]))
            part = ns / whole
        n, least, mean, most = shares
        return Heaviest(int(n), least, mean, most, site, part)

    # --- sites ------------------------------------------------------------------------------------

    def sites(self) -> list[Site]:
        """Return the sites, those with most time first."""
        values: dict[int, dict[str, tuple[float, ...]]] = {}
        metrics = {
            number: name
            for name in (names.TIME, names.SENT, names.RECEIVED, names.LONGEST, names.COMPLETION)
            for number in self._metrics.get(name, ())
        }
        for path, metric, *numbers in self._run.query(
            f"""
            SELECT p.path, p.metric, COUNT(*), SUM({CALLS}), SUM({VALUE}), MIN({VALUE}),
                MAX({VALUE})
            FROM profile p JOIN {_SITES} s USING (path)
            WHERE p.metric IN {self._of(*metrics.values())} AND {IS_VALUE} AND {PROCESSES}
            GROUP BY p.path, p.metric
            """
        ):
            values.setdefault(path, {})[metrics[metric]] = tuple(map(float, numbers))
        waiting = dict(self._run.query(self._waiting("path")))
        rows = [
            self._site(row, values[row[0]], waiting.get(row[0]))
            for row in described(self._run, values)
        ]
        return sorted(rows, key=lambda site: (-site.seconds, site.routine, site.file, site.path))

    def _site(
        self, row: tuple[Any, ...], values: Mapping[str, tuple[float, ...]], waiting: float | None
    ) -> Site:
        n, nothing = self.executions, (0.0,) * 5
        ranks, calls, time, least, most = values.get(names.TIME, nothing)

        def total(name: str) -> float:
            return values.get(name, nothing)[2] / n

        path, routine, function, module, file, line, callers = row
        return Site(
            path=path,
            routine=routine,
            function=function,
            module=module,
            file=file,
            line=line,
            ranks=int(ranks),
            calls=calls / n,
            seconds=time / n / NS,
            least=least / NS,
            most=most / NS,
            sent=total(names.SENT),
            received=total(names.RECEIVED),
            longest=values[names.LONGEST][4] / NS if names.LONGEST in values else None,
            completion=total(names.COMPLETION) / NS,
            waiting=None if waiting is None else waiting / n,
            callers=callers,
        )

    # --- other divisions --------------------------------------------------------------------------

    def by_size(self) -> list[Pairs]:
        """Return calls by routine and size of what they moved, the smallest sizes first."""
        order = {size_name(number): number for number in range(72)}
        rows = self._pairs(SIZE, names.TIME_BY_SIZE, names.BYTES_BY_SIZE)
        return sorted(rows, key=lambda row: (order.get(row.second, 72), -row.seconds, row.first))

    def by_communicator(self) -> list[Pairs]:
        """Return calls by communicator and routine, those with most time first."""
        rows = self._pairs(COMMUNICATOR, names.TIME_BY_COMMUNICATOR, names.BYTES_BY_COMMUNICATOR)
        return sorted(rows, key=lambda row: (-row.seconds, row.first, row.second))

    def _pairs(self, kind: str, time: str, moved: str) -> list[Pairs]:
        is_time, is_bytes = (f"p.metric IN {self._of(name)}" for name in (time, moved))
        rows = self._run.query(
            f"""
            SELECT a.name, r.name, SUM({CALLS}) FILTER ({is_time}),
                SUM({VALUE}) FILTER ({is_bytes}), SUM({VALUE} / {NS}) FILTER ({is_time})
            FROM profile p JOIN paths t USING (path) JOIN regions r USING (region)
            JOIN paths above ON above.path = t.parent JOIN regions a ON a.region = above.region
            WHERE r.kind = '{kind}' AND a.kind = '{kind}' AND p.metric IN {self._of(time, moved)}
                AND {IS_VALUE} AND {PROCESSES}
            GROUP BY a.name, r.name
            """
        )
        n = self.executions
        return [
            Pairs(first, second, *(float(value or 0) / n for value in values))
            for first, second, *values in rows
        ]

    # --- messages ---------------------------------------------------------------------------------

    def messages(self, top: int) -> list[Message]:
        """Return so many rows of messages, those with most bytes first: by sender and site."""
        n = self.executions
        rows = self._run.query(
            f"""
            SELECT q.*, COALESCE(r.name, ''), COALESCE(r.file, ''), COALESCE(r.line, 0) FROM (
                SELECT COALESCE(ANY_VALUE(s.rank), -1) AS sender,
                    COALESCE(ANY_VALUE(d.rank), -1) AS receiver,
                    SUM(GREATEST(COALESCE(m.messages, 1), 0)) AS messages,
                    SUM(GREATEST(COALESCE(m.bytes, 0), 0)) AS bytes, m.path
                FROM messages m LEFT JOIN locations s ON s.location = m.sender
                LEFT JOIN locations d ON d.location = m.receiver
                GROUP BY m.sender, m.receiver, m.path
                ORDER BY bytes DESC, messages DESC, sender, receiver, m.path LIMIT {top}
            ) q LEFT JOIN paths t ON t.path = q.path LEFT JOIN regions r ON r.region = t.region
            ORDER BY q.bytes DESC, q.messages DESC, q.sender, q.receiver, q.path
            """
        )
        return [
            Message(sender, receiver, messages / n, moved / n, routine, file, line)
            for sender, receiver, messages, moved, _, routine, file, line in rows
        ]

    def message_counts(self) -> tuple[int, float, float]:
        """Return how many rows `messages` has in all, and messages and bytes of all of them."""
        (row,) = self._run.query(
            """
            SELECT COUNT(*), SUM(n), SUM(bytes) FROM (
                SELECT SUM(GREATEST(COALESCE(messages, 1), 0)) AS n,
                    SUM(GREATEST(COALESCE(bytes, 0), 0)) AS bytes
                FROM messages GROUP BY sender, receiver, path
            )
            """
        )
        n = self.executions
        return int(row[0]), float(row[1] or 0) / n, float(row[2] or 0) / n
