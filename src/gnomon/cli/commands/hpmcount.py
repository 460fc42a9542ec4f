"""`hpmcount`: `gnomon count` under its classical name, with the guide's options.

Source: HPM Toolkit User's Guide 3.2.2, section 2.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gnomon.cli.classical.hpm_options import (
    add_list_options,
    add_output_options,
    chosen_of,
    guided,
    print_list,
)
from gnomon.cli.classical.hpmcount_groups import measuring_function, select_groups
from gnomon.cli.terminal.argument_help import Parser, add_presets_option, load_presets
from gnomon.cli.terminal.report_output import finish, outliving, undisturbed
from gnomon.errors import UsageError

if TYPE_CHECKING:
    pass

_DESCRIPTION = """\
Run a program, then print resource usage, counters and derived metrics on standard output.
Threads and child processes are included, also those that still run when the program ends."""

_EPILOG = """\
environment variables (options take precedence):
  HPM_OUTPUT_NAME -o         HPM_UNIQUE_FILE_NAME -u  HPM_STDOUT=no -n
  HPM_PRINT_FORMULA -x       HPM_EVENT_SET -g         HPM_AGGREGATE -a
  GNOMON_EVENTS -e
  HPM_ASC_OUTPUT, HPM_VIZ_OUTPUT, HPM_CSV_OUTPUT
                             which of <name>.hpm, .viz, .csv to write
  HPM_EVENT_DISTR            groups that -a average and its like share out among
                             tasks
  HPM_AGGREGATE_TIMEOUT      seconds that tasks wait for one that is missing
  HPM_SLICE_DURATION         milliseconds of a turn, 10 to 30000, where several
                             groups take turns
  HPM_DIV_WEIGHT, HPM_*_LATENCY
                             numbers for derived metrics"""

# The plug-ins that need no other task; whether they keep groups apart.
_AGGREGATORS = {"mirror": True, "loc_merge": False}


def parser() -> argparse.ArgumentParser:
    """Return the parser of `hpmcount`."""
    p = Parser(
        prog="hpmcount",
        usage="hpmcount [-o <name>] [-u] [-n] [-x] [-g <group>] [-a <plugin>] [-r <n>]\n"
        "                <program>\n"
        "       hpmcount [-h] [-l] [-c]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    p.add_argument("-o", dest="output", metavar="<name>", help="copy the output to <name>.hpm")
    p.add_argument("-u", dest="unique", action="store_true", help="make the file name unique")
    add_output_options(p)
    p.add_argument(
        "-g",
        dest="group",
        metavar="<group>[,<group>]",
        help="event groups by number or name; several take turns",
    )
    p.add_argument(
        "-a",
        dest="plugin",
        metavar="<plugin>",
        help="aggregate counters: mirror (each group by itself, the default), loc_merge (groups "
        "joined, extrapolated to the whole run); over the tasks of an MPI job: single, average, "
        "minimum, maximum, statistics, histogram, history, or a plug-in of your own (.so, .py)",
    )
    add_list_options(p)
    ours = p.add_argument_group("beyond the guide")
    ours.add_argument("-e", dest="event", metavar="<events>", help="events by name")
    ours.add_argument(
        "-r",
        dest="repeat",
        metavar="<n>",
        type=int,
        help="run n times and print mean and deviation; several groups are counted in separate "
        "executions, n each",
    )
    add_presets_option(ours)
    p.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return p


def run(arguments: argparse.Namespace) -> int:
    """Count and report on stdout; return the program's status, or end as it did."""
    return guided(_run, arguments)


def _run(arguments: argparse.Namespace) -> int:
    load_presets(arguments.presets)
    listed = print_list(arguments)
    if listed is not None:
        return listed
    command = arguments.program[arguments.program[:1] == ["--"] :]
    if not command:
        raise UsageError("no program to count: hpmcount [options] <program>")
    if arguments.repeat is not None and arguments.repeat < 1:
        raise UsageError(f"-r {arguments.repeat}: the number of repetitions must be at least 1")
    if arguments.output == "":
        raise UsageError("-o '': a file name is missing")
    for option, given in (("-g", arguments.group), ("-e", arguments.event)):
        if given == "":
            raise UsageError(f"{option} '': the value is empty; give one, or leave {option} out")
    return outliving(lambda: _count(arguments, command))


def _count(arguments: argparse.Namespace, command: Sequence[str]) -> int:
    from gnomon.cli.classical.hpm_output_files import Output
    from gnomon.hpm.environment import read_settings
    from gnomon.measurement.report_style import ReportOptions

    plugin = _plugin(arguments)
    apart = _AGGREGATORS.get(plugin.removesuffix(".so"))
    if apart is None:
        from gnomon.cli.classical import hpmcount_mpi

        return hpmcount_mpi.count(arguments, command, plugin)
    chosen = chosen_of(arguments, read_settings())
    groups, events = select_groups(arguments, chosen)
    measure = measuring_function(command, groups, events, arguments.repeat, chosen.slice_ms)
    options = ReportOptions(
        tool="hpmcount",
        formulas=chosen.formulas,
        every_usage_row=True,
        parts=apart,
        guide_names=True,
    )
    group = f"{groups[0].number} {groups[0].name}" if len(groups) == 1 else ""
    with Output(chosen, options, group) as output:
        measurements = measure()
        with undisturbed():
            output.deliver(measurements)
    last = next((one for one in measurements if one.exit_status), measurements[-1])
    return finish(last.exit_status, last.signal)


def _plugin(arguments: argparse.Namespace) -> str:
    """Return the name of the plug-in; the usual one's if none was named."""
    named = arguments.plugin
    return (os.environ.get("HPM_AGGREGATE", "") if named is None else named) or "mirror"
