"""The footers of Parquet files, which say where in the file each column of each row group is.

They are structs of Thrift's compact protocol. Here one is a dict from the number of a field to its
type and value, as far as the protocol tells them apart: a file's footer is read, moved and written
again without knowing what most of its fields mean.

Sources: parquet.thrift of the format's specification; Thrift's "compact protocol".
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from gnomon.errors import FormatError
from gnomon.named_tuple import NamedTuple

MAGIC = b"PAR1"
_TAIL = struct.Struct("<I4s")
_LIMIT_BYTES = 1 << 28
_DEPTH_MOST = 16

# Types of the protocol.
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

Struct = dict[int, tuple[int, Any]]


class ThriftList(NamedTuple):
    """A list of values of one type."""

    of: int
    values: list[Any]


# Fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData that are places in the file.
SCHEMA, NUM_ROWS, ROW_GROUPS = 2, 3, 4
_GROUP_COLUMNS, _GROUP_OFFSET, _GROUP_ORDINAL = 1, 5, 7
_CHUNK_META = 3
_CHUNK_PLACES = (2, 4, 6)  # of the chunk, its offset index and its column index
_META_PLACES = (9, 10, 11, 14)  # of its data, index and dictionary pages, and Bloom filter


class Footer(NamedTuple):
    """What is at the end of a Parquet file.

    Attributes:
        meta: the struct FileMetaData.
        begin: where in the file it begins: what is before it are the columns.
    """

    meta: Struct
    begin: int

    @property
    def rows(self) -> int:
        """How many rows the file has."""
        return int(self.meta[NUM_ROWS][1])

    def groups(self, base: int) -> list[Struct]:
        """Return the row groups as they are called in a file that has them further on.

        Args:
            base: how many bytes further.
        """
        row_groups: list[Struct] = self.meta[ROW_GROUPS][1].values
        for group in row_groups:
            _move(group, (_GROUP_OFFSET,), base)
            group.pop(_GROUP_ORDINAL, None)
            for chunk in group[_GROUP_COLUMNS][1].values:
                _move(chunk, _CHUNK_PLACES, base)
                _move(chunk[_CHUNK_META][1], _META_PLACES, base)
        return row_groups


def _move(fields: Struct, places: tuple[int, ...], base: int) -> None:
    for number in places:
        # 0 and less stand for nothing there.
        if number in fields and fields[number][1] > 0:
            kind, place = fields[number]
            fields[number] = (kind, place + base)


def read_footer(file: Path) -> Footer:
    """Return the footer of a file.

    Raises:
        FormatError: it has none.
        OSError: it cannot be read.
    """
    with file.open("rb") as opened:
        size = opened.seek(0, 2)
        if size < len(MAGIC) + _TAIL.size:
            raise FormatError(file, size, "no Parquet file: it is too short")
        opened.seek(size - _TAIL.size)
        length, magic = _TAIL.unpack(opened.read(_TAIL.size))
        begin = size - _TAIL.size - length
        if magic != MAGIC or begin < len(MAGIC) or length > _LIMIT_BYTES:
            raise FormatError(file, size - _TAIL.size, "no Parquet file: it has no footer")
        opened.seek(begin)
        content = opened.read(length)
    try:
        meta, _ = _struct(content, 0, 0)
        if not {SCHEMA, NUM_ROWS, ROW_GROUPS} <= meta.keys():
            raise ValueError
    except (IndexError, ValueError, struct.error, RecursionError):
        raise FormatError(file, begin, "no Parquet file: its footer is damaged") from None
    return Footer(meta, begin)


# --- the compact protocol -------------------------------------------------------------------------


def encoded(fields: Struct) -> bytes:
    """Return a struct as bytes."""
    out = bytearray()
    _put(out, STRUCT, fields)
    return bytes(out)


def varint(value: int) -> bytes:
    """Return a number, seven bits to a byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _put(out: bytearray, kind: int, value: Any) -> None:  # noqa: ANN401
    if kind in (I16, I32, I64):
        out += varint(value << 1 if value >= 0 else (-value << 1) - 1)
    elif kind == BINARY:
        out += varint(len(value)) + value
    elif kind == STRUCT:
        last = 0
        for number, (inner, field) in value.items():
            step = number - last
            if inner in (TRUE, FALSE):
                inner = TRUE if field else FALSE
            if 0 < step < 16:
                out.append(step << 4 | inner)
            else:
                out.append(inner)
                out += varint(number << 1)
            if inner not in (TRUE, FALSE):
                _put(out, inner, field)
            last = number
        out.append(0)
    elif kind in (LIST, SET):
        n = len(value.values)
        out += bytes([n << 4 | value.of]) if n < 15 else bytes([0xF0 | value.of]) + varint(n)
        for one in value.values:
            _put(out, value.of, one)
    elif kind == DOUBLE:
        out += value
    elif kind in (TRUE, FALSE, BYTE):
        out.append(value)
    else:
        raise ValueError(kind)


def _number(content: bytes, offset: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, offset
        shift += 7
        if shift > 63:
            raise ValueError


def _value(content: bytes, offset: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (I16, I32, I64):
        value, offset = _number(content, offset)
        return (value >> 1) ^ -(value & 1), offset
    if kind == BINARY:
        length, offset = _number(content, offset)
        if offset + length > len(content):
            raise ValueError
        return content[offset : offset + length], offset + length
    if kind == STRUCT:
        return _struct(content, offset, depth + 1)
    if kind in (LIST, SET):
        n, of = content[offset] >> 4, content[offset] & 0xF
        offset += 1
        if n == 0xF:
            n, offset = _number(content, offset)
        if n > len(content):
            raise ValueError
        values = []
        for _ in range(n):
            value, offset = _value(content, offset, of, depth + 1)
            values.append(value)
        return ThriftList(of, values), offset
    if kind == DOUBLE:
        return content[offset : offset + 8], offset + 8
    if kind in (TRUE, FALSE, BYTE):
        return content[offset], offset + 1
    raise ValueError


def _struct(content: bytes, offset: int, depth: int) -> tuple[Struct, int]:
    if depth > _DEPTH_MOST:
        raise ValueError
    fields: Struct = {}
    number = 0
    while True:
        head = content[offset]
        offset += 1
        if head == 0:
            return fields, offset
        kind = head & 0xF
        if head >> 4:
            number += head >> 4
        else:
            value, offset = _number(content, offset)
            number = (value >> 1) ^ -(value & 1)
        if kind in (TRUE, FALSE):
            fields[number] = (kind, kind == TRUE)
        else:
            value, offset = _value(content, offset, kind, depth)
            fields[number] = (kind, value)
