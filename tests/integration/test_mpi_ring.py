"""`gnomon report RUN mpi` of a real program: counts and bytes that are known, on both MPIs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import gnomon
from mpi import BOTH, OPEN_MPI, Mpi, build, environment

SOURCE = Path(__file__).parents[1] / "programs/mpi/ring.c"
RANKS, STEPS = 4, 10
# Name: calls of all ranks, and bytes that they sent and received.
ROUTINES = {
    "MPI_Init": (RANKS, 0),
    "MPI_Comm_rank": (RANKS, 0),
    "MPI_Comm_size": (RANKS, 0),
    "MPI_Bcast": (RANKS, 64 * RANKS),
    "MPI_Irecv": (STEPS * RANKS, 1000 * STEPS * RANKS),
    "MPI_Isend": (STEPS * RANKS, 1000 * STEPS * RANKS),
    "MPI_Waitall": (STEPS * RANKS, 0),
    "MPI_Allreduce": (STEPS * RANKS, 2 * 32 * STEPS * RANKS),
    "MPI_Finalize": (RANKS, 0),
}
SITES = {
    "MPI_Allreduce": ("add_up", "MPI_Allreduce(own"),
    "MPI_Isend": ("exchange", "MPI_Isend(out"),
    "MPI_Waitall": ("exchange", "MPI_Waitall(2"),
    "MPI_Bcast": ("main", "MPI_Bcast(settings"),
}


def report(folder: Path, *words: str) -> str:
    done = gnomon("report", "r", "mpi", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("mpi", BOTH, ids=str)
def test_of_a_ring_of_four(mpi: Mpi, tmp_path: Path) -> None:
    oversubscribe = ["--oversubscribe"] if mpi is OPEN_MPI else []
    done = gnomon(
        "run", "--name", "r", "--", mpi.command("mpirun"), *oversubscribe, "-n", str(RANKS),
        build(mpi, SOURCE, tmp_path), "20", cwd=tmp_path, env=environment(mpi),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"MPI: {RANKS} ranks, " in done.stderr

    printed: dict[str, Any] = json.loads(report(tmp_path, "--json"))
    routines = {row["name"]: (row["calls"], row["bytes"]) for row in printed["routines"]}
    assert routines == ROUTINES
    lines = SOURCE.read_text().splitlines()
    sites = {row["routine"]: row for row in printed["sites"]}
    for routine, (function, text) in SITES.items():
        site = sites[routine]
        assert (site["function"], Path(site["file"]).name) == (function, "ring.c")
        assert text in lines[site["line"] - 1]
        assert site["ranks"] == RANKS
    messages = [(row["sender"], row["receiver"], row["messages"], row["bytes"])
                for row in printed["messages"]]  # fmt: skip
    assert sorted(messages) == [
        (rank, (rank + 1) % RANKS, STEPS, 1000 * STEPS) for rank in range(RANKS)
    ]
    assert [row["rank"] for row in printed["ranks"]] == list(range(RANKS))
    for row in printed["ranks"]:
        assert 0 <= row["in_mpi"] <= row["elapsed"]
        assert row["computing"] == pytest.approx(row["elapsed"] - row["in_mpi"])
    values = {row["name"]: row["value"] for row in printed["rows"]}
    assert values["parallel efficiency"] == pytest.approx(
        values["load balance"] * values["communication efficiency"] / 100
    )
    sizes = {(row["routine"], row["size"]): row["calls"]
             for row in json.loads(report(tmp_path, "--by", "size", "--json"))["rows"]}  # fmt: skip
    assert sizes["MPI_Isend", "up to 1 KiB"] == STEPS * RANKS
    assert "MPI_Allreduce ring.c:" in report(tmp_path)
