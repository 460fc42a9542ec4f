"""`gnomon export`: a run in the formats of other tools."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon.cli.terminal.argument_help import Parser
from gnomon.cli.terminal.piecewise_output import write_pieces
from gnomon.cli.terminal.streams import write
from gnomon.errors import UsageError
from gnomon.model.schemas import ALL_SCHEMAS

if TYPE_CHECKING:
    from gnomon.store.run import Run

_FORMATS = ("csv", "json", "viz", "speedscope", "openmetrics")
_TABLES = tuple(schema.name for schema in ALL_SCHEMAS)
_EPILOG = """\
examples:
  gnomon export app --to csv -o app.csv      a row for each value
  gnomon export app --to csv --table metrics
  gnomon export app --to viz -o app.viz      one file with all of it, which
                                             every command reads
  gnomon export app --to speedscope -o app.speedscope.json
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
        help="csv: a row for each value. json: all tables. viz: its values in one file of XML, "
        "which view, report, compare and export accept like a run. "
        "speedscope: stacks for a flame graph. "
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
    p.add_argument("-o", "--output", metavar="FILE", default="-", help="default: '-', stdout")
    return p


def run(arguments: argparse.Namespace) -> int:
    """Write the run and return 0.

    Raises:
        UsageError: --table with another format.
        RunDirectoryError: the run cannot be read.
        GnomonError: the file cannot be written.
    """
    from gnomon.capabilities import readers
    from gnomon.store.run_directory import find

    if arguments.table and arguments.to != "csv":
        raise UsageError(f"--table goes with --to csv, not with {arguments.to}")
    exported = find(arguments.run, readers=readers())
    write_pieces(_pieces(exported, arguments.to, arguments.table), arguments.output)
    if arguments.to == "viz":
        from gnomon.store.exports import left_out

        if tables := left_out(exported):
            write(sys.stderr, f"gnomon: note: not exported to .viz: {', '.join(tables)}\n")
    return 0


def _pieces(run: Run, to: str, table: str) -> Iterator[str]:
    from gnomon.store import exports

    if to == "csv":
        return exports.csv_text(run, table)
    kinds = {
        "json": exports.json_text,
        "viz": exports.viz,
        "speedscope": exports.speedscope,
        "openmetrics": exports.openmetrics,
    }
    return kinds[to](run)
