"""What programs with MPI do seldom: it is counted as the rest is, and none of them hangs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mpi import BOTH, MPICH, Mpi, build, launch
from mpi_measured import MeasuredJob, measured
from mpi_seed import linked

PROGRAMS = Path(__file__).parents[1] / "programs" / "mpi_programs"
RANKS, CALLS, INT = 3, 50, 4
LAUNCHERS = pytest.mark.parametrize("mpi", BOTH, ids=str)


def edges(mpi: Mpi, kind: str, folder: Path) -> MeasuredJob:
    """Run edges.c, which prints what it does without us."""
    program = build(mpi, PROGRAMS / "edges.c", folder)
    job = measured(mpi, RANKS, program, kind, folder=folder)
    assert job.status == 0, job.err
    assert sorted(job.out.splitlines()) == [f"rank {rank}" for rank in range(RANKS)]
    return job


def calls_by_size(job: MeasuredJob, routine: str) -> dict[str, int]:
    rows = job.run.query(
        "SELECT r.name, sum(v.calls) FROM profile v JOIN metrics m USING (metric) "
        "JOIN paths p USING (path) JOIN regions r USING (region) "
        "JOIN paths above ON above.path = p.parent JOIN regions a ON a.region = above.region "
        f"WHERE m.name = 'MPI time by size' AND a.name = '{routine}' GROUP BY ALL"
    )
    return {size: int(n) for size, n in rows}


@LAUNCHERS
def test_mpi_ends_for_all_though_some_have_switched_off(mpi: Mpi, tmp_path: Path) -> None:
    job = edges(mpi, "off", tmp_path)
    assert job.calls["MPI_Finalize"] == RANKS
    assert "without MPI_Finalize" not in job.err


@LAUNCHERS
def test_files_of_ranks_that_have_switched_off_are_written(mpi: Mpi, tmp_path: Path) -> None:
    program = linked(mpi, PROGRAMS / "edges.c", tmp_path, static=False)
    job = launch(mpi, RANKS, program, "off", folder=tmp_path, limit_s=60)
    assert sorted(job.out.splitlines()) == [f"rank {rank}" for rank in range(RANKS)]
    assert (tmp_path / "mpi_profile.0").exists()


@LAUNCHERS
def test_what_is_called_by_a_handler_of_exit_takes_nothing_away(mpi: Mpi, tmp_path: Path) -> None:
    job = edges(mpi, "late", tmp_path)
    assert job.calls["MPI_Barrier"] == job.calls["MPI_Comm_rank"] == RANKS


@LAUNCHERS
def test_receives_from_nobody_have_a_size_each(mpi: Mpi, tmp_path: Path) -> None:
    job = edges(mpi, "nobody", tmp_path)
    assert job.calls["MPI_Irecv"] == job.calls["MPI_Isend"] == 2 * RANKS * CALLS
    assert job.received["MPI_Irecv"] == job.sent["MPI_Isend"] == 2 * (RANKS - 1) * CALLS * INT
    whole = {"up to 4 bytes": 2 * (RANKS - 1) * CALLS, "nothing": 2 * CALLS}
    assert calls_by_size(job, "MPI_Irecv") == calls_by_size(job, "MPI_Isend") == whole


@LAUNCHERS
def test_what_began_before_a_pause_is_not_taken_for_something_else(
    mpi: Mpi, tmp_path: Path
) -> None:
    job = edges(mpi, "pause", tmp_path)
    assert job.calls["MPI_Irecv"] == RANKS
    assert job.calls["MPI_Wait"] == 2 * RANKS
    assert job.received.get("MPI_Irecv", 0) == 0


def test_each_start_of_a_persistent_collective_has_its_bytes(tmp_path: Path) -> None:
    job = edges(MPICH, "persistent", tmp_path)
    assert job.calls["MPI_Start"] == RANKS * CALLS
    assert job.sent["MPI_Bcast_init"] == CALLS * 3 * INT
    assert job.received["MPI_Bcast_init"] == (RANKS - 1) * CALLS * 3 * INT


@LAUNCHERS
def test_callbacks_are_within_their_call_and_each_receive_has_its_own(
    mpi: Mpi, tmp_path: Path
) -> None:
    program = build(mpi, PROGRAMS / "callbacks.F90", tmp_path, "-g", f"-J{tmp_path}")
    plain = launch(mpi, RANKS, program, folder=tmp_path)
    job = measured(mpi, RANKS, program, folder=tmp_path)
    assert (job.status, job.out.split()) == (0, plain.out.split())
    assert job.out.split() == ["T"] * RANKS
    assert job.calls["MPI_Allreduce"] == 10 * RANKS
    assert "MPI_Type_size" not in job.calls
    received = job.run.query(
        "SELECT sum(v.inclusive) AS bytes FROM profile v JOIN metrics m USING (metric) "
        "JOIN paths p USING (path) JOIN regions r USING (region) WHERE r.kind = 'mpi' "
        "AND m.name = 'MPI bytes received' AND r.name = 'MPI_Irecv' GROUP BY r.line ORDER BY bytes"
    )
    assert [int(n) for (n,) in received] == [RANKS * n * INT for n in (1, 2, 4)]


def test_a_limit_on_address_space_leaves_the_program_its_part(tmp_path: Path) -> None:
    program = build(MPICH, PROGRAMS / "edges.c", tmp_path)
    limited = ("sh", "-c", f"ulimit -v 3000000; exec {program} nobody")
    job = measured(MPICH, RANKS, *limited, folder=tmp_path)
    assert (job.status, job.calls.get("MPI_Irecv")) == (0, 2 * RANKS * CALLS), job.err


@LAUNCHERS
def test_a_rank_that_aborts_has_not_finalized(mpi: Mpi, tmp_path: Path) -> None:
    program = build(mpi, PROGRAMS / "ends.c", tmp_path)
    job = measured(mpi, 2, program, "abort", folder=tmp_path)
    # The other one may have come to MPI_Finalize by then.
    assert re.search(r"ranks? (0, )?1 ended without MPI_Finalize", " ".join(job.err.split()))
