"""`xprofiler`: the classical name of the call graph in the browser, with Xprofiler's options."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.callgraph.gmon_names import SUM_FILE
from gnomon.cli.commands import callgraph, view
from gnomon.cli.terminal.argument_help import Parser
from gnomon.cli.terminal.streams import complain
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.callgraph.inputs import GraphInput
    from gnomon.callgraph.xprofiler_settings import XprofilerSettings

_EPILOG = """\
examples:
  xprofiler a.out gmon.out
  xprofiler -disp_max 50 a.out gmon.out.1 gmon.out.2
  xprofiler -s a.out gmon.out.*             also writes gmon.sum
  xprofiler -e init a.out gmon.out --report graph
  xprofiler                                 files are chosen in the page

Options may stand before or behind the files. -f overrides -e, -F overrides
-E, and -c overrides -disp_max. They leave out functions to the letter of
Xprofiler's table; gnomon callgraph has gprof's way, which is another one."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `xprofiler`."""
    p = Parser(
        prog="xprofiler",
        usage="xprofiler [options] [a.out gmon.out ...]",
        description="Show the call graph of a program that was built with -pg in the browser.",
        epilog=_EPILOG,
    )
    p.add_argument("files", nargs="*", metavar="FILE", help="the program and its gmon.out files")
    p.add_argument("-b", dest="brief", action="store_true",
                   help="leave the field descriptions out of reports")  # fmt: skip
    p.add_argument("-s", dest="sum", action="store_true",
                   help=f"also write the sum of the files to {SUM_FILE}")  # fmt: skip
    p.add_argument("-z", dest="with_unused", action="store_true",
                   help="functions without CPU time and calls in reports, too")  # fmt: skip
    p.add_argument("-a", dest="source_paths", metavar="PATHS", action="append", default=[],
                   help="where to search for sources, separated by colons; @ stands for the "
                   "default path")  # fmt: skip
    p.add_argument("-c", dest="config", metavar="FILE", default=None,
                   help="a configuration file, see the manual")  # fmt: skip
    p.add_argument("-disp_max", dest="display_max", metavar="N", default=None,
                   help="show the N functions with most CPU time at first, 0 to 5000")  # fmt: skip
    callgraph.add_selection(
        p,
        hidden="grey this function and what it alone calls; no entries of them",
        dropped="the same, as smallest squares whose time is zero",
        shown="grey all but this function and what it calls",
        counted="the same, as smallest squares whose time is zero",
    )
    p.add_argument("-L", dest="library_paths", metavar="PATH", action="append", default=[],
                   help="where shared libraries are; gmon.out files have no functions of "
                   "these")  # fmt: skip
    p.add_argument("--report", dest="reports", metavar="LIST", action="append", default=[],
                   help="print these reports of gnomon callgraph instead of the page")  # fmt: skip
    p.add_argument("--json", action="store_true", help="with --report: as JSON")
    p.add_argument("-o", "--output", metavar="FILE", help="with --report: write to this file")
    view.add_options(p)
    return p


def run(arguments: argparse.Namespace) -> int:
    """Print reports, or serve the page until a signal comes; return 0.

    Raises:
        UsageError: an option or a file name makes no sense.
        GnomonError: a file cannot be read or written, or the server not start.
    """
    from gnomon.callgraph.selection import selected_functions
    from gnomon.callgraph.xprofiler_settings import check_paths, source_places

    _check_words(arguments)
    settings = _settings(arguments)
    check_paths(settings)
    if arguments.reports:
        if not arguments.files:
            raise UsageError(
                "--report: of which files? name a program and its gmon.out files: xprofiler a.out "
                "gmon.out --report LIST"
            )
        return _print_reports(arguments, settings)
    places = source_places(settings.source_paths)
    arguments.sources = [*arguments.sources, *places.behind]
    preferred = [Path(place) for place in places.before]
    if not arguments.files:
        if arguments.sum:
            raise UsageError(f"-s: which files? {SUM_FILE} is the sum of those that are named")
        return view.serve(arguments, [], combined=False, asking=0, page="#/callgraph?load=yes",
                          preferred=preferred)  # fmt: skip
    from gnomon.callgraph.inputs import gmon_files

    gmon = gmon_files(arguments.files)
    if gmon is None and len(arguments.files) > 1:
        raise UsageError("several profiles that are no gmon.out files: use gnomon view")
    is_configured = bool(settings.selection.configured)
    if arguments.sum or is_configured:
        read = _read(arguments)
        if is_configured:  # the page would not know which file has a name that is wrong
            selected_functions(read.profile, settings.selection)
        if arguments.sum:
            callgraph.write_sum(read)
    return view.serve(
        arguments, [] if gmon else arguments.files, combined=False, asking=0, gmon=gmon,
        page=f"#/callgraph{_query(arguments, settings)}", preferred=preferred,
    )  # fmt: skip


def _check_words(arguments: argparse.Namespace) -> None:
    """Refuse options that would do nothing.

    Raises:
        UsageError: one needs another, or its file has no name.
    """
    if arguments.config == "":
        raise UsageError("-c '': the name of a configuration file is missing")
    if arguments.reports:
        return
    for option, is_given in (
        ("--json", arguments.json), ("-o", arguments.output is not None),
    ):  # fmt: skip
        if is_given:
            raise UsageError(
                f"{option} is of reports, not of the page; add --report LIST, as --report flat"
            )


def _settings(arguments: argparse.Namespace) -> XprofilerSettings:
    """Return what the configuration file says, and the command line beside it."""
    from gnomon.callgraph.selection import Selection
    from gnomon.callgraph.xprofiler_settings import (
        XprofilerSettings,
        display_max,
        with_configuration,
    )

    most = None if arguments.display_max is None else display_max(arguments.display_max)
    selection = Selection(
        tuple(arguments.hidden), tuple(arguments.dropped), tuple(arguments.shown),
        tuple(arguments.counted), by_chapter=True,
    )  # fmt: skip
    typed = XprofilerSettings(
        most, selection, tuple(arguments.source_paths), tuple(arguments.library_paths)
    )
    settings, notes = with_configuration(arguments.config or "", typed)
    for note in notes:
        complain(f"note: {note}", "xprofiler")
    return settings


def _read(arguments: argparse.Namespace) -> GraphInput:
    from gnomon.callgraph.inputs import read_inputs
    from gnomon.capabilities import readers
    from gnomon.cli.terminal.progress import file_progress

    return read_inputs(arguments.files, readers(), "", file_progress)


def _query(arguments: argparse.Namespace, settings: XprofilerSettings) -> str:
    from urllib.parse import urlencode

    selection = settings.selection
    lists = {"e": selection.hidden, "E": selection.dropped, "f": selection.shown,
             "F": selection.counted}  # fmt: skip
    words = {name: "\n".join(names) for name, names in lists.items() if names}
    if settings.display_max is not None:
        words["max"] = str(settings.display_max)
    words |= {"brief": "yes"} if arguments.brief else {}
    words |= {"unused": "yes"} if arguments.with_unused else {}
    return f"?{urlencode(words)}" if words else ""


def _print_reports(arguments: argparse.Namespace, settings: XprofilerSettings) -> int:
    arguments.metric, arguments.functions, arguments.is_mangled = "", [], False
    return callgraph.print_reports(arguments, settings.selection, "xprofiler")
