"""`gnomon repair`: the output of a program that was killed before it could write it."""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

from gnomon.cli.parsing import HelpFormatter
from gnomon.errors import GnomonError


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon repair`."""
    p = argparse.ArgumentParser(
        prog="gnomon repair",
        description="Write what hpmTerminate would have written (.hpm, .viz, .csv), from the raw "
        "file that a program with libhpm leaves when it is killed. Complete starts and stops are "
        "there; what a section measured since its last start is not, and the output says so. The "
        "raw file stays.",
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    p.add_argument("files", nargs="+", metavar="FILE.hpmraw", help="the raw files")
    p.add_argument(
        "-o", "--output", metavar="NAME", help="write NAME.hpm, NAME.viz, NAME.csv (one file only)"
    )
    return p


def run(arguments: argparse.Namespace) -> int:
    """Repair each file and print its new name; return 0, or 1 if one could not be repaired.

    Raises:
        GnomonError: the helper that reads raw files is not installed.
    """
    import gnomon

    helper = Path(gnomon.__path__[0]) / "lib" / "hpm-repair"
    if arguments.output and len(arguments.files) > 1:
        parser().error("-o names the output of one file; give one file")
    if not os.access(helper, os.X_OK):
        raise GnomonError(f"{helper}: not there or not executable; install Gnomon again")
    status = 0
    for file in arguments.files:
        # A file may begin with a dash.
        words = [os.fspath(helper), file if "/" in file else f"./{file}"]
        words += [arguments.output] if arguments.output else []
        done = subprocess.run(words, check=False)
        if done.returncode < 0:
            raise GnomonError(
                f"{file}: the helper that reads it was killed by signal {-done.returncode}; "
                "please report this as a bug, with the file"
            )
        status = status or done.returncode
    return status
