"""A run that was opened for reading: its tables, asked with SQL."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from gnomon.errors import RunDirectoryError
from gnomon.model import region_kinds
from gnomon.model.region_kinds import RegionKinds
from gnomon.model.tables import ALL_SCHEMAS, REQUIRED_SCHEMAS, SCHEMAS, Cell, Schema
from gnomon.named_tuple import NamedTuple
from gnomon.store import former_metrics, kept_files, table_limits
from gnomon.store.duckdb_parquet import connected, duckdb_module
from gnomon.store.table_limits import TableSizes

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from gnomon.model.array_types import Cells

    Arrays = Mapping[str, Mapping[str, Cells]]

_REMEDY = "; restore it from a copy, or measure again"
_ROWS_AT_ONCE = 10_000
_BYTES_OF_ONE_THREAD = 1 << 26
"""Tables of so many bytes at most are read by one thread: to start others takes longer."""


class RunIdentity(NamedTuple):
    """Which files hold the tables of a run: path, inode, time of change and bytes of each."""

    path: Path
    files: tuple[tuple[str, Path], ...]
    states: tuple[tuple[int, int, int], ...]


_ROWS_HELD = 20_000
"""Tables of so many rows at most are read once: to open a file again takes longer than to look."""


@dataclass(eq=False, slots=True, weakref_slot=True)
class _Database:
    """A database with the tables of a run that queries have named so far."""

    connection: DuckDBPyConnection
    sizes: TableSizes
    names: set[str] = field(default_factory=set)


_databases: WeakValueDictionary[tuple[int, RunIdentity, int], _Database] = WeakValueDictionary()
"""Of the runs that are open, by the process, their files and the number of threads.

A child of a process that forks has none of the threads that a database of its parent works with.
"""
_databases_lock = Lock()


def _renew_lock() -> None:
    global _databases_lock
    _databases_lock = Lock()


# Another thread may have held it when the process forked.
os.register_at_fork(after_in_child=_renew_lock)


@dataclass(frozen=True, slots=True)
class Run:
    """A run directory that was opened for reading.

    Attributes:
        path: the directory.
        head: the content of run.json.
        files: where the tables are, by name: those of a .viz file are in no run directory. None
            for those that `head` names.
        held: what has to be there as long as the files are asked for.
        is_checked: whether it is known that the tables hold no more than a run does.
        read_file: returns a kept file by its path below `files/`, where that is no directory.
    """

    path: Path
    head: Mapping[str, Any]
    files: Mapping[str, Path] | None = None
    held: object = None
    is_checked: bool = False
    read_file: Callable[[str], bytes] | None = None
    _databases: dict[tuple[int, int], _Database] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def identity(self) -> RunIdentity:
        """Return a key that is the same as long as the same files hold its tables.

        Raises:
            RunDirectoryError: a table holds more than a run does.
        """
        if not self.is_checked and not self._databases:
            self.query("SELECT 1")
        return self._files_identity()

    def _files_identity(self) -> RunIdentity:
        files = tuple((schema.name, self.file(schema)) for schema in self.schemas)
        states: list[tuple[int, int, int]] = []
        for _, file in files:
            with suppress(OSError):
                state = file.stat()
                states.append((state.st_ino, state.st_mtime_ns, state.st_size))
        return RunIdentity(self.path, files, tuple(states))

    @property
    def capabilities(self) -> tuple[str, ...]:
        """The names of the capabilities that took part, none where the run does not say it."""
        return tuple(one["name"] for one in self.head.get("capabilities", ()) if one["used"])

    @property
    def region_kinds(self) -> RegionKinds:
        """The kinds that its regions may have."""
        return region_kinds.of_head(self.head)

    def query(
        self, sql: str, *, threads: int = 0, arrays: Arrays | None = None
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a query over the model's tables, by their names.

        Args:
            sql: the query.
            threads: so many at most; 0 for one on each CPU.
            arrays: further tables that it names, each as its columns.

        Raises:
            RunDirectoryError: a table is missing or damaged; names its file.
        """
        found = self.stream(sql, threads=threads, arrays=arrays)
        return [row for rows in found for row in rows]

    def stream(
        self, sql: str, *, threads: int = 0, arrays: Arrays | None = None
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of a query, some thousands at a time, however many there are.

        Args: as of `query`.

        Raises:
            RunDirectoryError: as `query`; after rows were yielded too, if the damage is further on.
        """
        with self._asked(sql, threads, arrays) as cursor:
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                yield rows

    def columns(self, sql: str, *, threads: int = 0) -> dict[str, Cells]:
        """Return the columns of a query as arrays, by name; a number that is NULL is NaN.

        Args: as of `query`.

        Raises:
            RunDirectoryError: as `query`.
        """
        import numpy as np

        with self._asked(sql, threads, None) as cursor:
            columns = cursor.fetchnumpy()
        return {
            name: np.ma.filled(column.astype(np.float64), np.nan)
            if isinstance(column, np.ma.MaskedArray) and column.dtype != np.object_
            else column
            for name, column in columns.items()
        }

    @contextmanager
    def _asked(self, sql: str, threads: int, arrays: Arrays | None) -> Iterator[DuckDBPyConnection]:
        """Yield a cursor that has executed a query; what is wrong with a table names its file."""
        duckdb = duckdb_module()
        for schema in self.schemas:
            # A pipe or a device would be waited for, or read without end.
            if not self.file(schema).is_file():
                raise RunDirectoryError(f"{self.file(schema)}: the table is missing{_REMEDY}")
        try:
            with closing(self._cursor(threads, sql)) as cursor:
                for name, columns in (arrays or {}).items():
                    cursor.register(name, dict(columns))
                cursor.execute(sql)
                yield cursor
        except (duckdb.OutOfMemoryException, MemoryError):
            self._discard_databases()
            raise RunDirectoryError(table_limits.no_memory(str(self.path))) from None
        except (duckdb.Error, UnicodeDecodeError):  # its messages quote damaged names
            # Damage can bring down the whole database.
            self._discard_databases()
            raise RunDirectoryError(self._trouble()) from None

    def _cursor(self, threads: int, sql: str) -> DuckDBPyConnection:
        """Return a new cursor of a database that has the tables that a query names.

        Making one takes 40 ms with the look at its bounds, most of what a small query takes: it is
        kept, and is the same for all runs of the same files. One of a number of threads is another.
        """
        process = os.getpid()
        database = self._databases.get((process, threads))
        if database is None:
            identity = self._files_identity()
            is_small = sum(size for _, _, size in identity.states) <= _BYTES_OF_ONE_THREAD
            n_threads = 1 if is_small else threads
            key = (process, identity, n_threads)
            with _databases_lock:
                database = _databases.get(key)
                if database is None:
                    database = _databases[key] = self._database(n_threads)
            self._databases[process, threads] = database
        named = [schema for schema in ALL_SCHEMAS if schema.name in sql]
        if any(schema.name not in database.names for schema in named):
            with _databases_lock:
                for schema in named:
                    self._add_table(database, schema)
        return database.connection.cursor()

    def _database(self, threads: int) -> _Database:
        connection = connected(threads)
        if self.is_checked:
            return _Database(connection, TableSizes(table_limits.row_counts(self, connection)))
        return _Database(connection, table_limits.check(self, connection))

    def _add_table(self, database: _Database, schema: Schema) -> None:
        if schema.name in database.names:
            return
        kind = "TABLE" if database.sizes.rows[schema.name] <= _ROWS_HELD else "VIEW"
        whole = self._whole(schema, has_long_texts=schema.name not in database.sizes.short_texts)
        database.connection.execute(f"CREATE {kind} {schema.name} AS {whole}")
        database.names.add(schema.name)

    def _discard_databases(self) -> None:
        process = os.getpid()
        own = [key for key in self._databases if key[0] == process]
        databases = [self._databases.pop(key) for key in own]
        with _databases_lock:
            for key, database in list(_databases.items()):
                if database in databases:
                    del _databases[key]

    def _whole(self, schema: Schema, *, has_long_texts: bool = True) -> str:
        """Return the query for all of a table, whatever a foreign file has instead of its types."""
        text = table_limits.bounded_text if has_long_texts else table_limits.plain_text
        columns = ", ".join(
            f"{text(column.name)} AS {column.name}"
            if column.type == "VARCHAR"
            else f"CAST({column.name} AS {column.type}) AS {column.name}"
            for column in schema.columns
        )
        needed = [
            f"{column.name} IS NOT NULL"
            for column in schema.columns
            if column.type != "VARCHAR" and not column.nullable
        ]
        return f"SELECT {columns} FROM {self.source(schema)} WHERE {' AND '.join(needed) or 'true'}"

    @property
    def schemas(self) -> tuple[Schema, ...]:
        """The tables that it has; the others are empty ones."""
        if self.files is not None:
            return tuple(schema for schema in ALL_SCHEMAS if schema.name in self.files)
        # Runs of version 1 do not name them: all have the same.
        names = self.head.get("tables", [schema.name for schema in SCHEMAS])
        return tuple(
            schema for schema in ALL_SCHEMAS if schema.name in names or schema in REQUIRED_SCHEMAS
        )

    def source(self, schema: Schema) -> str:
        """Return the SQL source of a table, with columns that older runs lack.

        Raises:
            RunDirectoryError: DuckDB cannot open it, for its path is no UTF-8.
        """
        if schema in self.schemas:
            return former_metrics.reading(self.file(schema), schema)
        columns = ", ".join(f"CAST(NULL AS {one.type}) AS {one.name}" for one in schema.columns)
        return f"(SELECT {columns} WHERE false)"

    def stored(self, schema: Schema) -> str:
        """Return the SQL source of a table that it has, as its file has it; raises as `source`."""
        return former_metrics.stored(self.file(schema), schema)

    def file(self, schema: Schema) -> Path:
        """Return the Parquet file of a table that it has."""
        if self.files is not None:
            return self.files[schema.name]
        return self.path / f"{schema.name}.parquet"

    def _trouble(self) -> str:
        """Return which table is at fault; what DuckDB says of it is for its own users."""
        duckdb = duckdb_module()
        with closing(connected()) as connection:
            for schema in self.schemas:
                # Every value, not only the summary at the end of the file.
                values = ", ".join(f"bit_xor(hash({column.name}))" for column in schema.columns)
                try:
                    connection.execute(f"SELECT {values} FROM ({self._whole(schema)})").fetchall()
                except (duckdb.OutOfMemoryException, MemoryError):
                    return table_limits.no_memory(self._shown(schema))
                except (duckdb.Error, UnicodeDecodeError):
                    why = "it is damaged, or no table of a run: it cannot be read"
                    return f"{self._shown(schema)}: {why}{_REMEDY}"
        return f"{self.path}: its tables cannot be read: they do not fit together{_REMEDY}"

    def _shown(self, schema: Schema) -> str:
        """Return how to name a table to people: one that was unpacked has a file without a name."""
        return str(self.file(schema)) if self.files is None else f"{self.path}: {schema.name}"

    def rows(self, schema: Schema, top: int = 0) -> list[dict[str, Cell]]:
        """Return the rows of a table by column name, in its order: the first ones, or all for 0."""
        names = [column.name for column in schema.columns]
        columns = ", ".join(names)
        limit = f" LIMIT {top}" if top else ""
        found = self.query(f"SELECT {columns} FROM {schema.name}{limit}")
        return [dict(zip(names, row, strict=True)) for row in found]

    def kept(self, capability: str) -> tuple[Path, ...]:
        """Return the files that a capability left in the run.

        Raises:
            FormatError: one is missing, of another size, or none of the run.
        """
        return kept_files.of_capability(self.path, self.head, capability)

    def source_text(self, file: str) -> bytes | None:
        """Return a source file that `gnomon bundle` packed into the run; None if it has none.

        Args:
            file: as the regions name it.

        Raises:
            RunDirectoryError: the run has it, and it cannot be read.
        """
        places = self.head.get(kept_files.SOURCE_PLACES)
        place = places.get(file) if isinstance(places, dict) else None
        if not isinstance(place, str) or place not in self.head.get(kept_files.FOLDER, {}):
            return None
        if self.read_file is not None:
            return self.read_file(place)
        return kept_files.content(self.path, self.head, place)


_SHARED = 2


@lru_cache(maxsize=_SHARED)
def shared_run(identity: RunIdentity) -> Run:
    """Return a run for its tables alone, the same one for all who ask for it in this process.

    Args:
        identity: that of a run whose bounds somebody has looked at.
    """
    return Run(identity.path, {}, dict(identity.files), is_checked=True)


# What DuckDB has open when the interpreter has been taken apart, it complains of on stderr.
atexit.register(shared_run.cache_clear)
