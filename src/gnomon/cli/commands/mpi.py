"""`gnomon mpi`: measure the calls of MPI alone, and leave a run."""

from __future__ import annotations

import argparse

from gnomon.cli.commands import run as run_command
from gnomon.mpi.capability import BARRIER_HELP

_DESCRIPTION = """\
Measure the MPI calls of a program, of every rank: calls, time and bytes by routine, call
site, rank, size and communicator, and who sent how much to whom. The program is as it is,
without relinking; Open MPI and MPICH, C, C++, Fortran and mpi4py. The result is stored in
the run directory NAME.gnomon. gnomon run measures the same, together with all else."""

_EPILOG = """\
examples:
  gnomon mpi -- mpirun -n 4 ./app
  mpirun -n 4 gnomon mpi -- ./app
  gnomon mpi --barrier --name job -- srun -n 64 ./app

Then: gnomon report NAME mpi, gnomon view NAME. After a kill: gnomon repair NAME.
Wrappers for an MPI are compiled before the program starts, once; MPICC names its compiler."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon mpi`."""
    p = run_command.capability_parser(
        "mpi", _DESCRIPTION, _EPILOG, without="counters,sections,samples"
    )
    p.add_argument(
        "--barrier", dest="mpi:barrier", action="store_const", const=True, help=BARRIER_HELP
    )
    p.set_defaults(spelled={"mpi": {"barrier": "--barrier"}})
    return p


def run(arguments: argparse.Namespace) -> int:
    """Run the program; as `run_capability`."""
    return run_command.run_capability("mpi", arguments)
