"""Columns that tables have got since their first version: runs of before lack them."""

from __future__ import annotations

from gnomon.model.tables import EVENTS, MESSAGES, METRICS, REGIONS, SAMPLES, Schema

_LATER = {
    EVENTS.name: ("access", "asked", "file_offset", "opening"),
    MESSAGES.name: ("messages", "path"),
    METRICS.name: ("aggregation", "absent_is_zero", "reproducible", "dilated"),
    REGIONS.name: ("inlined",),
    SAMPLES.name: ("data_address", "data_source", "latency", "woken_by", "held_by"),
}


def completed(table: str, schema: Schema) -> str:
    """Return the SQL source of a table with all columns, NULL those that it does not have.

    Args:
        table: what it is read by as it is.
        schema: which one it is.
    """
    later = _LATER.get(schema.name, ())
    if not later:
        return table
    missing = ", ".join(
        f"CAST(NULL AS {column.type}) AS {column.name}"
        for column in schema.columns
        if column.name in later
    )
    # A table without the columns gets them, and no row.
    return f"(SELECT * FROM {table} UNION ALL BY NAME (SELECT {missing} WHERE false))"
