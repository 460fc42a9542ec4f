"""What a command costs before and after the program: floor `true`, peer `perf stat true`."""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.table import Row, Table, interleaved, verdict, wall_ms

_BIN = Path(sys.executable).parent


def run(rounds: int) -> Table:
    """Return wall times of commands that do almost nothing."""
    with tempfile.TemporaryDirectory() as folder:
        return _measured(rounds, Path(folder) / "run")


def _measured(rounds: int, left: Path) -> Table:
    gnomon = str(_BIN / "gnomon")
    commands = {
        "true": ["true"],
        "python -c pass": [sys.executable, "-c", "pass"],
        "perf stat true": ["perf", "stat", "true"],
        "gnomon count true": [gnomon, "count", "true"],
        "gnomon count -e task-clock true": [gnomon, "count", "-e", "task-clock", "true"],
        "gnomon count --json true": [gnomon, "count", "--json", "true"],
        "gnomon run true": [gnomon, "run", "--name", str(left), "--force", "true"],
        "hpmcount true": [str(_BIN / "hpmcount"), "true"],
        "gnomon -h": [gnomon, "-h"],
    }
    medians = interleaved(
        rounds, {name: partial(wall_ms, command) for name, command in commands.items()}
    )
    roles = {"true": "floor", "perf stat true": "peer"}
    peer = medians["perf stat true"]
    return Table(
        "startup",
        "ms",
        [Row(name, roles.get(name, ""), value) for name, value in medians.items()],
        [
            verdict("gnomon count true above perf stat true", medians["gnomon count true"] - peer,
                    28, "ms"),
            verdict("gnomon run true above perf stat true", medians["gnomon run true"] - peer, 120,
                    "ms"),
            verdict("gnomon -h", medians["gnomon -h"], 100, "ms"),
        ],
    )  # fmt: skip
