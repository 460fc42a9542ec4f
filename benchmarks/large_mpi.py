"""A generated run of an MPI program of many ranks, written through the real store.

Each rank of a grid in three dimensions sends to its six neighbours, some send further; times are
such that those who compute for longer wait for less. `python -m benchmarks.large_mpi NAME RANKS`
writes NAME.gnomon.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gnomon.measurement.size_classes import size_name
from gnomon.model.array_types import Cells
from gnomon.model.tables import LOCATIONS, MESSAGES, METRICS, PATHS, PROFILE, REGIONS, Table
from gnomon.mpi import mpi_metrics
from gnomon.store import run_directory
from gnomon.store.parquet_writer import write_table

RANKS_PER_HOST = 64
SLOW_RANKS = (5, 3001, 70_001)
"""Ranks that compute for longer than the others, as far as there are so many."""
FAR_EVERY = 16
"""Every so many ranks send to a rank half the job away."""
STEPS = 1000
SECONDS = 20.0
SEED = 17

_RANKS_AT_ONCE = 8192
_COMPUTING = 14e9
_SLOWER = 1.25


class Site(NamedTuple):
    """A call in the program, by what a rank has of it.

    Attributes:
        routine: of MPI.
        caller: the path of the function that it is in.
        place: source file and line.
        calls: of a rank.
        sent: bytes of a call.
        received: likewise.
        fixed_ns: of a call, without waiting.
        waits: which part of a rank's waiting time is here.
        communicator: its name.
        starts: its operations complete in calls of the site with this routine, "" for none.
    """

    routine: str
    caller: int
    place: tuple[str, int]
    calls: int
    sent: int = 0
    received: int = 0
    fixed_ns: float = 1000
    waits: float = 0.0
    communicator: str = "MPI_COMM_WORLD"
    starts: str = ""


FUNCTIONS = (
    (-1, "hpm", "app", "", 0),
    (0, "cpu", "main", "/src/main.c", 30),
    (1, "cpu", "step", "/src/main.c", 61),
    (2, "cpu", "exchange_halo", "/src/halo.c", 40),
    (2, "cpu", "norm", "/src/norm.c", 10),
    (2, "cpu", "transpose", "/src/fft.c", 80),
    (1, "cpu", "write_output", "/src/io.c", 20),
)
"""Parent, kind, name, file and line of each path above the calls."""

_FACE = 128 << 10
SITES = (
    Site("MPI_Init", 1, ("/src/main.c", 12), 1, fixed_ns=2e8),
    Site("MPI_Bcast", 1, ("/src/main.c", 20), 3, received=4096, fixed_ns=5e4),
    Site("MPI_Irecv", 3, ("/src/halo.c", 52), 6 * STEPS, received=_FACE, fixed_ns=400,
         starts="MPI_Waitall"),
    Site("MPI_Isend", 3, ("/src/halo.c", 57), 6 * STEPS, sent=_FACE, fixed_ns=900,
         starts="MPI_Waitall"),
    Site("MPI_Waitall", 3, ("/src/halo.c", 63), STEPS, fixed_ns=2e5, waits=0.35),
    Site("MPI_Allreduce", 4, ("/src/norm.c", 14), 2 * STEPS, 8, 8, fixed_ns=4e4, waits=0.45),
    Site("MPI_Allreduce", 4, ("/src/norm.c", 22), STEPS, 24, 24, fixed_ns=4e4, waits=0.1),
    Site("MPI_Alltoall", 5, ("/src/fft.c", 91), STEPS // 10, 1 << 20, 1 << 20, fixed_ns=6e6,
         waits=0.06, communicator="rows"),
    Site("MPI_Send", 5, ("/src/far.c", 17), STEPS // 10, sent=2 << 20, fixed_ns=4e5),
    Site("MPI_Recv", 5, ("/src/far.c", 19), STEPS // 10, received=2 << 20, fixed_ns=6e5),
    Site("MPI_Barrier", 2, ("/src/main.c", 72), STEPS // 10, fixed_ns=3e4, waits=0.04),
    Site("MPI_Gather", 6, ("/src/io.c", 28), 10, sent=64, fixed_ns=2e4),
    Site("MPI_File_write_at_all", 6, ("/src/io.c", 33), 10, sent=4 << 20, fixed_ns=2e7),
    Site("MPI_Finalize", 1, ("/src/main.c", 95), 1, fixed_ns=1e7),
)  # fmt: skip
"""Calls of all ranks but those to Send and Recv, which those have that send far."""

_METRICS = (
    (mpi_metrics.TIME, "ns", "counted", "sum"),
    (mpi_metrics.SENT, "bytes", "counted", "sum"),
    (mpi_metrics.RECEIVED, "bytes", "counted", "sum"),
    (mpi_metrics.LONGEST, "ns", "counted", "max"),
    (mpi_metrics.COMPLETION, "ns", "counted", "sum"),
    (mpi_metrics.ELAPSED, "ns", "counted", "elapsed"),
    (mpi_metrics.OVERHEAD, "ns", "estimated", "sum"),
    (mpi_metrics.TIME_BY_SIZE, "ns", "counted", "sum"),
    (mpi_metrics.BYTES_BY_SIZE, "bytes", "counted", "sum"),
    (mpi_metrics.TIME_BY_COMMUNICATOR, "ns", "counted", "sum"),
    (mpi_metrics.BYTES_BY_COMMUNICATOR, "bytes", "counted", "sum"),
)
_NUMBERS = {name: number for number, (name, *_) in enumerate(_METRICS)}
_OF_ALL = (_NUMBERS[mpi_metrics.ELAPSED], _NUMBERS[mpi_metrics.OVERHEAD])


def write(path: Path, ranks: int) -> Path:
    """Write a run of so many ranks and return its path."""
    chance = np.random.default_rng(SEED)
    head = {
        "command": ["./app"], "started": 1.7e9, "wall_seconds": SECONDS + 1, "exit_status": 0,
        "hosts": [{"name": f"node{host}"} for host in range(-(-ranks // RANKS_PER_HOST))],
        "ranks": ranks, "repetitions": 1, "unavailable": [], "warnings": [], "capabilities": [],
    }  # fmt: skip
    nodes = _Nodes()
    regions = [(at, *row[1:3], "app", *row[3:]) for at, row in enumerate(nodes.rows)]
    metrics = [
        (at, name, unit, "", how, mpi_metrics.COMPONENT, "all", "process", "", together, True,
         False, False)
        for at, (name, unit, how, together) in enumerate(_METRICS)
    ]  # fmt: skip
    with run_directory.drafted(str(path)) as draft:
        write_table(draft.folder, PROFILE, _profile(nodes, ranks, chance))
        write_table(draft.folder, MESSAGES, _messages(nodes, ranks))
        tables = (
            _locations(ranks), Table(REGIONS, regions), Table(METRICS, metrics),
            Table(PATHS, [(at, row[0], at) for at, row in enumerate(nodes.rows)]),
        )  # fmt: skip
        draft.finish(head, tables, {})
    return draft.path


class _Nodes:
    """The paths of the program: each with parent, kind, name, file and line of its region."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, str, str, str, int]] = [*FUNCTIONS]
        self.of_sites = [
            self._add(site.caller, mpi_metrics.CALL, site.routine, *site.place) for site in SITES
        ]
        self._known: dict[tuple[int, str, str], int] = {}
        self.of_sizes = [self._pair(mpi_metrics.SIZE, s.routine, _size_name(s)) for s in SITES]
        self.of_communicators = [
            self._pair(mpi_metrics.COMMUNICATOR, s.communicator, s.routine) for s in SITES
        ]

    def _add(self, parent: int, kind: str, name: str, file: str = "", line: int = 0) -> int:
        self.rows.append((parent, kind, name, file, line))
        return len(self.rows) - 1

    def _pair(self, kind: str, *names: str) -> int:
        node = -1
        for name in names:
            key = (node, kind, name)
            if key not in self._known:
                self._known[key] = self._add(*key)
            node = self._known[key]
        return node


def _size_name(site: Site) -> str:
    size = site.sent or site.received
    return size_name((size - 1).bit_length() + 1 if size else 0)


def _locations(ranks: int) -> Table:
    """Return the command, a process for each rank, and the ranks that messages are of."""
    table = Table(LOCATIONS)
    table.append((0, -1, "command", "node0", -1, 100, -1, "app"))
    every = range(ranks)
    table.extend(
        location=range(1, ranks + 1), parent=[0] * ranks, kind=["process"] * ranks,
        host=[f"node{rank // RANKS_PER_HOST}" for rank in every], rank=every,
        pid=[1000 + rank % RANKS_PER_HOST for rank in every], tid=[-1] * ranks,
        name=["app"] * ranks,
    )  # fmt: skip
    table.extend(
        location=range(ranks + 1, 2 * ranks + 1), parent=[0] * ranks, kind=["rank"] * ranks,
        host=[""] * ranks, rank=every, pid=[-1] * ranks, tid=[-1] * ranks,
        name=[f"rank {rank}" for rank in every],
    )  # fmt: skip
    return table


# --- profile --------------------------------------------------------------------------------------


def _profile(nodes: _Nodes, ranks: int, chance: np.random.Generator) -> Iterator[Table]:
    """Yield the rows of some thousand ranks at a time, those of a rank together."""
    computing = _COMPUTING * (1 + 0.04 * np.sin(np.arange(ranks) * (6.28 / ranks)))
    computing *= chance.uniform(0.99, 1.01, ranks)
    slow = [rank for rank in SLOW_RANKS if rank < ranks]
    computing[slow] *= _SLOWER
    for first in range(0, ranks, _RANKS_AT_ONCE):
        some = np.arange(first, min(first + _RANKS_AT_ONCE, ranks))
        yield _Rows(nodes, some, ranks, computing[some], float(computing.max()), chance).table()


class _Rows:
    """The rows of some ranks: of each metric and path a value for each of them."""

    def __init__(
        self, nodes: _Nodes, ranks: Cells, of_all: int, computing: Cells, most: float,
        chance: np.random.Generator,
    ) -> None:  # fmt: skip
        self._nodes, self._ranks = nodes, ranks
        self._values: dict[tuple[int, int], tuple[Cells, Cells | None, bool]] = {}
        is_far = (ranks % FAR_EVERY == 0) & (of_all >= 2 * FAR_EVERY)
        sites = {}
        waiting = most - computing
        inside = np.zeros(len(ranks))
        for number, site in enumerate(SITES):
            calls = np.full(len(ranks), float(site.calls))
            if site.place[0].endswith("far.c"):
                calls *= is_far
            fixed = site.fixed_ns * calls * chance.uniform(0.97, 1.03, len(ranks))
            sites[number] = calls, fixed + site.waits * waiting
            if site.routine not in ("MPI_Init", "MPI_Finalize"):
                inside += sites[number][1]
        self._set(_NUMBERS[mpi_metrics.ELAPSED], 0, computing + inside)
        n_calls = np.sum([calls for calls, _ in sites.values()], axis=0)
        self._set(_NUMBERS[mpi_metrics.OVERHEAD], 0, 35.0 * n_calls)
        for number, site in enumerate(SITES):
            self._add_site(number, site, *sites[number])

    def _add_site(self, number: int, site: Site, calls: Cells, time: Cells) -> None:
        names, nodes = mpi_metrics, self._nodes
        path = nodes.of_sites[number]
        n_bytes = (site.sent + site.received) * calls
        self._add(names.TIME, path, time, calls)
        self._add(names.LONGEST, path, time / max(site.calls, 1) * 3)
        if site.sent:
            self._add(names.SENT, path, site.sent * calls)
        if site.received:
            self._add(names.RECEIVED, path, site.received * calls)
        if site.starts:
            self._add(names.COMPLETION, path, time * 2)
        self._add(names.TIME_BY_SIZE, nodes.of_sizes[number], time, calls)
        self._add(names.BYTES_BY_SIZE, nodes.of_sizes[number], n_bytes)
        self._add(names.TIME_BY_COMMUNICATOR, nodes.of_communicators[number], time, calls)
        self._add(names.BYTES_BY_COMMUNICATOR, nodes.of_communicators[number], n_bytes)

    def _add(self, name: str, path: int, values: Cells, calls: Cells | None = None) -> None:
        metric = _NUMBERS[name]
        self._set(metric, path, values, calls, is_own=True)
        path = self._nodes.rows[path][0]
        while path >= 0 and name != mpi_metrics.LONGEST:
            self._set(metric, path, values)
            path = self._nodes.rows[path][0]

    def _set(
        self, metric: int, path: int, values: Cells, calls: Cells | None = None, *,
        is_own: bool = False,
    ) -> None:  # fmt: skip
        key = (path, metric)
        if key in self._values:
            known, known_calls, is_own = self._values[key]
            values = known + values
            calls = known_calls if calls is None or known_calls is None else known_calls + calls
        self._values[key] = values, calls, is_own

    def table(self) -> Table:
        """Return them, those of a rank together, without rows of nothing."""
        keys = sorted(self._values)
        shape = (len(self._ranks), len(keys))
        nothing = np.zeros(shape[0])
        paths, metrics = np.array(keys, np.int32).T
        inclusive = np.stack([self._values[key][0] for key in keys], axis=1)
        of_calls = [self._values[key][1] for key in keys]
        calls = np.stack([nothing if one is None else one for one in of_calls], axis=1)
        has_none = np.array([one is None for one in of_calls])
        is_own = np.array([self._values[key][2] for key in keys]) | np.isin(metrics, _OF_ALL)
        keep = inclusive > 0
        n = int(keep.sum())

        def each(row: Cells) -> Cells:
            return np.broadcast_to(row, shape)[keep]

        nothing = np.zeros(n)
        columns = {
            "repetition": np.zeros(n), "location": each(self._ranks[:, None] + 1),
            "path": each(paths), "metric": each(metrics), "inclusive": inclusive[keep],
            "exclusive": np.where(is_own, inclusive, 0.0)[keep], "calls": calls[keep],
            **dict.fromkeys(("raw", "enabled_ns", "running_ns"), nothing),
        }  # fmt: skip
        missing = np.ones(n, dtype=bool)
        masks = dict.fromkeys(("raw", "enabled_ns", "running_ns"), missing)
        return Table.of(PROFILE, columns, {**masks, "calls": each(has_none)})


# --- messages -------------------------------------------------------------------------------------


def grid(ranks: int) -> tuple[int, int, int]:
    """Return the sides of a grid of so many ranks, as alike as they can be, largest first."""
    sides = [1, 1, 1]
    left, factor = ranks, 2
    factors = []
    while left > 1:
        while left % factor == 0:
            factors.append(factor)
            left //= factor
        factor = factor + 1 if factor * factor <= left else left
    for factor in reversed(factors):
        sides[sides.index(min(sides))] *= factor
    first, second, third = sorted(sides, reverse=True)
    return first, second, third


def _messages(nodes: _Nodes, ranks: int) -> Iterator[Table]:
    """Yield a row for each receiver of a rank: its neighbours in the grid, or one far away."""
    isend, send = (
        next(at for at, site in enumerate(SITES) if site.routine == name)
        for name in ("MPI_Isend", "MPI_Send")
    )
    sides = grid(ranks)
    rank = np.arange(ranks)
    place = np.unravel_index(rank, sides)
    for axis, side in enumerate(sides):
        # Of two the one is the other's neighbour on both sides.
        steps = {1: (), 2: (1,)}.get(side, (-1, 1))
        for step in steps:
            moved = list(place)
            moved[axis] = (moved[axis] + step) % side
            receiver = np.ravel_multi_index(moved, sides)
            yield _sent(nodes, ranks, isend, rank, receiver, 2 * STEPS // len(steps))
    if ranks >= 2 * FAR_EVERY:
        far = rank[::FAR_EVERY]
        yield _sent(nodes, ranks, send, far, (far + ranks // 2) % ranks, SITES[send].calls)


def _sent(
    nodes: _Nodes, ranks: int, site: int, sender: Cells, receiver: Cells, messages: int
) -> Table:
    n = len(sender)
    first = ranks + 1
    unknown = ("send_ns", "receive_ns", "tag", "communicator")
    columns = {
        "repetition": np.zeros(n), "sender": sender + first, "receiver": receiver + first,
        "bytes": np.full(n, SITES[site].sent * messages), "messages": np.full(n, messages),
        "path": np.full(n, nodes.of_sites[site]), **dict.fromkeys(unknown, np.zeros(n)),
    }  # fmt: skip
    return Table.of(MESSAGES, columns, dict.fromkeys(unknown, np.ones(n, dtype=bool)))


if __name__ == "__main__":
    print(write(Path(sys.argv[1]), int(sys.argv[2])))
