"""The looks of a list of presets: a table as wide as the terminal, or all there is of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gnomon.cli.terminal.two_column_text import filled, terminal_columns
from gnomon.named_tuple import NamedTuple
from gnomon.terminal_text import wrapped, wrapped_table

if TYPE_CHECKING:
    from gnomon.counters.component import Availability
    from gnomon.counters.presets import Preset

_HEAD = ("preset", "here", "kind", "definition", "description")
_WIDE = 100
_FACT_INDENT = 16


class PresetRow(NamedTuple):
    """A preset and whether it can be counted: None where it was not tried, being another PMU's."""

    preset: Preset
    state: Availability | None

    @property
    def available(self) -> bool | None:
        """Whether it opens here; None if that is not known, False if it has no events."""
        if not self.preset.events:
            return False
        return None if self.state is None else self.state.available


def table(rows: Sequence[PresetRow], *, width: int, styled: bool) -> Iterator[str]:
    """Yield the lines of the table.

    Args:
        rows: the presets.
        width: columns of the terminal: long cells are wrapped, and where there is little room
            the kind of a preset is left to `details`.
        styled: bold and dim are welcome.
    """
    if not rows:
        return
    table: list[tuple[str, ...]] = [_HEAD, *(_cells(row) for row in rows)]
    if width < _WIDE:
        table = [(*cells[:2], *cells[3:]) for cells in table]
    texts = (len(table[0]) - 2, len(table[0]) - 1)
    for row_index, lines in enumerate(wrapped_table(table[0], table[1:], width, texts)):
        is_dim = row_index and rows[row_index - 1].available is False
        for line in lines:
            yield (
                f"\x1b[{2 if is_dim else 1}m{line}\x1b[0m"
                if styled and (is_dim or not row_index)
                else line
            )


def details(rows: Sequence[PresetRow], *, styled: bool) -> Iterator[str]:
    """Yield print all details of each preset.

    Args:
        rows: the presets.
        styled: bold is welcome.
    """
    for row in rows:
        preset, state = row
        unit = f" [{preset.unit}]" if preset.unit else ""
        what = f"{preset.description}{unit}".strip()
        head = filled(f"{preset.name}  {what}" if what else preset.name, " " * _FACT_INDENT)
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
                first, *rest = wrapped(text, terminal_columns() - _FACT_INDENT)
                yield f"    {title:<10}  {first}"
                yield from (" " * _FACT_INDENT + line for line in rest)
        yield ""


def _cells(row: PresetRow) -> tuple[str, str, str, str, str]:
    preset = row.preset
    here = {True: "yes", False: "no", None: "-"}[row.available]
    definition = preset.definition if preset.events else f"({preset.reason})"
    unit = f" [{preset.unit}]" if preset.unit else ""
    description = f"{preset.description}{unit}".strip()
    return preset.name, here, preset.kind or "none", definition, description
