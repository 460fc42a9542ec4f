"""The looks of a list of presets: a table as wide as the terminal, or all there is of each."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from gnomon.cli.presets import Row

_HEAD = ("preset", "here", "kind", "definition", "description")
_TEXT_MIN = 24
_FILL = 100
# Where lines may be of any length, longer definitions push their descriptions on.
_PADDED = 48


def width_of(stream: IO[str]) -> int:
    """Return the columns of a terminal; 0 for what is none, where lines may be of any length."""
    return shutil.get_terminal_size().columns if stream.isatty() else 0


def table(rows: Sequence[Row], *, width: int, styled: bool) -> Iterator[str]:
    """Yield the lines of the table.

    Args:
        rows: the presets.
        width: columns of the terminal, so that long cells are wrapped; 0 for one line each.
        styled: bold and dim are welcome.
    """
    if not rows:
        return
    cells = [_cells(row) for row in rows]
    fixed = [max(len(row[at]) for row in (*cells, _HEAD)) for at in range(3)]
    left = width - sum(fixed) - 2 * (len(_HEAD) - 1) if width else 0
    longest = [max(len(row[at]) for row in (*cells, _HEAD)) for at in (3, 4)]
    texts = _shares(left, longest) if width else [min(longest[0], _PADDED), 0]
    widths = [*fixed, *texts]
    for at, row in enumerate((_HEAD, *cells)):
        wrapped = [
            (textwrap.wrap(cell, column) if width else [cell]) or [""]
            for cell, column in zip(row, widths, strict=True)
        ]
        for n in range(max(map(len, wrapped))):
            line = "  ".join(
                (part[n] if n < len(part) else "").ljust(column)
                for part, column in zip(wrapped, widths, strict=True)
            ).rstrip()
            is_dim = at and rows[at - 1].available is False
            yield (
                f"\x1b[{2 if is_dim else 1}m{line}\x1b[0m"
                if styled and (is_dim or not at)
                else line
            )


def details(rows: Sequence[Row], *, styled: bool) -> Iterator[str]:
    """Yield everything that is known of each preset.

    Args:
        rows: the presets.
        styled: bold is welcome.
    """
    for row in rows:
        preset, state = row
        unit = f" [{preset.unit}]" if preset.unit else ""
        name = f"\x1b[1m{preset.name}\x1b[0m" if styled else preset.name
        yield f"{name}  {preset.description}{unit}"
        facts = [("family", preset.family), ("source", preset.source)]
        if preset.events:
            facts.insert(0, ("kind", preset.kind))
            facts.insert(1, ("definition", preset.definition))
        else:
            facts.insert(0, ("not here", preset.reason))
        for at, event in enumerate(preset.events):
            meaning = f": {preset.meanings[at]}" if at < len(preset.meanings) else ""
            facts.append((f"N{at}", event + meaning))
        facts.append(("differs", preset.differs))
        if preset.events and state is not None:
            facts.append(("here", "can be counted" if state.available else state.reason))
            facts.append(("remedy", state.remedy))
        for title, text in facts:
            if text:
                yield from textwrap.wrap(
                    text, _FILL, initial_indent=f"    {title:<10}  ", subsequent_indent=" " * 16,
                    break_long_words=False, break_on_hyphens=False,
                )  # fmt: skip
        yield ""


def filled(text: str, indent: str) -> list[str]:
    """Return a sentence in lines of a readable length, those after the first indented."""
    return textwrap.wrap(
        text, _FILL, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _cells(row: Row) -> tuple[str, str, str, str, str]:
    preset = row.preset
    here = {True: "yes", False: "no", None: "-"}[row.available]
    definition = preset.definition if preset.events else f"({preset.reason})"
    unit = f" [{preset.unit}]" if preset.unit else ""
    return preset.name, here, preset.kind or "none", definition, preset.description + unit


def _shares(left: int, longest: Sequence[int]) -> list[int]:
    """Return how wide two columns of text may be: what they need, or their shares of the rest."""
    if sum(longest) <= left:
        return list(longest)
    second = min(longest[1], max(left * 2 // 5, _TEXT_MIN // 2))
    return [max(left - second, _TEXT_MIN), second]
