"""`gnomon io`: record a program's calls on files alone, and leave a run."""

from __future__ import annotations

import argparse

from gnomon.cli.commands import run as run_command
from gnomon.io.trace_options import TRACE_HELP, TRACE_MB_HELP

_DESCRIPTION = """\
Record what a program does to its files, in every process: each call of POSIX and stdio, by
file, call site and size, with bytes asked for and delivered, seeks, failures and time. The
program is as it is, without relinking. The result is stored in the run directory
NAME.gnomon. gnomon run --with io records the same, together with all else."""

_EPILOG = """\
examples:
  gnomon io -- tar cf work.tar work
  gnomon io --name job -- mpirun -n 4 ./app
  gnomon report job io --by site
  gnomon io --trace --name calls -- ./app && gnomon report calls events

Then: gnomon report NAME io, gnomon view NAME. After a kill: gnomon repair NAME.
Not seen: static programs, system calls made without the C library, io_uring. The report says
where the kernel counted more bytes than calls were seen to move."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon io`."""
    p = run_command.capability_parser(
        "io", _DESCRIPTION, _EPILOG, without="counters,sections,samples,mpi"
    )
    p.add_argument("--trace", dest="io:trace", action="store_const", const=True, help=TRACE_HELP)
    p.add_argument("--trace-mb", dest="io:trace-mb", metavar="MB", help=TRACE_MB_HELP)
    p.set_defaults(spelled={"io": {"trace": "--trace", "trace-mb": "--trace-mb"}})
    return p


def run(arguments: argparse.Namespace) -> int:
    """Run the program; as `run_capability`."""
    return run_command.run_capability("io", arguments)
