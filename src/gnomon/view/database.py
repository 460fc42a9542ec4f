"""Every open run's tables in one DuckDB, each run in a schema of its own.

Tables of run directories are views on their Parquet files: nothing is read before it is asked for.
"""

from __future__ import annotations

import re
import stat
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from gnomon.errors import RunDirectoryError
from gnomon.model.tables import SCHEMAS, Schema, Table
from gnomon.store.rundir import Run

Arrays = dict[str, npt.NDArray[Any]]
_TYPES = {"INTEGER": np.int32, "BIGINT": np.int64, "DOUBLE": np.float64, "VARCHAR": object}


class Tables:
    """The model's tables of one run, to be asked with SQL by their names."""

    def __init__(self, database: Database, schema: str, run: Run | None = None) -> None:
        self._database = database
        self._run = run
        self.schema = schema

    def arrays(self, sql: str, values: Sequence[Any] = ()) -> Arrays:
        """Return the columns of a query's result by name.

        No column may have NULLs: queries say what to take instead. Tables are named `{s}.profile`
        and so on, where `{s}` is replaced.

        Raises:
            RunDirectoryError: a table is missing, damaged or not what the model has there.
        """
        cursor = self._database.cursor()
        try:
            found = cursor.execute(sql.replace("{s}", self.schema), values).fetchnumpy()
        except duckdb.Error as error:
            raise self._refusal(error) from None
        finally:
            cursor.close()
        return {name: np.ma.getdata(column) for name, column in found.items()}

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query's result; raises as `arrays`."""
        cursor = self._database.cursor()
        try:
            return cursor.execute(sql.replace("{s}", self.schema), values).fetchall()
        except duckdb.Error as error:
            raise self._refusal(error) from None
        finally:
            cursor.close()

    def close(self) -> None:
        """Forget the tables."""
        self._database.drop(self.schema)

    def _refusal(self, error: duckdb.Error) -> RunDirectoryError:
        if self._run is None:
            return RunDirectoryError(f"its tables cannot be read: {str(error).splitlines()[0]}")
        try:
            for schema in SCHEMAS:
                columns = ", ".join(f"bit_xor(hash({column.name}))" for column in schema.columns)
                self._run.query(f"SELECT {columns} FROM {schema.name}")
        except RunDirectoryError as found:
            return found
        return RunDirectoryError(
            f"{self._run.path}: its tables do not hold what the model has there; "
            "restore it from a copy, or measure again"
        )


class Database:
    """One DuckDB in memory for all that is open; its methods may be called from any thread."""

    def __init__(self) -> None:
        # Nothing is fetched: extensions that a query might want stay where they are.
        self._connection = duckdb.connect(
            ":memory:",
            config={"autoinstall_known_extensions": False, "autoload_known_extensions": False},
        )
        self._connection.execute("SET enable_progress_bar = false")
        self._lock = threading.Lock()
        self._made = 0

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a connection of its own to the database."""
        with self._lock:
            return self._connection.cursor()

    def close(self) -> None:
        """End it; what is asked afterwards fails."""
        with self._lock:
            self._connection.close()

    def drop(self, schema: str) -> None:
        """Forget a schema and what is in it."""
        self._execute([f"DROP SCHEMA IF EXISTS {schema} CASCADE"])

    def of_run(self, run: Run) -> Tables:
        """Return the tables of a run directory.

        Raises:
            RunDirectoryError: a table is missing, no file, or not of the model.
        """
        schema = self._schema()
        tables = Tables(self, schema, run)
        statements = [f"CREATE SCHEMA {schema}"]
        for one in SCHEMAS:
            file = run.path / f"{one.name}.parquet"
            check_regular(file)
            columns = ", ".join(f"CAST({c.name} AS {c.type}) AS {c.name}" for c in one.columns)
            statements.append(
                f"CREATE VIEW {schema}.{one.name} AS "
                f"SELECT {columns} FROM read_parquet({_literal(file)})"
            )
        try:
            self._execute(statements)
        except duckdb.Error as error:
            self.drop(schema)
            raise tables._refusal(error) from None
        return tables

    def of_tables(self, filled: Iterable[Table]) -> Tables:
        """Return tables that are in memory."""
        schema = self._schema()
        self._execute([f"CREATE SCHEMA {schema}"])
        for table in filled:
            columns = list(zip(*table.rows, strict=True)) or [()] * len(table.schema.columns)
            self.insert(schema, table.schema, columns)
        return Tables(self, schema)

    def of_statements(self, statements: Sequence[str], arrays: Mapping[str, Arrays]) -> Tables:
        """Return tables that are made from others: `{s}` is the new schema, arrays are tables."""
        schema = self._schema()
        self._execute([f"CREATE SCHEMA {schema}"])
        for name, columns in arrays.items():
            self._register(f"{schema}.{name}", columns)
        self._execute([statement.replace("{s}", schema) for statement in statements])
        return Tables(self, schema)

    def insert(self, schema: str, table: Schema, columns: Sequence[Sequence[Any]]) -> None:
        """Make a table of the model from its columns, None for what is not there."""
        arrays: Arrays = {}
        missing: Arrays = {}
        for column, cells in zip(table.columns, columns, strict=True):
            kind = _TYPES[column.type]
            none = "" if kind is object else 0
            arrays[column.name] = np.array(
                [none if cell is None else cell for cell in cells], dtype=kind
            )
            missing[f"{column.name}_is_null"] = np.array(
                [cell is None for cell in cells], dtype=bool
            )
        wanted = ", ".join(
            f"CASE WHEN {c.name}_is_null THEN NULL ELSE CAST({c.name} AS {c.type}) END AS {c.name}"
            for c in table.columns
        )
        self._register(f"{schema}.{table.name}", {**arrays, **missing}, wanted)

    def _register(self, name: str, columns: Arrays, wanted: str = "*") -> None:
        with self._lock:
            self._connection.register("arrived", columns)
            self._connection.execute(f"CREATE TABLE {name} AS SELECT {wanted} FROM arrived")
            self._connection.unregister("arrived")

    def _execute(self, statements: Sequence[str]) -> None:
        with self._lock:
            for statement in statements:
                self._connection.execute(statement)

    def _schema(self) -> str:
        with self._lock:
            self._made += 1
            return f"run{self._made}"


def check_regular(file: Path) -> None:
    """Check that a file of a run is one, behind links too: a pipe or device would be waited for.

    Raises:
        RunDirectoryError: it is missing or something else.
    """
    try:
        mode = file.stat().st_mode
    except OSError as error:
        raise RunDirectoryError(
            f"{file}: cannot be read: {error.strerror}; restore it from a copy, or measure again"
        ) from None
    if not stat.S_ISREG(mode):
        raise RunDirectoryError(
            f"{file}: it is no regular file; restore it from a copy, or measure again"
        )


def _literal(file: Path) -> str:
    """Return a path as DuckDB reads it, its own signs in it as themselves."""
    plain = re.sub(r"[*?\[]", r"[\g<0>]", str(file))
    return "'" + plain.replace("'", "''") + "'"
