"""Parquet files as DuckDB reads and writes them: connections, and files' names in SQL."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from gnomon.errors import RunDirectoryError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from gnomon.model.schemas import Column


@cache
def duckdb_module() -> ModuleType:
    """Return the module that has DuckDB's connections and errors.

    It is the extension that the package `duckdb` loads, the same objects: what the package adds in
    Python takes three times as long to load, and nothing of it is used here. Versions before 1.4
    have no extension of that name.
    """
    try:
        import _duckdb
    except ImportError:
        import duckdb

        return duckdb
    return _duckdb


def connected(threads: int = 0) -> DuckDBPyConnection:
    """Return a database of its own, in memory.

    Args:
        threads: so many work for it; 0 for one on each CPU.
    """
    connection: DuckDBPyConnection = duckdb_module().connect(
        ":memory:", config={"threads": threads} if threads else {}
    )
    # A bar on stdout where Python is taken for interactive, as children of multiprocessing are.
    connection.execute("SET enable_progress_bar = false")
    return connection


def as_utf8(text: str) -> str:
    """Return a text with the bytes of arguments and names that are no UTF-8 as escapes."""
    return text.encode(errors="backslashreplace").decode()


def of_array(column: Column) -> str:
    """Return the SQL for a column of which a NumPy array is registered, beside what is missing.

    DuckDB takes NaN in such an array for NULL.
    """
    value = f"CAST({column.name} AS {column.type})"
    return f"COALESCE({value}, 'nan'::DOUBLE)" if column.type == "DOUBLE" else value


def reading(file: Path) -> str:
    """Return the SQL source of a Parquet file: its columns, and nothing from its name.

    Left to itself DuckDB takes `metric=3` in a path for the value of that column in every row.

    Raises:
        RunDirectoryError: DuckDB cannot open it, for its path is no UTF-8.
    """
    if as_utf8(str(file)) != str(file):
        raise RunDirectoryError(
            f"{file}: its path is not UTF-8, and the table cannot be read; rename the folder whose "
            "name is not, or go into it and name the run from there"
        )
    return f"read_parquet({_literal(file)}, hive_partitioning = false)"


def _literal(file: Path) -> str:
    """Return a file as a text of SQL that means it alone, whatever its name is like.

    DuckDB takes names for patterns of many files' names, and some for a home or an address.
    """
    name = _plain(file)
    # Behind a backslash the signs of patterns are none.
    return _quoted(name if "\\" in name else re.sub(r"[*?\[]", r"[\g<0>]", name))


def _plain(file: Path) -> str:
    """Return a file's path so that neither ~ nor an address begins it."""
    # Not from the root: folders above may have names that are no UTF-8.
    return str(file) if file.is_absolute() else f"./{file}"


def target(file: Path) -> str:
    """Return a file as a text of SQL that a query writes to."""
    return _quoted(_plain(file))


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"
