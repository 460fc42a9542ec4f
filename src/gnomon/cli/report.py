"""`gnomon report`: what a run directory holds."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gnomon.cli.output import open_for_writing, write
from gnomon.cli.parsing import HelpFormatter
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.store import hotspots, report


_TOP = 25
_EPILOG = """\
examples:
  gnomon report                                   the latest run here
  gnomon report app --per function
  gnomon report app --per line --sort PAPI_L1_DCM
  gnomon report app --per line --file solver.c    every line of one file"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon report`."""
    p = argparse.ArgumentParser(
        prog="gnomon report",
        description="Print the values that a run directory holds: for the whole command, for each "
        "process or thread, or for each function, source file or line.",
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    p.add_argument("run", nargs="?", metavar="RUN", help="name or path (default: the latest here)")
    p.add_argument(
        "--per",
        choices=("command", "process", "thread", "function", "file", "line"),
        default="command",
        help="what to print values of (default: command)",
    )
    p.add_argument(
        "--sort",
        metavar="EVENT",
        default="",
        help="functions, files and lines with most of it come first (default: the first event)",
    )
    p.add_argument(
        "--top",
        metavar="N",
        type=int,
        default=None,
        help=f"print only N functions, files or lines; 0 for all (default: {_TOP})",
    )
    p.add_argument(
        "--file",
        metavar="FILE",
        default="",
        help="only functions or lines of this source file; lines then come in their order",
    )
    p.add_argument("--json", action="store_true", help="as JSON")
    p.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write it there, as JSON if it ends in .json; '-' is stdout",
    )
    return p


def run(arguments: argparse.Namespace) -> int:
    """Print the report and return 0."""
    from gnomon.store import hotspots, report
    from gnomon.store.rundir import find

    by_place = arguments.per in hotspots.KINDS
    if not by_place and (arguments.sort or arguments.file or arguments.top is not None):
        raise UsageError("--sort, --top and --file go with --per function, file or line")
    if arguments.top is not None and arguments.top < 0:
        raise UsageError(f"--top {arguments.top}: a number of rows is 0 (for all) or more")
    opened = find(arguments.run)
    as_json = arguments.json or (arguments.output or "").lower().endswith(".json")
    rows: Sequence[hotspots.Hotspot | report.ProfileRow]
    if by_place:
        everything = as_json or (arguments.file and arguments.per == "line")
        top = (0 if everything else _TOP) if arguments.top is None else arguments.top
        found = hotspots.hotspots(
            opened, arguments.per, sort=arguments.sort, file=arguments.file, top=top
        )
        rows = found.rows
        text = "" if as_json else hotspots.text(opened, found)
    else:
        values = rows = report.profile(opened, arguments.per)
        text = "" if as_json else report.text(opened, values, arguments.per)
    if as_json:
        whole: dict[str, Any] = {
            "run": dict(opened.head),
            "values": [row.as_dict() for row in rows],
        }
        text = json.dumps(whole, indent=2) + "\n"
    if arguments.output and arguments.output != "-":
        with open_for_writing(arguments.output) as file:
            write(file, text)
    else:
        write(sys.stdout, text)
    return 0
