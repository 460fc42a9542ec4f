"""The looks of a list of presets: a table as wide as the terminal, or all there is of each."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING

from gnomon.cli.sections import columns, filled

if TYPE_CHECKING:
    from gnomon.cli.presets import Row

_HEAD = ("preset", "here", "kind", "definition", "description")
_TEXT_MIN = 24
# Where what is said of a preset begins, in the list of all that is known of it.
_TEXT_COLUMN = 16
_MASKS = re.compile(r"(?<=:)")
_PARTS = re.compile(r"(?<=[:_])")
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
            (_wrapped(cell, column, anywhere=True) if width else [cell]) or [""]
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
        what = f"{preset.description}{unit}".strip()
        head = filled(f"{preset.name}  {what}" if what else preset.name, " " * _TEXT_COLUMN)
        if styled:
            head[0] = head[0].replace(preset.name, f"\x1b[1m{preset.name}\x1b[0m", 1)
        yield from head
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
                first, *rest = _wrapped(text, columns() - _TEXT_COLUMN)
                yield f"    {title:<10}  {first}"
                yield from (" " * _TEXT_COLUMN + line for line in rest)
        yield ""


def _cells(row: Row) -> tuple[str, str, str, str, str]:
    preset = row.preset
    here = {True: "yes", False: "no", None: "-"}[row.available]
    definition = preset.definition if preset.events else f"({preset.reason})"
    unit = f" [{preset.unit}]" if preset.unit else ""
    description = f"{preset.description}{unit}".strip()
    return preset.name, here, preset.kind or "none", definition, description


class _Wrapper(textwrap.TextWrapper):
    """Breaks what is too long for a line: behind the unit masks of a name, or anywhere in them."""

    def _split(self, text: str) -> list[str]:
        chunks = []
        for word in super()._split(text):
            # A path stays whole, however long it is.
            if len(word) <= self.width or "/" in word:
                chunks.append(word)
                continue
            masks = re.split(_MASKS, word)
            fits = all(len(mask) <= self.width for mask in masks)
            chunks += masks if fits else re.split(_PARTS, word)
        return [chunk for chunk in chunks if chunk]


def _wrapped(text: str, width: int, *, anywhere: bool = False) -> list[str]:
    return _Wrapper(width, break_on_hyphens=False, break_long_words=anywhere).wrap(text)


def _shares(left: int, longest: Sequence[int]) -> list[int]:
    """Return how wide two columns of text may be: what they need, or their shares of the rest."""
    if sum(longest) <= left:
        return list(longest)
    second = min(longest[1], max(left * 2 // 5, _TEXT_MIN // 2))
    return [max(left - second, _TEXT_MIN), second]
