"""Columns that tables of the model got later, in runs and .viz files from before that."""

from __future__ import annotations

from collections.abc import Collection

from gnomon.model.tables import SAMPLES, Schema

LATER = {SAMPLES.name: ("data_address", "data_source", "latency")}
"""By table; what is special about metrics is inferred instead (metric_columns.py)."""


def completed(table: str, schema: Schema, names: Collection[str] = ()) -> str:
    """Return the SQL source of a table with its later columns, these NULL where it has none.

    Args:
        table: what it is read by as it is.
        schema: of the table.
        names: its later columns, where they are others.
    """
    later = names or LATER.get(schema.name, ())
    if not later:
        return table
    missing = ", ".join(
        f"CAST(NULL AS {column.type}) AS {column.name}"
        for column in schema.columns
        if column.name in later
    )
    # A table without the columns gets them, and no row.
    return f"(SELECT * FROM {table} UNION ALL BY NAME (SELECT {missing} WHERE false))"
