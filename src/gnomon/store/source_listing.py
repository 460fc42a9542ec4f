"""Source files with the counts beside their lines; what lies between is folded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gnomon.model.percent_columns import Shares
from gnomon.store.hotspots import Hotspots, Values
from gnomon.store.source_digests import Sources, indentation
from gnomon.terminal_text import cut, filled, grid, short_path
from gnomon.units import printable

_GAP = 2
_INDENT = 2
_NUMBER_WIDTH = 5
_SOURCE_LEAST = 48
_SOURCE_TIGHT = 28
# Lines shown before and behind one with counts; a gap of one line is no shorter when folded.
AROUND = 3


def listing(
    hotspots: Hotspots, sources: Sources, columns: Callable[[int, int], Shares], width: int
) -> tuple[list[str], Shares]:
    """Return the source files that are wanted, each line with its counts, and their columns.

    A file that cannot be read has only the numbers of its lines. Counts of a line that is part of
    several functions are added up.
    """
    shown = columns(*(_NUMBER_WIDTH + _GAP + least for least in (_SOURCE_LEAST, _SOURCE_TIGHT)))
    room = width - _INDENT - shown.width - _NUMBER_WIDTH - _GAP
    totals = [(*shown.cells(hotspots.totals), "", "total of the program")]
    blocks: list[tuple[str, list[tuple[str, ...]]]] = []
    for file, of_file in hotspots.file_totals.items():
        label = printable(hotspots.labels[file])
        totals.append((*shown.cells(of_file), "", short_path(f"total of {label}", room)))
        by_line: dict[int, Values] = {}
        for row in hotspots.rows:
            if row.file == file:
                known = by_line.setdefault(row.line, dict.fromkeys(hotspots.events, 0.0))
                for event, value in row.values.items():
                    known[event] += value
        if by_line:
            none = shown.cells(dict.fromkeys(shown.events, 0.0))
            cells = {line: shown.cells(values) for line, values in by_line.items()}
            blocks.append((file, folded_lines(cells, none, sources.lines(file), room)))
    rows = [*totals, *(row for _, block in blocks for row in block)]
    heads = [*shown.heads, ("line",), ("source",)]
    table = grid(heads, rows, len(shown.heads) + 1)
    lines = [*table.heading, *table.rows[: len(totals)]]
    first_row = len(totals)
    for file, block in blocks:
        lines += ["", short_path(printable(file), width)]
        if not sources.lines(file):
            lines += filled("the source cannot be read here: only the lines with counts", width)
        lines += table.rows[first_row : first_row + len(block)]
        first_row += len(block)
    return lines, shown


def folded_lines(
    cells: Mapping[int, tuple[str, ...]],
    none: tuple[str, ...],
    source: Sequence[str],
    room: int,
    around: int = AROUND,
) -> list[tuple[str, ...]]:
    """Return the lines of a source file with their cells, those far from any folded.

    Args:
        cells: of each line that has any; 0 for what is of no line.
        none: the cells of other lines.
        source: the lines of the file, () where it cannot be read.
        room: columns for a line of the source.
        around: so many lines before and behind one with counts are shown.
    """
    wanted = {
        line_number
        for line in cells
        if line
        for line_number in range(max(line - around, 1), line + around + 1)
        if line_number <= len(source)
    } | set(cells)
    # A single line between others is shown rather than folded.
    wanted |= {at + 1 for at in wanted if at + 2 in wanted and 0 < at + 1 <= len(source)}
    common = indentation(source[at - 1] for at in wanted if 0 < at <= len(source))
    blank = ("",) * len(none)
    rows: list[tuple[str, ...]] = []
    before = 0
    for line_number in sorted(wanted):
        if source and 0 < before + 1 < line_number:
            rows.append((*blank, "", _folded(before + 1, line_number - 1)))
        if line_number == 0:
            code = "(no line known)"
        elif not source:
            code = ""
        elif line_number > len(source):
            code = "(the file has no such line any more)"
        else:
            code = cut(source[line_number - 1][common:], room)
        of_line = cells.get(line_number, none)
        rows.append((*of_line, str(line_number) if line_number else "", code))
        before = line_number
    if before < len(source):
        rows.append((*blank, "", _folded(before + 1, len(source))))
    return rows


def _folded(first: int, last: int) -> str:
    return f"-- line {first} --" if first == last else f"-- lines {first} to {last} --"
