"""A .viz file as a run, or all of it in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from gnomon.model.tables import SCHEMAS, Cell, Schema, Table
from gnomon.named_tuple import NamedTuple
from gnomon.store.regular_file import open_regular
from gnomon.store.run import Run
from gnomon.store.unpacked_run import Sink, unpacked_run
from gnomon.store.viz.reader import parse


class Document(NamedTuple):
    """A .viz file: what a run directory has in run.json, and its tables."""

    head: dict[str, Any]
    tables: tuple[Table, ...]


def read_viz(path: Path) -> Document:
    """Return the content of a .viz file, in memory.

    Raises:
        RunDirectoryError: it cannot be read, or is no such file; names the line.
    """
    tables = {schema.name: Table(schema) for schema in SCHEMAS}

    def keep(schema: Schema, row: Sequence[Cell]) -> None:
        tables[schema.name].append(row)

    with open_regular(path) as file:
        head = parse(path, file, keep)
    return Document(head, tuple(tables.values()))


def open_viz(path: Path) -> Run:
    """Return a .viz file as a run, which any number of queries can be put to.

    Raises:
        RunDirectoryError: it cannot be read, or is no such file; names the line.
    """

    def parsed(file: IO[bytes], sink: Sink) -> dict[str, Any]:
        return parse(path, file, sink)

    return unpacked_run(path, parsed)
