"""`gnomon io`: record a program's calls on files alone, and leave a run; or advise on a run."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.cli.commands import run as run_command
from gnomon.cli.terminal.streams import is_styled, width_of, write, write_lines, write_report
from gnomon.errors import UsageError
from gnomon.io.module_files import FILES_HELP
from gnomon.io.trace_options import TRACE_HELP, TRACE_MB_HELP

if TYPE_CHECKING:
    from collections.abc import Callable

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
  gnomon io --files '*.dat [ pf ] *.log [ wb ]' -- ./app
  gnomon io --trace --name calls -- ./app && gnomon report calls events
  gnomon io --advise calls

Then: gnomon report NAME io, gnomon view NAME. After a kill: gnomon repair NAME.
Not seen: static programs, system calls made without the C library. The report says where the
kernel counted more bytes than calls were seen to move, and how many requests io_uring had."""
_ADVICE_OPTIONS = {
    "scratch": "--scratch", "pauses": "--pauses", "cold": "--cold", "as_json": "--json",
}  # fmt: skip
_NAME_MOST = 60


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon io`."""
    p = run_command.capability_parser(
        "io", _DESCRIPTION, _EPILOG, without="counters,sections,samples,mpi"
    )
    p.add_argument("--trace", dest="io:trace", action="store_const", const=True, help=TRACE_HELP)
    p.add_argument("--trace-mb", dest="io:trace-mb", metavar="MB", help=TRACE_MB_HELP)
    p.add_argument("--files", dest="io:files", metavar="FILES", help=FILES_HELP)
    names = ("trace", "trace-mb", "files")
    p.set_defaults(spelled={"io": {name: f"--{name}" for name in names}})
    p.usage = (
        "gnomon io [options] [--] program [arguments]\n"
        "       gnomon io --advise RUN [--scratch DIR] [--pauses] [--cold] [--json]"
    )
    group = p.add_argument_group(
        "advice",
        "Say what hurts in a run, propose modules for MIO_FILES, and prove it: calls that were "
        "recorded with --trace are replayed with and without them. No file of yours is written.",
    )
    group.add_argument("--advise", metavar="RUN", help="advise on this run")
    group.add_argument(
        "--scratch",
        metavar="DIR",
        help="where scratch files of replays that write are made (default: beside each file)",
    )
    group.add_argument(
        "--pauses",
        action="store_true",
        help="replay the time between calls, too: for reading ahead while the program computes",
    )
    group.add_argument(
        "--cold",
        action="store_true",
        help="read files from storage, though the run had them in memory",
    )
    group.add_argument("--json", dest="as_json", action="store_true", help="advice as JSON")
    return p


def run(arguments: argparse.Namespace) -> int:
    """Run the program, as `run_capability`; or advise on a run and return 0.

    Raises:
        UsageError: options that do not fit together, or no program.
        GnomonError: there is no such run, or it has no calls on files.
    """
    if arguments.advise is None:
        for name, option in _ADVICE_OPTIONS.items():
            if getattr(arguments, name):
                raise UsageError(f"{option} goes with --advise RUN")
        return run_command.run_capability("io", arguments)
    if run_command.program_of(arguments):
        raise UsageError(
            "--advise runs no program: record a run first, then gnomon io --advise RUN"
        )
    typed = (("name", "--name"), ("force", "--force"), ("io:trace", "--trace"),
             ("io:trace-mb", "--trace-mb"), ("io:files", "--files"))  # fmt: skip
    for name, option in typed:
        if getattr(arguments, name):
            raise UsageError(f"{option} does not go with --advise")
    if arguments.repeat != 1:
        raise UsageError("-r does not go with --advise")
    if arguments.scratch is not None and not Path(arguments.scratch).is_dir():
        raise UsageError(f"--scratch {arguments.scratch}: there is no such folder")
    return _advise(arguments)


def _advise(arguments: argparse.Namespace) -> int:
    from gnomon.capabilities import readers
    from gnomon.io import advice, advice_text
    from gnomon.store import reference_checks
    from gnomon.store.reports.run_facts import title
    from gnomon.store.run_directory import find

    opened = find(arguments.advise, readers=readers())
    reference_checks.check(opened)
    options = advice.Options(
        scratch=arguments.scratch or "",
        has_pauses=arguments.pauses,
        is_cold=arguments.cold or None,
        tell=_teller(),
    )
    try:
        advised = advice.advise(opened, options)
    finally:
        options.tell("")
    if arguments.as_json:
        write_report(None, json.dumps(advice_text.document(advised), indent=2) + "\n")
    else:
        width = width_of(sys.stdout)
        lines = advice_text.lines(advised, title(opened, width), width)
        write_lines(sys.stdout, "\n".join(lines) + "\n")
    return 0


def _teller() -> Callable[[str], None]:
    """Return what tells on a terminal how far it is."""
    if not is_styled(sys.stderr):
        return lambda _text: None

    def tell(text: str) -> None:
        line = f"gnomon: {text[:_NAME_MOST]} ..." if text else ""
        write(sys.stderr, f"\r\x1b[K{line}")

    return tell
