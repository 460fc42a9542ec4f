"""The tables that runs may have, of several runs as one: rows as they are, numbers matched.

Each is a view on those of the runs, however many rows they have. A number of another table is
looked up in a list, which keeps the order of the rows, as a join would not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from gnomon.model.schemas import FILES, OPTIONAL_SCHEMAS, Column, Schema, schema_of
from gnomon.model.tables import Cell
from gnomon.view.database import Arrays, Tables

# What has numbers further apart than this has them looked up one by one, and not in a list.
_LIST_MOST = 1_000_000
_SPARSE = 16


def merge(parts: Sequence[Tables], to: Tables, maps: Iterable[tuple[int, str, Arrays]]) -> None:
    """Make the optional tables of several runs views of one.

    Args:
        parts: the tables of each run.
        to: where locations, regions, paths and metrics of all are.
        maps: of a part and by the name of a number, those there (`old`) and those of all (`new`).

    Raises:
        RunDirectoryError: a table cannot be read.
    """
    with_rows = [
        (schema, [at for at, part in enumerate(parts) if _has_rows(part, schema)])
        for schema in OPTIONAL_SCHEMAS
    ]
    with_rows = [(schema, having) for schema, having in with_rows if having]
    if not with_rows:
        return
    lookups = {(at, name): _lookup(to, at, name, numbers) for at, name, numbers in maps}
    for at, numbers in _merge_files(parts, to):
        lookups[at, FILES.number] = _lookup(to, at, FILES.number, numbers)
    for schema, having in with_rows:
        if schema is FILES:
            continue
        queries = []
        for part_index in having:
            parts[part_index].lend(schema, to, f"{schema.name}{part_index}")
            cells = ", ".join(_cell(column, part_index, lookups) for column in schema.columns)
            queries.append(f"SELECT {cells} FROM {schema.name}{part_index}")
        # Of small tables without a location, what runs have in common stands there once.
        union = " UNION ALL " if schema.is_bulk else " UNION "
        order = "" if schema.is_bulk else " ORDER BY ALL"
        to.execute(f"CREATE VIEW {schema.name} AS {union.join(queries)}{order}")


def _has_rows(tables: Tables, schema: Schema) -> bool:
    return bool(tables.rows(f"SELECT 1 FROM {schema.name} LIMIT 1"))


def _lookup(to: Tables, part_index: int, name: str, numbers: Arrays) -> str:
    """Make what a number is looked up in, and return the expression that does it."""
    old, new = numbers["old"], numbers["new"]
    n = int(old.max(initial=-1)) + 1
    if n > max(_SPARSE * len(old), _LIST_MOST):
        lookup = f"numbers{part_index}_{name}"
        to.keep(lookup, {"old": old, "new": new})
        return f"COALESCE((SELECT ANY_VALUE(n.new) FROM {lookup} n WHERE n.old = {{number}}), -1)"
    dense = np.full(n, -1, dtype=np.int32)
    dense[old[old >= 0]] = new[old >= 0]
    lookup = f"list{part_index}_{name}"
    arrays = {"place": np.arange(n, dtype=np.int32), "new": dense}
    to.keep(lookup, arrays, "list(new ORDER BY place) AS numbers")
    return f"COALESCE((SELECT numbers FROM {lookup})[GREATEST({{number}}, -1) + 1], -1)"


def _cell(column: Column, part_index: int, lookups: dict[tuple[int, str], str]) -> str:
    if not column.refers:
        return column.name
    lookup = lookups.get((part_index, schema_of(column.refers).number), "-1")
    return f"CAST({lookup.format(number=column.name)} AS {column.type}) AS {column.name}"


def _merge_files(parts: Sequence[Tables], to: Tables) -> list[tuple[int, Arrays]]:
    """Make the table of files, each that runs have in common once; return numbers of each part."""
    names = [column.name for column in FILES.columns]
    file_numbers: dict[tuple[Cell, ...], int] = {}
    maps = []
    for part_index, part in enumerate(parts):
        rows = part.rows(f"SELECT {', '.join(names)} FROM {FILES.name}")
        new = [file_numbers.setdefault(tuple(row[1:]), len(file_numbers)) for row in rows]
        maps.append(
            (
                part_index,
                {
                    "old": np.array([row[0] for row in rows], dtype=np.int32),
                    "new": np.array(new, dtype=np.int32),
                },
            )
        )
    if file_numbers:
        rows = [(number, *row) for row, number in file_numbers.items()]
        to.insert(FILES, list(zip(*rows, strict=True)))
    return maps
