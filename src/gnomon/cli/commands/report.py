"""`gnomon report`: what a run holds, part by part."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from gnomon.capabilities import readers, report_parts
from gnomon.cli.terminal.argument_help import Parser, add_report_options
from gnomon.cli.terminal.piecewise_output import write_pieces
from gnomon.cli.terminal.streams import format_of, width_of, write_report
from gnomon.csv_text import csv_pieces
from gnomon.errors import GnomonError, UsageError
from gnomon.named_tuple import NamedTuple
from gnomon.store import executors, inlined_calls
from gnomon.store.reports import report_part
from gnomon.store.reports.report_part import Request
from gnomon.terminal_text import WIDTH, filled

if TYPE_CHECKING:
    from gnomon.store.reports.report_part import ReportPart
    from gnomon.store.run import Run

_EPILOG = """\
examples:
  gnomon report                          the latest run here
  gnomon report app hotspots
  gnomon report app hotspots --by line --sort PAPI_L1_DCM
  gnomon report app hotspots -e L1_DCM,LD_INS --counts
  gnomon report app source solver.c      a file with the counts beside its lines
  gnomon report app run                  what ran, where, what was not available
  gnomon report app profile --by function
  gnomon report app profile --by rank -e PAPI_TOT_CYC
  gnomon report app tree --threshold 5
  gnomon report job mpi --by site"""
# --per, of before parts were named: what it means now. Of a sampled run, which has one event and
# totals, functions, files and lines are those of the profile.
_WHERE = ("command", "core", "cpu")
_CODE = ("function", "file", "line")
_PER = {
    **dict.fromkeys((*_WHERE[:1], "process", "thread", *_WHERE[1:]), "values"),
    **dict.fromkeys(_CODE, "hotspots"),
}
_PERCENT = 100
# What of a request is asked for by which option.
_OPTIONS = {
    "metrics": "-e", "sort": "--sort", "top": "--top", "counts": "--counts", "file": "--file",
    "executor": "--executor", "threshold": "--threshold", "depth": "--depth",
    "bottom_up": "--bottom-up", "inlined": "--inlined",
}  # fmt: skip


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon report`."""
    p = Parser(
        prog="gnomon report",
        usage="gnomon report [options] [RUN] [PART [ARGUMENT]]",
        description="Print a run: the values of the whole command, or one of its parts.\n\n"
        + _help_of(report_parts()),
        epilog=_EPILOG,
    )
    p.add_argument(
        "run", nargs="?", metavar="RUN",
        help="name or path of a run, a file such as NAME.viz, or a program, for its latest run "
        "without --name (default: the latest run here)",
    )  # fmt: skip
    p.add_argument("part", nargs="?", metavar="PART", help="one of the parts above")
    p.add_argument(
        "argument", nargs="?", metavar="ARGUMENT", help="argument of the part, if it takes one"
    )
    p.add_argument("surplus", nargs="*", help=argparse.SUPPRESS)
    p.add_argument(
        "--by",
        metavar="WHAT",
        default=None,
        help="what the rows of the part are, as listed above (default: the first)",
    )
    p.add_argument(
        "--per",
        choices=tuple(_PER),
        default=None,
        help="older form of values --by or hotspots --by (of sampled runs: profile --by)",
    )
    p.add_argument(
        "--sort",
        metavar="EVENT",
        default="",
        help="sort functions, files and lines by this event (default: the first of -e, or of the "
        "run)",
    )
    p.add_argument(
        "-e",
        "--event",
        dest="metrics",
        metavar="LIST",
        action="append",
        default=[],
        help="events to show for functions, files and lines, or the metric of a profile or tree; "
        "any case, with or without PAPI_ (default: as many as fit; JSON has all)",
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
        help=f"print only N rows; 0 for all (default: {report_part.TOP})",
    )
    p.add_argument(
        "--threshold",
        metavar="PERCENT",
        type=float,
        default=None,
        help="only rows of a profile with so many percent of the whole, only branches of a tree "
        "with so many (default: 0 of a profile, 1 of a tree and of callers, there of the function)",
    )
    p.add_argument(
        "--depth",
        metavar="N",
        type=int,
        default=None,
        help="a tree only N calls deep; 0 for all (default: 0)",
    )
    p.add_argument(
        "--bottom-up",
        action="store_true",
        help="a tree from each function up to its callers, not from the program down",
    )
    p.add_argument(
        "--inlined",
        choices=inlined_calls.CHARGED,
        default=None,
        help="charge code that the compiler inlined to the inlined function at its own line, or to "
        "the function that calls it at the line of the call (default: origin)",
    )
    p.add_argument(
        "--file",
        metavar="FILE",
        default="",
        help="only functions and lines of this source file (hotspots --by line: as source FILE)",
    )
    p.add_argument("--executor", metavar="WHO", default="", help=f"for a profile: {executors.HELP}")
    add_report_options(p)
    p.add_argument("--schema", action="store_true", help="print the JSON Schema of --json and exit")
    return p


def _help_of(parts: Iterable[ReportPart]) -> str:
    """Return the parts as help lists them."""
    lines = ["parts:"]
    for part in parts:
        indent = " " * 17
        first = f"  {f'{part.name} {part.argument}'.strip():<13}  "
        lines += filled(part.title, WIDTH, first, indent)
        if part.by:
            lines += filled(f"--by {', '.join(part.by)}", WIDTH, indent, f"{indent}     ")
    return "\n".join(lines)


class _Words(NamedTuple):
    """What stands on the command line beside options."""

    run: str | None
    part: str | None
    argument: str


def run(arguments: argparse.Namespace) -> int:
    """Print a part and return 0, or 1 if the run has no such data.

    Raises:
        UsageError: there is no such part, or it does not take an option that was typed.
        GnomonError: the run cannot be read, or the report cannot be written.
    """
    with executors.is_chosen(arguments.executor) as is_director:
        return _report(arguments) if is_director else 0


def _report(arguments: argparse.Namespace) -> int:
    from gnomon.store import reference_checks
    from gnomon.store.run_directory import find

    if arguments.schema:
        from gnomon.store.reports.report_schema import schema

        write_report(arguments.output, json.dumps(schema(report_parts()), indent=2) + "\n")
        return 0
    parts = {one.name: one for one in report_parts()}
    words = _words(arguments, parts)
    if words.part is not None and words.part not in parts:
        _refuse_part(words, parts)
    name, by = _name_and_by(arguments, words.part)
    part = parts[name]
    request = _request(arguments, part, by, words.argument)
    opened = find(words.run, readers=readers())
    reference_checks.check(opened)
    if request.inlined == inlined_calls.CALLER:
        opened = inlined_calls.at_callers(opened)
    if words.part is None and arguments.per in _CODE and _is_profile(opened, arguments):
        part = parts["profile"]
    kind = format_of(arguments.output, as_json=arguments.json)
    if kind == "text":
        text, is_empty = part.text(opened, request)
        write_report(arguments.output, text)
    else:
        data = part.data(opened, request)
        rows = iter(data.rows)
        first = next(rows, None)
        is_empty = first is None
        if not isinstance(data.rows, Sequence) and first is not None:
            data = data._replace(rows=chain([first], rows))
        if kind == "json":
            pieces = report_part.json_pieces(opened, part, request, data)
        elif is_empty:
            raise GnomonError(
                f"{arguments.output}: not written: the run has no such values; see gnomon report"
            )
        else:
            pieces = csv_pieces(data.rows)
        write_pieces(pieces, arguments.output)
    # A run that was repaired has no values of the command: what it has was told.
    return 1 if is_empty and (words.part or arguments.per) else 0


def _words(arguments: argparse.Namespace, parts: Mapping[str, ReportPart]) -> _Words:
    """Return which words mean the run, the part and its argument; the run may be left out."""
    from gnomon.store.run_directory import exists

    given: list[str | None] = [
        word for word in (arguments.run, arguments.part, arguments.argument) if word is not None
    ]
    given += arguments.surplus
    if given and given[0] in parts and not exists(str(given[0]), readers()):
        given.insert(0, None)
    if len(given) > len(_Words._fields):
        raise UsageError(f"'{given[3]}': unexpected; see gnomon report --help")
    given += [None] * (len(_Words._fields) - len(given))
    return _Words(given[0], given[1], given[2] or "")


def _refuse_part(words: _Words, parts: Mapping[str, ReportPart]) -> None:
    """Say which parts the run has, where there is no such part.

    Raises:
        UsageError: always, unless the run cannot be read.
    """
    import difflib

    from gnomon.store.run_directory import exists, find

    where, names = "gnomon report", list(parts)
    if words.run is None or exists(words.run, readers()):
        opened = find(words.run, readers=readers())
        where, names = str(opened.path), [one.name for one in parts.values() if one.is_in(opened)]
    close = difflib.get_close_matches(str(words.part), names, n=1)
    hint = f"did you mean {close[0]}? It" if close else "it"
    has = f"{hint} has {', '.join(names)}"
    raise UsageError(f"'{words.part}': {where} has no such part; {has}")


def _name_and_by(arguments: argparse.Namespace, part: str | None) -> tuple[str, str | None]:
    """Return which part is wanted, and what `--by` says of it, in whatever way it was typed.

    Raises:
        UsageError: --per beside --by, or a part that has no such rows.
    """
    if arguments.per is None:
        return part or next(iter(report_parts())).name, arguments.by
    meant = f"{_PER[arguments.per]} --by {arguments.per}"
    if part == "profile" and arguments.by is None and arguments.per not in _WHERE:
        return part, arguments.per
    if part is not None:
        raise UsageError(f"--per does not apply to {part}; it means {meant}")
    if arguments.by is not None:
        raise UsageError(f"--per and --by: --per {arguments.per} means {meant}; leave one out")
    return _PER[arguments.per], arguments.per


def _is_profile(run: Run, arguments: argparse.Namespace) -> bool:
    """Return whether --per function, file or line is of the profile, not of hotspots."""
    from gnomon.store.reports.code_rows import SAMPLED, metrics

    if arguments.sort or arguments.counts or arguments.file:
        return False
    return any(metric["how"] == SAMPLED for metric in metrics(run)[:1])


def _request(
    arguments: argparse.Namespace, part: ReportPart, by: str | None, argument: str
) -> Request:
    """Return the request for a part.

    Raises:
        UsageError: it is something that the part does not take.
    """
    if argument and not part.argument:
        raise UsageError(f"'{argument}': {part.name} takes no argument; see gnomon report --help")
    if by is not None and by not in part.by:
        raise UsageError(_wrong_by(part, by))
    for field, option in _OPTIONS.items():
        value = getattr(arguments, field)
        is_typed = value is not None and value is not False and value not in ("", [])
        if is_typed and field not in part.options:
            takers = _listed([one.name for one in report_parts() if field in one.options], "and")
            raise UsageError(f"{option} does not apply to {part.name}; it applies to {takers}")
    if arguments.top is not None and arguments.top < 0:
        raise UsageError(f"--top {arguments.top}: must be 0 (for all) or more")
    if arguments.threshold is not None and not 0 <= arguments.threshold <= _PERCENT:
        raise UsageError(f"--threshold {arguments.threshold:g}: must be 0 to 100, in percent")
    if arguments.depth is not None and arguments.depth < 0:
        raise UsageError(f"--depth {arguments.depth}: must be 0 (for all) or more")
    to_file = bool(arguments.output) and arguments.output != "-"
    names = [name for names in arguments.metrics for name in names.split(",")]
    return Request(
        by=by or next(iter(part.by), ""),
        argument=argument,
        metrics=tuple(name for name in names if name.strip()),
        sort=arguments.sort,
        top=arguments.top,
        counts=arguments.counts,
        file=arguments.file,
        threshold=arguments.threshold,
        depth=arguments.depth,
        bottom_up=arguments.bottom_up,
        inlined=arguments.inlined or "",
        width=WIDTH if to_file else width_of(sys.stdout),
    )


def _wrong_by(part: ReportPart, by: str) -> str:
    import difflib

    others = [one.name for one in report_parts() if by in one.by]
    if others:
        instead = f"gnomon report RUN {others[0]} --by {by}"
        return f"--by {by} does not apply to {part.name}; type {instead}"
    takers = [one.name for one in report_parts() if one.by]
    if not part.by:
        return f"--by does not apply to {part.name}; it applies to {_listed(takers, 'and')}"
    close = difflib.get_close_matches(by, part.by, n=1)
    hint = f"did you mean {close[0]}?" if close else f"it is {_listed(part.by, 'or')}"
    return f"--by {by}: {part.name} has no such rows; {hint}"


def _listed(words: Sequence[str], last: str) -> str:
    *head, tail = words
    return f"{', '.join(head)} {last} {tail}" if head else tail
