"""Text that fits its width: tables, shortened names and paths, filled sentences.

Pure functions of text and a width in columns; the caller finds out how wide the terminal is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from gnomon.named_tuple import NamedTuple
from gnomon.units import number, printable

WIDTH = 80
"""Columns where the output is no terminal."""

NARROWEST = 60
"""Columns below which nothing sensible can be laid out: narrower terminals have to wrap."""

ELLIPSIS = "…"

ABSENT = "-"
"""In the place of a number that there is none of."""

_LABEL_LEAST = 12
_HEADING_WIDTH = 8
_REMARK_INDENT = "      "
_GAP = 2
_TEXT_LEAST = 12
_HEADING_PIECES = r"[^-_:.]*[-_:.]*"
_KERNEL_EVENT = r"[\w.-]+/[^/]+/\w*"


class Grid(NamedTuple):
    """The lines of a table: those of its heading and those of its rows."""

    heading: tuple[str, ...]
    rows: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """All lines."""
        return self.heading + self.rows


def grid(heads: Sequence[Sequence[str]], rows: Sequence[Sequence[str]], right: int) -> Grid:
    """Return a table as lines, indented by two.

    Args:
        heads: for each column the lines of its heading, which end on the same line.
        rows: for each row its cells.
        right: so many columns, the first ones, are flush right.
    """
    deep = max((len(head) for head in heads), default=0)
    above = [
        ["" if deep - at > len(head) else head[at - deep] for head in heads] for at in range(deep)
    ]
    widths = [max((len(row[at]) for row in (*above, *rows)), default=0) for at in range(len(heads))]

    def line(row: Sequence[str]) -> str:
        cells = (
            cell.rjust(width) if at < right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return ("  " + "  ".join(cells)).rstrip()

    return Grid(tuple(map(line, above)), tuple(map(line, rows)))


def heading(name: str) -> list[str]:
    """Return an event's name as a narrow heading of several lines, without PAPI_.

    It is broken behind the characters that join its words: L1-dcache-load-misses.
    """
    lines = [""]
    for piece in re.findall(_HEADING_PIECES, name.removeprefix("PAPI_")):
        if lines[-1] and len(lines[-1]) + len(piece) > _HEADING_WIDTH:
            lines.append("")
        lines[-1] += piece
    return lines


def shortened(text: str, width: int) -> str:
    """Return a text of at most so many columns, an ellipsis where its middle was."""
    if len(text) <= width:
        return text
    if width < 3:
        return text[: max(width - 1, 0)] + ELLIPSIS
    end = (width - 1) // 2
    return text[: width - 1 - end] + ELLIPSIS + text[-end:]


def cut(text: str, width: int) -> str:
    """Return the beginning of a text, with an ellipsis where the rest was."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + ELLIPSIS


def short_path(path: str, width: int) -> str:
    """Return a path of at most so many columns: its end, after an ellipsis for the folders."""
    if len(path) <= width:
        return path
    parts = path.split("/")
    for at in range(1, len(parts)):
        end = "/".join(parts[at:])
        if len(end) + 2 <= width:
            return f"{ELLIPSIS}/{end}"
    return shortened(parts[-1], width)


def suffixes(paths: Iterable[str]) -> dict[str, str]:
    """Return for each path the shortest end of it (whole names) that no other path has.

    A path that is the end of another one is itself.
    """
    short: dict[str, str] = {}
    left = {path: path.split("/") for path in paths}
    depth = 1
    while left:
        ends: dict[str, list[str]] = {}
        for path, parts in left.items():
            ends.setdefault("/".join(parts[-depth:]), []).append(path)
        for end, owners in ends.items():
            whole = [path for path in owners if len(left[path]) <= depth]
            for path in owners if len(owners) == 1 else whole:
                short[path] = end
                del left[path]
        depth += 1
    return short


def widths(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Return how wide columns of text are to be.

    Each gets what it needs if there is room for all; otherwise at least what it cannot do without
    (or needs, if that is less), and what is left goes to the columns in their order.

    Args:
        natural: what each would need.
        least: what it cannot do without.
        room: for all of them, without the gaps.
    """
    given = [min(need, floor) for need, floor in zip(natural, least, strict=True)]
    left = max(room - sum(given), 0)
    for at, need in enumerate(natural):
        more = min(need - given[at], left)
        given[at] += more
        left -= more
    return given


def facts(
    rows: Sequence[tuple[str, str, str]], width: int, dim: Callable[[str], str] = str
) -> list[str]:
    """Return the lines of a table of facts, one below the other; see `fact_rows`."""
    return [line for lines in fact_rows(rows, width, dim) for line in lines]


def fact_rows(
    rows: Sequence[tuple[str, str, str]], width: int, dim: Callable[[str], str] = str
) -> list[list[str]]:
    """Return for each fact its lines; a remark too long for its line stands below it.

    Args:
        rows: name, value, remark ("" for none).
        width: columns.
        dim: makes remarks stand back.
    """
    names = max((len(row[0]) for row in rows), default=0)
    values = max((len(row[1]) for row in rows), default=0)
    groups = []
    for name, value, remark in rows:
        line = f"  {name:<{names}}  {value:>{values}}"
        if remark and len(line) + 2 + len(remark) <= width:
            groups.append([f"{line}  {dim(remark)}"])
        else:
            below = filled(remark, width, _REMARK_INDENT, _REMARK_INDENT)
            groups.append([line, *map(dim, below)])
    return groups


def wrapped_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], width: int, texts: Sequence[int]
) -> list[list[str]]:
    """Return the lines of each row of a table, those of its heading first.

    Args:
        head: the headings.
        rows: the cells, all flush left.
        width: columns of the table.
        texts: the columns whose cells are wrapped where there is no room for them: they share
            what the others leave.
    """
    columns = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    left = width - _GAP * (len(head) - 1)
    left -= sum(size for at, size in enumerate(columns) if at not in texts)
    for nth, at in enumerate(sorted(texts, key=lambda at: columns[at])):
        columns[at] = min(columns[at], max(left // (len(texts) - nth), _TEXT_LEAST))
        left -= columns[at]

    def lines(row: Sequence[str]) -> list[str]:
        cells = [
            wrapped(cell, size) if at in texts else [cell]
            for at, (cell, size) in enumerate(zip(row, columns, strict=True))
        ]
        return [
            (" " * _GAP)
            .join(
                (cell[n] if n < len(cell) else "").ljust(size)
                for cell, size in zip(cells, columns, strict=True)
            )
            .rstrip()
            for n in range(max(map(len, cells)))
        ]

    return [lines(row) for row in (head, *rows)]


def wrapped(text: str, width: int) -> list[str]:
    """Return a text in lines; a name that is too long for one is broken behind a colon or _.

    Paths are not broken, however long they are; the kernel's names of events (pmu/event/) are.
    """
    lines = [""]
    for word in text.split():
        pieces = [word]
        is_path = "/" in word and not re.fullmatch(_KERNEL_EVENT, word)
        if len(word) > width and not is_path:
            pieces = re.findall(r"[^:/]*[:/]*", word)
            if max(map(len, pieces)) > width:
                pieces = re.findall(r"[^:/_]*[:/_]*", word)
        for nth, piece in enumerate(pieces):
            blank = " " if nth == 0 and lines[-1] else ""
            if lines[-1] and len(lines[-1]) + len(blank) + len(piece) > width:
                lines.append("")
                blank = ""
            lines[-1] += blank + piece
            while len(lines[-1]) > width and not is_path:
                lines[-1:] = [lines[-1][:width], lines[-1][width:]]
    return lines


def filled(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Return a sentence as lines of at most so many columns; words stay whole.

    Blanks within a line stay as they are, those around a break go.

    Args:
        text: the sentence.
        width: columns.
        first: begins the first line.
        rest: begins the others.
    """
    # As textwrap does, whose import costs the start of `gnomon count` 1 ms.
    room = max(width, NARROWEST)
    lines: list[str] = []
    line = ""
    for word in text.replace("\n", " ").split(" "):  # of several blanks, words that are empty
        if line and len(line) + 1 + len(word) <= room:
            line += f" {word}"
        elif word:
            if line:
                lines.append(line.rstrip())
            line = f"{rest if lines else first}{word}"
    return [*lines, line.rstrip()] if line else lines


def share(part: float | None, whole: float) -> str:
    """Return a part of a whole in percent, "-" where there is none."""
    if part is None or not whole > 0:
        return ABSENT
    return f"{100 * part / whole:.1f} %"


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], width: int, total: int = 0
) -> list[str]:
    """Return rows as lines; the last column is text and takes what is left of the width.

    Args:
        heads: of the columns.
        rows: their cells.
        width: columns of the terminal.
        total: how many rows there are in all.
    """
    cells = [list(map(printable, row)) for row in rows]
    taken = sum(
        max(len(row[column]) for row in (heads, *cells)) + 2 for column in range(len(heads) - 1)
    )
    room = max(width - taken - 2, _LABEL_LEAST)
    for row in cells:
        row[-1] = cut(row[-1], room)
    lines = list(grid([(head,) for head in heads], cells, len(heads) - 1).lines)
    if total > len(cells):
        lines.append(f"  and {number(total - len(cells))} more (--top 0 for all)")
    return lines
