"""One gmon.out file for each rank of an MPI program: their sum, and which rank has most."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import GNOMON, run
from mpi import MPICH, OPEN_MPI, Mpi, build, environment

SOURCE = """
#include <mpi.h>
#include <time.h>
static volatile double sink;
void work(double seconds)
{
	const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);

	while (clock() < end)
		for (int i = 0; i < 1000; i++)
			sink += i;
}
void exchange(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}
int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i <= rank; i++)
		work(0.2);
	exchange();
	MPI_Finalize();
	return 0;
}
"""


@pytest.mark.parametrize("mpi", [OPEN_MPI, pytest.param(MPICH, marks=pytest.mark.long)])
def test_ranks(mpi: Mpi, tmp_path: Path) -> None:
    source = tmp_path / "ranks.c"
    source.write_text(SOURCE)
    program = build(mpi, source, tmp_path, "-pg", "-fno-inline")
    words = [mpi.command("mpirun"), *(["--oversubscribe"] if mpi is OPEN_MPI else [])]
    variables = environment(mpi) | {"GMON_OUT_PREFIX": str(tmp_path / "rank")}
    done = run(*words, "-n", "3", program, cwd=tmp_path, env=variables)
    assert done.returncode == 0, done.stderr
    files = sorted(tmp_path.glob("rank.*"))
    assert len(files) == 3
    done = run(GNOMON, "callgraph", program, *files, "--report", "flat,statistics", "--json",
               cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    work = {row["function"]: row for row in data["statistics"]}["work"]
    assert work["calls_spread"]["maximum"] == 3
    assert work["calls_spread"]["minimum"] == 1
    assert work["calls_spread"]["average"] == 2
    # The last rank has worked three times as long as the first one.
    assert work["self_spread"]["maximum_file"] == work["calls_spread"]["maximum_file"]
    exchange = {row["function"]: row for row in data["flat"]}.get("exchange")
    assert exchange is not None
    assert exchange["calls"] == 3
    gprof = run("gprof", "-b", "-p", program, *files, cwd=tmp_path)
    ours = run(GNOMON, "callgraph", "-b", "--report", "flat", program, *files, cwd=tmp_path)
    assert ours.stdout == gprof.stdout
