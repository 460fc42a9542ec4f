"""Calls of MPI in the run that `gnomon run` writes: sites, ranks and how programs end."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from mpi import BOTH, MPICH, OPEN_MPI, Mpi, build, python
from mpi_program_runs import measured

from gnomon.mpi import mpi_metrics as names

PROGRAMS = Path(__file__).parents[1] / "programs" / "mpi_wrappers"
RANKS = 4
SENDS = 10
INT = 4
GIB = 1 << 30


@pytest.fixture(scope="module", params=BOTH, ids=str)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """An MPI, whose wrappers are compiled once."""
    chosen: Mpi = request.param
    return chosen


def test_sites_of_a_program_at_other_addresses_in_each_rank_are_one(
    mpi: Mpi, tmp_path: Path
) -> None:
    program = build(mpi, PROGRAMS / "endings.c", tmp_path, "-fPIE", "-pie")
    job = measured(mpi, RANKS, program, folder=tmp_path)
    assert job.status == 0, job.said
    sites = job.sites(names.TIME, "MPI_Sendrecv")
    assert [stack[:4] for stack in sorted(sites)] == [
        ("MPI_Sendrecv", "send_to_itself", "even", "main"),
        ("MPI_Sendrecv", "send_to_itself", "odd", "main"),
    ]
    for rows in sites.values():
        assert sorted(map(job.rank, rows)) == list(range(RANKS))
        assert {row["calls"] for row in rows} == {SENDS // 2}
    (line,) = {
        (region["file"], region["line"], region["module"])
        for region in job.regions.values()
        if (region["kind"], region["name"]) == ("mpi", "MPI_Sendrecv")
    }
    assert line[0].endswith("endings.c")
    assert "MPI_Sendrecv(" in (PROGRAMS / "endings.c").read_text().splitlines()[line[1] - 1]
    assert line[2] == program.name
    for metric in (names.SENT, names.RECEIVED):
        for rows in job.sites(metric, "MPI_Sendrecv").values():
            assert {row["exclusive"] for row in rows} == {SENDS // 2 * INT}
    told = sorted(
        (job.locations[row["sender"]]["rank"], job.locations[row["receiver"]]["rank"],
         row["messages"], row["bytes"])
        for row in job.messages
    )  # fmt: skip
    assert told == [(rank, rank, SENDS // 2, SENDS // 2 * INT) for rank in range(RANKS)
                    for _ in range(2)]  # fmt: skip
    elapsed = [row for row in job.profile if job.metrics[row["metric"]] == names.ELAPSED]
    assert sorted(map(job.rank, elapsed)) == list(range(RANKS))
    assert job.warnings == []


@pytest.mark.parametrize("how", ["kill", "abort", "exit"])
def test_what_was_called_is_there_however_a_rank_ends(mpi: Mpi, how: str, tmp_path: Path) -> None:
    program = build(mpi, PROGRAMS / "endings.c", tmp_path)
    job = measured(mpi, RANKS, program, how, folder=tmp_path)
    # Whether MPICH's mpirun sees a rank end before the others have is chance, with and without us.
    assert job.status != 0 or (how == "exit" and mpi is MPICH)
    for rows in job.sites(names.TIME, "MPI_Sendrecv").values():
        assert sorted(map(job.rank, rows)) == list(range(RANKS))
        assert {row["calls"] for row in rows} == {SENDS // 2}
    elapsed = {
        job.rank(row): row["exclusive"]
        for row in job.profile
        if job.metrics[row["metric"]] == names.ELAPSED
    }
    assert sorted(elapsed) == list(range(RANKS))
    assert all(value > 0 for value in elapsed.values())
    assert any("without MPI_Finalize" in warning for warning in job.warnings)


def test_bytes_have_room_beyond_2_gib(mpi: Mpi, tmp_path: Path) -> None:
    program = build(mpi, PROGRAMS / "endings.c", tmp_path)
    job = measured(mpi, 2, program, "large", folder=tmp_path)
    assert job.status == 0, job.said
    (rows,) = job.sites(names.SENT, "MPI_Bcast").values()
    assert [row["exclusive"] for row in rows] == [3 * GIB, 3 * GIB]
    of_sizes = [row for row in job.profile if job.metrics[row["metric"]] == names.BYTES_BY_SIZE]
    large = [row for row in of_sizes if job.stack(row["path"]) == ("up to 4 GiB", "MPI_Bcast")]
    assert [row["exclusive"] for row in large] == [3 * GIB, 3 * GIB]


def test_calls_of_threads_are_added_up(mpi: Mpi, tmp_path: Path) -> None:
    program = build(mpi, PROGRAMS / "threads.c", tmp_path, "-pthread")
    job = measured(mpi, 2, program, "1000", folder=tmp_path)
    assert job.status == 0, job.said
    (sends,) = job.sites(names.TIME, "MPI_Send").values()
    assert [row["calls"] for row in sends] == [4000, 4000]
    assert sorted(map(job.rank, sends)) == [0, 1]


def test_several_programs_of_a_job(mpi: Mpi, tmp_path: Path) -> None:
    first = build(mpi, PROGRAMS / "endings.c", tmp_path)
    (tmp_path / "other").mkdir()
    second = build(mpi, PROGRAMS / "endings.c", tmp_path / "other")
    second = second.rename(tmp_path / "second")
    job = measured(mpi, 1, first, ":", "-n", "2", second, folder=tmp_path)
    assert job.status == 0, job.said
    rows = [row for own in job.sites(names.TIME, "MPI_Sendrecv").values() for row in own]
    programs = sorted((job.rank(row), job.locations[row["location"]]["name"]) for row in rows)
    assert programs == sorted([(0, first.name[:15])] * 2 + [(1, "second"), (2, "second")] * 2)
    modules = {
        region["module"]
        for region in job.regions.values()
        if (region["kind"], region["name"]) == ("mpi", "MPI_Sendrecv")
    }
    assert modules == {first.name, "second"}


def test_ranks_of_programs_that_were_spawned_are_others(tmp_path: Path) -> None:
    # MPICH as Debian has it starts none here.
    program = build(OPEN_MPI, PROGRAMS / "spawn.c", tmp_path)
    job = measured(OPEN_MPI, 3, program, folder=tmp_path)
    assert job.status == 0, job.said
    processes = [row["rank"] for row in job.locations.values() if row["kind"] == "process"]
    assert sorted(rank for rank in processes if rank >= 0) == [0, 0, 1, 1, 2]
    told = sorted(
        (
            job.locations[row["sender"]]["name"],
            job.locations[row["receiver"]]["name"] if row["receiver"] >= 0 else "",
            job.stack(row["path"])[0],
            row["bytes"],
        )
        for row in job.messages
    )
    assert told == [
        ("rank 0", "", "MPI_Send", INT),
        ("rank 0", "rank 1", "MPI_Sendrecv", INT),
        ("rank 0 of job 2", "rank 1 of job 2", "MPI_Sendrecv", INT),
        ("rank 1", "rank 0", "MPI_Sendrecv", INT),
        ("rank 1 of job 2", "rank 0 of job 2", "MPI_Sendrecv", INT),
    ]


def test_calls_of_python_are_told_apart_by_its_lines(mpi: Mpi, tmp_path: Path) -> None:
    script = PROGRAMS / "python_sites.py"
    lines = script.read_text().splitlines()
    job = measured(mpi, 2, sys.executable, script, folder=tmp_path, variables=python(mpi, tmp_path))
    assert job.status == 0, job.said
    # mpi4py calls the variants with large counts where the MPI has them.
    large = "_c" if mpi is MPICH else ""
    receive, reduce = f"MPI_Mrecv{large}", f"MPI_Allreduce{large}"
    calls = {
        stack[stack.index("exchange") + 1]: sorted(row["calls"] for row in rows)
        for stack, rows in job.sites(names.TIME, receive).items()
    }
    assert calls == {"often": [7, 7], "seldom": [2, 2]}
    sums = job.sites(names.TIME, reduce)
    assert {stack[-2] for stack in sums} == {"<module>"}
    assert [[row["calls"] for row in rows] for rows in sums.values()] == [[1, 1, 1, 1]]
    places = {
        (region["module"], Path(region["file"]).name, lines[region["line"] - 1].strip())
        for region in job.regions.values()
        if region["kind"] == "mpi" and region["name"] in (reduce, receive)
    }
    assert places == {
        ("python", script.name, "WORLD.Allreduce(numbers, sums)"),
        ("python", script.name, next(line.strip() for line in lines if "WORLD.sendrecv" in line)),
    }
