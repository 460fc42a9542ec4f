"""A .viz file as a run: its tables are unpacked into Parquet files that have no name any more."""

from __future__ import annotations

import os
import stat
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from gnomon.errors import RunDirectoryError
from gnomon.model.tables import SCHEMAS, Cell, Schema, Table
from gnomon.store.parquet_writer import TableFiles
from gnomon.store.rundir import Run
from gnomon.store.viz.reader import parse


class Document(NamedTuple):
    """A .viz file: what a run directory has in run.json, and its tables."""

    head: dict[str, Any]
    tables: tuple[Table, ...]


def read(path: Path) -> Document:
    """Return what a .viz file holds, in memory.

    Raises:
        RunDirectoryError: it cannot be read, or is no such file; names the line.
    """
    tables = {schema.name: Table(schema) for schema in SCHEMAS}

    def keep(schema: Schema, row: Sequence[Cell]) -> None:
        tables[schema.name].append(row)

    with _content(path) as file:
        head = parse(path, file, keep)
    return Document(head, tuple(tables.values()))


def opened(path: Path) -> Run:
    """Return a .viz file as a run, which any number of queries can be put to.

    Its tables take disk space in the folder for temporary files until the run is let go of, or
    the process ends in any way.

    Raises:
        RunDirectoryError: it cannot be read, or is no such file; names the line.
    """
    with _content(path) as file, _folder(path) as folder:
        written = TableFiles(folder, SCHEMAS)
        try:
            head = parse(path, file, written.add)
            written.finish()
            numbers = [
                os.open(folder / f"{schema.name}.parquet", os.O_RDONLY | os.O_CLOEXEC)
                for schema in SCHEMAS
            ]
        except OSError as error:
            raise RunDirectoryError(
                f"{path}: there is no room to unpack its tables in {folder.parent}: "
                f"{error.strerror}; set TMPDIR to another folder"
            ) from None
        finally:
            written.close()
    # Named by the process: what it shares the run with has other descriptors.
    files = {
        schema.name: Path(f"/proc/{os.getpid()}/fd/{number}")
        for schema, number in zip(SCHEMAS, numbers, strict=True)
    }
    held = _Held()
    weakref.finalize(held, _close, numbers).atexit = False
    return Run(path, head, files, held)


class _Held:
    """As long as this is there, so are the files."""


def _close(numbers: Sequence[int]) -> None:
    for number in numbers:
        os.close(number)


@contextmanager
def _content(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that is one: a pipe or a device would be waited for.

    Raises:
        RunDirectoryError: it cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise RunDirectoryError(f"{path}: it is no regular file; name a .viz file")
        file = path.open("rb")
    except OSError as error:
        raise RunDirectoryError(f"{path}: cannot be read: {error.strerror}") from None
    with file:
        yield file


@contextmanager
def _folder(path: Path) -> Iterator[Path]:
    try:
        folder = tempfile.TemporaryDirectory(prefix="gnomon-viz-", ignore_cleanup_errors=True)
    except OSError as error:
        raise RunDirectoryError(
            f"{path}: no folder for its tables can be made: {error.strerror}; set TMPDIR to one "
            "that can be written"
        ) from None
    with folder as name:
        yield Path(name)
