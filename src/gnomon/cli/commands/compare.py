"""`gnomon compare`: what changed between runs, by how much, and how sure that is."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from gnomon.cli.terminal.argument_help import Parser, add_report_options
from gnomon.cli.terminal.streams import format_of, width_of, write_report
from gnomon.csv_text import csv_of
from gnomon.errors import UsageError
from gnomon.terminal_text import WIDTH

if TYPE_CHECKING:
    from gnomon.store.comparison.model import Limit

FAILED = 3
_TOP = 25
_EPILOG = """\
examples:
  gnomon count -r 10 --name before -- ./app    change it and measure again:
  gnomon count -r 10 --name after -- ./app
  gnomon compare before after
  gnomon compare old1,old2,old3 new1,new2,new3
                                              several runs a side
  gnomon compare @release @main --fail-on 5%  all runs with a tag; status 3 if a
                                              metric is worse
  gnomon compare before after --per function -e PAPI_TOT_INS"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon compare`."""
    p = Parser(
        prog="gnomon compare",
        description="Find significant differences between runs, with size and confidence "
        "interval. The first side is the baseline; each other side is compared with it. The "
        "samples are the repetitions (-r) or, if each side has several runs, the runs.",
        epilog=_EPILOG,
    )
    p.add_argument(
        "sides",
        nargs="+",
        metavar="RUN",
        help="a run or a file such as NAME.viz, several as RUN,RUN,..., or all with a tag as @TAG",
    )
    p.add_argument(
        "--per",
        choices=("function", "file", "line", "region", "thread", "process", "rank"),
        default="",
        help="also compare each of these, largest differences first",
    )
    p.add_argument(
        "-e",
        "--event",
        metavar="LIST",
        action="append",
        default=[],
        help="compare only these metrics; any case, with or without PAPI_ (default: all; with "
        "--per the first)",
    )
    p.add_argument(
        "--at-least",
        metavar="PERCENT",
        default="",
        help="ignore differences up to this (default: 2 %% if a side is one run, 1 %% if both are "
        "several, 0.1 %% for emulated counts)",
    )
    p.add_argument(
        "--fail-on",
        metavar="LIMIT",
        action="append",
        default=[],
        help="exit with status 3 if a metric is significantly worse by more than this: 5%%, or "
        "METRIC=5%%,METRIC=10%%,...",
    )
    p.add_argument(
        "--any-machine",
        action="store_true",
        help="also judge runs of different machines",
    )
    p.add_argument(
        "--top",
        metavar="N",
        type=int,
        default=None,
        help=f"print only N functions, lines, ...; 0 for all (default: {_TOP})",
    )
    add_report_options(p)
    return p


def run(arguments: argparse.Namespace) -> int:
    """Print the comparison and return 0, or 3 if a limit is broken.

    Raises:
        UsageError: fewer than two sides, a limit that is none, a metric that no run has.
        GnomonError: a run cannot be read, or a limit cannot be judged.
    """
    from gnomon.capabilities import readers
    from gnomon.store.comparison import comparison_json, comparison_report
    from gnomon.store.comparison.engine import compare
    from gnomon.store.comparison.model import ComparisonOptions
    from gnomon.store.comparison.samples import side

    if len(arguments.sides) < 2:
        raise UsageError("compare needs a baseline and another run: gnomon compare before after")
    if arguments.top is not None and (arguments.top < 0 or not arguments.per):
        raise UsageError(f"--top {arguments.top}: must be 0 (for all) or more, and needs --per")
    options = ComparisonOptions(
        per=arguments.per,
        metrics=tuple(n for names in arguments.event for n in names.split(",") if n.strip()),
        at_least=_share("--at-least", arguments.at_least) if arguments.at_least else None,
        any_machine=arguments.any_machine,
        limits=tuple(limit for text in arguments.fail_on for limit in _limits(text)),
    )
    sides = [side(text, readers=readers()) for text in arguments.sides]
    comparisons, breaches = compare(sides, options)
    to_file = bool(arguments.output) and arguments.output != "-"
    limited = bool(options.limits)
    kind = format_of(arguments.output, as_json=arguments.json)
    if kind != "text":
        comparison_document = comparison_json.document(comparisons)
        if kind == "csv":
            text = csv_of(comparison_json.rows(comparison_document))
        else:
            said = {"breaches": [one._asdict() for one in breaches]} if limited else {}
            text = json.dumps({**comparison_document, **said}, indent=2) + "\n"
    else:
        text = comparison_report.render_comparison(
            comparisons,
            breaches,
            width=WIDTH if to_file else width_of(sys.stdout),
            top=_TOP if arguments.top is None else arguments.top,
            limited=limited,
        )
    write_report(arguments.output, text)
    return FAILED if breaches else 0


def _limits(text: str) -> list[Limit]:
    from gnomon.store.comparison.model import Limit

    limits = []
    for item in text.split(","):
        metric, _, share = item.rpartition("=")
        share = share.strip()
        if "=" in item and not metric.strip():
            raise UsageError(f"--fail-on {text}: a metric is missing before '='")
        worse = {"+": "more", "-": "less"}.get(share[:1], "") if metric else ""
        limits.append(
            Limit(metric.strip(), _share("--fail-on", share[1:] if worse else share), worse)
        )
    return limits


def _share(option: str, text: str) -> float:
    """Return a percentage as a share; the sign of percent may be left out.

    Raises:
        UsageError: it is none.
    """
    number = text.strip().removesuffix("%").strip()
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise UsageError(f"{option} {text}: not a percentage such as 5%")
    return value / 100
