"""A task that ends between MPI_Init and MPI_Finalize, for which the others wait in MPI."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import GNOMON, HPMCOUNT, run
from mpi import BOTH, MPICH, OPEN_MPI, Mpi, build, launch

SOURCE = """
#include <mpi.h>
#include <stdlib.h>
#ifdef SECTIONS
#include <libhpm.h>
#endif
int main(int n, char **words)
{
	int task;
	MPI_Init(&n, &words);
	MPI_Comm_rank(MPI_COMM_WORLD, &task);
#ifdef SECTIONS
	hpmInit(task, "exits");
	hpmStart(1, "work");
	hpmStop(1);
#endif
	MPI_Barrier(MPI_COMM_WORLD);
	if (task == 2)
		exit(STATUS);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
"""
FLAGS = run(GNOMON, "config", "--cflags", "--libs", "hpm").stdout.split()
# What mpirun says without us, and with us.
STATUS = {(OPEN_MPI, 0): 1, (OPEN_MPI, 3): 3, (MPICH, 0): 9, (MPICH, 3): 9}
both = pytest.mark.parametrize("mpi", BOTH, ids=str)
ends = pytest.mark.parametrize("status", [0, 3])


def built(mpi: Mpi, folder: Path, status: int, *flags: str) -> Path:
    source = folder / "exits.c"
    source.write_text(SOURCE)
    return build(mpi, source, folder, f"-DSTATUS={status}", *flags)


@both
@ends
def test_the_others_are_ended_and_report(mpi: Mpi, status: int, tmp_path: Path) -> None:
    """A launcher ends such a job, but hears of it only when the process ends that it knows."""
    program = built(mpi, tmp_path, status)
    # However long it would wait for others.
    job = launch(mpi, 4, HPMCOUNT, "-n", "-o", "r", "-a", "statistics", "-e", "page-faults",
                 program, folder=tmp_path, status=STATUS[mpi, status], limit_s=100,
                 variables={"HPM_AGGREGATE_TIMEOUT": "80000"})  # fmt: skip
    reports = {path.name: path.read_text() for path in tmp_path.glob("*.hpm")}
    assert "r.hpm" in reports, job.said
    said = " ".join(reports["r.hpm"].split())
    assert "statistics over 4 tasks: 0-3" in said
    if status:
        assert "task 2 ended with exit status 3: included" in said
    if status and mpi is OPEN_MPI:  # which ends jobs over any such status, MPI or not
        assert "note: another task failed, which ended the job" in said
    else:
        assert "note: the launcher ended the job; counts are those up to then" in said
        assert f"task 2 ended with exit status {status} before that" in said


@both
def test_sections_of_such_a_task(mpi: Mpi, tmp_path: Path) -> None:
    """The library sees that MPI is up when its program ends, and waits for the others no longer."""
    program = built(mpi, tmp_path, 0, "-DSECTIONS", *FLAGS)
    job = launch(mpi, 4, program, folder=tmp_path, status=None, limit_s=100, apart=True,
                 variables={"HPM_AGGREGATE": "average", "HPM_OUTPUT_NAME": "r",
                            "HPM_AGGREGATE_TIMEOUT": "80000"})  # fmt: skip
    assert "task 2 ends without hpmTerminate and MPI_Finalize" in job.errs[2]
    # Its own report, and what the others had measured when the launcher ended them.
    assert "average over 1 task: 2" in (tmp_path / "r_2.hpm").read_text()
    raws = sorted(path.name for path in tmp_path.glob("*.hpmraw"))
    assert len(raws) == 3
    done = run(GNOMON, "repair", "-a", "average", *raws, cwd=tmp_path)
    assert "average over 3 tasks: 0,1,3" in done.stdout, done.stderr
