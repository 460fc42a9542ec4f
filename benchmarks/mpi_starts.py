"""What MPI's profile adds to starts: of any process by its stub, of a job by `gnomon run`."""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

import gnomon.mpi
from benchmarks.mpi_job import compile_program, environment
from benchmarks.table import Row, Table, interleaved, verdict, wall_ms

_GNOMON = str(Path(sys.executable).with_name("gnomon"))
_STUB = Path(gnomon.mpi.__file__).with_name("libgnomon_mpi.so")
_RANKS = 4
_STUB_LIMIT_MS, _JOB_LIMIT_MS = 0.2, 150.0
_JOB = """\
#include <mpi.h>
int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Barrier(MPI_COMM_WORLD);
	return MPI_Finalize();
}
"""


def run(rounds: int) -> Table:
    """Return wall times of starts with and without the stub, medians of alternating rounds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, program = folder / "job.c", folder / "job"
        source.write_text(_JOB)
        compile_program("openmpi", "-o", program, source)
        mpirun = ["mpirun.openmpi", "--oversubscribe", "-n", str(_RANKS), str(program)]
        run = [_GNOMON, "run", "--name", str(folder / "run"), "--force"]
        variables = environment("openmpi")
        stub = {**variables, "LD_PRELOAD": str(_STUB)}
        processes = interleaved(
            40 * rounds,
            {
                "true": partial(wall_ms, ["true"], env=variables),
                "true with the stub": partial(wall_ms, ["true"], env=stub),
            },
        )
        jobs = interleaved(
            rounds,
            {
                "mpirun, 4 ranks": partial(wall_ms, mpirun, env=variables),
                "gnomon run --without mpi": partial(
                    wall_ms, [*run, "--without", "mpi", "--", *mpirun], env=variables
                ),
                "gnomon run": partial(wall_ms, [*run, "--", *mpirun], env=variables),
            },
        )
    medians = processes | jobs
    stub_ms = medians["true with the stub"] - medians["true"]
    job_ms = medians["gnomon run"] - medians["gnomon run --without mpi"]
    return Table(
        "mpi-starts",
        "ms",
        [Row(name, "floor" if name.startswith("true") else "", medians[name]) for name in medians],
        [
            verdict("the stub adds to a process", stub_ms, _STUB_LIMIT_MS, "ms"),
            verdict("MPI adds to gnomon run of 4 ranks", job_ms, _JOB_LIMIT_MS, "ms"),
        ],
    )
