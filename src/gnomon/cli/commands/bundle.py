"""`gnomon bundle`: a run and its sources in one file, to look at them on another machine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gnomon.cli.terminal.argument_help import Parser
from gnomon.errors import RunDirectoryError
from gnomon.units import printable

_NAMED = 3
_EPILOG = """\
examples:
  gnomon bundle app                      makes app.gnomon.zip
  gnomon bundle app -o /tmp/slow.gnomon.zip
  gnomon view app.gnomon.zip             on the other machine
  gnomon import app.gnomon.zip           a run directory of it"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon bundle`."""
    p = Parser(
        prog="gnomon bundle",
        description="Pack a run, the source files that it names and the code of its hot functions "
        "into one file, NAME.gnomon.zip. view, report, compare and export accept it like a run, on "
        "any machine; names of functions are in the run already. Sources and programs that have "
        "changed since the program ran are left out. The file is a ZIP archive of the run "
        "directory.",
        epilog=_EPILOG,
    )
    p.add_argument(
        "run", nargs="?", metavar="RUN", help="name or path (default: the latest run here)"
    )
    p.add_argument("-o", "--output", metavar="FILE", help="default: NAME.gnomon.zip, here")
    p.add_argument("--force", action="store_true", help="replace a file of that name")
    return p


def run(arguments: argparse.Namespace) -> int:
    """Write the bundle, print its name and return 0.

    Raises:
        RunDirectoryError: there is no such run, it cannot be read, or the file exists already.
        GnomonError: the file cannot be written.
    """
    from gnomon.cli.terminal.atomic_file import WholeFile
    from gnomon.store.run_bundle import write_bundle
    from gnomon.store.run_directory import SUFFIX, find
    from gnomon.store.run_files import BundleReader

    packed = find(arguments.run)
    if packed.files is not None:
        raise RunDirectoryError(
            f"{packed.path}: a file, not a run directory; make one of it: gnomon import "
            f"{printable(str(packed.path))}"
        )
    (suffix,) = BundleReader().suffixes
    name = packed.path.resolve().name.removesuffix(SUFFIX)
    output = arguments.output or name + suffix
    if Path(output).exists() and not arguments.force:
        raise RunDirectoryError(f"{output}: it exists already; replace it by --force, or use -o")
    file = WholeFile(output)
    try:
        with open(file.text.fileno(), "wb", closefd=False) as archive:
            contents = write_bundle(packed, archive)
        file.keep()
    except OSError as error:
        raise RunDirectoryError(f"{output}: cannot be written: {error.strerror}") from None
    finally:
        file.drop()
    print(printable(output))
    _note(
        "sources not packed, as they are not there or have changed since the program ran: ",
        contents.missing_sources,
    )
    _note("code of functions not packed: ", contents.missing_code)
    return 0


def _note(what: str, missing: Sequence[str]) -> None:
    if missing:
        names = ", ".join(printable(name) for name in missing[:_NAMED])
        others = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        print(f"gnomon: note: {what}{names}{others}", file=sys.stderr)
