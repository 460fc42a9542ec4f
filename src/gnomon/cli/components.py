"""`gnomon components`: where events come from, and what works here."""

from __future__ import annotations

import argparse
import json

from gnomon.cli.parsing import HelpFormatter


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon components`."""
    p = argparse.ArgumentParser(
        prog="gnomon components",
        description="List the sources of events: whether each works here (found by trying), "
        "and if not, why and what to do.",
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    p.add_argument("--json", action="store_true", help="as JSON")
    return p


def run(arguments: argparse.Namespace) -> int:
    """Print the components and return 0."""
    from gnomon.counters.components import COMPONENTS

    rows = []
    for source in COMPONENTS:
        state = source.availability()
        rows.append(
            {
                "name": source.name,
                "description": source.description,
                "available": state.available,
                "reason": state.reason,
                "remedy": state.remedy,
                "errno": state.errno,
                "scope": source.scope.value,
                "counters": source.counters(),
                "overflow": source.overflow.value,
                "how_measured": source.how_measured,
            }
        )
    if arguments.json:
        print(json.dumps({"components": rows}, indent=2))
        return 0
    for row in rows:
        state_word = "available" if row["available"] else "not here"
        print(f"{row['name']:<8}  {state_word:<9}  {row['description']}")
        limit = "no limit" if row["counters"] is None else f"{row['counters']} at once"
        print(f"{'':21}{row['how_measured']}")
        if row["available"]:
            print(
                f"{'':21}finest scope: {row['scope']}; counters: {limit}; "
                f"overflow: {row['overflow']}"
            )
        else:
            print(f"{'':21}why:    {row['reason']}")
            print(f"{'':21}remedy: {row['remedy']}")
    return 0
