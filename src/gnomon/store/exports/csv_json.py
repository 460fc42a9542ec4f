"""A run as CSV or JSON: every row of its tables, every number exactly."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from math import isfinite
from typing import Any

from gnomon.errors import UsageError
from gnomon.model.tables import Schema
from gnomon.store.run import Run

# One row for each value, with all that is known of it: what people open as a sheet.
_VALUES = (
    ("repetition", "p.repetition"), ("host", "l.host"), ("rank", "l.rank"), ("pid", "l.pid"),
    ("tid", "l.tid"), ("location_kind", "l.kind"), ("location", "p.location"),
    ("location_name", "l.name"), ("path", "p.path"), ("region_kind", "r.kind"),
    ("region", "r.name"), ("module", "r.module"), ("file", "r.file"), ("line", "r.line"),
    ("metric", "m.name"), ("unit", "m.unit"), ("how", "m.how"), ("component", "m.component"),
    ("domain", "m.domain"), ("scope", "m.scope"), ("inclusive", "p.inclusive"),
    ("exclusive", "p.exclusive"), ("calls", "p.calls"), ("raw", "p.raw"),
    ("enabled_ns", "p.enabled_ns"), ("running_ns", "p.running_ns"),
)  # fmt: skip
_JOINED = """
FROM profile p LEFT JOIN locations l USING (location) LEFT JOIN paths t USING (path)
     LEFT JOIN regions r USING (region) LEFT JOIN metrics m USING (metric)
"""


def csv_text(run: Run, table: str = "") -> Iterator[str]:
    """Yield a run as CSV (RFC 4180): a row for each value, or a table of the model as it is.

    A number is written with as many digits as it takes to read the same one again; what is not
    known is empty.

    Args:
        run: the run.
        table: one that the run has; "" for the values with all that is known of them.

    Raises:
        UsageError: the run has no such table.
        RunDirectoryError: a table cannot be read.
    """
    if table:
        schema = _schema(run, table)
        names = [column.name for column in schema.columns]
        query = f"SELECT {', '.join(names)} FROM {table}"
    else:
        names = [name for name, _ in _VALUES]
        query = f"SELECT {', '.join(column for _, column in _VALUES)} {_JOINED}"
    yield _lines([tuple(names)])
    for rows in run.stream(query):
        yield _lines(rows)


def json_text(run: Run) -> Iterator[str]:
    """Yield a run as one JSON document: `run` and the tables, each a list of objects.

    Numbers that JSON does not have (infinite, not a number) are the strings "inf", "-inf", "nan".

    Raises:
        RunDirectoryError: a table cannot be read.
    """
    yield '{\n"run": ' + json.dumps(_plain(dict(run.head)), indent=1)
    for schema in run.schemas:
        names = [column.name for column in schema.columns]
        yield f',\n"{schema.name}": ['
        first = True
        for rows in run.stream(f"SELECT {', '.join(names)} FROM {schema.name}"):
            objects = (json.dumps(_plain(dict(zip(names, row, strict=True)))) for row in rows)
            yield ("\n" if first else ",\n") + ",\n".join(objects)
            first = False
        yield "]"
    yield "\n}\n"


def _schema(run: Run, table: str) -> Schema:
    for schema in run.schemas:
        if schema.name == table:
            return schema
    names = ", ".join(schema.name for schema in run.schemas)
    raise UsageError(f"{run.path}: no table {table}; it has {names}")


def _lines(rows: list[tuple[Any, ...]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def _plain(value: Any) -> Any:  # noqa: ANN401
    """Return a value without what JSON cannot say."""
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value
