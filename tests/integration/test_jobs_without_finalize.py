"""A task that ends between MPI_Init and MPI_Finalize, for which the others wait in MPI."""

from __future__ import annotations

from pathlib import Path

from commands import HPMCOUNT
from mpi import MPICH, build, launch

SOURCE = """
#include <mpi.h>
#include <stdlib.h>
int main(int n, char **words)
{
	int task;
	MPI_Init(&n, &words);
	MPI_Comm_rank(MPI_COMM_WORLD, &task);
	if (task == 2)
		exit(3);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
"""


def test_the_others_are_ended_and_report(tmp_path: Path) -> None:
    """Hydra would kill them at once, but hears of it only when hpmcount ends, which waits."""
    source = tmp_path / "exits.c"
    source.write_text(SOURCE)
    program = build(MPICH, source, tmp_path)
    job = launch(MPICH, 4, HPMCOUNT, "-n", "-o", "r", "-a", "statistics", "-e", "page-faults",
                 program, folder=tmp_path, status=None, limit_s=100)  # fmt: skip
    assert job.status != 0
    reports = {path.name: path.read_text() for path in tmp_path.glob("*.hpm")}
    assert sorted(reports) == ["r.hpm"], job.said
    assert "statistics over 4 tasks: 0-3" in reports["r.hpm"]
    assert "task 2 ended with exit status 3: it is in" in reports["r.hpm"]
    assert "note: another task failed, which ended the job" in reports["r.hpm"]
