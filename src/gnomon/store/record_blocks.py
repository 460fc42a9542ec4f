"""Record blocks: the file in which a task of a job leaves what was measured of it.

A file has the head of `store/file_head.py` and blocks, in the byte order of the machine that writes
it. A block is a document (a JSON object), or so many rows of one of the model's tables, column by
column, as they are in memory:

    head        mark, size of what follows, number of rows, CRC-32C of all that
    descriptor  JSON: the table's name; of each column its name, type and how it is written
    columns     which values are missing, where some are; then the values, or the one all share

Blocks of the same shape have the same descriptor, byte for byte. Who writes holds one block, and so
does who reads.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from array import array
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from gnomon._core import crc32c
from gnomon.errors import FormatError
from gnomon.model.tables import TYPECODES, Schema, Table, schema_of
from gnomon.named_tuple import NamedTuple
from gnomon.store import file_head
from gnomon.store.file_head import FileKind

KIND = FileKind("a file of record blocks", b"\x89GNBLOK\n", version=1)
ROWS_MOST = 1_000_000
"""Rows of a block: of more, several are made."""

_ORDER = "<" if sys.byteorder == "little" else ">"
_MARK = b"GNTB"
_HEAD = struct.Struct("=4sIQI")  # mark, bytes of the descriptor and of the columns, rows
_CRC = struct.Struct("=I")
_DESCRIPTOR_MOST = 1 << 16
_BLOCK_BYTES_MOST = 1 << 32
# Blocks of so many rows are read without NumPy.
_FEW_ROWS = 1024
_REMEDY = "; remove it, and repair gives what the rest has"

_NONE, _SOME, _ALL = "none", "some", "all"
_EACH, _ONE = "each", "one"


class Block(NamedTuple):
    """A block of a file.

    Attributes:
        file: which.
        offset: where it begins in the file.
        table: whose rows it has; "" for a document.
        n: how many rows.
        descriptor: as it is in the file.
        payload: its columns; b"" if they were not wanted.
    """

    file: Path
    offset: int
    table: str
    n: int
    descriptor: bytes
    payload: bytes

    def document(self) -> dict[str, Any]:
        """Return the document.

        Raises:
            FormatError: it is none.
        """
        try:
            document = json.loads(self.payload)
        except (ValueError, RecursionError):
            raise self.damage("its document is no JSON") from None
        if self.table or not isinstance(document, dict):
            raise self.damage("a document is missing here")
        return document

    def rows(self) -> Table:
        """Return the rows.

        Raises:
            FormatError: they are not what the model has there.
        """
        schema, columns = self._columns()
        reader = _Reader(self)
        cells: dict[str, Any] = {}
        masks: dict[str, Any] = {}
        unwritten = [(_ALL, _ONE)] * (len(schema.columns) - len(columns))
        for column, (missing, values) in zip(schema.columns, columns + unwritten, strict=True):
            if missing == _SOME:
                masks[column.name] = reader.mask()
            elif missing == _ALL:
                masks[column.name] = bytearray(b"\1") * self.n
            if missing != _NONE and not column.nullable:
                raise self.damage(f"'{column.name}' has missing values")
            if missing == _ALL:
                cells[column.name] = reader.nothing(column.type)
            elif column.type == "VARCHAR":
                cells[column.name] = reader.texts(is_one=values == _ONE)
            else:
                cells[column.name] = reader.numbers(column.type, is_one=values == _ONE)
        reader.end()
        return Table.of(schema, cells, masks)

    def _columns(self) -> tuple[Schema, list[tuple[str, str]]]:
        about = _parsed(self.descriptor)
        if about is None:
            raise self.damage("its descriptor is none of a table that this Gnomon has")
        return about

    def damage(self, why: str) -> FormatError:
        """Return the error of a block that cannot be read."""
        return FormatError(self.file, self.offset, f"it is damaged: {why}{_REMEDY}")


class BlockWriter:
    """Writes a file of blocks, which gets its name when it is whole.

    Args:
        file: the file to write; an existing one is replaced.

    Raises:
        OSError: the disk refuses, as of every method.
    """

    def __init__(self, file: Path) -> None:
        self._path = file
        self._partial = file.with_name(f".{file.name}.new")
        self._file: IO[bytes] = self._partial.open("wb")
        try:
            self._file.write(file_head.head_of(KIND))
        except OSError:
            self.discard()
            raise

    def document(self, content: Mapping[str, Any]) -> None:
        """Write a document."""
        self._block(b'""', [json.dumps(content).encode()], 0)

    def append(self, table: Table) -> None:
        """Write rows of a table."""
        for begin in range(0, len(table), ROWS_MOST):
            whole = len(table) <= ROWS_MOST
            part = table if whole else table.part(begin, min(begin + ROWS_MOST, len(table)))
            shapes: list[tuple[str, str, str, str]] = []
            content: list[Any] = []
            for column in part.schema.columns:
                mask = part.mask(column.name)
                missing = _NONE if not mask else _SOME if 0 in mask else _ALL
                cells = part.cells(column.name)
                is_one = missing == _NONE and _is_one(cells)
                shapes.append((column.name, column.type, missing, _ONE if is_one else _EACH))
                content += [mask] if missing == _SOME else []
                if missing != _ALL:
                    content += _bytes_of(cells[:1] if is_one else cells)
            descriptor = json.dumps([part.schema.name, shapes], separators=(",", ":")).encode()
            self._block(descriptor, content, len(part))

    def _block(self, descriptor: bytes, content: list[Any], n: int) -> None:
        head = _HEAD.pack(_MARK, len(descriptor), sum(map(len, content)), n)
        check = crc32c(descriptor, crc32c(head))
        for piece in content:
            check = crc32c(piece, check)
        self._file.write(head + _CRC.pack(check) + descriptor)
        for piece in content:
            self._file.write(piece)

    def close(self) -> None:
        """Give the file its name."""
        try:
            self._file.close()
            self._partial.rename(self._path)
        except OSError:
            self.discard()
            raise

    def discard(self) -> None:
        """Leave nothing of a file that is not whole."""
        with suppress(OSError):  # it is closed all the same
            self._file.close()
        self._partial.unlink(missing_ok=True)


def write_blocks(
    file: Path, tables: Iterable[Table], document: Mapping[str, Any] | None = None
) -> None:
    """Write a file of tables, behind a document if there is one; nothing is left of half of it.

    Raises:
        OSError: the disk refuses.
    """
    writer = BlockWriter(file)
    try:
        if document is not None:
            writer.document(document)
        for table in tables:
            writer.append(table)
        writer.close()
    except BaseException:
        writer.discard()
        raise


def read_blocks(file: Path, wanted: Container[str] | None = None) -> Iterator[Block]:
    """Yield the blocks of a file.

    Args:
        file: which.
        wanted: tables whose columns are read, "" for documents; None for all. Of the others a block
            has no payload.

    Raises:
        FormatError: it is truncated, damaged or something else; names file and offset.
        OSError: it cannot be read.
    """
    with file.open("rb") as opened:
        size = os.fstat(opened.fileno()).st_size
        _check_head(file, opened.read(file_head.HEAD_BYTES))
        offset = file_head.HEAD_BYTES
        while offset < size:
            head = opened.read(_HEAD.size + _CRC.size)
            if len(head) < _HEAD.size + _CRC.size:
                raise FormatError(file, offset, f"it is cut off in the head of a block{_REMEDY}")
            mark, of_descriptor, of_payload, n = _HEAD.unpack_from(head)
            if (
                mark != _MARK
                or of_descriptor > _DESCRIPTOR_MOST
                or of_payload > _BLOCK_BYTES_MOST
                or n > ROWS_MOST
            ):
                raise FormatError(file, offset, f"it is damaged: no block begins here{_REMEDY}")
            begin = offset + len(head)
            end = begin + of_descriptor + of_payload
            if end > size:
                raise FormatError(
                    file, offset, f"it is cut off in a block of {end - offset} bytes{_REMEDY}"
                )
            descriptor = opened.read(of_descriptor)
            table = _name(descriptor)
            payload = b""
            if table is None:
                raise FormatError(file, offset, f"it is damaged: a block of no table{_REMEDY}")
            if wanted is None or table in wanted:
                payload = opened.read(of_payload)
                check = crc32c(payload, crc32c(descriptor, crc32c(head[: _HEAD.size])))
                if check != _CRC.unpack_from(head, _HEAD.size)[0]:
                    raise FormatError(
                        file, offset, f"it is damaged: its checksum is wrong{_REMEDY}"
                    )
            else:
                opened.seek(end)
            yield Block(file, offset, table, n, descriptor, payload)
            offset = end


def _check_head(file: Path, head: bytes) -> None:
    order = file_head.byte_order(file, head, KIND)
    if order != _ORDER:
        raise FormatError(
            file,
            file_head.BYTE_ORDER_AT,
            "it was written in the other byte order; repair it on a machine of that kind",
        )
    sizes = slice(file_head.HEADER_BYTES_AT, file_head.FEATURES_AT)
    if head[sizes] != file_head.head_of(KIND)[sizes]:
        raise FormatError(file, sizes.start, f"it is damaged: its head makes no sense{_REMEDY}")


class _Reader:
    """Takes the columns of a block, one after the other."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._at = 0

    def _take(self, size: int) -> bytes:
        if self._at + size > len(self._block.payload):
            raise self._block.damage("its columns are too short")
        self._at += size
        return self._block.payload[self._at - size : self._at]

    def mask(self) -> bytearray:
        return bytearray(self._take(self._block.n))

    def nothing(self, kind: str) -> Any:  # noqa: ANN401
        n = self._block.n
        if kind == "VARCHAR":
            return [""] * n
        return _repeated(array(TYPECODES[kind], [0]), n)

    def numbers(self, kind: str, *, is_one: bool) -> Any:  # noqa: ANN401
        code, n = TYPECODES[kind], 1 if is_one else self._block.n
        size = n * array(code).itemsize
        if n <= _FEW_ROWS:
            cells = array(code)
            cells.frombytes(self._take(size))
            return _repeated(cells, self._block.n) if is_one else cells
        import numpy as np

        begin = self._at
        self._at += size
        if self._at > len(self._block.payload):
            raise self._block.damage("its columns are too short")
        return np.frombuffer(self._block.payload, dtype=code, count=n, offset=begin)

    def texts(self, *, is_one: bool) -> list[str]:
        n = 1 if is_one else self._block.n
        sizes = array("I")
        sizes.frombytes(self._take(n * sizes.itemsize))
        content = self._take(sum(sizes))
        texts, offset = [], 0
        try:
            for size in sizes:
                texts.append(content[offset : offset + size].decode(errors="surrogatepass"))
                offset += size
        except UnicodeDecodeError:
            raise self._block.damage("a text is no UTF-8") from None
        return texts * self._block.n if is_one else texts

    def end(self) -> None:
        if self._at != len(self._block.payload):
            raise self._block.damage("its columns are too long")


def _repeated(cells: Any, n: int) -> Any:  # noqa: ANN401
    """Return an array of one value so many times."""
    if n <= _FEW_ROWS:
        return cells * n
    import numpy as np

    return np.full(n, cells[0], dtype=cells.typecode)


def _is_one(cells: Any) -> bool:  # noqa: ANN401
    """Return whether all values are the same; NaN is not, and there are two zeros."""
    # The last one first: of most columns it differs.
    if len(cells) < 2 or cells[0] != cells[-1] or (isinstance(cells[0], float) and not cells[0]):
        return False
    if isinstance(cells, (list, array)):
        return cells.count(cells[0]) == len(cells)
    return bool((cells == cells[0]).all())


def _bytes_of(cells: Any) -> list[Any]:  # noqa: ANN401
    """Return the encoding of a column."""
    if isinstance(cells, list):
        texts = [text.encode(errors="surrogatepass") for text in cells]
        return [array("I", map(len, texts)).tobytes(), b"".join(texts)]
    if isinstance(cells, array):
        return [cells.tobytes()]
    return [memoryview(cells if cells.flags.c_contiguous else cells.copy()).cast("B")]


@lru_cache(maxsize=4096)
def _name(descriptor: bytes) -> str | None:
    """Return the table of a block's rows, "" for a document; None for neither."""
    if descriptor == b'""':
        return ""
    about = _parsed(descriptor)
    return None if about is None else about[0].name


@lru_cache(maxsize=4096)
def _parsed(descriptor: bytes) -> tuple[Schema, list[tuple[str, str]]] | None:
    """Return which table a descriptor is of and how its columns are written; None if of none."""
    try:
        table, columns = json.loads(descriptor)
        schema = schema_of(table)
        shapes = []
        if not all(column.nullable for column in schema.columns[len(columns) :]):
            return None
        # A Gnomon of before may have left out the last ones, which it did not know.
        written = schema.columns[: len(columns)]
        for column, (name, kind, missing, values) in zip(written, columns, strict=True):
            if (
                (name, kind) != (column.name, column.type)
                or missing not in (_NONE, _SOME, _ALL)
                or values not in (_EACH, _ONE)
            ):
                return None
            shapes.append((missing, values))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return schema, shapes
