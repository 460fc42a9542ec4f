"""Made-up runs of MPI programs, written and read through the real store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gnomon.model.tables import LOCATIONS, MESSAGES, METRICS, PATHS, PROFILE, REGIONS, Table
from gnomon.mpi import mpi_metrics
from gnomon.mpi.process_rows import MEASURES
from gnomon.store import run_directory
from gnomon.store.run import Run

SECOND = 1e9
NUMBERS = {measure.name: number for number, measure in enumerate(MEASURES)}


class Calls(NamedTuple):
    """What each rank has of a site: seconds, how many calls, and other metrics by name.

    A rank whose seconds are None did not call it. Of functions each is called by the one before it.
    """

    routine: str
    line: int
    seconds: Sequence[float | None]
    calls: int = 1
    others: Mapping[str, Sequence[float]] = {}
    function: str = "main"  # or several, as main/solve


def mpi_run(
    folder: Path,
    elapsed: Sequence[float | None],
    sites: Sequence[Calls],
    *,
    messages: Sequence[tuple[int, int, int, int, int]] = (),
    pairs: Sequence[tuple[str, str, str, float, float, int]] = (),
    repetitions: int = 1,
    overhead: float = 0.0,
    name: str = "run",
) -> Run:
    """Return a run of so many ranks as there are elapsed times; executions are alike.

    Args:
        folder: where.
        elapsed: seconds of each rank; None: it has none.
        sites: what they called.
        messages: sender, receiver, how many, bytes, and which of the sites sent them.
        pairs: kind, root, name below it, seconds, bytes and calls of rank 0: by size, by
            communicator.
        repetitions: executions.
        overhead: seconds of each rank.
        name: of the run.
    """
    locations, regions, paths = Table(LOCATIONS), Table(REGIONS), Table(PATHS)
    metrics, profile, sent = Table(METRICS), Table(PROFILE), Table(MESSAGES)
    n = len(elapsed)
    for number, measure in enumerate(MEASURES):
        metrics.add(
            metric=number, name=measure.name, unit=measure.unit, formula="",
            how=measure.how.value, component=mpi_metrics.COMPONENT, domain="all", scope="process",
            description="", aggregation=measure.aggregation.value,
        )  # fmt: skip
    for rank in range(n):
        locations.append((rank, -1, "process", f"node{rank // 2}", rank, 100 + rank, -1, "app"))
    for rank in range(n):
        locations.append((n + rank, -1, "rank", "", rank, -1, -1, f"rank {rank}"))

    def node(parent: int, kind: str, text: str, line: int = 0) -> int:
        region = regions.append((len(regions), kind, text, "app", "/a.c" if line else "", line))
        return paths.append((len(paths), parent, region))

    def value(
        execution: int, rank: int, path: int, metric: str, own: float, calls: int | None = None
    ) -> None:
        profile.add(
            repetition=execution, location=rank, path=path, metric=NUMBERS[metric],
            inclusive=own, exclusive=own, calls=calls,
        )  # fmt: skip

    root = node(-1, "hpm", "app")
    functions: dict[str, int] = {}
    of_sites = []
    for site in sites:
        above, chain = root, ""
        for name_of in site.function.split("/"):
            chain += f"/{name_of}"
            if chain not in functions:
                functions[chain] = node(above, "cpu", name_of, 1)
            above = functions[chain]
        of_sites.append(node(above, mpi_metrics.CALL, site.routine, site.line))
    of_pairs: dict[tuple[str, ...], int] = {}
    for kind, first, second, *_ in pairs:
        if (kind, first) not in of_pairs:
            of_pairs[kind, first] = node(-1, kind, first)
        of_pairs[kind, first, second] = node(of_pairs[kind, first], kind, second)
    for execution in range(repetitions):
        for rank, seconds in enumerate(elapsed):
            if seconds is not None:
                value(execution, rank, root, mpi_metrics.ELAPSED, seconds * SECOND)
            if overhead:
                value(execution, rank, root, mpi_metrics.OVERHEAD, overhead * SECOND)
            for path, site in zip(of_sites, sites, strict=True):
                own = site.seconds[rank]
                if own is not None:
                    value(execution, rank, path, mpi_metrics.TIME, own * SECOND, site.calls)
                for metric, values in site.others.items():
                    value(execution, rank, path, metric, values[rank])
        for kind, first, second, own, moved, calls in pairs:
            by_size = kind == mpi_metrics.SIZE
            time = mpi_metrics.TIME_BY_SIZE if by_size else mpi_metrics.TIME_BY_COMMUNICATOR
            size = mpi_metrics.BYTES_BY_SIZE if by_size else mpi_metrics.BYTES_BY_COMMUNICATOR
            value(execution, 0, of_pairs[kind, first, second], time, own * SECOND, calls)
            value(execution, 0, of_pairs[kind, first, second], size, moved)
        for sender, receiver, several, moved, place in messages:
            sent.add(
                repetition=execution, sender=n + sender,
                receiver=n + receiver if receiver >= 0 else -1, bytes=moved, messages=several,
                path=of_sites[place],
            )  # fmt: skip
    head = {
        "command": ["./app"], "hosts": [{"name": "node0"}], "started": 1.7e9,
        "wall_seconds": 2.5, "exit_status": 0, "repetitions": repetitions, "ranks": n,
        "unavailable": [], "warnings": [], "capabilities": [],
    }  # fmt: skip
    tables = (locations, regions, paths, metrics, profile, sent)
    run_directory.write(str(folder / name), head, tables, {})
    return run_directory.find(str(folder / name))
