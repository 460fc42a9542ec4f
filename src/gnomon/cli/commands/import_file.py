"""`gnomon import`: a file of another tool, or a run in one file, as a run directory."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gnomon.cli.terminal.argument_help import Parser
from gnomon.errors import UsageError
from gnomon.terminal_text import WIDTH, filled

_OWN = ("viz", "bundle")
"""Formats of Gnomon's own runs."""
_EPILOG = """\
examples:
  gnomon import swim.viz                 makes swim.gnomon
  gnomon import results/7.viz --name before
  gnomon import cpu.pb.gz                makes cpu.gnomon
  gnomon import app.darshan              makes app.gnomon
  gnomon import gmon.out --program ./app --name app

Commands also read such files directly: gnomon view swim.viz. A run
directory is read faster and can be tagged."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon import`."""
    p = Parser(
        prog="gnomon import",
        description="Convert a file to a run directory. The format is recognized by the content."
        "\n\n" + _formats(),
        epilog=_EPILOG,
    )
    p.add_argument("file", metavar="FILE", help="the file")
    p.add_argument(
        "--name",
        metavar="NAME",
        help="write the run directory NAME.gnomon (default: the file's name, here)",
    )
    p.add_argument(
        "--program",
        metavar="PROGRAM",
        default="",
        help="of a gmon.out file: the program that wrote it (default: the one in its folder)",
    )
    p.add_argument("--force", action="store_true", help="replace a run of that name")
    return p


def _formats() -> str:
    """Return the formats as help lists them."""
    from gnomon.capabilities import readers

    lines = ["formats:"]
    for one in readers():
        lines += filled(one.title, WIDTH, f"  {one.name:<10}  ", " " * 14)
    return "\n".join(lines)


def run(arguments: argparse.Namespace) -> int:
    """Make the run directory, print its name, and what of the file is not in it; return 0.

    Raises:
        UsageError: a name is none.
        RunDirectoryError: the file cannot be read, or the run directory not be written.
    """
    from gnomon.capabilities import readers
    from gnomon.store import run_directory
    from gnomon.store.run_files import GmonReader
    from gnomon.store.run_import import import_file
    from gnomon.units import printable

    if not arguments.file:
        raise UsageError("import '': a file name is missing")
    file = Path(arguments.file)
    formats = tuple(
        reader._replace(program=arguments.program) if isinstance(reader, GmonReader) else reader
        for reader in readers()
    )
    made = import_file(file, arguments.name, formats, force=arguments.force)
    print(printable(str(made)))
    head = run_directory.find(str(made)).head
    # Files of Gnomon's have the notes of the run that they were made of.
    notes = [] if head["imported"]["format"] in _OWN else head["warnings"]
    for note in notes:
        lines = filled(f"gnomon: note: {printable(note)}", WIDTH, "", "  ")
        print("\n".join(lines), file=sys.stderr)
    return 0
