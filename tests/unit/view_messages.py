"""Runs with messages made for the view: what MPI leaves of a few ranks, every value known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import view_runs
from view_runs import Place, Quantity, Region, Value

from gnomon.model.tables import MESSAGES, Table
from gnomon.mpi import mpi_metrics

Sent = tuple[int, int, int, int]
"""Sender, receiver, bytes, messages."""

HOSTS = 2
SITES = (
    Region(-1, "hpm", "app"),
    Region(0, "cpu", "exchange", "/src/halo.c", 7),
    Region(1, "mpi", "MPI_Send", "/src/halo.c", 9),
    Region(1, "mpi", "MPI_Recv", "/src/halo.c", 10),
    Region(0, "cpu", "norm", "/src/norm.c", 20),
    Region(4, "mpi", "MPI_Allreduce", "/src/norm.c", 21),
    Region(4, "mpi", "MPI_File_write", "/src/norm.c", 25),
)
METRICS = (
    Quantity(mpi_metrics.TIME, "ns", component=mpi_metrics.COMPONENT),
    Quantity(mpi_metrics.ELAPSED, "ns", component=mpi_metrics.COMPONENT),
    Quantity(mpi_metrics.SENT, "bytes", component=mpi_metrics.COMPONENT),
    Quantity("steps"),
)
ELAPSED_NS = 1e9


def nanoseconds(rank: int, site: int) -> float:
    """Return the time of a rank at a site of `SITES`; rank 5 waits ten times as long in norm."""
    return 1e6 * (site + rank / 100) * (10 if rank == 5 and site == 5 else 1)


def ring(count: int) -> list[Sent]:
    """Return messages of each rank to the next: rank r sends r + 1 of 1,000 bytes."""
    return [(rank, (rank + 1) % count, 1000 * (rank + 1), rank + 1) for rank in range(count)]


def write(path: Path, sent: Sequence[Sent], *, count: int = 8, repetitions: int = 1) -> Path:
    """Write a run of ranks on two hosts, blocks of consecutive ones on each."""
    places = [Place(-1, "command")]
    values: list[Value] = []
    for rank in range(count):
        at = len(places)
        places.append(Place(0, "process", rank))
        by_site = {site: nanoseconds(rank, site) for site in (2, 3, 5, 6)}
        sums = {
            0: sum(by_site.values()), 1: by_site[2] + by_site[3], 4: by_site[5] + by_site[6],
            **by_site,
        }  # fmt: skip
        for repetition in range(repetitions):
            values += [
                Value(at, site, 0, time, time if site in by_site else 0.0, repetition, 3)
                for site, time in sums.items()
            ]
            values.append(Value(at, 0, 1, ELAPSED_NS, None, repetition))
            values += [Value(at, site, 2, 8.0 * rank, None, repetition) for site in (0, 1, 2)]
    first = len(places)
    places += [Place(0, "rank", rank) for rank in range(count)]
    messages = Table(MESSAGES)
    for repetition in range(repetitions):
        for sender, receiver, size, many in sent:
            messages.add(
                repetition=repetition, sender=first + sender if sender >= 0 else -1,
                receiver=first + receiver if receiver >= 0 else -1, bytes=size, messages=many,
                path=2,
            )  # fmt: skip
    hosts = {at: f"node{one.rank * HOSTS // count}" for at, one in enumerate(places)}
    return view_runs.write(
        path, places, SITES, METRICS, values, {"repetitions": repetitions}, [messages],
        {at: "" if places[at].kind == "rank" else host for at, host in hosts.items()},
    )  # fmt: skip


def with_divisions(path: Path) -> Path:
    """Write a run that has its calls by size and communicator, too: a root for each of these."""
    more = [
        Region(-1, "mpi_size", "MPI_Send"),
        Region(len(SITES), "mpi_size", "up to 8 bytes"),
        Region(-1, "mpi_communicator", "MPI_COMM_WORLD"),
        Region(len(SITES) + 2, "mpi_communicator", "MPI_Send"),
    ]
    places = [Place(-1, "command"), *(Place(0, "process", rank) for rank in range(2))]
    metrics = [*METRICS, Quantity(mpi_metrics.TIME_BY_SIZE, "ns", component=mpi_metrics.COMPONENT)]
    values = [Value(at, path, 0, 5.0, 5.0) for at in (1, 2) for path in (0, 1, 2)]
    values += [Value(at, path, len(METRICS), 5.0, 5.0) for at in (1, 2) for path in (7, 8, 9, 10)]
    return view_runs.write(path, places, [*SITES, *more], metrics, values)
