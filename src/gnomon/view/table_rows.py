"""The tables of a run as they are, a page of rows at a time, however many rows one has.

DuckDB filters, sorts and counts; beside the number of a location, path, region or metric stands its
name. No more rows than a page, or a part of an export, are in memory at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from gnomon.errors import UsageError
from gnomon.model import schemas
from gnomon.model.array_types import Cells, Ints
from gnomon.model.tables import LOCATIONS, METRICS, Schema
from gnomon.named_tuple import NamedTuple
from gnomon.store import table_limits
from gnomon.view.data_table import (
    ROWS_OF_PAGE,
    TableChunks,
    TableColumn,
    TableQuery,
    as_cell,
)
from gnomon.view.open_run import OpenRun
from gnomon.view.run_metadata import positions

PREFIX = "rows:"
"""What the names of these tables begin with: `rows:events` are the rows of the table `events`."""

_CHUNK = 10_000
# Rows this far from both ends of a sorted table that has more rows than `_LARGE` are not shown: all
# rows before them would be in memory to be sorted.
_REACH = 200_000
_LARGE = 5_000_000
_NAME = ":name"
# What a row's metric tells of its values, as the page looks for it.
_OF_METRIC = {"unit": "units", "how": "hows"}


class _Names(NamedTuple):
    """Numbers of rows that others refer to, and the name of each."""

    numbers: Ints
    names: Cells


class _Query(NamedTuple):
    """Which rows are wanted: a condition of SQL and its values."""

    schema: Schema
    where: str
    values: list[Any]


def with_rows(opened: OpenRun) -> list[Schema]:
    """Return the tables that have rows, in the order of the model."""
    return opened.once("tables with rows", lambda: _with_rows(opened))


def _with_rows(opened: OpenRun) -> list[Schema]:
    tables = opened.data.tables
    names = {name for (name,) in tables.rows("SHOW TABLES")}
    return [
        schema
        for schema in schemas.ALL_SCHEMAS
        if schema.name in names and tables.rows(f"SELECT COUNT(*) FROM {schema.name}")[0][0]
    ]


def columns(schema: Schema) -> tuple[TableColumn, ...]:
    """Return the columns of a table, names beside the numbers that refer to other tables."""
    columns = []
    for column in schema.columns:
        is_text = column.type in ("VARCHAR", "BOOLEAN")
        columns.append(
            TableColumn(
                column.name, column.name.replace("_", " ").removesuffix(" ns"),
                "text" if is_text else "number",
                _unit(column),
                description=column.description, shows=_shows(schema, column),
            )
        )  # fmt: skip
        if column.refers in _NAMED:
            columns.append(
                TableColumn(
                    column.name + _NAME, f"{column.name} name", "text",
                    description=f"name of the {column.name}",
                    shows="symbol" if column.refers in ("paths", "regions") else "",
                )
            )  # fmt: skip
        if column.refers == METRICS.name:
            columns += [
                TableColumn(name, name, "text", description=f"{name} of the row's {column.name}")
                for name in _OF_METRIC
            ]
    return tuple(columns)


def _told(schema: Schema) -> dict[str, tuple[str, str]]:
    """Return of each text that stands beside a number: the number's column, and which names."""
    told: dict[str, tuple[str, str]] = {}
    for column in schema.columns:
        if column.refers in _NAMED:
            told[column.name + _NAME] = column.name, column.refers
        if column.refers == METRICS.name:
            told |= {name: (column.name, names) for name, names in _OF_METRIC.items()}
    return told


def _unit(column: schemas.Column) -> str:
    if column.name == "bytes":
        return "bytes"
    return "ns" if column.name.endswith("_ns") and not column.is_moment else ""


def _shows(schema: Schema, column: schemas.Column) -> Literal["", "path", "number", "moment"]:
    if column.is_moment:
        return "moment"
    if column.refers or column.name == schema.number:
        return "number"
    return "path" if column.name in ("file", "path") else ""


def page(opened: OpenRun, wanted: TableQuery, offset: int, limit: int) -> dict[str, Any]:
    """Return some rows of a table: `TablePage` of the contract.

    Raises:
        UsageError: there is no such table or column, or the rows cannot be reached.
        RunDirectoryError: the run's tables cannot be read.
    """
    query = _query(opened, wanted)
    chosen = _chosen(query.schema, wanted)
    total = _count(opened, query)
    begin = min(max(offset, 0), total)
    n = min(max(limit, 0), ROWS_OF_PAGE, total - begin)
    # What is nearer to the end is looked for from there.
    is_reversed = bool(wanted.sort) and begin + n / 2 > total / 2
    skipped = total - begin - n if is_reversed else begin
    if wanted.sort and total > _LARGE and skipped > _REACH:
        raise UsageError(
            f"{query.schema.name}: of {total} sorted rows the first and last {_REACH} are shown; "
            "filter them, or sort otherwise"
        )
    sql, values = _select(opened, query, wanted, is_reversed=is_reversed)
    found = opened.data.tables.rows(f"{sql} LIMIT {n} OFFSET {skipped}", values) if n else []
    rows = list(_named(opened, query.schema, chosen, found[::-1] if is_reversed else found))
    # A number of the page's has 53 bits.
    for at in [at for at, one in enumerate(chosen) if one.shows == "moment"]:
        for row in rows:
            row[at] = None if row[at] is None else str(row[at])
    return {
        "name": wanted.name,
        "columns": [one._asdict() for one in chosen],
        "rows": rows,
        "total": total,
        "offset": begin,
        "sources": [None] * len(rows),
    }


def chunks(opened: OpenRun, wanted: TableQuery) -> TableChunks:
    """Return all rows of a table that are wanted, some at a time.

    Raises:
        UsageError: there is no such table or column.
        RunDirectoryError: the run's tables cannot be read.
    """
    query = _query(opened, wanted)
    chosen = _chosen(query.schema, wanted)
    sql, values = _select(opened, query, wanted, is_reversed=False)
    parts = opened.data.tables.stream(sql, values, _CHUNK)
    return chosen, (_named(opened, query.schema, chosen, rows) for rows in parts)


def _schema(name: str) -> Schema:
    for schema in schemas.ALL_SCHEMAS:
        if PREFIX + schema.name == name:
            return schema
    raise UsageError(f"table {name[:40]!a}: the run has no such table")


def _chosen(schema: Schema, wanted: TableQuery) -> tuple[TableColumn, ...]:
    every = columns(schema)
    by_name = {one.name: one for one in every}
    for name in (*wanted.columns, *([wanted.sort] if wanted.sort else [])):
        if name not in by_name:
            raise UsageError(f"column {name[:40]!a}: the table has {', '.join(by_name)}")
    return tuple(by_name[name] for name in wanted.columns) or every


def _query(opened: OpenRun, wanted: TableQuery) -> _Query:
    schema = _schema(wanted.name)
    if schema not in with_rows(opened):
        raise UsageError(f"table {wanted.name[:40]!a}: the run has no such table")
    conditions: list[str] = []
    values: list[Any] = []
    # A message has two.
    places = [one.name for one in schema.columns if one.refers == LOCATIONS.name]
    places = [LOCATIONS.number] if schema is LOCATIONS else places
    if wanted.location >= 0 and places:
        inside = np.flatnonzero(opened.data.within(wanted.location)).tolist()
        either = [f"{place} IN (SELECT unnest(?::INTEGER[]))" for place in places]
        conditions.append(f"({' OR '.join(either)})")
        values += [[opened.data.locations[at].location for at in inside]] * len(places)
    for word in wanted.filter.lower().split():
        either = []
        for column in schema.columns:
            if column.type == "VARCHAR":
                either.append(f"contains(lower({column.name}), ?)")
                values.append(word)
            elif column.refers in _NAMED:
                names = _names(opened, column.refers)
                has = np.fromiter((word in name.lower() for name in names.names), dtype=bool,
                                  count=len(names.names))  # fmt: skip
                either.append(f"{column.name} IN (SELECT unnest(?::INTEGER[]))")
                values.append(names.numbers[has].tolist())
        conditions.append(f"({' OR '.join(either) or 'false'})")
    return _Query(schema, f"WHERE {' AND '.join(conditions)}" if conditions else "", values)


def _count(opened: OpenRun, query: _Query) -> int:
    sql = f"SELECT COUNT(*) FROM {query.schema.name} {query.where}"
    key = ("count", sql, *map(str, query.values))
    return opened.once(key, lambda: int(opened.data.tables.rows(sql, query.values)[0][0]))


def _select(
    opened: OpenRun, query: _Query, wanted: TableQuery, *, is_reversed: bool
) -> tuple[str, list[Any]]:
    """Return the query for all rows in their order, and its values."""
    schema = query.schema
    cells = ", ".join(
        table_limits.bounded_text(one.name) if one.type in ("VARCHAR", "BOOLEAN") else one.name
        for one in schema.columns
    )
    if not wanted.sort:
        return f"SELECT {cells} FROM {schema.name} {query.where}", query.values
    first, joined = wanted.sort, ""
    values: list[Any] = []
    told = _told(schema)
    if wanted.sort in told:
        column, which = told[wanted.sort]
        names = _names(opened, which)
        order = np.argsort(np.argsort([name.lower() for name in names.names], kind="stable"))
        joined = (
            "LEFT JOIN (SELECT unnest(?::INTEGER[]) AS number_, unnest(?::INTEGER[]) AS order_) "
            f"ON number_ = {column}"
        )
        values = [names.numbers.tolist(), order.tolist()]
        first = "order_"
    elif next(one.type for one in schema.columns if one.name == first) == "VARCHAR":
        first = f"lower({first})"
    # Rows that are alike there have an order, too, or pages would not fit together.
    rest = [one.name for one in schema.columns if one.type != "VARCHAR" and one.name != first]
    downwards = wanted.descending != is_reversed
    # What has no value is last either way.
    ordered = f"{first} {'DESC' if downwards else 'ASC'} NULLS {'FIRST' if is_reversed else 'LAST'}"
    ordered += "".join(f", {name} {'DESC' if is_reversed else 'ASC'}" for name in rest)
    return (
        f"SELECT {cells} FROM {schema.name} {joined} {query.where} ORDER BY {ordered}",
        [*values, *query.values],
    )


def _named(
    opened: OpenRun, schema: Schema, chosen: Sequence[TableColumn], rows: Sequence[tuple[Any, ...]]
) -> Iterator[list[Any]]:
    """Yield rows with the columns that are wanted, and names for numbers."""
    position_of = {one.name: number for number, one in enumerate(schema.columns)}
    told = _told(schema)
    cells: list[list[Any]] = []
    for column in chosen:
        if column.name not in told:
            cells.append([as_cell(row[position_of[column.name]]) for row in rows])
            continue
        number, which = told[column.name]
        values = [row[position_of[number]] for row in rows]
        known = _names(opened, which)
        where = positions(known.numbers, np.array([-1 if one is None else one for one in values]))
        cells.append([str(known.names[one]) if one >= 0 else "" for one in where.tolist()])
    return map(list, zip(*cells, strict=True))


def _names(opened: OpenRun, which: str) -> _Names:
    return opened.once(("names", which), lambda: (_NAMED | _METRICS_TOLD)[which](opened))


def _of_locations(opened: OpenRun) -> _Names:
    locations = opened.data.locations
    titles = np.empty(len(locations), dtype=object)
    titles[:] = [one.title for one in locations]
    return _Names(np.array([one.location for one in locations], dtype=np.int32), titles)


def _of_metrics(opened: OpenRun, told: str = "name") -> _Names:
    metrics = opened.data.metrics
    names = np.empty(len(metrics), dtype=object)
    names[:] = [getattr(one, told) for one in metrics]
    return _Names(np.array([one.metric for one in metrics], dtype=np.int32), names)


def _of_regions(opened: OpenRun) -> _Names:
    return _Names(opened.data.regions.number, opened.data.regions.name)


def _of_paths(opened: OpenRun) -> _Names:
    data = opened.data
    return _Names(data.paths.number, data.regions.name[data.paths.region])


def _of_files(opened: OpenRun) -> _Names:
    arrays = opened.data.tables.arrays(
        f"SELECT file, {table_limits.bounded_text('name')} AS name FROM files"
    )
    return _Names(arrays["file"], arrays["name"])


_NAMED = {
    "locations": _of_locations, "metrics": _of_metrics, "regions": _of_regions, "paths": _of_paths,
    "files": _of_files,
}  # fmt: skip
"""Tables whose rows have names, and what gives them."""
_METRICS_TOLD = {names: partial(_of_metrics, told=name) for name, names in _OF_METRIC.items()}
