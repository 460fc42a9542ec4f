"""`gnomon report`: what a run directory holds."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from gnomon.cli.output import open_for_writing, write
from gnomon.cli.parsing import HelpFormatter


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon report`."""
    p = argparse.ArgumentParser(
        prog="gnomon report",
        description="Print the values that a run directory holds: for the whole command, or a "
        "row for each process or thread.",
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    p.add_argument("run", nargs="?", metavar="RUN", help="name or path (default: the latest here)")
    p.add_argument(
        "--per",
        choices=("command", "process", "thread"),
        default="command",
        help="what to print values of (default: command)",
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
    from gnomon.store import report
    from gnomon.store.rundir import find

    opened = find(arguments.run)
    rows = report.profile(opened, arguments.per)
    if arguments.json or (arguments.output or "").lower().endswith(".json"):
        whole: dict[str, Any] = {
            "run": dict(opened.head),
            "values": [row.as_dict() for row in rows],
        }
        text = json.dumps(whole, indent=2) + "\n"
    else:
        text = report.text(opened, rows, arguments.per)
    if arguments.output and arguments.output != "-":
        with open_for_writing(arguments.output) as file:
            write(file, text)
    else:
        write(sys.stdout, text)
    return 0
