"""The tables that the page can show of a run, and what answers for each of them.

What was measured (`data_table.py`), the pages of capabilities, and the run's tables as they are
(`table_rows.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from gnomon.errors import UsageError
from gnomon.model.view_pages import ViewPage
from gnomon.view import data_table, table_export, table_rows
from gnomon.view.contract import TableName
from gnomon.view.data_table import TableChunks, TableQuery
from gnomon.view.open_run import OpenRun

_PAGE = "page:"
_MEASURED = "What was measured"
_ROWS = "Tables of the run"


def of_run(opened: OpenRun) -> list[TableName]:
    """Return the tables that a run has, and pages of capabilities that have rows there.

    Raises:
        RunDirectoryError: its tables cannot be read.
    """
    tables = [_named(name, title, _MEASURED, "") for name, title in data_table.TABLES.items()]
    schemas = table_rows.with_rows(opened)
    has = {schema.name for schema in schemas}
    for group, page in _pages():
        if page.table in has:
            first = _named(_PAGE + page.name, page.title, group, "")
            first["columns"] = list(page.columns)
            first["sort"], first["descending"] = page.sort, page.descending
            tables.append(first)
    tables += [
        _named(table_rows.PREFIX + schema.name, schema.name, _ROWS, schema.row)
        for schema in schemas
    ]
    return tables


class TableSource(Protocol):
    """What answers for some of the tables."""

    def page(self, opened: OpenRun, wanted: TableQuery, offset: int, limit: int) -> dict[str, Any]:
        """Return some rows of a table: `TablePage` of the contract.

        Raises:
            UsageError: there is no such table, column or metric, or the rows cannot be reached.
            RunDirectoryError: the run's tables cannot be read.
        """

    def chunks(self, opened: OpenRun, wanted: TableQuery) -> TableChunks:
        """Return all rows of a table, some at a time; raises as `page`."""


def source_of(wanted: TableQuery) -> tuple[TableSource, TableQuery]:
    """Return what answers for a table, and the query that it is to be asked.

    Raises:
        UsageError: no capability has such a page.
    """
    if wanted.name.startswith(_PAGE):
        for _, page in _pages():
            if _PAGE + page.name == wanted.name:
                return table_rows, wanted._replace(name=table_rows.PREFIX + page.table)
        raise UsageError(f"table {wanted.name[:40]!a}: no capability has such a page")
    return table_rows if wanted.name.startswith(table_rows.PREFIX) else data_table, wanted


def export(opened: OpenRun, wanted: TableQuery, kind: str) -> tuple[str, str, Iterator[str]]:
    """Return the name of a file with all rows of a table, its media type, and its parts.

    Raises:
        UsageError: there is no such table, column, metric or kind of file.
        RunDirectoryError: the run's tables cannot be read.
    """
    kinds = {
        "csv": ("text/csv", table_export.as_csv),
        "json": ("application/json", table_export.as_json),
    }
    if kind not in kinds:
        raise UsageError(f"format {kind[:40]!a}: there are {' and '.join(kinds)}")
    media, write = kinds[kind]
    source, query = source_of(wanted)
    parts = write(*source.chunks(opened, query))
    return f"{wanted.name.rpartition(':')[2]}.{kind}", media, parts


def _pages() -> Iterator[tuple[str, ViewPage]]:
    """Yield the pages of capabilities, each with the title of its capability."""
    from gnomon.capabilities import CAPABILITIES

    for capability in CAPABILITIES:
        for page in capability.pages:
            yield capability.title, page


def _named(name: str, title: str, group: str, about: str) -> TableName:
    return {
        "name": name, "title": title, "group": group, "about": about, "columns": [], "sort": "",
        "descending": True,
    }  # fmt: skip
