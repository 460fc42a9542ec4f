"""`gnomon groups`: the event groups, and the metrics that follow from them."""

from __future__ import annotations

import argparse

from gnomon.cli.lists.group_list import print_groups
from gnomon.cli.terminal.argument_help import Parser


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon groups`."""
    p = Parser(
        prog="gnomon groups",
        description="List the event groups for `gnomon count -g` on this machine's CPU, with "
        "their events and metrics. With GROUP or --file, also print each metric's formula.",
        epilog="examples:\n"
        "  gnomon groups FLOPS 2\n"
        "  gnomon groups --file mine.toml\n"
        "  gnomon groups --file /usr/share/likwid/perfgroups/skylakeX/MEM.txt",
    )
    p.add_argument("group", nargs="*", metavar="GROUP", help="only these: numbers or names")
    p.add_argument(
        "--file", action="append", default=[], metavar="FILE",
        help="groups of a file, TOML or one of LIKWID's (may be repeated)",
    )  # fmt: skip
    p.add_argument("--all", action="store_true", help="those for other CPUs as well")
    p.add_argument("--json", action="store_true", help="as JSON, with the metrics' formulas")
    return p


def run(arguments: argparse.Namespace) -> int:
    """Print the groups and return 0."""
    return print_groups(
        arguments.group, arguments.file, with_others=arguments.all, as_json=arguments.json
    )
