"""`peekperf`: the classical name of the page in the browser."""

from __future__ import annotations

import argparse

from gnomon.cli.commands import view
from gnomon.cli.terminal.argument_help import Parser
from gnomon.errors import UsageError

_MOST = 10_000


def parser() -> argparse.ArgumentParser:
    """Return the parser of `peekperf`."""
    p = Parser(
        prog="peekperf",
        description="Show .viz files and runs in the browser, combined into one; gnomon view "
        "shows them separately.",
        epilog="example:\n  peekperf -num 5 swim_*.viz",
    )
    p.add_argument("files", nargs="*", metavar="FILE.viz|RUN", help="what to show")
    p.add_argument(
        "-num",
        type=int,
        default=15,
        metavar="N",
        help="source files to open before it asks (default: 15)",
    )
    view.add_options(p)
    return p


def run(arguments: argparse.Namespace) -> int:
    """Serve the page until a signal comes, and return 0."""
    if not 0 <= arguments.num <= _MOST:
        raise UsageError(f"-num {arguments.num}: the number of source files must be 0 to {_MOST}")
    return view.serve(arguments, arguments.files, combined=True, asking=arguments.num)
