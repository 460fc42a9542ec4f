"""Rows of reports as CSV, for files of commands and for what the view saves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ROWS_AT_ONCE = 10_000


def csv_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV (RFC 4180): a column for each field, empty where a row has none.

    Fields of a field have columns of their own, and so have those of a row that a field has; where
    fields have several rows they are JSON.
    """
    tables = {name for row in rows for name, value in row.items() if _has_rows(value)}
    several = {name for name in tables if any(len(row.get(name) or ()) > 1 for row in rows)}
    flat = [_flat(row, tables, several) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    lines = [[row.get(name) for name in names] for row in flat]
    return _csv([names, *lines] if names else [])


def csv_pieces(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield CSV as `csv_of` makes it; rows that are not held have plain fields, all the same."""
    if isinstance(rows, Sequence):
        yield csv_of(rows)
        return
    rest, has_head = iter(rows), False
    while some := list(islice(rest, _ROWS_AT_ONCE)):
        lines: list[Iterable[Any]] = [] if has_head else [some[0]]
        yield _csv([*lines, *(row.values() for row in some)])
        has_head = True


def _csv(lines: Iterable[Iterable[Any]]) -> str:
    import csv
    import io

    text = io.StringIO()
    csv.writer(text).writerows(lines)
    return text.getvalue()


def _has_rows(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and isinstance(value[0], Mapping)


def _flat(row: Mapping[str, Any], tables: Set[str], several: Set[str]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name in several:
            flat[name] = json.dumps(value)
        elif name in tables:
            flat |= {f"{name} {inner}": cell for rows in value for inner, cell in rows.items()}
        elif isinstance(value, Mapping):
            is_taken = row.keys() | flat.keys()
            flat |= {inner if inner not in is_taken else f"{name} {inner}": cell
                      for inner, cell in value.items()}  # fmt: skip
        elif isinstance(value, list | tuple):
            flat[name] = " ".join(map(str, value))
        else:
            flat[name] = value
    return flat
