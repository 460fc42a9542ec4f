"""A generated run of many nodes and many places, written through the real store."""

from __future__ import annotations

import random
from pathlib import Path

from gnomon.model.tables import LOCATIONS, METRICS, PATHS, PROFILE, REGIONS, Table
from gnomon.store import run_directory

PHASES = 10
FUNCTIONS = 100
STEPS = 99
NODES = 1 + PHASES + PHASES * FUNCTIONS + PHASES * FUNCTIONS * STEPS
RANKS = 96
THREADS = 16
SEED = 7


def write(path: Path) -> None:
    """Write a run of `NODES` nested sections, and of `RANKS` x `THREADS` threads.

    The sections' times and counts are those of the whole command, the threads' those of the whole
    program, so that there are many rows of both and not their product.
    """
    chance = random.Random(SEED)
    locations, regions, paths = Table(LOCATIONS), Table(REGIONS), Table(PATHS)
    metrics, profile = Table(METRICS), Table(PROFILE)
    for at, (name, unit) in enumerate((("time", "ns"), ("PAPI_TOT_INS", ""))):
        metrics.add(
            metric=at, name=name, unit=unit, formula="", how="counted", component="kernel",
            domain="user", scope="thread", description=f"generated {name}",
        )  # fmt: skip

    def node(parent: int, name: str, file: str, line: int) -> int:
        region = regions.add(
            region=len(regions), kind="hpm", name=name, module="app", file=file, line=line
        )
        return paths.add(path=len(paths), parent=parent, region=region)

    def value(path: int, location: int, inclusive: tuple[int, int], own: tuple[int, int]) -> None:
        for metric in (0, 1):
            profile.add(
                repetition=0, location=location, path=path, metric=metric,
                inclusive=float(inclusive[metric]), exclusive=float(own[metric]),
                calls=1 + path % 50, raw=inclusive[metric], enabled_ns=1, running_ns=1,
            )  # fmt: skip

    def of_all(path: int, children: list[tuple[int, int]]) -> tuple[int, int]:
        own = (int(chance.expovariate(1e-6)), int(chance.expovariate(1e-5)))
        inclusive = (
            own[0] + sum(one[0] for one in children),
            own[1] + sum(one[1] for one in children),
        )
        value(path, 0, inclusive, own)
        return inclusive

    locations.add(location=0, parent=-1, kind="command", host="node0", rank=-1, pid=1, tid=-1,
                  name="app")  # fmt: skip
    root = node(-1, "app", "", 0)
    phases = []
    for phase in range(PHASES):
        at_phase = node(root, f"phase {phase}", f"src/phase{phase}.c", 10)
        functions = []
        for function in range(FUNCTIONS):
            at = node(
                at_phase, f"compute_{phase}_{function}", f"src/phase{phase}.c", 20 + 100 * function
            )
            steps = [
                of_all(
                    node(
                        at,
                        f"step {step} of {function}",
                        f"src/phase{phase}.c",
                        21 + 100 * function + step,
                    ),
                    [],
                )
                for step in range(STEPS)
            ]
            functions.append(of_all(at, steps))
        phases.append(of_all(at_phase, functions))
    of_all(root, phases)
    for rank in range(RANKS):
        process = locations.add(
            location=len(locations), parent=0, kind="process", host=f"node{rank // 8}",
            rank=rank, pid=1000 + rank, tid=-1, name="app",
        )  # fmt: skip
        for thread in range(THREADS):
            here = locations.add(
                location=len(locations), parent=process, kind="thread",
                host=f"node{rank // 8}", rank=rank, pid=1000 + rank, tid=2000 + 100 * rank + thread,
                name="app",
            )  # fmt: skip
            spent = (
                int(1e9 * (1 + rank / 400) * chance.uniform(0.97, 1.03)),
                int(1e9 + 1e6 * rank),
            )
            value(root, here, spent, spent)
    head = {
        "command": ["./app"], "hosts": [{"name": f"node{at}"} for at in range(RANKS // 8)],
        "started": 1.7e9, "wall_seconds": 2.5, "exit_status": 0, "repetitions": 1,
        "unavailable": [], "warnings": [],
    }  # fmt: skip
    run_directory.write(str(path), head, (locations, regions, paths, metrics, profile), {})
