"""Text in two columns, a title and what belongs to it, wrapped to the width of the terminal."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence

from gnomon.cli.terminal.streams import width_of

TITLE = 11
_MOST = 120


def terminal_columns() -> int:
    """Return how wide to print: as wide as stdout is, within reason."""
    return min(width_of(sys.stdout), _MOST)


def filled(text: str, indent: str = "") -> list[str]:
    """Return a sentence in lines as wide as the terminal, those after the first indented."""
    return textwrap.wrap(
        text,
        terminal_columns(),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def section(title: str, lines: Iterable[str], width: int) -> str:
    """Return lines under a title, each wrapped and indented; a title without lines is nothing."""
    lead = " " * (TITLE + 1)
    parts: list[str] = []
    for line in lines:
        head = lead if parts else f"{title:<{TITLE}} "
        # A line that begins with a blank is a row of a table or picture: kept as it is.
        if line.startswith(" ") or not line:
            parts.append((head + line[1:]).rstrip())
            continue
        parts.append(
            textwrap.fill(
                line,
                width,
                initial_indent=head,
                subsequent_indent=lead,
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
    return "\n".join(parts)


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: int = 1,
    *,
    width: int = 0,
    spare: Sequence[str] = (),
) -> list[str]:
    """Return the lines of a table: the first `left` columns and the last one ranged left.

    Each line begins with a blank, so that `section` keeps it. The last column is left out of the
    alignment and may be long.

    Args:
        head: the headings.
        rows: the cells.
        left: so many columns, the first ones, are ranged left.
        width: columns of the terminal; 0 for any number.
        spare: headings of columns that are left out, in this order, where there is no room.
    """
    widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head))]
    for name in spare:
        if width and sum(widths) + 2 * (len(widths) - 1) > width:
            at = list(head).index(name)
            head, *rows = ([*row[:at], *row[at + 1 :]] for row in (head, *rows))
            del widths[at]
    lines = []
    for row in [head, *rows]:
        cells = [
            cell.ljust(width) if at < left or at == len(row) - 1 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((" " + "  ".join(cells)).rstrip())
    return lines


def shortened(text: str, room: int) -> str:
    """Return text that is no longer than there is room, its end cut off with "..."."""
    return text if len(text) <= room else text[: max(room - 3, 0)] + "..."
