"""What a run's tables say of I/O, added up: by file, call, site, size, process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.io import io_metrics as names
from gnomon.io.calls import STDIO, direction_of, group_of, layer_of
from gnomon.io.io_values import (
    Access,
    Coverage,
    File,
    Operation,
    Process,
    Site,
    SizeSum,
    total,
)
from gnomon.io.mpi_io_sums import MpiIoSums
from gnomon.io.uring_counter import READS, REQUESTS, UNSEEN, WRITES
from gnomon.measurement.size_classes import size_order
from gnomon.store.call_sums import CALLS, IS_VALUE, NS, VALUE, CallSums, sql_texts
from gnomon.store.site_places import described

if TYPE_CHECKING:
    from gnomon.io.mpi_io_sums import MpiIoCalls
    from gnomon.store.run_queries import RunQueries

_PROCESSES = "p.location IN (SELECT location FROM locations WHERE kind IN ('process', 'command'))"
"""Logs of others have a row for all ranks together."""


class IoSums(CallSums):
    """The sums of a run; raises RunDirectoryError where its tables cannot be read."""

    def __init__(self, run: RunQueries) -> None:
        """Look at the run's metrics."""
        super().__init__(run, names.COMPONENT)
        unknown = run.query(
            f"SELECT name FROM metrics WHERE component = '{names.COMPONENT}' "
            "AND absent_is_zero IS FALSE"
        )
        self._unknown = {str(name) for (name,) in unknown}

    @property
    def is_there(self) -> bool:
        """Whether the run has calls on files."""
        return any(map(self._has, (names.TIME, names.CALLS, names.MPI_IO_CALLS)))

    @property
    def has_sites(self) -> bool:
        """Whether it is known where calls are: not of logs that count them by file."""
        return names.CALLS not in self._metrics

    def _sum(self, name: str) -> str:
        """Return the SQL of a sum: NULL where it is not known, 0 where there was nothing."""
        if name not in self._metrics:
            return "CAST(NULL AS DOUBLE)"
        known = f"SUM({VALUE}) FILTER (p.metric IN {self._of(name)})"
        return known if name in self._unknown else f"COALESCE({known}, 0)"

    def _calls(self, time: str, calls: str) -> str:
        """Return the SQL of how many calls there were: beside their time, or a metric."""
        if calls in self._metrics:
            return f"SUM({VALUE}) FILTER (p.metric IN {self._of(calls)})"
        return f"COALESCE(SUM({CALLS}) FILTER (p.metric IN {self._of(time)}), 0)"

    # --- files ------------------------------------------------------------------------------------

    def files(self) -> list[File]:
        """Return the files, those with most time first, each with its calls and requests."""
        operations, accesses = self._operations(), self._accesses()
        sizes = self._file_sizes()
        kinds = {
            str(name): (str(kind), str(file_system))
            for name, kind, file_system in self._run.query(
                "SELECT name, MAX(kind), MAX(filesystem) FROM files GROUP BY name"
            )
        }
        files = [
            File(
                path, *kinds.get(path, ("", "")), tuple(own), accesses.get((path, names.READS)),
                accesses.get((path, names.WRITES)), tuple(sizes.get(path, ())),
                total(
                    access.unaligned
                    for direction in (names.READS, names.WRITES, names.BOTH)
                    if (access := accesses.get((path, direction)))
                ),
            )
            for path, own in operations.items()
        ]  # fmt: skip
        return sorted(files, key=lambda file: (-(file.seconds or 0.0), file.path))

    def _operations(self) -> dict[str, list[Operation]]:
        """Return the calls on each file, those with most time first."""
        n = self.executions
        operations: dict[str, list[Operation]] = {}
        for path, name, *values in self._run.query(
            f"""
            SELECT a.name, r.name, {self._calls(names.TIME_BY_FILE, names.CALLS_BY_FILE)} AS calls,
                {self._sum(names.ASKED_BY_FILE)}, {self._sum(names.DELIVERED_BY_FILE)},
                {self._sum(names.TIME_BY_FILE)} / {NS} AS seconds,
                {self._sum(names.FAILURES_BY_FILE)}
            FROM profile p JOIN paths t USING (path) JOIN regions r USING (region)
            JOIN paths above ON above.path = t.parent JOIN regions a ON a.region = above.region
            WHERE r.kind = '{names.FILE}' AND p.metric IN {
                self._of(
                    names.TIME_BY_FILE,
                    names.CALLS_BY_FILE,
                    names.ASKED_BY_FILE,
                    names.DELIVERED_BY_FILE,
                    names.FAILURES_BY_FILE,
                )
            } AND {IS_VALUE} AND {_PROCESSES}
            GROUP BY a.name, r.name ORDER BY seconds DESC NULLS LAST, r.name
            """
        ):
            calls, asked, moved, seconds, failures = (_of_one(value, n) for value in values)
            operations.setdefault(path, []).append(
                Operation(name, layer_of(name), calls, asked, moved or 0.0, seconds, failures)
            )
        return operations

    def _accesses(self) -> dict[tuple[str, str], Access]:
        n = self.executions
        sums = (names.FORWARD, names.FORWARD_BYTES, names.BACKWARD, names.BACKWARD_BYTES,
                names.UNALIGNED, names.OPENS, names.FETCHED)  # fmt: skip
        most = (names.END, names.FILE_BYTES)
        greatest = ", ".join(
            f"COALESCE(MAX({VALUE}) FILTER (p.metric IN {self._of(name)}), 0)"
            if name in self._metrics else "CAST(NULL AS DOUBLE)"
            for name in most
        )  # fmt: skip
        return {
            (path, direction): Access(
                *(_of_one(value, n) for value in values[: len(sums)]), *values[len(sums) :]
            )
            for path, direction, *values in self._run.query(
                f"""
                SELECT a.name, r.name, {", ".join(map(self._sum, sums))}, {greatest}
                FROM profile p JOIN paths t USING (path) JOIN regions r USING (region)
                JOIN paths above ON above.path = t.parent JOIN regions a ON a.region = above.region
                WHERE r.kind = '{names.ACCESS}' AND p.metric IN {self._of(*sums, *most)}
                    AND {IS_VALUE} AND {_PROCESSES}
                GROUP BY a.name, r.name
                """
            )
        }

    def _file_sizes(self) -> dict[str, list[SizeSum]]:
        """Return reads and writes of each file by size, the smallest first."""
        sizes: dict[str, list[SizeSum]] = {}
        for path, text, calls, seconds in self._run.query(
            f"""
            SELECT a.name, r.name, {
                self._calls(names.CALLS_BY_FILE_SIZE, names.COUNTS_BY_FILE_SIZE)
            },
                {self._sum(names.CALLS_BY_FILE_SIZE)} / {NS}
            FROM profile p JOIN paths t USING (path) JOIN regions r USING (region)
            JOIN paths above ON above.path = t.parent JOIN regions a ON a.region = above.region
            WHERE r.kind = '{names.FILE_SIZE}' AND p.metric IN {
                self._of(names.CALLS_BY_FILE_SIZE, names.COUNTS_BY_FILE_SIZE)
            } AND {IS_VALUE} AND {_PROCESSES}
            GROUP BY a.name, r.name
            """
        ):
            direction, _, size = str(text).partition(", ")
            n = self.executions
            row = SizeSum(direction, size, float(calls) / n, 0.0, _of_one(seconds, n))
            sizes.setdefault(path, []).append(row)
        for own in sizes.values():
            own.sort(key=lambda row: (row.name, size_order(row.size)))
        return sizes

    # --- other divisions --------------------------------------------------------------------------

    def sites(self) -> list[Site]:
        """Return the call sites, those with most time first."""
        n = self.executions
        values = {
            int(path): [_of_one(value, n) for value in row]
            for path, *row in self._run.query(
                f"""
                SELECT p.path, {self._calls(names.TIME, names.CALLS)}, {self._sum(names.ASKED)},
                    {self._sum(names.DELIVERED)}, {self._sum(names.TIME)} / {NS},
                    {self._sum(names.FAILURES)}
                FROM profile p JOIN paths t USING (path) JOIN regions r USING (region)
                WHERE r.kind = '{names.CALL}' AND p.metric IN {
                    self._of(names.TIME, names.CALLS, names.ASKED, names.DELIVERED, names.FAILURES)
                } AND {IS_VALUE} AND {_PROCESSES}
                GROUP BY p.path
                """
            )
        }
        sites: list[Site] = []
        for place in described(self._run, values):
            calls, asked, moved, seconds, failures = values[place.path]
            sites.append(Site(place, calls, asked, moved or 0.0, seconds, failures))
        return sorted(
            sites, key=lambda site: (-(site.seconds or 0.0), site.place.routine, site.place.path)
        )

    def by_size(self) -> list[SizeSum]:
        """Return calls by name and size of what was asked for, the smallest sizes first."""
        n = self.executions
        rows = [
            SizeSum(name, size, float(calls) / n, _of_one(moved, n), _of_one(seconds, n))
            for name, size, calls, moved, seconds in self._run.query(
                f"""
                SELECT a.name, r.name, {self._calls(names.TIME_BY_SIZE, names.CALLS_BY_SIZE)},
                    {self._sum(names.BYTES_BY_SIZE)}, {self._sum(names.TIME_BY_SIZE)} / {NS}
                FROM profile p JOIN paths t USING (path) JOIN regions r USING (region)
                JOIN paths above ON above.path = t.parent JOIN regions a ON a.region = above.region
                WHERE r.kind = '{names.SIZE}' AND p.metric IN {
                    self._of(names.TIME_BY_SIZE, names.CALLS_BY_SIZE, names.BYTES_BY_SIZE)
                } AND {IS_VALUE} AND {_PROCESSES}
                GROUP BY a.name, r.name
                """
            )
        ]
        return sorted(rows, key=lambda row: (size_order(row.size), row.name))

    def processes(self) -> list[Process]:
        """Return the processes, those with most time first."""
        calls: dict[str, list[str]] = {"read": [], "write": [], "": []}
        for (name,) in self._run.query(
            f"SELECT DISTINCT name FROM regions WHERE kind = '{names.CALL}'"
        ):
            calls[direction_of(str(name))].append(str(name))
        read, written = (sql_texts(calls[own]) for own in ("read", "write"))
        moved = f"p.metric IN {self._of(names.DELIVERED)}"
        rows = self._run.query(
            f"""
            SELECT p.repetition, p.location, l.rank, l.host, l.pid, l.name,
                COALESCE({self._calls(names.TIME, names.CALLS)}, 0),
                {self._sum(names.TIME)} / {NS},
                COALESCE(SUM({VALUE}) FILTER ({moved} AND r.name IN ({read})), 0),
                COALESCE(SUM({VALUE}) FILTER ({moved} AND r.name IN ({written})), 0)
            FROM profile p JOIN locations l USING (location)
            JOIN paths t USING (path) JOIN regions r USING (region)
            WHERE r.kind = '{names.CALL}' AND p.metric IN {
                self._of(names.TIME, names.CALLS, names.DELIVERED)
            }
                AND {IS_VALUE} AND {_PROCESSES}
            GROUP BY ALL
            """
        )
        processes = [Process(*row) for row in rows]
        return sorted(
            processes, key=lambda one: (-(one.seconds or 0.0), one.repetition, one.location)
        )

    def mpi_io(self) -> list[MpiIoCalls]:
        """Return what is known of MPI-IO, by file and kind of call."""
        return MpiIoSums(self._run, names.COMPONENT).calls()

    # --- coverage ---------------------------------------------------------------------------------

    def coverage(self) -> Coverage:
        """Return what the kernel counted beside what calls were seen to move."""
        is_countable = names.KERNEL_READ in self._metrics
        of_kernel = (names.KERNEL_READ, names.KERNEL_WRITTEN, names.DEVICE_READ,
                     names.DEVICE_WRITTEN, names.MAJOR_FAULTS)  # fmt: skip
        (row,) = self._run.query(
            f"""
            SELECT COUNT(DISTINCT (p.repetition, p.location)) FILTER (
                    p.metric IN {self._of(names.KERNEL_READ, names.KERNEL_WRITTEN)}),
                COUNT(DISTINCT (p.repetition, p.location)), {", ".join(map(self._sum, of_kernel))}
            FROM profile p JOIN paths t USING (path)
            WHERE t.parent = -1 AND {IS_VALUE} AND {_PROCESSES}
                AND p.metric IN {self._of(names.TIME, names.CALLS, *of_kernel)}
            """
        )
        n = self.executions
        counted, processes, *sums = row
        kernel_read, kernel_written, device_read, device_written, faults = (
            float(value or 0.0) for value in sums
        )
        # A log of all ranks together has no row for each.
        ranks = 0 if self.has_sites else self._run.head.get("ranks", 0)
        moved, buffers = self._moved()
        return Coverage(
            counted=int(counted) // n,
            processes=int(ranks) or int(processes) // n,
            kernel_read=kernel_read / n,
            kernel_written=kernel_written / n,
            device_read=device_read / n,
            device_written=device_written / n,
            major_faults=faults / n,
            is_countable=is_countable,
            read=moved["read", False],
            written=moved["write", False],
            stream_read=moved["read", True],
            stream_written=moved["write", True],
            buffers=buffers + int(processes) / n,
            with_modules=int(self._fact("with_modules") or 0),
            uring_requests=_of_one(self._uring(REQUESTS), n),
            uring_reads=(self._uring(READS) or 0) / n,
            uring_writes=(self._uring(WRITES) or 0) / n,
        )

    def _uring(self, name: str) -> int | None:
        return None if self._fact(UNSEEN) else self._fact(name)

    def _fact(self, name: str) -> int | None:
        """Return a number about the measuring, as the run's head has it."""
        facts = self._run.head.get("facts")
        own = facts.get("io") if isinstance(facts, dict) else None
        said = own.get(name) if isinstance(own, dict) else None
        return said if isinstance(said, int) else None

    def _moved(self) -> tuple[dict[tuple[str, bool], float], float]:
        """Return bytes by direction and whether through stdio, and buffers of streams."""
        moved = {(way, is_stream): 0.0 for way in ("read", "write") for is_stream in (False, True)}
        buffers = 0.0
        for own in self._operations().values():
            for operation in own:
                group, is_stream = group_of(operation.name), operation.layer == STDIO
                direction = direction_of(operation.name)
                is_of_unknown_size = direction == "read" and not operation.bytes
                if is_stream and (group in ("open", "seek") or is_of_unknown_size):
                    buffers += operation.calls or 0.0
                if direction:
                    moved[direction, is_stream] += operation.bytes
        return moved, buffers


def _of_one(value: float | None, executions: int) -> float | None:
    """Return what a sum of several executions is of one, None where it is not known."""
    return None if value is None else float(value) / executions
