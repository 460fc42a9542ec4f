"""Programs linked with libmpitrace: what the tests of the seed's interface share."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from mpi import Mpi, build, environment, launch

HERE = Path(__file__).parent
EXAMPLES = Path(__file__).parents[2] / "examples" / "mpi-trace"


def config(mpi: Mpi, *words: str) -> list[str]:
    """Return the options that `gnomon config` prints for an MPI."""
    done = subprocess.run(
        ["gnomon", "config", *words, "mpi"],
        env=os.environ | {"MPICC": mpi.command("mpicc")},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def linked(mpi: Mpi, source: Path, folder: Path, *more: str | Path, static: bool = False) -> Path:
    """Compile a program and link it with libmpitrace."""
    kind = ["--static"] if static else []
    return build(mpi, source, folder, *more, *config(mpi, "--cflags", "--libs", *kind))


def run_linked(
    mpi: Mpi, ranks: int, program: Path, folder: Path, variables: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """Run a linked program with its files in a folder; return its output and what stderr got."""
    job = launch(mpi, ranks, program, folder=folder, variables=variables, tries=2)
    return job.out, job.err


def make(mpi: Mpi, folder: Path, *targets: str) -> None:
    """Make examples with an MPI's compilers."""
    done = subprocess.run(
        ["make", "-C", folder, f"MPICC={mpi.command('mpicc')}",
         f"MPIF77={mpi.command('mpif77')}", *targets],
        env=environment(mpi), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
