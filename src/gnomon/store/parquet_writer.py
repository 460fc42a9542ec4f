"""Tables of the model as Parquet files, written a chunk of rows after the other.

Each chunk becomes a row group or several. Those of few rows are written here, which takes a
millisecond where DuckDB's import takes sixty; larger ones by DuckDB. Row groups that another
process has written in a file of its own are taken over byte for byte.
"""

from __future__ import annotations

import os
import re
import zlib
from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import compress, groupby
from math import isfinite
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gnomon.model.tables import TYPECODES, Cell, Column, Schema, Table
from gnomon.store import parquet_footer as thrift
from gnomon.store.duckdb_parquet import as_utf8, connected, duckdb_module, of_array, target
from gnomon.store.parquet_footer import BINARY, I32, I64, LIST, STRUCT, ThriftList

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PLAIN_ROWS_MOST = 10_000
"""Chunks of so many rows are written without DuckDB."""
_ROWS_HELD = 100_000
# Of a column with more values a dictionary is longer to make than it saves.
_DICTIONARY_MOST = 1000

# Values of parquet.thrift: of Type and, where there is one, of ConvertedType.
_TYPES: dict[str, tuple[int, int | None]] = {
    "BOOLEAN": (0, None), "INTEGER": (1, 17), "BIGINT": (2, 18), "DOUBLE": (5, None),
    "VARCHAR": (6, 0),
}  # fmt: skip
_OPTIONAL = 1
_PLAIN, _RLE = 0, 3
_UNCOMPRESSED, _GZIP = 0, 2
# A smaller page is no larger than what compression adds to read and write.
_COMPRESSED_LEAST_BYTES = 256
_DATA_PAGE = 0


class ParquetWriter:
    """Writes one table's file.

    Args:
        file: the file to write; an existing one is overwritten.
        schema: of the table.

    Raises:
        OSError: the disk refuses, as of every method.
    """

    def __init__(self, file: Path, schema: Schema) -> None:
        self._path = file
        self._schema = schema
        self._file: IO[bytes] = file.open("wb")
        self._file.write(thrift.MAGIC)
        self._groups: list[thrift.Struct] = []
        self._rows = 0

    def append(self, table: Table) -> None:
        """Write rows.

        Raises:
            OSError: the disk refuses.
        """
        if len(table) > PLAIN_ROWS_MOST:
            piece = self._path.with_name(f".{self._path.name}.piece")
            try:
                write_compressed(piece, table)
                self.append_file(piece)
            finally:
                piece.unlink(missing_ok=True)
        elif len(table):
            self._append_plain(table)

    def append_file(self, file: Path) -> None:
        """Take over all row groups of a file of the same table.

        Raises:
            FormatError: it is no Parquet file.
        """
        footer = thrift.read_footer(file)
        base = self._file.tell() - len(thrift.MAGIC)
        with file.open("rb") as source:
            self._file.flush()
            source.seek(len(thrift.MAGIC))
            left = footer.begin - len(thrift.MAGIC)
            while left:
                # From file to file in the kernel.
                copied = os.sendfile(self._file.fileno(), source.fileno(), None, left)
                if not copied:
                    raise OSError(0, "the file became shorter", str(file))
                left -= copied
        self._file.seek(0, os.SEEK_END)
        self._groups += footer.groups(base)
        self._rows += footer.rows

    def close(self) -> None:
        """Write the footer."""
        leaves = [self._leaf(column) for column in self._schema.columns]
        root: thrift.Struct = {4: (BINARY, b"schema"), 5: (I32, len(leaves))}
        footer = thrift.encoded(
            {
                1: (I32, 1),
                thrift.SCHEMA: (LIST, ThriftList(STRUCT, [root, *leaves])),
                thrift.NUM_ROWS: (I64, self._rows),
                thrift.ROW_GROUPS: (LIST, ThriftList(STRUCT, self._groups)),
                6: (BINARY, b"gnomon"),
            }
        )
        try:
            self._file.write(footer + len(footer).to_bytes(4, "little") + thrift.MAGIC)
        finally:
            self._file.close()

    def discard(self) -> None:
        """Let go of the file, which is no whole one."""
        self._file.close()

    def _leaf(self, column: Column) -> thrift.Struct:
        kind, converted = _TYPES[column.type]
        leaf: thrift.Struct = {
            1: (I32, kind), 3: (I32, _OPTIONAL), 4: (BINARY, column.name.encode()),
        }  # fmt: skip
        return leaf if converted is None else {**leaf, 6: (I32, converted)}

    def _append_plain(self, table: Table) -> None:
        columns = []
        size = 0
        for column in self._schema.columns:
            plain, statistics = _page(table, column)
            codec, page = _compressed(plain)
            head = thrift.encoded(
                {
                    1: (I32, _DATA_PAGE), 2: (I32, len(plain)), 3: (I32, len(page)),
                    5: (STRUCT, {
                        1: (I32, len(table)), 2: (I32, _PLAIN), 3: (I32, _RLE), 4: (I32, _RLE),
                    }),
                }
            )  # fmt: skip
            begin = self._file.tell()
            self._file.write(head + page)
            length = len(head) + len(page)
            size += length
            columns.append({
                2: (I64, begin),
                3: (STRUCT, {
                    1: (I32, _TYPES[column.type][0]), 2: (LIST, ThriftList(I32, [_PLAIN, _RLE])),
                    3: (LIST, ThriftList(BINARY, [column.name.encode()])), 4: (I32, codec),
                    5: (I64, len(table)), 6: (I64, len(head) + len(plain)), 7: (I64, length),
                    9: (I64, begin), 12: (STRUCT, statistics),
                }),
            })  # fmt: skip
        self._groups.append(
            {1: (LIST, ThriftList(STRUCT, columns)), 2: (I64, size), 3: (I64, len(table))}
        )
        self._rows += len(table)


def write_table(folder: Path, schema: Schema, chunks: Iterable[Table]) -> None:
    """Write `NAME.parquet` of a table from its rows.

    Raises:
        OSError: the disk refuses.
    """
    write_file(folder / f"{schema.name}.parquet", schema, chunks)


def write_file(file: Path, schema: Schema, chunks: Iterable[Table]) -> None:
    """Write a file of a table from its rows.

    Raises:
        OSError: the disk refuses.
    """
    writer = ParquetWriter(file, schema)
    try:
        for table in chunks:
            writer.append(table)
        writer.close()
    finally:
        writer.discard()


class TableFiles:
    """Takes rows of several tables as they come, and writes a file of each.

    Args:
        folder: where.
        schemas: of the tables; each gets a file, rows or not.

    Raises:
        OSError: the disk refuses, as of every method.
    """

    def __init__(self, folder: Path, schemas: Iterable[Schema]) -> None:
        self._rows = {schema.name: Table(schema) for schema in schemas}
        self._writers = {
            name: ParquetWriter(folder / f"{name}.parquet", table.schema)
            for name, table in self._rows.items()
        }

    def add(self, schema: Schema, row: Sequence[Cell]) -> None:
        """Take a row, its cells in the order of the columns."""
        rows = self._rows[schema.name]
        if rows.append(row) + 1 == _ROWS_HELD:
            self._writers[schema.name].append(rows)
            self._rows[schema.name] = Table(schema)

    def finish(self) -> None:
        """Write what is held, and the footers."""
        for name, writer in self._writers.items():
            writer.append(self._rows[name])
            writer.close()

    def close(self) -> None:
        """Let go of the files."""
        for writer in self._writers.values():
            writer.discard()


def _page(table: Table, column: Column) -> tuple[bytes, thrift.Struct]:
    """Return a column's values as a page has them, behind which of them are there; statistics."""
    mask = table.mask(column.name)
    runs = groupby(mask) if mask else [(0, range(len(table)))]
    levels = b"".join(
        thrift.varint(sum(1 for _ in run) << 1) + bytes([not missing]) for missing, run in runs
    )
    present: Any = table.cells(column.name)
    if mask:
        present = list(compress(present, (not missing for missing in mask)))
        if column.type != "VARCHAR":
            present = array(TYPECODES[column.type], present)
    if column.type == "VARCHAR":
        texts = [as_utf8(text).encode() for text in present]
        values = b"".join(len(text).to_bytes(4, "little") + text for text in texts)
    elif column.type == "BOOLEAN":
        bits = sum(bool(flag) << at for at, flag in enumerate(present))
        values = bits.to_bytes((len(present) + 7) // 8, "little")
    else:
        values = present.tobytes()
    # Readers plan by these.
    statistics: thrift.Struct = {3: (I64, len(table) - len(present))}
    if len(present) and column.type not in ("VARCHAR", "BOOLEAN") and all(map(isfinite, present)):
        code = TYPECODES[column.type]
        statistics[5] = (BINARY, array(code, [max(present)]).tobytes())
        statistics[6] = (BINARY, array(code, [min(present)]).tobytes())
    return len(levels).to_bytes(4, "little") + levels + values, statistics


def _compressed(page: bytes) -> tuple[int, bytes]:
    """Return a page as it is written, behind the number of its compression."""
    if len(page) < _COMPRESSED_LEAST_BYTES:
        return _UNCOMPRESSED, page
    gzip = zlib.compressobj(1, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    packed = gzip.compress(page) + gzip.flush()
    return (_GZIP, packed) if len(packed) < len(page) else (_UNCOMPRESSED, page)


def write_compressed(file: Path, table: Table) -> None:
    """Write a file of a table by DuckDB, compressed.

    Raises:
        OSError: the disk refuses.
    """
    import numpy as np

    arrays: dict[str, Any] = {}
    wanted = []
    for column in table.schema.columns:
        name = column.name
        missing = table.missing(name)
        if column.type == "VARCHAR":
            cells = np.empty(len(table), dtype=object)
            cells[:] = [as_utf8(text) for text in table.texts(name)]
        else:
            cells = table.numbers(name)
        value = of_array(column)
        if missing.all():
            wanted.append(f"CAST(NULL AS {column.type}) AS {name}")
            continue
        arrays[name] = cells
        if missing.any():
            arrays[f"{name}_missing"] = missing
            value = f"CASE WHEN {name}_missing THEN NULL ELSE {value} END"
        wanted.append(f"{value} AS {name}")
    connection = _database().cursor()
    try:
        connection.register("rows_", arrays)
        connection.execute(
            f"COPY (SELECT {', '.join(wanted)} FROM rows_) TO {target(file)} "
            # Numbers of rows that follow each other take no room as differences.
            "(FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd, COMPRESSION_LEVEL 1, "
            f"DICTIONARY_SIZE_LIMIT {_DICTIONARY_MOST})"
        )
    except duckdb_module().Error as error:
        _database.cache_clear()
        said = str(error)
        number = re.search(r'"errno":"(\d+)"', said)
        cause = os.strerror(int(number[1])) if number else said.partition("\n")[0]
        raise OSError(int(number[1]) if number else 0, cause) from None
    finally:
        connection.close()


@lru_cache(maxsize=1)
def _database() -> DuckDBPyConnection:
    """Return the database that writes: to make one takes as long as to write 100,000 rows."""
    database = connected()
    # One after the other: several tables are written at once.
    database.execute("SET threads = 1")
    return database
