"""Both MPIs are here and run programs of C, Fortran and Python, more ranks than cores, as root."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import pytest
from mpi import BOTH, OPEN_MPI, Mpi, build, cores, launch, python

PROGRAMS = Path(__file__).parents[1] / "programs" / "mpi"
SAID = ["task 0 of 4, sum 6", "task 1 of 4, sum 6", "task 2 of 4, sum 6", "task 3 of 4, sum 6"]


@pytest.mark.parametrize("mpi", BOTH, ids=str)
@pytest.mark.parametrize("source", ["hello.c", "hello.f90"])
def test_compiled_programs_run_with_both(mpi: Mpi, source: str, tmp_path: Path) -> None:
    program = build(mpi, PROGRAMS / source, tmp_path)
    job = launch(mpi, 4, program, folder=tmp_path)
    assert sorted(" ".join(line.split()) for line in job.out.splitlines()) == SAID
    assert job.err == ""


@pytest.mark.parametrize("mpi", BOTH, ids=str)
def test_python_programs_run_with_both(mpi: Mpi, tmp_path: Path) -> None:
    job = launch(
        mpi,
        4,
        sys.executable,
        PROGRAMS / "hello.py",
        folder=tmp_path,
        apart=True,
        variables=python(mpi, tmp_path),
    )
    assert [out.strip() for out in job.outs] == SAID
    assert not any(job.errs)


@pytest.mark.parametrize("mpi", BOTH, ids=str)
def test_each_rank_has_its_own_output_and_the_launcher_its_status(mpi: Mpi, tmp_path: Path) -> None:
    script = "echo out $PMI_RANK$OMPI_COMM_WORLD_RANK; echo err >&2; exit 0"
    job = launch(mpi, 12, "sh", "-c", script, folder=tmp_path, apart=True)
    assert job.outs == tuple(f"out {rank}\n" for rank in range(12))
    assert job.errs == ("err\n",) * 12
    failed = launch(mpi, 2, "sh", "-c", "exit 3", folder=tmp_path, status=3)
    assert failed.outs == ()


def runs(pid: str) -> bool:
    # A process that its new parent has not waited for yet is dead all the same.
    status = Path("/proc", pid, "status")
    try:
        return "State:\tZ" not in status.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("mpi", BOTH, ids=str)
def test_a_job_that_hangs_is_ended_and_fails(mpi: Mpi, tmp_path: Path) -> None:
    script = "trap '' TERM; echo begun $$; sleep 600 & wait; sleep 600"
    with pytest.raises(pytest.fail.Exception, match="did not end within 5 s") as failure:
        # Time enough for the tasks to begin, on a busy machine too.
        launch(mpi, 2, "sh", "-c", script, folder=tmp_path, limit_s=5)
    begun = re.findall(r"^begun (\d+)$", str(failure.value), re.MULTILINE)
    assert len(begun) == 2
    end = time.monotonic() + 10
    while time.monotonic() < end and any(map(runs, begun)):
        time.sleep(0.05)
    assert not [pid for pid in begun if runs(pid)]


def test_a_missing_mpi_is_named_with_the_remedy() -> None:
    missing = OPEN_MPI._replace(name="nosuch")
    with pytest.raises(pytest.fail.Exception, match="run `make setup`, or install openmpi-bin"):
        missing.command("mpirun")


def test_more_ranks_than_cores_are_asked_for_in_the_command_only(tmp_path: Path) -> None:
    # What they print is longer than what Open MPI passes on in a piece.
    job = launch(OPEN_MPI, cores() + 1, "env", folder=tmp_path, apart=True)
    assert len(job.outs) == cores() + 1
    assert all(out.count("OMPI_COMM_WORLD_RANK=") == 1 for out in job.outs), job.said
