"""How the text reports of measurements look: options, bold and dim words."""

from __future__ import annotations

from typing import NamedTuple

from gnomon.terminal_text import WIDTH


class Options(NamedTuple):
    """How a report is to look.

    Attributes:
        tool: name of the command, for the headline.
        brief: only what most runs are asked for; the rest is left to `--all`.
        default_events: nobody chose the events; a brief report leaves out most of them.
        formulas: print each metric's formula.
        every_usage_row: one line for each field of getrusage(2), those without meaning on
            Linux as n/a; otherwise only those with one.
        per: "thread" or "process" for a table of them, "" for totals only.
        parts: what each of several groups counted apart, and not all of it as one.
        styled: use bold and dim, for a terminal.
        width: columns of the terminal.
        guide_names: metrics by the names that the HPM guide's own files have.
    """

    tool: str = "gnomon count"
    brief: bool = False
    default_events: bool = False
    formulas: bool = False
    every_usage_row: bool = False
    per: str = ""
    parts: bool = False
    styled: bool = False
    width: int = WIDTH
    guide_names: bool = False


class Style:
    """Bold and dim words, where the terminal has them."""

    def __init__(self, styled: bool) -> None:
        self._styled = styled

    def bold(self, words: str) -> str:
        """Return words in bold."""
        return f"\x1b[1m{words}\x1b[0m" if self._styled else words

    def dim(self, words: str) -> str:
        """Return words that stand back."""
        return f"\x1b[2m{words}\x1b[0m" if self._styled else words


def joined(*parts: str, sep: str = "; ") -> str:
    """Return what is not empty, one after the other."""
    return sep.join(part for part in parts if part)
