"""`gnomon doctor`: what keeps this machine from measuring more, and exactly what to do.

The checks are in `gnomon.counters.doctor`, those of capabilities in their `checks()`.
"""

from __future__ import annotations

import argparse
import json
import sys

from gnomon.cli.terminal.argument_help import Parser


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon doctor`."""
    p = Parser(
        prog="gnomon doctor",
        description="Check everything that measuring depends on: the kernel, privileges, "
        "counters, container, hypervisor, tools. Each limitation is shown with its consequence "
        "and a remedy.",
    )
    p.add_argument("--json", action="store_true", help="as JSON")
    return p


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; return 0 (a limited machine is no failure)."""
    from gnomon.capabilities import CAPABILITIES
    from gnomon.cli.terminal.streams import is_styled
    from gnomon.cli.terminal.two_column_text import terminal_columns

    checks = [check for each in CAPABILITIES for check in each.checks()]
    if arguments.json:
        print(json.dumps({"checks": [check._asdict() for check in checks]}, indent=2))
        return 0
    styled = is_styled(sys.stdout)
    colours = {"ok": "32", "limited": "33", "missing": "31"}
    titles = max(len(check.name) for check in checks)
    width = terminal_columns()
    for check in checks:
        state = f"{check.state:<7}"
        if styled:
            state = f"\x1b[{colours[check.state]}m{state}\x1b[0m"
        found = _wrapped(titles, width, "", check.found).lstrip()
        print(f"{state}  {check.name:<{titles}}  {found}")
        if check.state != "ok":
            for title, words in (("so", check.consequence), ("remedy", check.remedy)):
                if words:
                    print(_wrapped(titles, width, f"{title:<6}  ", words))
    limited = sum(check.state != "ok" for check in checks)
    print(
        f"\n{len(checks) - limited} of {len(checks)} fine"
        + (", see the remedies" if limited else "")
    )
    return 0


def _wrapped(titles: int, width: int, title: str, words: str) -> str:
    import textwrap

    lead = " " * (titles + 11)
    return textwrap.fill(
        words,
        width,
        initial_indent=lead + title,
        subsequent_indent=lead + " " * len(title),
        break_long_words=False,
        break_on_hyphens=False,
    )
