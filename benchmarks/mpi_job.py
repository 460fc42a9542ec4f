"""Jobs of several ranks, with Open MPI or MPICH."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

# What tells a program of another job, or of other settings.
_FOREIGN = ("HPM_", "GNOMON_", "OMPI_", "PMIX_", "PMI_", "MPI_", "HYDI_", "HYDRA_")


def environment(mpi: str) -> dict[str, str]:
    """Return the variables of this process, so far as a job of its own is to have them."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(_FOREIGN)}
    if mpi == "openmpi" and os.geteuid() == 0:
        clean |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return clean


def output_of_job(
    folder: Path,
    mpi: str,
    tasks: int,
    command: Sequence[str | Path],
    variables: Mapping[str, str] | None = None,
    *,
    is_quiet: bool = True,
) -> str:
    """Run a job in a folder of its own and return what it printed; a job that fails ends all.

    One that `is_quiet` fails if it says anything on standard error.
    """
    options = ["--oversubscribe"] if mpi == "openmpi" else []
    with tempfile.TemporaryDirectory(dir=folder) as work:
        done = subprocess.run(
            [f"mpirun.{mpi}", *options, "-n", str(tasks), *command],
            cwd=work,
            env={**environment(mpi), **(variables or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode or (is_quiet and done.stderr):
        said = f"{' '.join(map(str, command))} on {tasks} tasks: {done.stderr.strip()}"
        raise SystemExit(said)
    return done.stdout


def compile_program(mpi: str, *words: str | Path) -> None:
    """Compile with an MPI's compiler; raises CalledProcessError where it refuses."""
    command = [f"mpicc.{mpi}", "-std=gnu11", "-O2", *map(str, words)]
    subprocess.run(command, env=environment(mpi), check=True)
