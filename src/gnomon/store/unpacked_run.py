"""A file as a run: its tables are unpacked into Parquet files that have no name any more."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from gnomon.errors import RunDirectoryError
from gnomon.model.tables import ALL_SCHEMAS, SCHEMAS, Cell, Schema, Table
from gnomon.store import table_limits
from gnomon.store.parquet_writer import ParquetWriter, TableFiles
from gnomon.store.regular_file import open_regular
from gnomon.store.run import Run

Sink = Callable[[Schema, Sequence[Cell]], None]
"""Takes a row of a table."""
Fill = Callable[[IO[bytes], Sink], Mapping[str, Any]]
"""Reads a file, hands on the rows of its tables and returns the head of the run."""
Read = Callable[[IO[bytes]], tuple[Mapping[str, Any], Iterable[Table]]]
"""Reads a file and returns the head of the run and its tables."""
Put = Callable[[Table], None]
"""Takes rows of a table, behind those that it was given before."""
FillPieces = Callable[[IO[bytes], Put], Mapping[str, Any]]
"""Reads a file, hands on its tables piece by piece and returns the head of the run."""


def unpacked_run(path: Path, fill: Fill) -> Run:
    """Return a file as a run, which any number of queries can be put to.

    Its tables take disk space in the folder for temporary files until the run is let go of, or
    the process ends in any way.

    Args:
        path: the file.
        fill: reads it, row by row; no more of it need be in memory.

    Raises:
        RunDirectoryError: it cannot be read, or as `fill`.
    """
    with open_regular(path) as file, temporary_folder(path) as folder:
        written = TableFiles(folder, SCHEMAS)
        try:
            head = fill(file, written.add)
            written.finish()
            tables = UnlinkedTables(folder, SCHEMAS)
        except OSError as error:
            raise no_room(path, folder, error) from None
        finally:
            written.close()
    return Run(path, head, tables.files, tables)


def run_of_tables(path: Path, read: Read) -> Run:
    """Return a file as a run, as `unpacked_run` does, of tables that were made in memory.

    Args:
        path: the file.
        read: reads it; several of its tables may have rows of one, in their order.

    Raises:
        RunDirectoryError: it cannot be read, or as `read`.
    """

    def fill(file: IO[bytes], put: Put) -> Mapping[str, Any]:
        head, tables = read(file)
        for table in tables:
            if len(table):
                put(table)
        return head

    return run_of_pieces(path, fill)


def run_of_pieces(path: Path, fill: FillPieces) -> Run:
    """Return a file as a run, as `run_of_tables` does, of tables that need not be in memory whole.

    Args:
        path: the file.
        fill: reads it; no more of a table need be in memory than a piece.

    Raises:
        RunDirectoryError: it cannot be read, or as `fill`.
    """
    with open_regular(path) as file, temporary_folder(path) as folder:
        writers: dict[str, ParquetWriter] = {}

        def put(table: Table) -> None:
            name = table.schema.name
            if name not in writers:
                writers[name] = ParquetWriter(folder / f"{name}.parquet", table.schema)
            writers[name].append(table)

        try:
            head = fill(file, put)
            for schema in SCHEMAS:
                put(Table(schema))
            for writer in writers.values():
                writer.close()
            unlinked = UnlinkedTables(folder, [one for one in ALL_SCHEMAS if one.name in writers])
        except MemoryError:
            raise RunDirectoryError(table_limits.no_memory(str(path))) from None
        except OSError as error:
            raise no_room(path, folder, error) from None
        finally:
            for writer in writers.values():
                writer.discard()
    return Run(path, head, unlinked.files, unlinked)


def no_room(path: Path, folder: Path, error: OSError) -> RunDirectoryError:
    """Return the error that a file's tables cannot be written."""
    return RunDirectoryError(
        f"{path}: there is no room to unpack its tables in {folder.parent}: "
        f"{error.strerror}; set TMPDIR to another folder"
    )


class UnlinkedTables:
    """Tables that have no name any more: as long as this is there, so are they.

    Attributes:
        files: a path of each, by the table's name; the process is named in it: what it shares the
            run with has other descriptors.
    """

    def __init__(self, folder: Path, schemas: Iterable[Schema]) -> None:
        """Open the tables in a folder, which may be removed then.

        Raises:
            OSError: one cannot be opened.
        """
        self.files: dict[str, Path] = {}
        numbers: list[int] = []
        weakref.finalize(self, _close, numbers).atexit = False
        for schema in schemas:
            file = folder / f"{schema.name}.parquet"
            numbers.append(os.open(file, os.O_RDONLY | os.O_CLOEXEC))
            self.files[schema.name] = Path(f"/proc/{os.getpid()}/fd/{numbers[-1]}")


def _close(numbers: Sequence[int]) -> None:
    for number in numbers:
        os.close(number)


@contextmanager
def temporary_folder(path: Path) -> Iterator[Path]:
    """Make a folder for the tables of a file, and remove it.

    Raises:
        RunDirectoryError: none can be made.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix="gnomon-file-", ignore_cleanup_errors=True)
    except OSError as error:
        raise RunDirectoryError(
            f"{path}: no folder for its tables can be made: {error.strerror}; set TMPDIR to one "
            "that can be written"
        ) from None
    with folder as name:
        yield Path(name)
