"""Tables of the view as CSV and JSON, part by part: no more than a part is in memory."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gnomon.view.data_table import TableColumn


def as_csv(columns: Sequence[TableColumn], parts: Iterable[Iterable[list[Any]]]) -> Iterator[str]:
    """Yield a table as CSV (RFC 4180), a line of names first; "" where there is no value."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([_heading(column) for column in columns])
    for rows in parts:
        writer.writerows(rows)
        yield text.getvalue()
        text.seek(0)
        text.truncate()
    yield text.getvalue()


def _heading(column: TableColumn) -> str:
    more = [one for one in (column.unit, column.how) if one]
    return f"{column.title} {column.kind}".rstrip() + (f" ({', '.join(more)})" if more else "")


def as_json(columns: Sequence[TableColumn], parts: Iterable[Iterable[list[Any]]]) -> Iterator[str]:
    """Yield a table as JSON: columns, and rows as lists in their order."""
    listed = [column._asdict() for column in columns]
    yield json.dumps({"columns": listed})[:-1] + ', "rows": ['
    before = ""
    for rows in parts:
        yield before + ",\n".join(json.dumps(row) for row in rows)
        before = ",\n"
    yield "]}\n"
