"""The look of every command's help."""

from __future__ import annotations

import argparse


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps paragraphs as written; its fixed width spares each option a look at the terminal."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=100)
