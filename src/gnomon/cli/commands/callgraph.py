"""`gnomon callgraph`: the reports of gprof, and more, of any profile."""

from __future__ import annotations

import argparse
from itertools import chain

from gnomon.callgraph.gmon_names import SUM_FILE
from gnomon.callgraph.reports.plain_reports import REPORTS, report_data, report_pieces
from gnomon.cli.terminal.argument_help import Parser, add_report_options
from gnomon.cli.terminal.streams import complain, format_of, write_report
from gnomon.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from gnomon.callgraph.call_graph import CallGraph
    from gnomon.callgraph.call_profile import Sources
    from gnomon.callgraph.inputs import GraphInput
    from gnomon.callgraph.selection import Selection

_USUAL = ("flat", "graph", "index")
_EPILOG = """\
examples:
  gnomon callgraph ./app gmon.out           as gprof -b ./app gmon.out
  gnomon callgraph ./app gmon.*.out --report statistics
  gnomon callgraph -s ./app gmon.*          writes gmon.sum
  gnomon callgraph callgrind.out.1234 --report graph
  gnomon callgraph app -F solve             a run: only solve and its callees

Of gmon.out files the reports flat, graph and index are GNU gprof's, to the
last digit; gprof's own descriptions of fields are not there. The picture of a
call graph: gnomon view."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon callgraph`."""
    p = Parser(
        prog="gnomon callgraph",
        usage="gnomon callgraph [options] PROGRAM [GMON ...] | [RUN ...]",
        description="Print who calls whom, how often, and what that comes to.\n\nreports:\n"
        + "\n".join(f"  {name:<10}  {title}" for name, title in REPORTS.items()),
        epilog=_EPILOG,
    )
    p.add_argument(
        "files", nargs="*", metavar="FILE",
        help="a program that was built with -pg and its files (default: gmon.out), or runs and "
        "profiles in any format that gnomon import reads, added up (default: the latest run here)",
    )  # fmt: skip
    p.add_argument(
        "--report", dest="reports", metavar="LIST", action="append", default=[],
        help=f"reports from the list above, separated by commas (default: {','.join(_USUAL)})",
    )  # fmt: skip
    p.add_argument("-b", "--brief", action="store_true", help="leave out what the fields mean")
    p.add_argument(
        "-z", "--display-unused-functions", dest="with_unused", action="store_true",
        help="list functions that have no value and were never called, too",
    )  # fmt: skip
    add_selection(
        p,
        hidden="no entry for this function, nor for those that it alone calls",
        dropped="the same, and its time does not count in the call graph",
        shown="entries only for this function and those that it calls",
        counted="the same, and only their time counts in the call graph",
    )
    p.add_argument(
        "--no-demangle", dest="is_mangled", action="store_true",
        help="names as the program of gmon.out files has them, not as people wrote them",
    )  # fmt: skip
    p.add_argument(
        "-s", "--sum", dest="sum", action="store_true",
        help=f"write the sum of gmon.out files to {SUM_FILE}, and print reports only if asked",
    )  # fmt: skip
    p.add_argument(
        "--metric", metavar="METRIC", default="",
        help="of runs: the metric, in any case (default: the first that was sampled)",
    )  # fmt: skip
    p.add_argument(
        "--function", dest="functions", metavar="FUNCTION", action="append", default=[],
        help="with statistics: only of this function",
    )  # fmt: skip
    add_report_options(p)
    return p


def add_selection(
    p: argparse.ArgumentParser, *, hidden: str, dropped: str, shown: str, counted: str
) -> None:
    """Add -e, -E, -f and -F, each with its help, which may be given several times."""
    for letter, name, told in (
        ("e", "hidden", hidden), ("E", "dropped", dropped), ("f", "shown", shown),
        ("F", "counted", counted),
    ):  # fmt: skip
        p.add_argument(
            f"-{letter}", dest=name, metavar="FUNCTION", action="append", default=[], help=told
        )


def run(arguments: argparse.Namespace) -> int:
    """Print the reports and return 0.

    Raises:
        UsageError: there is no such report or function, or files do not fit together.
        GnomonError: a file cannot be read or written.
    """
    from gnomon.callgraph.selection import Selection

    selection = Selection(
        tuple(arguments.hidden), tuple(arguments.dropped), tuple(arguments.shown),
        tuple(arguments.counted),
    )  # fmt: skip
    return print_reports(arguments, selection)


def print_reports(arguments: argparse.Namespace, selection: Selection, tool: str = "gnomon") -> int:
    """Print reports of the files that were named, and return 0.

    Args:
        arguments: of the command line.
        selection: what is left out of the graph.
        tool: begins notes on stderr.

    Raises:
        UsageError: there is no such report or function, or files do not fit together.
        GnomonError: a file cannot be read or written.
    """
    from gnomon.callgraph.call_graph import call_graph
    from gnomon.callgraph.inputs import gmon_files, gmon_input, read_inputs
    from gnomon.cli.terminal.progress import file_progress

    reports = _reports(arguments)
    if arguments.functions and "statistics" not in reports:
        raise UsageError("--function goes with --report statistics")
    by_file, sources = "statistics" in reports, _sources(arguments, selection)
    gmon = gmon_files(arguments.files)
    if gmon is not None:
        read = gmon_input(gmon, arguments.metric, file_progress, by_file=by_file, sources=sources)
    else:
        from gnomon.capabilities import readers

        read = read_inputs(arguments.files, readers(), arguments.metric, file_progress,
                           by_file=by_file)  # fmt: skip
    for note in read.gmon.notes if read.gmon else ():
        complain(f"note: {note}", tool)
    if arguments.sum:
        write_sum(read)
    if not reports:
        return 0
    profile = read.profile
    if arguments.is_mangled:
        profile = profile.mangled()
    graph = call_graph(profile, selection)
    kind = format_of(arguments.output, as_json=arguments.json)
    text: str | Iterable[str]
    if kind == "json":
        import json

        text = json.dumps(_data(arguments, reports, graph, read), indent=2) + "\n"
    elif kind == "csv":
        from gnomon.csv_text import csv_of

        text = csv_of(_rows(arguments, reports, graph, read))
    else:
        text = _between(_pieces(arguments, name, graph, read) for name in reports)
    write_report(arguments.output, text)
    return 0


def _sources(arguments: argparse.Namespace, selection: Selection) -> Sources:
    """Return of which functions reports show the source; names of functions may have a file."""
    from gnomon.callgraph.call_profile import Sources

    # FILE:NAME is looked for in the files of functions.
    names = (*selection.hidden, *selection.dropped, *selection.shown, *selection.counted,
             *arguments.functions)  # fmt: skip
    kind = format_of(arguments.output, as_json=arguments.json)
    if kind == "text" and not any(":" in name for name in names):
        return Sources.OF_STATIC if "index" in _reports(arguments) else Sources.OF_NONE
    return Sources.OF_ALL if arguments.with_unused else Sources.OF_USED


def _reports(arguments: argparse.Namespace) -> tuple[str, ...]:
    names = [name for names in arguments.reports for name in names.split(",") if name]
    for name in names:
        if name not in REPORTS:
            import difflib

            close = difflib.get_close_matches(name, REPORTS, n=1)
            hint = f"did you mean {close[0]}?" if close else f"it is {', '.join(REPORTS)}"
            raise UsageError(f"--report {name}: there is no such report; {hint}")
    if names:
        return tuple(dict.fromkeys(names))
    return () if arguments.sum else _USUAL


def write_sum(read: GraphInput) -> None:
    """Write gmon.sum.

    Raises:
        UsageError: the input was no gmon.out files.
        GnomonError: it cannot be written.
    """
    from gnomon.callgraph.gmon_profile import sum_bytes
    from gnomon.cli.terminal.piecewise_output import write_bytes

    if read.gmon is None:
        raise UsageError(
            f"-s: {SUM_FILE} is the sum of gmon.out files; name a program and its files"
        )
    write_bytes([sum_bytes(read.gmon)], SUM_FILE)


def _between(reports: Iterable[Iterable[str]]) -> Iterable[str]:
    """Return the pieces of reports with an empty line between two."""
    pieces: list[Iterable[str]] = []
    for report in reports:
        pieces += [("\n",), report]
    return chain.from_iterable(pieces[1:])


def _pieces(
    arguments: argparse.Namespace, name: str, graph: CallGraph, read: GraphInput
) -> Iterable[str]:
    if name != "statistics":
        return report_pieces(
            graph, name, with_unused=arguments.with_unused, with_fields=not arguments.brief
        )
    from gnomon.callgraph.reports.function_statistics import statistics_text

    return (statistics_text(graph, read.files, _functions(arguments, graph)),)


def _data(
    arguments: argparse.Namespace, reports: Sequence[str], graph: CallGraph, read: GraphInput
) -> dict[str, Any]:
    from gnomon.callgraph.reports.function_statistics import statistics_data

    def rows(name: str) -> list[dict[str, Any]]:
        if name != "statistics":
            return report_data(graph, name, with_unused=arguments.with_unused)
        return statistics_data(graph, read.files, _functions(arguments, graph))

    profile = graph.profile
    head = {
        "program": profile.program,
        "files": profile.n_files,
        "metric": profile.metric.name,
        "unit": profile.metric.unit,
        "how": profile.metric.how,
        "whole": profile.whole / profile.metric.per_unit,
        "counted": graph.counted / profile.metric.per_unit,
    }
    return head | {name: rows(name) for name in reports}


def _rows(
    arguments: argparse.Namespace, reports: Sequence[str], graph: CallGraph, read: GraphInput
) -> list[dict[str, Any]]:
    """Return the rows of one report for a table.

    Raises:
        UsageError: there are several, or it has no rows of plain fields.
    """
    if len(reports) > 1 or reports[0] == "graph":
        listed = ", ".join(name for name in REPORTS if name != "graph")
        raise UsageError(f"{arguments.output}: CSV is of one report: --report {listed}")
    rows: list[dict[str, Any]] = _data(arguments, reports, graph, read)[reports[0]]
    return rows


def _functions(arguments: argparse.Namespace, graph: CallGraph) -> list[int] | None:
    """Return the functions that --function names, None for all.

    Raises:
        UsageError: one is not there.
    """
    if not arguments.functions:
        return None
    from gnomon.callgraph.selection import positions_of

    return [
        position
        for name in arguments.functions
        for position in positions_of(graph.profile, "--function", name)
    ]
