"""`gnomon report`: what a run directory holds."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from gnomon.cli.output import csv_of, format_of, width_of, write_report
from gnomon.cli.parsing import Parser, add_report_options
from gnomon.errors import GnomonError, UsageError
from gnomon.layout import WIDTH

_TOP = 25
_PARTS = ("run", "locations", "regions", "metrics", "profile")
_EPILOG = """\
examples:
  gnomon report                          the latest run here
  gnomon report app --per function
  gnomon report app --per line --sort PAPI_L1_DCM
  gnomon report app --per function -e L1_DCM,LD_INS --counts
  gnomon report app --per line --file solver.c
                                         the source of a file with its counts
  gnomon report app run                  what ran, where, what was not available
  gnomon report app profile --by rank -e PAPI_TOT_CYC"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon report`."""
    p = Parser(
        prog="gnomon report",
        usage="gnomon report [options] [RUN] [PART]",
        description="Print the values that a run directory holds: for the whole command, for each "
        "process, thread, core or CPU, or for each function, source file or line; or one part of "
        "what it holds.",
        epilog=_EPILOG,
    )
    p.add_argument(
        "run", nargs="?", metavar="RUN",
        help="name or path, a .viz file, or a program, whose latest run without --name it is "
        "(default: the latest run here)",
    )  # fmt: skip
    p.add_argument(
        "part",
        nargs="?",
        choices=_PARTS,
        metavar="PART",
        help="run (what ran and where), locations, regions, metrics, or profile (values summed up "
        "over all locations, or of each)",
    )
    p.add_argument(
        "--by",
        choices=("region", "file", "line", "rank", "process", "thread", "metric"),
        default=None,
        help="what the profile is of (default: region)",
    )
    p.add_argument(
        "--per",
        choices=("command", "process", "thread", "core", "cpu", "function", "file", "line"),
        default=None,
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
        help="events to show of functions, files and lines, or the one of a profile, in any case "
        "and with or without PAPI_ (default: as many as fit, of a profile one; JSON has all)",
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
        help=f"print only N functions, files, lines or rows; 0 for all (default: {_TOP})",
    )
    p.add_argument(
        "--file",
        metavar="FILE",
        default="",
        help="only what is in this source file; with --per line its source, each line with its "
        "counts, and without those far from any",
    )
    add_report_options(p)
    return p


def run(arguments: argparse.Namespace) -> int:
    """Print the report and return 0, or 1 if the run has no values of what was asked for."""
    from gnomon.store.rundir import exists, find

    if arguments.part is None and arguments.run in _PARTS and not exists(arguments.run):
        arguments.run, arguments.part = None, arguments.run
    if arguments.part is not None:
        return _part(arguments)
    if arguments.by is not None:
        raise UsageError("--by goes with profile: gnomon report RUN profile --by rank")
    is_asked_for = arguments.per is not None
    arguments.per = arguments.per or "command"
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
    kind, width = _kind(arguments), _width(arguments)
    as_json = kind != "text"
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
        text = _written(kind, whole, "values", arguments.output)
    write_report(arguments.output, text)
    # A run that was repaired has no values of the command: what it has was told.
    return 1 if is_empty and is_asked_for else 0


def _part(arguments: argparse.Namespace) -> int:
    """Print one part of a run and return 0, or 1 if there is nothing in it."""
    from gnomon.store import holdings, profiles
    from gnomon.store.rundir import find

    part = arguments.part
    chosen = [name for names in arguments.event for name in names.split(",") if name.strip()]
    if arguments.per or arguments.sort or arguments.file or arguments.counts:
        raise UsageError(f"--per, --sort, --file and --counts do not go with {part}")
    if part != "profile" and (arguments.by or chosen):
        raise UsageError(f"--by and --event go with profile, not with {part}")
    if len(chosen) > 1:
        raise UsageError("a profile is of one event: give -e once (--json has all)")
    if arguments.top is not None and arguments.top < 0:
        raise UsageError(f"--top {arguments.top}: a number of rows is 0 (for all) or more")
    opened = find(arguments.run)
    kind, width = _kind(arguments), _width(arguments)
    as_json = kind != "text"
    if kind == "csv" and part == "run":
        raise UsageError(
            f"{arguments.output}: what ran is no table; name a file that ends in .json"
        )
    by = arguments.by or "region"
    top = (0 if as_json else _TOP) if arguments.top is None else arguments.top
    whole: dict[str, Any] = {"run": dict(opened.head)}
    is_empty = False
    text = ""
    if part == "run":
        text = holdings.run_text(opened, width)
    elif part == "profile":
        event = next(iter(chosen), "")
        one, names = (-1, []) if by == "metric" else profiles.metric(opened, by, event)
        found = profiles.profile(opened, by, one if event or not as_json else -1)
        is_empty = not found
        if as_json:
            whole["by"] = by
            whole["profile"] = profiles.profile_rows(opened, found, by)[: top or None]
        else:
            text = profiles.profile_text(opened, found, by, width=width, top=top, others=names)
    else:
        rows = holdings.rows(opened, part, top)
        is_empty = not rows
        whole[part] = rows if as_json else []
        text = holdings.table_text(opened, part, rows, width, holdings.count(opened, part))
    write_report(
        arguments.output, _written(kind, whole, part, arguments.output) if as_json else text
    )
    return 1 if is_empty else 0


def _kind(arguments: argparse.Namespace) -> str:
    return format_of(arguments.output, as_json=arguments.json)


def _written(kind: str, whole: dict[str, Any], rows: str, output: str) -> str:
    if kind == "csv" and not whole[rows]:
        raise GnomonError(f"{output}: not written: the run has no such values; see gnomon report")
    return csv_of(whole[rows]) if kind == "csv" else json.dumps(whole, indent=2) + "\n"


def _to_file(arguments: argparse.Namespace) -> bool:
    return bool(arguments.output) and arguments.output != "-"


def _width(arguments: argparse.Namespace) -> int:
    return WIDTH if _to_file(arguments) else width_of(sys.stdout)
