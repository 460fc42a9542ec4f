"""`gnomon groups`: the event groups."""

from __future__ import annotations

import argparse

from gnomon.cli import listing
from gnomon.cli.parsing import HelpFormatter


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon groups`."""
    p = argparse.ArgumentParser(
        prog="gnomon groups",
        description="List the event groups for `gnomon count -g`, their events, and the metrics "
        "that follow from them.",
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    p.add_argument("--json", action="store_true", help="as JSON, with the metrics' formulas")
    return p


def run(arguments: argparse.Namespace) -> int:
    """Print the groups and return 0."""
    return listing.print_groups(as_json=arguments.json)
