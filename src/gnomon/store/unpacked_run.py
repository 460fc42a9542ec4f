"""A file as a run: its tables are unpacked into Parquet files that have no name any more."""

from __future__ import annotations

import os
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from gnomon.errors import RunDirectoryError
from gnomon.model.tables import SCHEMAS, Cell, Schema
from gnomon.store.parquet_writer import TableFiles
from gnomon.store.run import Run

Sink = Callable[[Schema, Sequence[Cell]], None]
"""Takes a row of a table."""
Fill = Callable[[IO[bytes], Sink], Mapping[str, Any]]
"""Reads a file, hands on the rows of its tables and returns the head of the run."""


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
    with open_regular(path) as file, _folder(path) as folder:
        written = TableFiles(folder, SCHEMAS)
        try:
            head = fill(file, written.add)
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
def open_regular(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that is one: a pipe or a device would be waited for.

    Raises:
        RunDirectoryError: it cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise RunDirectoryError(f"{path}: not a regular file")
        file = path.open("rb")
    except OSError as error:
        raise RunDirectoryError(f"{path}: cannot be read: {error.strerror}") from None
    with file:
        yield file


@contextmanager
def _folder(path: Path) -> Iterator[Path]:
    try:
        folder = tempfile.TemporaryDirectory(prefix="gnomon-file-", ignore_cleanup_errors=True)
    except OSError as error:
        raise RunDirectoryError(
            f"{path}: no folder for its tables can be made: {error.strerror}; set TMPDIR to one "
            "that can be written"
        ) from None
    with folder as name:
        yield Path(name)
