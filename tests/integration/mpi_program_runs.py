"""Runs of MPI programs under `gnomon run`, and what their tables say of MPI."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from commands import GNOMON, run
from mpi import OPEN_MPI, Mpi, environment
from sampled import opened

from gnomon.model.tables import LOCATIONS, MESSAGES, METRICS, PATHS, PROFILE, REGIONS, Schema

Rows = list[dict[str, Any]]


class MpiRun(NamedTuple):
    """A run with the tables that sites are in.

    Attributes:
        status: of `gnomon run`.
        said: its standard error.
        folder: the run directory.
        regions: by number.
        paths: by number.
        locations: by number.
        metrics: names by number.
        profile: rows of MPI's metrics.
        messages: rows.
        warnings: of run.json.
    """

    status: int
    said: str
    folder: Path
    regions: Mapping[int, dict[str, Any]]
    paths: Mapping[int, dict[str, Any]]
    locations: Mapping[int, dict[str, Any]]
    metrics: Mapping[int, str]
    profile: Rows
    messages: Rows
    warnings: list[str]

    def stack(self, path: int) -> tuple[str, ...]:
        """Return the names of a path's regions, the innermost first."""
        row = self.paths[path]
        above = self.stack(row["parent"]) if row["parent"] >= 0 else ()
        return (str(self.regions[row["region"]]["name"]), *above)

    def sites(self, metric: str, routine: str) -> dict[tuple[str, ...], list[dict[str, Any]]]:
        """Return the rows that the call sites of a routine have of a metric, by stack."""
        rows: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for row in self.profile:
            region = self.regions[self.paths[row["path"]]["region"]]
            if self.metrics[row["metric"]] == metric and region["kind"] == "mpi":
                stack = self.stack(row["path"])
                if stack[0] == routine:
                    rows.setdefault(stack, []).append(row)
        return rows

    def rank(self, row: Mapping[str, Any]) -> int:
        """Return the rank that a row is of."""
        return int(self.locations[row["location"]]["rank"])


def measured(
    mpi: Mpi, ranks: int, *command: str | Path, folder: Path,
    variables: Mapping[str, str] | None = None, options: tuple[str, ...] = ("--without", "samples"),
) -> MpiRun:  # fmt: skip
    """Run a job under `gnomon run` and return what came of it."""
    words = [mpi.command("mpirun"), *(["--oversubscribe"] if mpi is OPEN_MPI else [])]
    done = run(GNOMON, "run", "--name", "r", "--force", *options, "--", *words, "-n", str(ranks),
               *command, cwd=folder, env=environment(mpi) | dict(variables or {}))  # fmt: skip
    if not (folder / "r.gnomon").is_dir():
        pytest.fail(f"no run: {done.stdout}{done.stderr}")

    run_of = opened(folder / "r")

    def rows(schema: Schema) -> Rows:
        return run_of.rows(schema) if schema in run_of.schemas else []

    metrics = {row["metric"]: row["name"] for row in rows(METRICS) if row["component"] == "mpi"}
    return MpiRun(
        done.returncode,
        done.stderr,
        folder / "r.gnomon",
        {row["region"]: row for row in rows(REGIONS)},
        {row["path"]: row for row in rows(PATHS)},
        {row["location"]: row for row in rows(LOCATIONS)},
        metrics,
        [row for row in rows(PROFILE) if row["metric"] in metrics],
        rows(MESSAGES),
        list(run_of.head["warnings"]),
    )
