"""Tables that share a screen: each has as many rows as there is room for."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.named_tuple import NamedTuple


class ScreenTable(NamedTuple):
    """A table as lines.

    Attributes:
        head: the lines above its rows.
        rows: a line each, what matters most first.
        tail: the lines below them.
        fewest: rows that it has however short the screen is.
    """

    head: Sequence[str]
    rows: Sequence[str]
    tail: Sequence[str] = ()
    fewest: int = 3


def fitted(tables: Sequence[ScreenTable], room: int) -> list[str]:
    """Return the lines of tables, with rows left out from their ends where the room is short.

    Args:
        tables: in the order in which they stand; those without rows are left out.
        room: lines of the screen for all of them.
    """
    shown = [table for table in tables if table.rows]
    rows = [min(table.fewest, len(table.rows)) for table in shown]
    left = room - sum(rows) - sum(len(table.head) + len(table.tail) for table in shown)
    # One more of each in turn.
    while left > 0 and any(n < len(table.rows) for n, table in zip(rows, shown, strict=True)):
        for number, table in enumerate(shown):
            if left > 0 and rows[number] < len(table.rows):
                rows[number] += 1
                left -= 1
    return [
        line
        for n, table in zip(rows, shown, strict=True)
        for line in (*table.head, *table.rows[:n], *table.tail)
    ]
