"""A generated run of many sampled stacks, written through the real store."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gnomon.model.array_types import Cells
from gnomon.model.tables import LOCATIONS, METRICS, PATHS, PROFILE, REGIONS, Table
from gnomon.store import run_directory

SAMPLES = 100_000
FRAMES_EACH = 5
FUNCTIONS = 5_000
CALLEES = 12
LINES = 6
FILES = 200
THREADS = 8
DEPTH = 120
SECONDS_EACH = 1 / 997
SEED = 11


def write(path: Path, samples: int = SAMPLES) -> None:
    """Write a run of so many stacks, all different.

    Each goes on from somewhere in an earlier one by `FRAMES_EACH` frames, and these are new paths.
    """
    chance = np.random.default_rng(SEED)
    nodes = 1 + samples * FRAMES_EACH
    callees = chance.integers(1, FUNCTIONS + 1, (FUNCTIONS + 1, CALLEES))
    parent = np.full(nodes, -1, dtype=np.int32)
    function = np.zeros(nodes, dtype=np.int32)
    depth = np.zeros(nodes, dtype=np.int32)
    line = chance.integers(0, LINES, nodes).astype(np.int32)
    choice = chance.integers(0, CALLEES, nodes)
    start = chance.random(samples)
    for sample in range(samples):
        first = 1 + sample * FRAMES_EACH
        above = int(start[sample] * first)
        if depth[above] + FRAMES_EACH > DEPTH:
            above = 0
        for node in range(first, first + FRAMES_EACH):
            parent[node], depth[node] = above, depth[above] + 1
            function[node] = callees[function[above], choice[node]]
            above = node
    own = np.zeros(nodes, dtype=np.int64)
    own[FRAMES_EACH::FRAMES_EACH] = 1
    thread = np.full(nodes, -1)
    thread[FRAMES_EACH::FRAMES_EACH] = chance.integers(0, THREADS, samples)
    profile = [_of_thread(np.where(thread == at, own, 0), parent, depth) for at in range(THREADS)]
    rows = {name: np.concatenate([one[name] for one in profile]) for name in profile[0]}
    place = np.repeat(np.arange(THREADS, dtype=np.int32) + 2, [len(one["path"]) for one in profile])
    n = len(place)
    nothing = dict.fromkeys(("calls", "enabled_ns", "running_ns"), np.ones(n, dtype=bool))
    places, region = np.unique(np.stack([function, line]), axis=1, return_inverse=True)
    tables = (
        _locations(),
        Table(REGIONS, [_region(at, *one) for at, one in enumerate(places.T.tolist())]),
        Table.of(PATHS, {"path": np.arange(nodes, dtype=np.int32), "parent": parent,
                         "region": region.astype(np.int32).ravel()}),
        Table(METRICS, [(0, "CPU time", "s", "", "sampled", "samples", "user", "thread",
                         "cpu-clock", "sum", True, False, False)]),
        Table.of(
            PROFILE,
            {
                "repetition": np.zeros(n, dtype=np.int32), "location": place,
                "path": rows["path"].astype(np.int32), "metric": np.zeros(n, dtype=np.int32),
                "inclusive": rows["raw"] * SECONDS_EACH, "exclusive": rows["own"] * SECONDS_EACH,
                "raw": rows["raw"], **{name: np.zeros(n, dtype=np.int64) for name in nothing},
            },
            nothing,
        ),
    )  # fmt: skip
    head = {
        "command": ["./app"], "hosts": [{"name": "node0"}], "started": 1.7e9, "wall_seconds": 15.0,
        "exit_status": 0, "repetitions": 1, "unavailable": [], "warnings": [],
    }  # fmt: skip
    run_directory.write(str(path), head, tables, {})


def _region(number: int, function: int, line: int) -> tuple[int, str, str, str, str, int]:
    if function == 0:
        return number, "hpm", "app", "app", "", 0
    file = f"/src/part{function % FILES}.cpp"
    name = f"part{function % FILES}::compute_{function}"
    return number, "cpu", name, f"lib{function % 20}.so", file, 10 * function + line + 1


def _locations() -> Table:
    table = Table(LOCATIONS)
    table.append((0, -1, "command", "node0", -1, -1, -1, "app"))
    table.append((1, 0, "process", "node0", -1, 100, -1, "app"))
    for thread in range(THREADS):
        table.append((2 + thread, 1, "thread", "node0", -1, 100, 100 + thread, "app"))
    return table


def _of_thread(own: Cells, parent: Cells, depth: Cells) -> dict[str, Cells]:
    """Return the rows of a thread: its paths, the samples in them and below them."""
    whole = own.copy()
    for level in range(int(depth.max()), 0, -1):
        nodes = np.flatnonzero(depth == level)
        np.add.at(whole, parent[nodes], whole[nodes])
    path = np.flatnonzero(whole)
    return {"path": path, "raw": whole[path], "own": own[path]}
