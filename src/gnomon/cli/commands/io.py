"""`gnomon io`: record a program's calls on files alone, and leave a run."""

from __future__ import annotations

import argparse

from gnomon.cli.commands import run as run_command
from gnomon.cli.terminal.argument_help import Parser
from gnomon.errors import UsageError

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

Then: gnomon report NAME io, gnomon view NAME. After a kill: gnomon repair NAME.
Not seen: static programs, system calls made without the C library, io_uring. The report says
where the kernel counted more bytes than calls were seen to move."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon io`."""
    p = Parser(
        prog="gnomon io",
        usage="gnomon io [options] [--] program [arguments]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    run_command.add_name(p)
    run_command.add_repeat(p)
    p.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    # What `gnomon run` takes, so that both do the same.
    p.set_defaults(capabilities="io", without="counters,sections,samples,mpi", spelled={})
    return p


def run(arguments: argparse.Namespace) -> int:
    """Run the program as `gnomon run` does; return the program's status.

    Raises:
        UsageError: there is no program, or an option is wrong.
        RunDirectoryError: the run's name is taken, or its folder cannot be written.
        ProgramError: the program cannot be executed.
    """
    if not run_command.program_of(arguments):
        raise UsageError("no program to run: gnomon io [options] -- program [arguments]")
    return run_command.run(arguments)
