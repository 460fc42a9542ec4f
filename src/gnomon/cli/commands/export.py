"""`gnomon export`: a run in the formats of other tools."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon.cli.terminal.argument_help import Parser
from gnomon.cli.terminal.piecewise_output import write_bytes, write_pieces
from gnomon.cli.terminal.streams import write
from gnomon.errors import UsageError
from gnomon.model.schemas import ALL_SCHEMAS

if TYPE_CHECKING:
    from gnomon.store.run import Run

_FORMATS = (
    "csv", "json", "viz", "collapsed", "speedscope", "pprof", "firefox", "openmetrics",
)  # fmt: skip
_TABLES = tuple(schema.name for schema in ALL_SCHEMAS)
_EPILOG = """\
examples:
  gnomon export app --to csv -o app.csv      a row for each value
  gnomon export app --to csv --table metrics
  gnomon export app --to viz -o app.viz      one file with all of it, which
                                             every command reads
  gnomon export app --to speedscope -o app.speedscope.json
  gnomon export app --to pprof -o app.pb.gz  then: go tool pprof app.pb.gz
  gnomon export app --to firefox -o app.json for profiler.firefox.com
  gnomon export app --to collapsed | flamegraph.pl > app.svg
  gnomon export app --to openmetrics -o /var/lib/node_exporter/app.prom"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon export`."""
    p = Parser(
        prog="gnomon export",
        description="Write a run in the format of other tools, completely and with exact numbers.",
        epilog=_EPILOG,
    )
    p.add_argument(
        "run", nargs="?", metavar="RUN",
        help="name or path, or a file such as NAME.viz (default: the latest run here)",
    )  # fmt: skip
    p.add_argument(
        "--to",
        choices=_FORMATS,
        required=True,
        metavar="FORMAT",
        help="csv: a row for each value. json: all tables. viz: its values in one file of XML, "
        "which view, report, compare and export accept like a run. "
        "Its stacks: collapsed: a line for each, for flamegraph.pl and others. "
        "speedscope: flame graphs, and threads in the order of time. "
        "pprof: a compressed profile for go tool pprof and others. "
        "firefox: tracks of threads for the Firefox Profiler. "
        "openmetrics: gauges for Prometheus",
    )
    p.add_argument(
        "--table",
        metavar="TABLE",
        choices=_TABLES,
        default="",
        help="with csv: write one table of the run unchanged, instead of values with their "
        f"details: {', '.join(_TABLES)}; runs have the first five, and others if measured",
    )
    p.add_argument(
        "-e",
        "--event",
        dest="metric",
        metavar="METRIC",
        default="",
        help="with collapsed, which holds one: the metric whose values are written, in any case "
        "(default: the first that was sampled, else the first with values below the program)",
    )
    p.add_argument(
        "--threads",
        action="store_true",
        help="with collapsed: keep the stacks of each thread apart, below PROGRAM-PID/TID",
    )
    p.add_argument("-o", "--output", metavar="FILE", default="-", help="default: '-', stdout")
    return p


def run(arguments: argparse.Namespace) -> int:
    """Write the run and return 0.

    Raises:
        UsageError: an option with a format that does not take it, or no metric of that name.
        RunDirectoryError: the run cannot be read.
        GnomonError: the file cannot be written.
    """
    from gnomon.capabilities import readers
    from gnomon.store.run_directory import find

    for option, given, format_name in (
        ("--table", arguments.table, "csv"),
        ("-e", arguments.metric, "collapsed"),
        ("--threads", arguments.threads, "collapsed"),
    ):
        if given and arguments.to != format_name:
            raise UsageError(f"{option} goes with --to {format_name}, not with {arguments.to}")
    exported = find(arguments.run, readers=readers())
    if arguments.to == "pprof":
        from gnomon.store import exports

        write_bytes(exports.pprof(exported), arguments.output)
        return 0
    write_pieces(_pieces(exported, arguments), arguments.output)
    if arguments.to == "viz":
        from gnomon.store.exports import left_out

        if tables := left_out(exported):
            write(sys.stderr, f"gnomon: note: not exported to .viz: {', '.join(tables)}\n")
    return 0


def _pieces(run: Run, arguments: argparse.Namespace) -> Iterator[str]:
    from gnomon.store import exports

    if arguments.to == "csv":
        return exports.csv_text(run, arguments.table)
    if arguments.to == "collapsed":
        return exports.collapsed(run, arguments.metric, threads=arguments.threads)
    kinds = {
        "json": exports.json_text,
        "viz": exports.viz,
        "speedscope": exports.speedscope,
        "firefox": exports.firefox,
        "openmetrics": exports.openmetrics,
    }
    return kinds[arguments.to](run)
