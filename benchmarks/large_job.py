"""What the ranks of a generated job leave in their staging folder, as `gnomon run` writes it.

`python -m benchmarks.large_job NAME RANKS REGIONS METRICS EVENTS` writes NAME.gnomon.raw.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator

import numpy as np

from gnomon.model.capability_result import Collected
from gnomon.model.tables import EVENTS, LOCATIONS, METRICS, PATHS, PROFILE, REGIONS, Table
from gnomon.store import staging

_CHUNK = 500_000
_START_NS = 1_700_000_000_000_000_000


def write(name: str, ranks: int, regions: int, metrics: int, events: int) -> None:
    """Write the parts of all ranks: values of each region and metric, and so many events of each.

    Args:
        name: of the run.
        ranks: how many.
        regions: sections of each rank, half of them in the other half.
        metrics: each of which every section has.
        events: of each rank.
    """
    # Each rank holds a lock as long as it runs.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    small = _small(regions, metrics)
    for rank in range(ranks):
        head = {
            "job": "a job", "tasks": ranks, "rank": rank, "force": False, "command": ["./app"],
            "host": {"name": f"node{rank // 64}", "cpu_model": "", "cpus": 64, "kernel": ""},
            "started": 1.7e9, "environment": {}, "working_directory": "/", "capabilities": [],
        }  # fmt: skip
        folder = staging.create_staging(name, rank, head)
        end = {"pid": 1000 + rank, "exit_status": 0, "signal": 0, "started": 1.7e9,
               "wall_ns": 2_500_000_000}  # fmt: skip
        tables = (_locations(rank), *small, _profile(rank, regions, metrics))
        staging.end(folder, rank, end, Collected((*tables, *_events(rank, regions, events))))


def _small(regions: int, metrics: int) -> tuple[Table, ...]:
    own = Table(REGIONS)
    paths = Table(PATHS)
    for at in range(regions + 1):
        file = f"src/part{at % 20}.c" if at else ""
        own.append((at, "hpm", f"section {at}" if at else "app", "app", file, at))
        paths.append((at, -1 if not at else 0 if at % 2 else at - 1, at))
    table = Table(METRICS)
    for at in range(metrics):
        name, unit = ("wall time", "ns") if not at else (f"EVENT_{at}", "")
        table.append((at, name, unit, "", "counted", "cpu", "user", "thread", ""))
    return own, paths, table


def _locations(rank: int) -> Table:
    host = f"node{rank // 64}"
    return Table(LOCATIONS, [
        (0, -1, "command", host, -1, 1000 + rank, -1, "app"),
        (1, 0, "process", host, rank, 1000 + rank, -1, "app"),
    ])  # fmt: skip


def _profile(rank: int, regions: int, metrics: int) -> Table:
    """Return values of the command, the process and each section in it, that look random."""
    path = np.repeat(np.arange(regions + 1), metrics)
    metric = np.tile(np.arange(metrics), regions + 1)
    own = np.random.default_rng(rank).exponential(1e6, len(path))
    own[path == 0] *= 4 * regions
    inner = (path > 0) & (path % 2 == 0)
    whole = own.copy()
    np.add.at(whole, np.flatnonzero(inner) - metrics, own[inner])
    of_command = np.arange(metrics)
    n = len(path) + metrics
    columns = {
        "repetition": np.zeros(n),
        "location": np.concatenate([np.zeros(metrics), np.ones(len(path))]),
        "path": np.concatenate([np.zeros(metrics), path]),
        "metric": np.concatenate([of_command, metric]),
        "inclusive": np.concatenate([whole[:metrics], whole]),
        "exclusive": np.concatenate([whole[:metrics], own]),
        "calls": np.ones(n),
        **dict.fromkeys(("raw", "enabled_ns", "running_ns"), np.zeros(n)),
    }
    missing = np.ones(n, dtype=bool)
    masks = dict.fromkeys(("raw", "enabled_ns", "running_ns"), missing)
    return Table.of(PROFILE, columns, masks)


def _events(rank: int, regions: int, events: int) -> Iterator[Table]:
    random = np.random.default_rng(rank)
    begin = _START_NS
    for at in range(0, events, _CHUNK):
        n = min(_CHUNK, events - at)
        gaps = random.integers(100, 10_000, n)
        start = begin + np.cumsum(gaps)
        begin = int(start[-1])
        path = random.integers(1, regions + 1, n)
        yield Table.of(EVENTS, {
            "repetition": np.zeros(n), "location": np.ones(n), "region": path, "path": path,
            "start_ns": start, "duration_ns": gaps // 2,
            "bytes": random.integers(0, 1 << 20, n), "file": np.full(n, -1),
        })  # fmt: skip


if __name__ == "__main__":
    write(sys.argv[1], *map(int, sys.argv[2:6]))
    print(staging.raw_of(sys.argv[1]))
