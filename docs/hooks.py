"""MkDocs hooks: options stand in the documentation as the command itself prints them.

A line `<!-- options: COMMAND -->` in a page becomes the help of that command, taken from its
parser when the site is built, so that options are written down once and in one place: the parser.
"""

from __future__ import annotations

import os
import re

OPTIONS = re.compile(r"^<!-- options: (\S+) -->$", re.MULTILINE)
WIDTH = "92"


def command_help(command: str) -> str:
    """Return what `COMMAND -h` prints on a terminal of fixed width, without colour."""
    from gnomon.cli import parser

    os.environ.update(COLUMNS=WIDTH, NO_COLOR="1")
    return parser(command).format_help().rstrip()


def on_page_markdown(markdown: str, **_: object) -> str:
    """Return the page with every line that asks for options replaced by them."""
    return OPTIONS.sub(lambda match: f"```text\n{command_help(match[1])}\n```", markdown)
