"""The tables of each open run in a DuckDB of its own, where they are asked with SQL.

Tables of run directories are views on their Parquet files: nothing is read before it is asked for,
but for the metrics, which almost every query names.
A damaged file can bring down the database that reads it; the other runs have others.
"""

from __future__ import annotations

import copy
import itertools
import os
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.errors import RunDirectoryError
from gnomon.model.array_types import Cells
from gnomon.model.tables import ALL_SCHEMAS, METRICS, Schema
from gnomon.store import table_limits
from gnomon.store.duckdb_parquet import duckdb_module, of_array
from gnomon.store.run import Run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Arrays = dict[str, Cells]


_TYPES = {"INTEGER": np.int32, "BIGINT": np.int64, "DOUBLE": np.float64, "VARCHAR": object,
          "BOOLEAN": np.bool_}  # fmt: skip
# What stands in arrays where a table has NULL.
_NONE = {"INTEGER": "0", "BIGINT": "0", "DOUBLE": "'nan'::DOUBLE", "VARCHAR": "''",
         "BOOLEAN": "FALSE"}  # fmt: skip
_SCHEMAS = itertools.count()
_THREADS_MOST = 8
# Messages of DuckDB's may quote a damaged name that is no UTF-8.
_FAILURES = (duckdb_module().Error, UnicodeDecodeError, MemoryError)
_NO_MEMORY = (duckdb_module().OutOfMemoryException, MemoryError)
_REMEDY = "restore it from a copy, or measure again"


class Tables:
    """The model's tables of one run; the methods may be called from any thread.

    Args:
        name: what to call the run in errors.
        threads: how many threads read them at once.

    Attributes:
        schema: of the database, whose tables come first; "" for none.
    """

    def __init__(self, name: str, threads: int = _THREADS_MOST) -> None:
        # Nothing is fetched: extensions that a query might want stay where they are.
        self._connection: DuckDBPyConnection = duckdb_module().connect(
            ":memory:",
            config={
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "threads": max(1, min(threads, len(os.sched_getaffinity(0)))),
            },
        )
        self._connection.execute("SET enable_progress_bar = false")
        self._lock = threading.Lock()
        self._name = name
        self._run: Run | None = None
        self.schema = ""

    @classmethod
    def of_run(cls, run: Run) -> Tables:
        """Return the tables of a run directory.

        Raises:
            RunDirectoryError: a table is missing, no file, or not of the model.
        """
        for schema in run.schemas:
            check_regular(run.file(schema))
        tables = cls(str(run.path))
        tables._run = run
        try:
            table_limits.check(run, tables._connection)
            for schema in ALL_SCHEMAS:
                kind = "TABLE" if schema is METRICS else "VIEW"
                tables._connection.execute(f"CREATE {kind} {schema.name} AS {_read(run, schema)}")
        except _FAILURES as error:
            tables.close()
            raise tables._refusal(error) from None
        except RunDirectoryError:
            tables.close()
            raise
        return tables

    @classmethod
    def of_file(cls, run: Run) -> Tables:
        """Return the tables of a file read as a run, in memory: its own files need not stay.

        Raises:
            RunDirectoryError: they do not hold what the model has.
        """
        tables = cls(str(run.path))
        try:
            table_limits.check(run, tables._connection)
            for schema in ALL_SCHEMAS:
                tables.execute(f"CREATE TABLE {schema.name} AS {_read(run, schema)}")
        except RunDirectoryError:
            tables.close()
            raise
        return tables

    def derived(self) -> Tables:
        """Return these tables, before them those that are made in a schema of their own."""
        tables = copy.copy(self)
        tables.schema = f"derived{next(_SCHEMAS)}"
        tables.execute(f"CREATE SCHEMA {tables.schema}")
        return tables

    def arrays(self, sql: str, values: Sequence[Any] = ()) -> Arrays:
        """Return the columns of a query's result by name.

        No column may have NULLs: queries say what to take instead.

        Raises:
            RunDirectoryError: a table is missing, damaged or not what the model has there.
        """
        try:
            with self._cursor() as cursor:
                by_name = cursor.execute(sql, values).fetchnumpy()
        except _FAILURES as error:
            raise self._refusal(error) from None
        return {name: np.ma.getdata(column) for name, column in by_name.items()}

    def columns(self, sql: str) -> Arrays:
        """Return the columns of a result, a number that is NULL as NaN; raises as `arrays`."""
        try:
            with self._cursor() as cursor:
                by_name = cursor.execute(sql).fetchnumpy()
        except _FAILURES as error:
            raise self._refusal(error) from None
        return {
            name: np.ma.filled(column.astype(np.float64), np.nan)
            if isinstance(column, np.ma.MaskedArray) and column.dtype != np.object_
            else np.ma.getdata(column)
            for name, column in by_name.items()
        }

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query's result; raises as `arrays`."""
        try:
            with self._cursor() as cursor:
                return cursor.execute(sql, values).fetchall()
        except _FAILURES as error:
            raise self._refusal(error) from None

    def stream(self, sql: str, values: Sequence[Any], many: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of a query's result, so many at a time; raises as `arrays`."""
        try:
            with self._cursor() as cursor:
                cursor.execute(sql, values)
                while rows := cursor.fetchmany(many):
                    yield rows
        except _FAILURES as error:
            raise self._refusal(error) from None

    def insert(self, table: Schema, columns: Sequence[Sequence[Any]]) -> None:
        """Make a table of the model from its columns, None for what is not there."""
        arrays: Arrays = {}
        for column, cells in zip(table.columns, columns, strict=True):
            kind = _TYPES[column.type]
            none = "" if kind is object else 0
            known = [none if cell is None else cell for cell in cells]
            arrays[column.name] = np.array(known, dtype=kind)
            arrays[f"{column.name}_none"] = np.array([cell is None for cell in cells], dtype=bool)
        self.keep(table.name, arrays, _with_none(table))

    def keep(self, name: str, columns: Mapping[str, Cells], wanted: str = "*") -> None:
        """Make a table from arrays."""
        with self._lock:
            self._connection.register("arrived", dict(columns))
            place = f"{self.schema}.{name}" if self.schema else name
            self._connection.execute(f"CREATE TABLE {place} AS SELECT {wanted} FROM arrived")
            self._connection.unregister("arrived")

    def execute(self, statement: str) -> None:
        """Change what the tables are.

        Raises:
            RunDirectoryError: a table that it reads is missing, damaged or not of the model.
        """
        try:
            with self._lock:
                self._connection.execute(statement)
        except _FAILURES as error:
            raise self._refusal(error) from None

    def lend(self, table: Schema, to: Tables, name: str) -> None:
        """Let other tables have one of these under a name: as a view on its file, or a copy.

        Raises:
            RunDirectoryError: the table cannot be read.
        """
        if self._run is not None:
            to.execute(f"CREATE VIEW {name} AS {_read(self._run, table)}")
            return
        columns = ", ".join(
            f"COALESCE({column.name}, {_NONE[column.type]}) AS {column.name}, "
            f"{column.name} IS NULL AS {column.name}_none"
            for column in table.columns
        )
        to.keep(name, self.arrays(f"SELECT {columns} FROM {table.name}"), _with_none(table))

    def close(self) -> None:
        """Forget the tables; of those in a schema, no others."""
        with self._lock:
            if self.schema:
                self._connection.execute(f"DROP SCHEMA {self.schema} CASCADE")
            else:
                self._connection.close()

    def _cursor(self) -> DuckDBPyConnection:
        with self._lock:
            cursor = self._connection.cursor()
        if self.schema:
            cursor.execute(f"SET search_path = '{self.schema},main'")
        return cursor

    def _refusal(self, error: Exception) -> RunDirectoryError:
        """Return which table is at fault; what DuckDB says of it is for its own users."""
        if isinstance(error, _NO_MEMORY):
            return RunDirectoryError(table_limits.no_memory(self._name))
        if self._run is None:
            return RunDirectoryError(
                f"{self._name}: its tables cannot be read ({str(error).splitlines()[0]}); "
                "close it and open it again"
            )
        try:
            for schema in self._run.schemas:
                columns = ", ".join(f"bit_xor(hash({column.name}))" for column in schema.columns)
                self._run.query(f"SELECT {columns} FROM {schema.name}")
        except RunDirectoryError as found:
            return found
        return RunDirectoryError(
            f"{self._run.path}: its tables do not hold what the model has there; {_REMEDY}"
        )


def _with_none(table: Schema) -> str:
    """Return the columns of a table from arrays, each with one that says where there is none."""
    return ", ".join(
        f"CASE WHEN {c.name}_none THEN NULL ELSE {of_array(c)} END AS {c.name}"
        for c in table.columns
    )


def check_regular(file: Path) -> None:
    """Check that a file of a run is one, behind links too: a pipe or device would be waited for.

    Raises:
        RunDirectoryError: it is missing or something else.
    """
    try:
        mode = file.stat().st_mode
    except OSError as error:
        raise RunDirectoryError(f"{file}: cannot be read: {error.strerror}; {_REMEDY}") from None
    if not stat.S_ISREG(mode):
        raise RunDirectoryError(f"{file}: not a regular file; {_REMEDY}")


def _read(run: Run, schema: Schema) -> str:
    """Return the query for all of a table; its columns are what the model says, or it fails."""
    columns = ", ".join(f"CAST({c.name} AS {c.type}) AS {c.name}" for c in schema.columns)
    return f"SELECT {columns} FROM {run.source(schema)}"
