"""Calls by the size of what they moved, as bars of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.measurement.size_classes import size_name
from gnomon.terminal_text import grid, share
from gnomon.units import number, quantity, rounded

if TYPE_CHECKING:
    from collections.abc import Iterable

_BAR_LEAST, _BAR_MOST = 8, 40
_BAR = "█"


def size_bars(
    rows: Iterable[tuple[str, float, float | None, float | None]], width: int
) -> list[str]:
    """Return a line for each size, with a bar for its calls; none for calls that moved nothing.

    Args:
        rows: size, calls, bytes and seconds, None where these are not known; those of a size are
            added up, in the order of sizes.
        width: columns of the terminal.
    """
    sizes: dict[str, list[float]] = {}
    is_known = [True, False, False]
    for size, *values in rows:
        if size != size_name(0):
            sums = sizes.setdefault(size, [0.0, 0.0, 0.0])
            for place, value in enumerate(values):
                sums[place] += value or 0.0
                is_known[place] |= value is not None
    n_calls = sum(sums[0] for sums in sizes.values())
    seconds = sum(sums[2] for sums in sizes.values())
    is_shown = [True, True, *is_known[1:], True]
    cells = [
        [cell for cell, is_there in zip(
            (name, number(rounded(calls)), quantity(rounded(moved), "bytes"), share(time, seconds),
             share(calls, n_calls)), is_shown, strict=True) if is_there]
        for name, (calls, moved, time) in sizes.items()
    ]  # fmt: skip
    names = ("size", "calls", "bytes", "of time", "of calls")
    heads = [(name,) for name, is_there in zip(names, is_shown, strict=True) if is_there]
    lines = list(grid(heads, cells, len(heads)).lines)
    room = min(max(width - max(map(len, lines)) - 2, _BAR_LEAST), _BAR_MOST)
    largest = max((sums[0] for sums in sizes.values()), default=0.0)
    for place, (calls, _, _) in enumerate(sizes.values(), start=1):
        bar = _BAR * (round(room * calls / largest) if largest else 0)
        lines[place] = f"{lines[place]}  {bar or ('·' if calls else '')}".rstrip()
    return lines if sizes else []
