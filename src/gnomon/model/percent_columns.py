"""Columns of events for a table of places: the count of one event, shares of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from gnomon.named_tuple import NamedTuple
from gnomon.terminal_text import heading
from gnomon.units import NOT_AVAILABLE, number

_GAP = 2
_SHARE_WIDTH = len("100.0")

LEADING = 4
"""So many events a table shows before it gives names all the width they ought to have."""


class Shares(NamedTuple):
    """The columns of events that a table has room for.

    Attributes:
        heads: lines of each column's heading.
        events: the events shown, that which counts are shown of first.
        left_out: those for which there was no room.
        counted: those that have a column with counts beside that with shares.
        totals: what shares are of, by event.
        width: columns of text that all of them take, with the gap behind each.
    """

    heads: tuple[tuple[str, ...], ...]
    events: tuple[str, ...]
    left_out: tuple[str, ...]
    counted: frozenset[str]
    totals: Mapping[str, float]
    width: int

    def cells(self, values: Mapping[str, float]) -> tuple[str, ...]:
        """Return the cells of one place."""
        cells: list[str] = []
        for event in self.events:
            if event in self.counted:
                cells.append(count(values[event]))
            cells.append(share(values[event], self.totals[event]))
        return tuple(cells)


def count(value: float) -> str:
    """Return a count as tables of places print it: "." for none."""
    return number(value) if value else "."


def share(value: float, total: float) -> str:
    """Return a share in percent as tables of places print it: "." for none, 0.0 for little."""
    if not value or not total:
        return "."
    percent = 100 * value / total
    return f"{percent:.1f}" if isfinite(percent) else NOT_AVAILABLE


def shares(
    events: Sequence[str],
    totals: Mapping[str, float],
    room: int,
    *,
    counts: bool = False,
    keep: bool = False,
) -> Shares:
    """Return the columns of events for which there is room.

    Args:
        events: by importance; the first one always has a column with counts, and is always there.
        totals: over all places, by event.
        room: columns of text.
        counts: a column with counts for every event.
        keep: every event, room or not.
    """
    heads: list[tuple[str, ...]] = []
    shown: list[str] = []
    width = 0
    for event in events:
        words = heading(event)
        counted = counts or not shown
        more: list[tuple[str, ...]] = [(*words, "count"), ("%",)] if counted else [(*words, "%")]
        wide = max(map(len, words))
        needed = max(wide, len(number(totals[event])), len("count")) + _GAP if counted else 0
        needed += (_SHARE_WIDTH if counted else max(wide, _SHARE_WIDTH)) + _GAP
        if shown and not keep and width + needed > room:
            break
        shown.append(event)
        heads += more
        width += needed
    left_out = tuple(event for event in events if event not in shown)
    counted_events = frozenset(shown if counts else shown[:1])
    return Shares(tuple(heads), tuple(shown), left_out, counted_events, totals, width)


def leading_shares(
    events: Sequence[str],
    totals: Mapping[str, float],
    room: int,
    tight: int,
    *,
    counts: bool = False,
    keep: bool = False,
) -> Shares:
    """Return the columns of events, of which the first four are worth more than long names.

    Args:
        events: as `shares` takes them, likewise the others.
        totals: over all places, by event.
        room: columns of text where names have the width that they ought to have.
        tight: columns of text where names have the least that can be read.
        counts: a column with counts for every event.
        keep: every event, room or not.
    """
    chosen = shares(events, totals, room, counts=counts, keep=keep)
    if len(chosen.events) >= min(len(events), LEADING):
        return chosen
    first = shares(events[:LEADING], totals, tight, counts=counts, keep=keep)
    return first._replace(left_out=tuple(events[len(first.events) :]))
