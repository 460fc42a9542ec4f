"""`hpmstat`: `gnomon stat` under its classical name, with the guide's options and report.

Source: HPM Toolkit User's Guide 3.2.2, section 4.
"""

from __future__ import annotations

import argparse
import os
from contextlib import closing
from typing import TYPE_CHECKING

from gnomon.cli.classical.hpm_options import (
    HPMSTAT_CLOCK,
    add_list_options,
    add_output_options,
    chosen_of,
    groups_of,
    guide_errors,
    guided,
    print_list,
)
from gnomon.cli.terminal.argument_help import Parser, add_presets_option, load_presets
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.cli.terminal.interval_writers import Rendered
    from gnomon.hpm.environment import Settings
    from gnomon.stat.interval_rows import Sample
    from gnomon.stat.watched_events import WatchedEvents

_DESCRIPTION = """\
Monitor the whole machine and print resource usage, counters and derived metrics of each interval
on standard output. Without arguments the interval is one second. See gnomon stat for one line per
interval, cgroups, processes and Prometheus."""

_EPILOG = """\
environment variables (options take precedence):
  HPM_OUTPUT_NAME -o         HPM_UNIQUE_FILE_NAME -u  HPM_STDOUT=no -n
  HPM_PRINT_FORMULA -x       HPM_EVENT_SET -g         HPM_AGGREGATE -a
  GNOMON_EVENTS -e
  HPM_SLICE_DURATION         milliseconds of a turn, 10 to 30000, where several
                             groups take turns"""

# The plug-ins that need no other task; whether they keep groups apart.
_LOCAL = {"": True, "mirror": True, "loc_merge": False}


def parser() -> argparse.ArgumentParser:
    """Return the parser of `hpmstat`."""
    p = Parser(
        prog="hpmstat",
        usage="hpmstat [-o <name>] [-u] [-n] [-x] [-g <group>] [-a <plugin>]\n"
        "               [interval [count]]\n"
        "       hpmstat [-h] [-l] [-c]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    p.add_argument("interval", nargs="?", help="seconds, 0.01 at least (default 1)")
    p.add_argument("count", nargs="?", help="how many intervals (default: until Ctrl-C)")
    p.add_argument("-o", dest="output", metavar="<name>", help="copy the output to file <name>")
    p.add_argument(
        "-u",
        dest="unique",
        action="store_true",
        help="make the file name unique: _host_process_dd.mm.yyyy_hh:mm:ss before its last dot",
    )
    add_output_options(p)
    p.add_argument(
        "-g",
        dest="group",
        metavar="<group>[,<group>]",
        help="event groups by number or name; the hardware events of several take turns",
    )
    p.add_argument(
        "-a",
        dest="plugin",
        metavar="<plugin>",
        help="aggregate counters: mirror (each group by itself, the default) or loc_merge (groups "
        "joined); over the tasks of an MPI job, one a node: average and the others of hpmcount",
    )
    add_list_options(p)
    ours = p.add_argument_group("beyond the guide")
    ours.add_argument("-e", dest="event", metavar="<events>", help="events by name")
    add_presets_option(ours)
    return p


def run(arguments: argparse.Namespace) -> int:
    """Watch and report on stdout; return 0."""
    return guided(_run, arguments)


def _run(arguments: argparse.Namespace) -> int:
    from gnomon.cli.commands.stat import timing

    load_presets(arguments.presets)
    listed = print_list(arguments)
    if listed is not None:
        return listed
    period_ns, count = timing(arguments.interval, arguments.count)
    return _watch(arguments, period_ns, count)


def _watch(arguments: argparse.Namespace, period_ns: int, count: int) -> int:
    from gnomon.cli.commands.stat import take_rest
    from gnomon.cli.terminal.interval_loop import Ending, rounds
    from gnomon.cli.terminal.interval_writers import Reports
    from gnomon.count.count_report import render_measurements
    from gnomon.hpm.environment import read_settings
    from gnomon.launch.run_environment import this_host
    from gnomon.measurement.report_style import ReportOptions
    from gnomon.stat.hpmstat_format import measurement
    from gnomon.stat.monitor import Monitor, MonitorConfig

    plugin = os.environ.get("HPM_AGGREGATE", "") if arguments.plugin is None else arguments.plugin
    apart = _LOCAL.get(plugin.removesuffix(".so"))
    if apart is None:
        from gnomon.cli.classical import hpmstat_mpi

        return hpmstat_mpi.watch(
            arguments, period_ns, count, plugin, lambda found: _choice(arguments, found)
        )
    _check(arguments)
    chosen = chosen_of(arguments, read_settings())
    choice = _choice(arguments, chosen)
    host = this_host()
    options = ReportOptions(
        tool="hpmstat",
        formulas=chosen.formulas,
        every_usage_row=True,
        parts=apart,
        guide_names=True,
    )

    def report(sample: Sample) -> Rendered:
        watched = measurement(sample, monitor, choice)

        def rendered(width: int, styled: bool) -> str:
            return (
                render_measurements([watched], host, options._replace(width=width, styled=styled))
                + "\n"
            )

        return rendered

    name = chosen.name
    if name and chosen.unique:
        from gnomon.hpm.output_names import unique_name

        name = unique_name(name, process=os.getpid(), clock=HPMSTAT_CLOCK)
    slice_ns = chosen.slice_ms * 1_000_000
    with closing(Monitor(choice, MonitorConfig(), slice_ns)) as monitor, Ending() as ending:
        reports = Reports(name, report, prints=not (chosen.silent and name))
        is_cut = rounds(monitor, period_ns, count, reports.tell, ending)
        if not monitor.number:
            take_rest(monitor)
    # Of one interval its own report is there.
    reports.end(monitor.totals.summary() if is_cut and monitor.number != 1 else None)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    for option, given in (
        ("-o", arguments.output),
        ("-g", arguments.group),
        ("-e", arguments.event),
    ):
        if given == "":
            raise UsageError(f"{option} '': the value is empty; give one, or leave {option} out")


def _choice(arguments: argparse.Namespace, chosen: Settings) -> WatchedEvents:
    """Return the events to count.

    Raises:
        GuideError: there is no such group.
        EventNameError: a name is wrong.
    """
    from gnomon.stat.watched_events import choose

    words = groups_of(chosen)
    by_name = arguments.event is not None or not words
    events = [chosen.events] if chosen.events and by_name else []
    return guide_errors("hpmstat", lambda: choose(events, words, machine=True))
