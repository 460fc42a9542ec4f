"""Tables of the model as Parquet files, from rows that come one by one.

Rows go through a text file for each table: DuckDB reads one a hundred times faster than it takes
rows, and no more of them than one is held here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from gnomon.errors import RunDirectoryError
from gnomon.model.tables import SCHEMAS, Cell, Schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Spool:
    """Takes rows of the model's tables, and makes a Parquet file of each table in the end."""

    def __init__(self, folder: Path) -> None:
        """Write into a folder that is there.

        Raises:
            OSError: the disk refuses.
        """
        self._folder = folder
        self._texts: dict[str, IO[str]] = {}

    def add(self, schema: Schema, row: Sequence[Cell]) -> None:
        """Take a row, its cells in the order of the columns.

        Raises:
            OSError: the disk refuses.
        """
        text = self._texts.get(schema.name)
        if text is None:
            text = self._texts[schema.name] = self._file(schema).open(
                "w", encoding="utf-8", newline=""
            )
        text.write(",".join(map(_cell, row)) + "\n")

    def finish(self) -> None:
        """Write the Parquet files, `profile.parquet` and the like, and remove the texts.

        Raises:
            OSError: the disk refuses.
        """
        import duckdb

        connection = connected()
        try:
            for schema in SCHEMAS:
                self._write(connection, schema)
        except duckdb.Error as error:
            said = str(error)
            number = re.search(r'"errno":"(\d+)"', said)
            cause = os.strerror(int(number[1])) if number else said.partition("\n")[0]
            raise OSError(int(number[1]) if number else 0, cause) from None
        finally:
            connection.close()
            self.close()

    def close(self) -> None:
        """Let go of the texts."""
        for text in self._texts.values():
            text.close()

    def _write(self, connection: DuckDBPyConnection, schema: Schema) -> None:
        columns = ", ".join(f"{column.name} {column.type}" for column in schema.columns)
        connection.execute(f"CREATE TABLE {schema.name} ({columns})")
        text = self._texts.pop(schema.name, None)
        if text is not None:
            text.close()
            name = _literal(self._file(schema))
            # Lines end as ours do, whatever a name has in it.
            connection.execute(
                f"COPY {schema.name} FROM {name} (FORMAT csv, HEADER false, DELIMITER ',', "
                "QUOTE '\"', ESCAPE '\"', NULLSTR '', ALLOW_QUOTED_NULLS false, "
                "NEW_LINE '\\n', AUTO_DETECT false, PARALLEL false, MAX_LINE_SIZE 33554432)"
            )
            self._file(schema).unlink()
        file = _quoted(_plain(self._folder / f"{schema.name}.parquet"))
        connection.execute(f"COPY {schema.name} TO {file} (FORMAT parquet, COMPRESSION zstd)")
        connection.execute(f"DROP TABLE {schema.name}")

    def _file(self, schema: Schema) -> Path:
        return self._folder / f"{schema.name}.csv"


def connected() -> DuckDBPyConnection:
    """Return a database of its own, in memory."""
    import duckdb

    connection = duckdb.connect(":memory:")
    # A bar on stdout where Python is taken for interactive, as children of multiprocessing are.
    connection.execute("SET enable_progress_bar = false")
    return connection


def as_utf8(text: str) -> str:
    """Return a text with the bytes of arguments and names that are no UTF-8 as escapes."""
    return text.encode(errors="backslashreplace").decode()


def reading(file: Path) -> str:
    """Return what a query reads a Parquet file by: what it holds, and nothing from its name.

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


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def _cell(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return '"' + as_utf8(cell).replace('"', '""') + '"'
    return repr(cell)
