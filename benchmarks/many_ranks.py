"""A generated run of many ranks on a three-dimensional grid, written through the real store.

`python -m benchmarks.many_ranks NAME RANKS` writes NAME.gnomon.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.model.array_types import Cells
from gnomon.model.tables import (
    LOCATIONS,
    MESSAGES,
    METRICS,
    PATHS,
    PROFILE,
    REGIONS,
    Schema,
    Table,
)
from gnomon.mpi import mpi_metrics
from gnomon.store import run_directory

RANKS_EACH = 64
"""Ranks of a host."""

SLOW_RANK = 37
"""The rank that waits in MPI_Allreduce for ten times as long as others."""

SITES = (
    (-1, "hpm", "app", "", 0),
    (0, "cpu", "exchange", "/src/halo.c", 40),
    (1, "mpi", "MPI_Isend", "/src/halo.c", 44),
    (1, "mpi", "MPI_Waitall", "/src/halo.c", 49),
    (0, "cpu", "norm", "/src/norm.c", 10),
    (4, "mpi", "MPI_Allreduce", "/src/norm.c", 12),
    (4, "mpi", "MPI_Gather", "/src/norm.c", 19),
)  # fmt: skip
"""Parent, kind, name, file and line of each path."""

_NAMES = (mpi_metrics.TIME, mpi_metrics.ELAPSED, mpi_metrics.SENT)
_SEED = 5
_FACE, _EDGE, _CORNER = 131_072, 2_048, 64
_SECONDS = 10


def shape(ranks: int) -> tuple[int, int, int]:
    """Return the sides of the grid of so many ranks, a power of two."""
    power = ranks.bit_length() - 1
    if 1 << power != ranks:
        raise ValueError(f"{ranks} ranks are no power of two")
    return 1 << (power + 2) // 3, 1 << (power + 1) // 3, 1 << power // 3


def pairs_of_block(ranks: int, begin: int, end: int) -> int:
    """Return how many pairs of consecutive ranks send to each other, of those to neighbours."""
    sides = shape(ranks)[::-1]
    place = np.stack(np.unravel_index(np.arange(begin, end), sides))
    apart = np.abs(place[:, :, None] - place[:, None, :]).max(axis=0)
    return int((apart == 1).sum())


def write(path: Path, ranks: int) -> Path:
    """Write a run in which each rank sends to its 26 neighbours and to rank 0; return its path."""
    chance = np.random.default_rng(_SEED)
    head = {
        "command": ["./app"], "hosts": [{"name": "node0"}], "started": 1.7e9,
        "wall_seconds": _SECONDS, "exit_status": 0, "repetitions": 1, "unavailable": [],
        "warnings": [],
    }  # fmt: skip
    regions = [
        (at, kind, name, "app", file, line) for at, (_, kind, name, file, line) in enumerate(SITES)
    ]
    metrics = [
        (at, name, "bytes" if name == mpi_metrics.SENT else "ns", "", "counted",
         mpi_metrics.COMPONENT, "all", "process", "", "sum", True, False, False)
        for at, name in enumerate(_NAMES)
    ]  # fmt: skip
    tables = (
        _locations(ranks), Table(REGIONS, regions),
        Table(PATHS, [(at, parent, at) for at, (parent, *_) in enumerate(SITES)]),
        Table(METRICS, metrics), _profile(ranks, chance), _messages(ranks, chance),
    )  # fmt: skip
    return run_directory.write(str(path), head, tables, {})


def _locations(ranks: int) -> Table:
    """Return the command, a process for each rank, and the ranks that messages are of."""
    table = Table(LOCATIONS)
    table.append((0, -1, "command", "node0", -1, -1, -1, "app"))
    every = range(ranks)
    for kind, first in (("process", 1), ("rank", ranks + 1)):
        is_process = kind == "process"
        table.extend(
            location=range(first, first + ranks), parent=[0] * ranks, kind=[kind] * ranks,
            host=[f"node{rank // RANKS_EACH}" if is_process else "" for rank in every],
            rank=every, pid=[1000 + rank if is_process else -1 for rank in every],
            tid=[-1] * ranks,
            name=["app" if is_process else ""] * ranks,
        )  # fmt: skip
    return table


def _profile(ranks: int, chance: np.random.Generator) -> Table:
    """Return values of each rank: ranks in the middle of the grid wait for less time."""
    rank = np.arange(ranks)
    usual = 1e8 * (1 + 0.3 * np.sin(rank / ranks * 6.28)) * chance.uniform(0.98, 1.02, ranks)
    time = {site: usual * share for site, share in ((2, 0.1), (3, 0.5), (5, 0.3), (6, 0.1))}
    time[5][SLOW_RANK % ranks] *= 10
    time[1], time[4] = time[2] + time[3], time[5] + time[6]
    time[0] = time[1] + time[4]
    values = [(0, site, time[site]) for site in sorted(time)]
    values.append((1, 0, np.full(ranks, 1e9 * _SECONDS)))
    sent = 1e6 * chance.uniform(0.9, 1.1, ranks)
    values += [(2, site, sent) for site in (0, 1, 2)]
    n = ranks * len(values)
    columns: dict[str, Cells] = {
        "repetition": np.zeros(n, dtype=np.int32),
        "location": np.tile(np.arange(1, ranks + 1, dtype=np.int32), len(values)),
        "path": np.repeat(np.array([site for _, site, _ in values], np.int32), ranks),
        "metric": np.repeat(np.array([metric for metric, _, _ in values], np.int32), ranks),
        "inclusive": np.concatenate([column for *_, column in values]),
        "calls": np.full(n, 500, dtype=np.int64),
    }
    columns["exclusive"] = np.where(np.isin(columns["path"], (0, 1, 4)), 0.0, columns["inclusive"])
    return _with_nothing(PROFILE, columns, n)


def _messages(ranks: int, chance: np.random.Generator) -> Table:
    sides = shape(ranks)
    rank = np.arange(ranks, dtype=np.int64)
    place = np.unravel_index(rank, sides[::-1])
    pairs = [(rank[1:], np.zeros(ranks - 1, np.int64), np.full(ranks - 1, 8.0), 6)]
    for step in product((-1, 0, 1), repeat=3):
        far = sum(map(abs, step))
        if far == 0:
            continue
        moved = [axis + by for axis, by in zip(place, step, strict=True)]
        inside = np.ones(ranks, dtype=bool)
        for axis, side in zip(moved, sides[::-1], strict=True):
            inside &= (axis >= 0) & (axis < side)
        receiver = np.ravel_multi_index([axis[inside] for axis in moved], sides[::-1])
        size = (_FACE, _EDGE, _CORNER)[far - 1] * chance.uniform(0.9, 1.1, len(receiver))
        pairs.append((rank[inside], receiver, size, 2))
    n = sum(len(sender) for sender, *_ in pairs)
    sizes = np.concatenate([size for *_, size, _ in pairs])
    return _with_nothing(
        MESSAGES,
        {
            "repetition": np.zeros(n, dtype=np.int32),
            "sender": np.concatenate([one[0] for one in pairs]).astype(np.int32) + ranks + 1,
            "receiver": np.concatenate([one[1] for one in pairs]).astype(np.int32) + ranks + 1,
            "bytes": (500 * sizes).astype(np.int64),
            "messages": np.full(n, 500, dtype=np.int64),
            "path": np.concatenate([np.full(len(one[0]), one[3], np.int32) for one in pairs]),
        },
        n,
    )


def _with_nothing(schema: Schema, columns: dict[str, Cells], n: int) -> Table:
    """Return a table of some columns; what the others would have is missing."""
    kinds: dict[str, Any] = {"INTEGER": np.int32, "BIGINT": np.int64, "DOUBLE": np.float64}
    missing = [column for column in schema.columns if column.name not in columns]
    nothing = {column.name: np.zeros(n, dtype=kinds[column.type]) for column in missing}
    masks = {column.name: np.ones(n, dtype=bool) for column in missing}
    return Table.of(schema, {**columns, **nothing}, masks)


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
