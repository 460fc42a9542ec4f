"""What a run's tables say of I/O, added up: by file, call, site, size, process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.io import io_metrics as names
from gnomon.io.calls import STDIO, group_of, layer_of
from gnomon.io.io_values import Access, Coverage, File, Operation, Process, Site, SizeSum
from gnomon.measurement.size_classes import size_name
from gnomon.store.call_sums import CALLS, IS_VALUE, NS, PROCESSES, VALUE, CallSums, sql_texts
from gnomon.store.site_places import described

if TYPE_CHECKING:
    from gnomon.store.run_queries import RunQueries

_SIZES_ORDER = {size_name(number): number for number in range(72)}
_MOVING = ("read", "write", "copy")


class IoSums(CallSums):
    """The sums of a run; raises RunDirectoryError where its tables cannot be read."""

    def __init__(self, run: RunQueries) -> None:
        """Look at the run's metrics."""
        super().__init__(run, names.COMPONENT)

    @property
    def is_there(self) -> bool:
        """Whether the run has calls on files."""
        return self._has(names.TIME)

    def _sum(self, name: str) -> str:
        return f"COALESCE(SUM({VALUE}) FILTER (p.metric IN {self._of(name)}), 0)"

    def _calls(self, name: str) -> str:
        return f"COALESCE(SUM({CALLS}) FILTER (p.metric IN {self._of(name)}), 0)"

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
            )
            for path, own in operations.items()
        ]  # fmt: skip
        return sorted(files, key=lambda file: (-file.seconds, file.path))

    def _operations(self) -> dict[str, list[Operation]]:
        """Return the calls on each file, those with most time first."""
        n = self.executions
        operations: dict[str, list[Operation]] = {}
        for path, name, *values in self._run.query(
            f"""
            SELECT a.name, r.name, {self._calls(names.TIME_BY_FILE)} AS calls,
                {self._sum(names.ASKED_BY_FILE)}, {self._sum(names.DELIVERED_BY_FILE)},
                {self._sum(names.TIME_BY_FILE)} / {NS} AS seconds,
                {self._sum(names.FAILURES_BY_FILE)}
            FROM profile p JOIN paths t USING (path) JOIN regions r USING (region)
            JOIN paths above ON above.path = t.parent JOIN regions a ON a.region = above.region
            WHERE r.kind = '{names.FILE}' AND p.metric IN {
                self._of(
                    names.TIME_BY_FILE,
                    names.ASKED_BY_FILE,
                    names.DELIVERED_BY_FILE,
                    names.FAILURES_BY_FILE,
                )
            } AND {IS_VALUE} AND {PROCESSES}
            GROUP BY a.name, r.name ORDER BY seconds DESC, r.name
            """
        ):
            own = [float(value) / n for value in values]
            operations.setdefault(path, []).append(Operation(name, layer_of(name), *own))
        return operations

    def _accesses(self) -> dict[tuple[str, str], Access]:
        n = self.executions
        sums = (names.FORWARD, names.FORWARD_BYTES, names.BACKWARD, names.BACKWARD_BYTES,
                names.UNALIGNED, names.OPENS)  # fmt: skip
        most = (names.END, names.FILE_BYTES)
        greatest = ", ".join(
            f"COALESCE(MAX({VALUE}) FILTER (p.metric IN {self._of(name)}), 0)" for name in most
        )
        return {
            (path, direction): Access(
                *(float(value) / n for value in values[: len(sums)]), *values[len(sums) :]
            )
            for path, direction, *values in self._run.query(
                f"""
                SELECT a.name, r.name, {", ".join(map(self._sum, sums))}, {greatest}
                FROM profile p JOIN paths t USING (path) JOIN regions r USING (region)
                JOIN paths above ON above.path = t.parent JOIN regions a ON a.region = above.region
                WHERE r.kind = '{names.ACCESS}' AND p.metric IN {self._of(*sums, *most)}
                    AND {IS_VALUE} AND {PROCESSES}
                GROUP BY a.name, r.name
                """
            )
        }

    def _file_sizes(self) -> dict[str, list[SizeSum]]:
        """Return reads and writes of each file by size, the smallest first."""
        sizes: dict[str, list[SizeSum]] = {}
        for path, text, calls, seconds in self._run.query(
            f"""
            SELECT a.name, r.name, {self._calls(names.CALLS_BY_FILE_SIZE)},
                {self._sum(names.CALLS_BY_FILE_SIZE)} / {NS}
            FROM profile p JOIN paths t USING (path) JOIN regions r USING (region)
            JOIN paths above ON above.path = t.parent JOIN regions a ON a.region = above.region
            WHERE r.kind = '{names.FILE_SIZE}' AND p.metric IN {
                self._of(names.CALLS_BY_FILE_SIZE)
            } AND {IS_VALUE} AND {PROCESSES}
            GROUP BY a.name, r.name
            """
        ):
            direction, _, size = str(text).partition(", ")
            row = SizeSum(
                direction, size, float(calls) / self.executions, 0.0, seconds / self.executions
            )
            sizes.setdefault(path, []).append(row)
        for own in sizes.values():
            own.sort(key=lambda row: (row.name, _SIZES_ORDER.get(row.size, 72)))
        return sizes

    # --- other divisions --------------------------------------------------------------------------

    def sites(self) -> list[Site]:
        """Return the call sites, those with most time first."""
        n = self.executions
        values = {
            int(path): [float(value) / n for value in row]
            for path, *row in self._run.query(
                f"""
                SELECT p.path, {self._calls(names.TIME)}, {self._sum(names.ASKED)},
                    {self._sum(names.DELIVERED)}, {self._sum(names.TIME)} / {NS},
                    {self._sum(names.FAILURES)}
                FROM profile p JOIN paths t USING (path) JOIN regions r USING (region)
                WHERE r.kind = '{names.CALL}' AND p.metric IN {
                    self._of(names.TIME, names.ASKED, names.DELIVERED, names.FAILURES)
                } AND {IS_VALUE} AND {PROCESSES}
                GROUP BY p.path
                """
            )
        }
        sites = [Site(place, *values[place.path]) for place in described(self._run, values)]
        return sorted(sites, key=lambda site: (-site.seconds, site.place.routine, site.place.path))

    def by_size(self) -> list[SizeSum]:
        """Return calls by name and size of what was asked for, the smallest sizes first."""
        n = self.executions
        rows = [
            SizeSum(name, size, float(calls) / n, float(moved) / n, seconds / n)
            for name, size, calls, moved, seconds in self._run.query(
                f"""
                SELECT a.name, r.name, {self._calls(names.TIME_BY_SIZE)},
                    {self._sum(names.BYTES_BY_SIZE)}, {self._sum(names.TIME_BY_SIZE)} / {NS}
                FROM profile p JOIN paths t USING (path) JOIN regions r USING (region)
                JOIN paths above ON above.path = t.parent JOIN regions a ON a.region = above.region
                WHERE r.kind = '{names.SIZE}' AND p.metric IN {
                    self._of(names.TIME_BY_SIZE, names.BYTES_BY_SIZE)
                } AND {IS_VALUE} AND {PROCESSES}
                GROUP BY a.name, r.name
                """
            )
        ]
        return sorted(rows, key=lambda row: (_SIZES_ORDER.get(row.size, 72), row.name))

    def processes(self) -> list[Process]:
        """Return the processes, those with most time first."""
        groups: dict[str, list[str]] = {group: [] for group in _MOVING}
        for (name,) in self._run.query(
            f"SELECT DISTINCT name FROM regions WHERE kind = '{names.CALL}'"
        ):
            groups.setdefault(group_of(str(name)), []).append(str(name))
        read, written = (sql_texts([*groups[own], *groups["copy"]]) for own in ("read", "write"))
        moved = f"p.metric IN {self._of(names.DELIVERED)}"
        rows = self._run.query(
            f"""
            SELECT p.repetition, p.location, l.rank, l.host, l.pid, l.name,
                {self._calls(names.TIME)}, {self._sum(names.TIME)} / {NS},
                COALESCE(SUM({VALUE}) FILTER ({moved} AND r.name IN ({read})), 0),
                COALESCE(SUM({VALUE}) FILTER ({moved} AND r.name IN ({written})), 0)
            FROM profile p JOIN locations l USING (location)
            JOIN paths t USING (path) JOIN regions r USING (region)
            WHERE r.kind = '{names.CALL}' AND p.metric IN {self._of(names.TIME, names.DELIVERED)}
                AND {IS_VALUE} AND {PROCESSES}
            GROUP BY ALL
            """
        )
        processes = [Process(*row) for row in rows]
        return sorted(processes, key=lambda one: (-one.seconds, one.repetition, one.location))

    # --- coverage ---------------------------------------------------------------------------------

    def coverage(self) -> Coverage:
        """Return what the kernel counted beside what calls were seen to move."""
        of_kernel = (names.KERNEL_READ, names.KERNEL_WRITTEN, names.DEVICE_READ,
                     names.DEVICE_WRITTEN, names.MAJOR_FAULTS)  # fmt: skip
        (row,) = self._run.query(
            f"""
            SELECT COUNT(DISTINCT (p.repetition, p.location)) FILTER (
                    p.metric IN {self._of(names.KERNEL_READ, names.KERNEL_WRITTEN)}),
                COUNT(DISTINCT (p.repetition, p.location)), {", ".join(map(self._sum, of_kernel))}
            FROM profile p JOIN paths t USING (path)
            WHERE t.parent = -1 AND {IS_VALUE} AND {PROCESSES}
                AND p.metric IN {self._of(names.TIME, *of_kernel)}
            """
        )
        n = self.executions
        counted, processes, kernel_read, kernel_written, device_read, device_written, faults = row
        moved, stream_calls = self._moved()
        return Coverage(
            counted=int(counted) // n,
            processes=int(processes) // n,
            kernel_read=float(kernel_read) / n,
            kernel_written=float(kernel_written) / n,
            device_read=float(device_read) / n,
            device_written=float(device_written) / n,
            major_faults=float(faults) / n,
            read=moved["read", False],
            written=moved["write", False],
            stream_read=moved["read", True],
            stream_written=moved["write", True],
            stream_calls=stream_calls,
            with_modules=self._with_modules(),
        )

    def _with_modules(self) -> int:
        """Return how many processes had modules of MIO, as the run's head says."""
        facts = self._run.head.get("facts")
        own = facts.get("io") if isinstance(facts, dict) else None
        said = own.get("with_modules") if isinstance(own, dict) else None
        return said if isinstance(said, int) else 0

    def _moved(self) -> tuple[dict[tuple[str, bool], float], float]:
        """Return bytes by direction and whether through stdio, and calls that fill its buffers."""
        moved = {(way, is_stream): 0.0 for way in ("read", "write") for is_stream in (False, True)}
        stream_calls = 0.0
        for own in self._operations().values():
            for operation in own:
                group, is_stream = group_of(operation.name), operation.layer == STDIO
                if is_stream and group in ("read", "seek"):
                    stream_calls += operation.calls
                if group not in _MOVING:
                    continue
                for direction in ("read", "write") if group == "copy" else (group,):
                    moved[direction, is_stream] += operation.bytes
        return moved, stream_calls
