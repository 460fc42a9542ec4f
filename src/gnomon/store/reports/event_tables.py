"""The tables that a run may have beside its profile, as text: events, messages, samples, ..."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnomon.model.schemas import Schema
from gnomon.model.tables import Cell
from gnomon.store.reports.report_part import REPETITION
from gnomon.store.reports.table_query import Field, fields, is_of_metric
from gnomon.store.run import Run
from gnomon.units import printable, quantity

_TEXT_LEAST = 8


def headings(schema: Schema) -> tuple[tuple[str, int, bool], ...]:
    """Return of each column the heading, the least width, and whether it is a number."""
    return tuple(
        (field.heading, len(field.key.name) if field.is_number else _TEXT_LEAST, field.is_number)
        for field in _shown(schema)
    )


def cells(run: Run, schema: Schema, rows: Sequence[Mapping[str, Cell]]) -> list[list[str]]:
    """Return rows as texts, in the order of the headings."""
    shown = _shown(schema)
    is_repeated = int(run.head["repetitions"]) > 1
    return [
        [
            ""
            if field.key is REPETITION and not is_repeated
            else _cell(field.key.name, row)
            for field in shown
        ]
        for row in rows
    ]  # fmt: skip


def _shown(schema: Schema) -> list[Field]:
    """Return the columns to show, numbers first."""
    shown = [field for field in fields(schema) if field.heading]
    return sorted(shown, key=lambda field: not field.is_number)


def _cell(name: str, row: Mapping[str, Cell]) -> str:
    value = row[name]
    if value is None or value == "":
        return ""
    if isinstance(value, str):
        return printable(value.strip())
    if name == REPETITION.name:
        return str(value)
    if name in ("address", "data_address"):
        return hex(int(value) % (1 << 64))
    unit = "ns" if name.endswith("_ns") else "bytes" if name == "bytes" else ""
    return quantity(float(value), str(row["unit"]) if is_of_metric(row, name) else unit)
