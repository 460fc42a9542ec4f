"""The tables that a run may have beside its profile, as text: events, messages, samples, arcs, ...

Numbers of other tables' rows are shown by the names of those; moments from the run's start on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnomon.model.schemas import Column, Schema
from gnomon.model.tables import Cell
from gnomon.store.rundir import Run
from gnomon.units import printable, quantity

# More rows are not named to the query one by one.
_FEW = 1000
_TEXT_LEAST = 8
_NS = 1e9
# Values of the row's metric, in its unit.
_VALUES = ("weight", "inclusive")
_NAMES = {
    "locations": """SELECT location, concat_ws(' ',
        CASE WHEN rank >= 0 THEN 'rank ' || rank END, kind,
        CASE WHEN tid >= 0 THEN tid WHEN pid >= 0 THEN pid END, name) FROM locations""",
    "regions": "SELECT region, COALESCE(name, '') FROM regions",
    "paths": "SELECT path, COALESCE(name, '') FROM paths JOIN regions USING (region)",
    "metrics": "SELECT metric, COALESCE(name, '') FROM metrics",
    "files": "SELECT file, COALESCE(name, '') FROM files",
}
"""For each table that others refer to: numbers and names of its rows."""


def headings(schema: Schema) -> tuple[tuple[str, int, bool], ...]:
    """Return of each column the heading, the least width, and whether it is a number."""
    return tuple(
        (column.name.removesuffix("_ns"), len(column.name), True)
        if _is_number(column)
        else (column.name, _TEXT_LEAST, False)
        for column in _shown(schema)
    )


def cells(run: Run, schema: Schema, rows: Sequence[Mapping[str, Cell]]) -> list[list[str]]:
    """Return rows as texts, in the order of the headings.

    Raises:
        RunDirectoryError: a table that the rows refer to cannot be read.
    """
    names = {
        table: _names(run, table, {
            int(str(row[column.name]))
            for column in schema.columns if column.refers == table
            for row in rows if row[column.name] is not None
        })
        for table in dict.fromkeys(column.refers for column in schema.columns if column.refers)
    }  # fmt: skip
    columns = _shown(schema)
    units = dict(run.query("SELECT metric, COALESCE(unit, '') FROM metrics"))
    return [[_cell(run, column, row, names, units) for column in columns] for row in rows]


def _shown(schema: Schema) -> list[Column]:
    """Return the columns for people, numbers first; a path beside its region would say it twice."""
    names = {column.name for column in schema.columns}
    shown = [one for one in schema.columns if one.name != "path" or "region" not in names]
    return sorted(shown, key=lambda column: not _is_number(column))


def _is_number(column: Column) -> bool:
    return column.type != "VARCHAR" and not column.refers


def _names(run: Run, table: str, wanted: set[int]) -> dict[int, str]:
    query = f"SELECT * FROM ({_NAMES[table]}) AS named(number, name)"
    if len(wanted) <= _FEW:
        query += f" WHERE number IN ({', '.join(map(str, sorted(wanted) or [-1]))})"
    return {int(number): str(name) for number, name in run.query(query)}


def _cell(
    run: Run, column: Column, row: Mapping[str, Cell], names: Mapping[str, Mapping[int, str]],
    units: Mapping[Cell, str],
) -> str:  # fmt: skip
    value = row[column.name]
    if value is None or value == "":
        return ""
    if column.refers:
        return printable(names[column.refers].get(int(value), "").strip())
    if isinstance(value, str):
        return printable(value)
    if column.name == "repetition":
        return str(value) if int(run.head["repetitions"]) > 1 else ""
    if column.is_moment:
        return quantity(int(value) - int(float(run.head["started"]) * _NS), "ns")
    if column.name == "address":
        return hex(int(value))
    unit = "ns" if column.name.endswith("_ns") else "bytes" if column.name == "bytes" else ""
    if column.name in _VALUES:
        unit = units.get(row["metric"], "")
    return quantity(float(value), unit)
