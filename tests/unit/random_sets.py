"""Sets of tables of a job, made at random: ranks with threads, sections and values that are odd."""

from __future__ import annotations

import random
from pathlib import Path

from gnomon.model.tables import LOCATIONS, METRICS, PATHS, PROFILE, REGIONS, Table
from gnomon.store.record_blocks import BlockWriter
from gnomon.store.table_set import TableSet

NAMES = (("wall time", ""), ("page-faults", ""), ("ratio", "a / b"), ("peak memory", ""),
         ("cycles", ""), ("idle CPUs", ""))  # fmt: skip


def random_sets(seed: int, ranks: int) -> list[TableSet]:
    """Return a set of each rank, and one of sections of all ranks."""
    rng = random.Random(seed)
    sets = [TableSet(_tables(rng, [rank], is_rank=True), rank=rank) for rank in range(ranks)]
    return [*sets, TableSet(_tables(rng, list(range(ranks)), is_rank=False))]


def in_files(sets: list[TableSet], folder: Path) -> list[TableSet]:
    """Return the sets as files of record blocks."""
    found = []
    for at, one in enumerate(sets):
        file = folder / f"{at}.blocks"
        writer = BlockWriter(file)
        writer.document({})
        for table in one.tables:
            writer.append(table)
        writer.close()
        found.append(one._replace(tables=(), file=file))
    return found


def _tables(rng: random.Random, ranks: list[int], *, is_rank: bool) -> tuple[Table, ...]:
    locations, regions, paths = Table(LOCATIONS), Table(REGIONS), Table(PATHS)
    metrics, profile = Table(METRICS), Table(PROFILE)

    def place(parent: int, kind: str, rank: int, pid: int, tid: int) -> int:
        known = -1 if is_rank else rank
        return locations.append(
            (len(locations), parent, kind, "node0", known, pid, tid, f"app {kind}")
        )

    for rank in ranks:
        top = place(-1, "command", rank, 100 + rank, -1) if is_rank else -1
        process = place(top, "process", rank, 100 + rank, -1)
        for thread in range(rng.randrange(3)):
            place(process, "thread", rank, 100 + rank, 2000 + 10 * rank + thread)
    for at in range(rng.randrange(2, 6)):
        regions.append((at, "hpm", f"section {rng.randrange(4)}", "app", "", rng.randrange(2)))
        paths.append((at, rng.randrange(at) if at else -1, at))
    chosen = rng.sample(NAMES, rng.randrange(2, len(NAMES) + 1))
    for at, (name, formula) in enumerate(chosen):
        metrics.append((at, name, "", formula, "counted", "", "all", "process", ""))
    for location in range(len(locations)):
        for path in range(len(paths)):
            for metric in range(len(metrics)):
                if rng.random() < 0.7:
                    value = rng.random() * 100
                    own = None if rng.random() < 0.02 else value * rng.choice((1.0, 0.5))
                    profile.append((0, location, path, metric, value, own, 1, None, None, None))
    return locations, regions, paths, metrics, profile
