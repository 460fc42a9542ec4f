"""`hpmcount`: `gnomon count` under its classical name, with the guide's options.

Source: HPM Toolkit User's Guide 3.2.2, section 2.2.
"""

from __future__ import annotations

import argparse
import sys

from gnomon.cli import listing
from gnomon.cli.delivery import Delivery, finish
from gnomon.cli.parsing import HelpFormatter
from gnomon.errors import UsageError


def parser() -> argparse.ArgumentParser:
    """Return the parser of `hpmcount`."""
    p = argparse.ArgumentParser(
        prog="hpmcount",
        usage="hpmcount [-o <name>] [-u] [-n] [-x] [-g <group>] [-e <events>] <program>\n"
        "       hpmcount [-h] [-l] [-c]",
        description="Run a program and print resource usage, counters and derived metrics.",
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    p.add_argument("-o", dest="output", metavar="<name>", help="copy the output to <name>.hpm")
    p.add_argument("-u", dest="unique", action="store_true", help="make the file name unique")
    p.add_argument(
        "-n", dest="no_terminal", action="store_true", help="no output on stdout with -o"
    )
    p.add_argument(
        "-x", dest="formulas", action="store_true", help="add formulas for derived metrics"
    )
    p.add_argument(
        "-g", dest="group", metavar="<group>[,<group>]", default="", help="event group number(s)"
    )
    p.add_argument("-e", dest="event", metavar="<events>", default="", help="events by name")
    p.add_argument("-l", dest="list_groups", action="store_true", help="list groups")
    p.add_argument("-c", dest="list_events", action="store_true", help="list counters and events")
    p.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    p.set_defaults(json=False, run=None)
    return p


def run(arguments: argparse.Namespace) -> int:
    """Count and report on stdout; return the program's status, or end as it did."""
    if arguments.list_groups:
        return listing.print_groups()
    if arguments.list_events:
        return listing.print_events([], as_json=False)
    command = arguments.program[arguments.program[:1] == ["--"] :]
    if not command:
        raise UsageError("no program to count: hpmcount [options] <program>")
    if (arguments.unique or arguments.no_terminal) and not arguments.output:
        raise UsageError("-u and -n go with -o <name>")

    from gnomon.counters.resolve import resolve
    from gnomon.hpm import analyse, capture
    from gnomon.hpm.report import Options

    names = [arguments.event] if arguments.event else []
    if arguments.group or not names:
        groups = arguments.group.split(",") if arguments.group else [str(analyse.DEFAULT_GROUP)]
        names += analyse.events_of_groups(groups)
    wanted = resolve(names)
    options = Options(tool="hpmcount", formulas=arguments.formulas, every_usage_row=True)
    with Delivery(arguments, options, sys.stdout, suffix=".hpm") as delivery:
        measurement = capture.run(command, wanted)
        delivery.deliver([measurement])
    return finish(measurement.exit_status, measurement.signal)
