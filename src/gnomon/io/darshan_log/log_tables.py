"""The tables of the run that a Darshan log stands for."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from gnomon.errors import RunDirectoryError
from gnomon.io import io_metrics
from gnomon.io.darshan_log.log_counters import (
    KNOWN_ZEROS,
    MEASURES,
    NUMBERS,
    UNKNOWN_WHERE_ABSENT,
    ModuleValues,
)
from gnomon.io.darshan_log.log_header import FORMAT
from gnomon.io.darshan_log.mpi_io_counters import MPI_IO, MpiIoValues
from gnomon.measurement.call_rows import metrics_table
from gnomon.model.metric import Aggregation
from gnomon.model.tables import EVENTS, FILES, LOCATIONS, METRICS, PATHS, PROFILE, REGIONS, Table
from gnomon.store import table_limits
from gnomon.store.path_sums import sums_on_paths
from gnomon.store.profile_files.profile_file import refuse, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gnomon.io.darshan_log.log_content import Counters, LogContent
    from gnomon.io.darshan_log.log_values import Values

ALL_RANKS = "all ranks"
"""What has the records of files that Darshan added up over all ranks."""
_NS = 1e9
_SECONDS_MOST = 1e9
_FILE_MOST = float(1 << 62)
_IS_GREATEST = np.array([own.aggregation == Aggregation.MAX for own in MEASURES])
_READ, _WRITE = "read", "write"
_AT_ONCE = 1 << 20
_PATHS_MOST = table_limits.ROWS_MOST[PATHS.name]


class _Paths:
    """Regions and paths, numbered as they are asked for; path 0 is the program."""

    def __init__(self, file: Path, program: str, module: str) -> None:
        self._file = file
        self.regions = Table(REGIONS)
        self.table = Table(PATHS)
        self.parents: list[int] = []
        self._region_of: dict[tuple[str, str], int] = {}
        self._path_of: dict[tuple[int, int], int] = {}
        self._add(-1, self._region("hpm", program, module))

    def _region(self, kind: str, name: str, module: str = "") -> int:
        key = (kind, name)
        if key not in self._region_of:
            self._region_of[key] = self.regions.add(
                region=len(self.regions), kind=kind, name=name, module=module, file="", line=0
            )
        return self._region_of[key]

    def _add(self, parent: int, region: int) -> int:
        self.parents.append(parent)
        return self.table.append((len(self.table), parent, region))

    def number(self, kind: str, owner: str, child: str) -> int:
        """Return the path of a child below an owner; "" is the program."""
        above = 0
        if owner:
            above = self._below(-1, self._region(kind, owner))
        return self._below(above, self._region(kind, child))

    def _below(self, parent: int, region: int) -> int:
        key = (parent, region)
        if key not in self._path_of:
            if len(self.parents) >= _PATHS_MOST:
                raise RunDirectoryError(
                    f"{self._file}: more than {_PATHS_MOST:,} calls on files, each once for "
                    "a file, which is the most that Gnomon reads; have fewer files recorded "
                    "(DARSHAN_EXCLUDE_DIRS)"
                )
            self._path_of[key] = self._add(parent, region)
        return self._path_of[key]


class LogTables:
    """The tables, of which all but events are made at once.

    Attributes:
        hosts: where ranks ran, as far as that is known.
        unknown: counters that Darshan knew of no file.
        n_senseless: reads and writes in traces that have no sense.
    """

    def __init__(self, path: Path, content: LogContent) -> None:
        """Make them.

        Args:
            path: to be named in errors.
            content: of the log.

        Raises:
            RunDirectoryError: a rank is none.
        """
        self._path, self._content = path, content
        command = words(content.command.strip()) if content.command.strip() else [path.name]
        self._program = PurePosixPath(command[0]).name or path.name
        self._paths = _Paths(path, self._program, command[0])
        self._files: dict[int, int] = {}
        self._file_names: list[str] = []
        self.unknown: list[str] = []
        host_of = {trace.rank: trace.host for trace in content.traces}
        self.hosts = sorted(set(host_of.values()) - {""})
        ranks = [own.ranks for own in content.counters.values()]
        traced = np.array(sorted(host_of), np.int64)
        self._ranks = np.unique(np.concatenate([*ranks, traced, np.zeros(0, np.int64)]))
        if len(self._ranks) and not -1 <= self._ranks[0] <= self._ranks[-1] < content.processes:
            self._fail(f"a rank that is none of {content.processes}")
        self._locations = self._location_table(host_of)
        self._profile = self._profile_table()
        self._event_paths = {
            access: self._paths.number(io_metrics.CALL, "", access) for access in (_READ, _WRITE)
        }
        self._file_of_trace = [self._file(trace.file) for trace in content.traces]
        self.n_senseless = sum(
            int((~_has_sense(segments)).sum())
            for trace in content.traces
            for segments in _pieces(trace.writes, trace.reads)
        )

    def _fail(self, problem: str) -> NoReturn:
        refuse(self._path, 0, problem, FORMAT)

    def all(self) -> Iterator[Table]:
        """Yield the tables, events in pieces."""
        yield self._locations
        yield self._paths.regions
        yield self._paths.table
        yield _metrics()
        yield self._file_table()
        yield self._profile
        yield from self._events()

    def _location_table(self, host_of: dict[int, str]) -> Table:
        table = Table(LOCATIONS)
        for rank in self._ranks.tolist():
            if rank < 0:
                table.append((0, -1, "command", "", -1, -1, -1, ALL_RANKS))
            else:
                host = host_of.get(rank, "")
                table.append((len(table), -1, "process", host, rank, -1, -1, self._program))
        return table

    def _location_of(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.searchsorted(self._ranks, ranks)

    # --- files ------------------------------------------------------------------------------------

    def _file(self, number: int) -> int:
        """Return the row of a file that Darshan has a number for."""
        if number not in self._files:
            self._files[number] = len(self._file_names)
            name = self._content.names.get(number) or f"(file {number:016x})"
            self._file_names.append(name[: table_limits.TEXT_MOST])
        return self._files[number]

    def _file_table(self) -> Table:
        mounts = sorted(self._content.mounts, key=lambda mount: -len(mount[0]))
        table = Table(FILES)
        for name in self._file_names:
            table.append((len(table), name, "", "", _file_system(name, mounts)))
        return table

    # --- profile ----------------------------------------------------------------------------------

    def _profile_table(self) -> Table:
        parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
        for name, counters in self._content.counters.items():
            locations = self._location_of(counters.ranks)
            for own in self._values(name, counters):
                least = 0 if own.metric in KNOWN_ZEROS else np.nextafter(0, 1)
                chosen = np.flatnonzero(own.values >= least)
                if not len(chosen):
                    continue
                keys = locations[chosen] * len(MEASURES) + NUMBERS[own.metric]
                paths = self._paths_of(own, counters.files[chosen])
                parts.append((keys, paths, own.values[chosen]))
        if not parts:
            return Table(PROFILE)
        keys, paths, values = (np.concatenate([part[at] for part in parts]) for at in range(3))
        return self._rows(keys, paths, values)

    def _values(self, name: str, counters: Counters) -> list[Values]:
        if name == MPI_IO:
            return MpiIoValues(counters).all()
        module = ModuleValues(name, counters, self._content.processes)
        self.unknown += module.unknown()
        return module.all()

    def _paths_of(self, own: Values, files: NDArray[np.uint64]) -> NDArray[np.int64]:
        if own.kind in (io_metrics.CALL, io_metrics.SIZE):
            number = self._paths.number(own.kind, own.owner, own.child)
            return np.full(len(files), number, np.int64)
        numbers, inverse = np.unique(files, return_inverse=True)
        paths = [
            self._paths.number(own.kind, self._file_names[self._file(number)], own.child)
            for number in numbers.tolist()
        ]
        return np.array(paths, np.int64)[inverse.reshape(-1)]

    def _rows(
        self, keys: NDArray[np.int64], paths: NDArray[np.int64], values: NDArray[np.float64]
    ) -> Table:
        """Return rows: sums, also on the paths above, and the greatest of what does not add up."""
        parents = np.array(self._paths.parents, np.int64)
        depths = np.where(parents < 0, 0, 1 + (parents[parents] >= 0))
        is_greatest = _IS_GREATEST[keys % len(MEASURES)]
        rest = ~is_greatest
        sums = sums_on_paths(
            parents, depths, keys[rest], paths[rest], values[rest], np.zeros(rest.sum(), np.int64)
        )
        pairs = keys[is_greatest] * len(parents) + paths[is_greatest]
        distinct, inverse = np.unique(pairs, return_inverse=True)
        greatest = np.zeros(len(distinct))
        np.maximum.at(greatest, inverse.reshape(-1), values[is_greatest])
        all_keys = np.concatenate((sums.keys, distinct // len(parents)))
        return Table.of(
            PROFILE,
            {
                "repetition": np.zeros(len(all_keys), np.int64),
                "location": all_keys // len(MEASURES),
                "path": np.concatenate((sums.paths, distinct % len(parents))),
                "metric": all_keys % len(MEASURES),
                "inclusive": np.concatenate((sums.inclusive, greatest)),
                "exclusive": np.concatenate((sums.exclusive, greatest)),
            },
        )

    # --- events -----------------------------------------------------------------------------------

    def _events(self) -> Iterator[Table]:
        regions = self._paths.table.numbers("region")
        for trace, file in zip(self._content.traces, self._file_of_trace, strict=True):
            (location,) = self._location_of(np.array([trace.rank])).tolist()
            for access, segments in ((_WRITE, trace.writes), (_READ, trace.reads)):
                path = self._event_paths[access]
                for piece in _pieces(segments):
                    kept = piece[_has_sense(piece)]
                    n = len(kept)
                    yield Table.of(
                        EVENTS,
                        {
                            "repetition": np.zeros(n, np.int64),
                            "location": np.full(n, location),
                            "region": np.full(n, regions[path]),
                            "path": np.full(n, path),
                            "start_ns": self._content.started_ns + _ns(kept["start"]),
                            "duration_ns": _ns(kept["end"] - kept["start"]),
                            "bytes": kept["length"],
                            "file": np.full(n, file),
                            "access": [access] * n,
                            "file_offset": kept["offset"],
                        },
                    )


def _ns(seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    return (seconds * _NS).astype(np.int64)


def _pieces(*segments: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield accesses of a trace in pieces that need not much memory."""
    for own in segments:
        for begin in range(0, len(own), _AT_ONCE):
            yield own[begin : begin + _AT_ONCE]


def _has_sense(segments: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which accesses can be: others have no place in a file or no time."""
    offset, length, start, end = (segments[name] for name in ("offset", "length", "start", "end"))
    can_be = (offset >= 0) & (length >= 0) & (offset < _FILE_MOST) & (length < _FILE_MOST)
    result: NDArray[np.bool_] = can_be & (start >= 0) & (end >= start) & (end < _SECONDS_MOST)
    return result


def _metrics() -> Table:
    """Return the table of metrics, of which some are not known where they are absent."""
    own = metrics_table(MEASURES, io_metrics.COMPONENT)
    table = Table(METRICS)
    names = [column.name for column in METRICS.columns]
    for row in own.rows:
        cells = dict(zip(names, row, strict=True))
        cells["absent_is_zero"] = cells["name"] not in UNKNOWN_WHERE_ABSENT
        table.append([cells[name] for name in names])
    return table


def _file_system(path: str, mounts: Sequence[tuple[str, str]]) -> str:
    if not path.startswith("/"):
        return ""
    return next(
        (
            kind for folder, kind in mounts
            if path == folder or path.startswith(folder.rstrip("/") + "/")
        ),
        "",
    )  # fmt: skip
