"""Arrows of jumps as characters before instructions."""

from __future__ import annotations

from collections.abc import Iterable

from gnomon.annotate.jumps import Arrow

LANES_MOST = 8
_DOWN, _UP, _BOTH = "┌", "└", "├"
_CROSSED = {"│": "┼", _DOWN: "┬", _UP: "┴", _BOTH: "┼", " ": "─"}


def arrow_texts(arrows: Iterable[Arrow], n: int, most: int = LANES_MOST) -> list[str]:
    """Return what stands before each of n instructions, all of the same width; "" for no arrows.

    Args:
        arrows: of the jumps among them; those in lanes beyond the most are left out.
        n: how many instructions there are.
        most: so many lanes at most.
    """
    drawn = [arrow for arrow in arrows if arrow.lane < most]
    if not drawn:
        return [""] * n
    lanes = max(arrow.lane for arrow in drawn) + 1
    cells = [[" "] * (lanes + 1) for _ in range(n)]
    for arrow in drawn:
        for row in range(arrow.first + 1, arrow.last):
            cells[row][lanes - 1 - arrow.lane] = "│"
    for arrow in drawn:
        for row in {arrow.target, *arrow.sources}:
            cells[row][lanes - 1 - arrow.lane] = _corner(arrow, row)
    for arrow in drawn:
        for row in {arrow.target, *arrow.sources}:
            for column in range(lanes - arrow.lane, lanes):
                cells[row][column] = _CROSSED.get(cells[row][column], cells[row][column])
            if row == arrow.target:
                cells[row][lanes] = "▶"
            elif cells[row][lanes] == " ":
                cells[row][lanes] = "─"
    return ["".join(row) for row in cells]


def _corner(arrow: Arrow, row: int) -> str:
    if arrow.first == arrow.last:
        return "─"
    return _DOWN if row == arrow.first else _UP if row == arrow.last else _BOTH
