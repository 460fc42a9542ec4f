"""`gnomon report`: what a run directory holds."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from gnomon.cli.output import open_for_writing, width_of, write
from gnomon.cli.parsing import HelpFormatter
from gnomon.errors import UsageError
from gnomon.layout import WIDTH

_TOP = 25
_EPILOG = """\
examples:
  gnomon report                                   the latest run here
  gnomon report app --per function
  gnomon report app --per line --sort PAPI_L1_DCM
  gnomon report app --per function -e L1_DCM,LD_INS --counts
  gnomon report app --per line --file solver.c    the source of one file with its counts"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon report`."""
    p = argparse.ArgumentParser(
        prog="gnomon report",
        description="Print the values that a run directory holds: for the whole command, for each "
        "process, thread, core or CPU, or for each function, source file or line.",
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    p.add_argument("run", nargs="?", metavar="RUN", help="name or path (default: the latest here)")
    p.add_argument(
        "--per",
        choices=("command", "process", "thread", "core", "cpu", "function", "file", "line"),
        default="command",
        help="what to print values of (default: command)",
    )
    p.add_argument(
        "--sort",
        metavar="EVENT",
        default="",
        help="functions, files and lines with most of it come first (default: the first "
        "of -e, or of the run)",
    )
    p.add_argument(
        "-e",
        "--event",
        metavar="LIST",
        action="append",
        default=[],
        help="events to show of functions, files and lines, in any case and with or without PAPI_ "
        "(default: as many as fit; JSON has all of them)",
    )
    p.add_argument(
        "--counts",
        action="store_true",
        help="show counts of every event of functions, files and lines, not only shares",
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
        help="only what is in this source file; with --per line its source, each line with its "
        "counts, and without those far from any",
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
    """Print the report and return 0, or 1 if the run has no such values."""
    from gnomon.store.rundir import find

    kinds = ("function", "file", "line")
    by_place = arguments.per in kinds
    chosen = [name for names in arguments.event for name in names.split(",") if name.strip()]
    if not by_place and (
        arguments.sort or arguments.file or chosen or arguments.counts or arguments.top is not None
    ):
        raise UsageError(
            "--sort, --top, --file, --event and --counts go with --per function, file or line"
        )
    if arguments.top is not None and arguments.top < 0:
        raise UsageError(f"--top {arguments.top}: a number of rows is 0 (for all) or more")
    opened = find(arguments.run)
    as_json = arguments.json or (arguments.output or "").lower().endswith(".json")
    to_file = bool(arguments.output) and arguments.output != "-"
    width = WIDTH if to_file else width_of(sys.stdout)
    whole: dict[str, Any] = {"run": dict(opened.head)}
    text = ""
    if by_place:
        from gnomon.store import hotspots, places

        everything = as_json or (arguments.file and arguments.per == "line")
        top = (0 if everything else _TOP) if arguments.top is None else arguments.top
        sort = arguments.sort or next(iter(chosen), "")
        found = hotspots.hotspots(opened, arguments.per, sort=sort, file=arguments.file, top=top)
        is_empty = not found.rows
        if as_json:
            whole["totals"] = {name: hotspots.whole(one) for name, one in found.totals.items()}
            whole["values"] = [row.as_dict() for row in found.rows]
        else:
            text = places.text(opened, found, width=width, events=chosen, counts=arguments.counts)
    else:
        from gnomon.store import report

        values = report.profile(opened, arguments.per)
        is_empty = not values
        if as_json:
            whole["values"] = [row.as_dict() for row in values]
        else:
            text = report.text(
                opened, values, arguments.per, width=width, emulated=report.is_emulated(opened)
            )
    if as_json:
        text = json.dumps(whole, indent=2) + "\n"
    if to_file:
        with open_for_writing(arguments.output) as file:
            write(file, text)
    else:
        write(sys.stdout, text)
    return 1 if is_empty else 0
