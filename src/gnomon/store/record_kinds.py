"""The kinds of records that a record file has, from its own description of them."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon._core import crc32c
from gnomon.errors import FormatError
from gnomon.named_tuple import NamedTuple
from gnomon.store.file_head import HEADER_BYTES_AT

if TYPE_CHECKING:
    import numpy as np

SUFFIX = ".gnrec"
"""Of record files."""

PAGE_BYTES = 4096
ENTRY_BYTES = 32
RECORD_BYTES_MAX = 1 << 24
KINDS_MAX = 32
FIELDS_MAX = 256

# Where in the first page a field lies, behind those that all files have.
_N_KINDS_AT = 96
_TABLES_CRC_AT = 108

_TYPES = {
    0x01: "u1", 0x02: "u2", 0x04: "u4", 0x08: "u8", 0x11: "i1", 0x12: "i2", 0x14: "i4",
    0x18: "i8", 0x24: "f4", 0x28: "f8", 0x31: "S",
}  # fmt: skip


class RecordKind(NamedTuple):
    """A kind of records.

    Attributes:
        name: its name, unique in the file.
        dtype: of an array of them, with a field for each member; None for numbered texts.
    """

    name: str
    dtype: np.dtype[np.void] | None


def text_of(data: bytes) -> str:
    """Return the text before the first zero byte."""
    return data.split(b"\0")[0].decode(errors="replace")


def read_kinds(
    path: Path, descriptor: int, order: str, head: bytes
) -> tuple[tuple[RecordKind, ...], int]:
    """Return the kinds of a record file, and where blocks begin behind them.

    Args:
        path: the file, for messages.
        descriptor: it, open.
        order: the struct module's sign for its byte order.
        head: its first page.

    Raises:
        FormatError: there is something else where kinds should be.
    """
    (header_bytes,) = struct.unpack_from(order + "I", head, HEADER_BYTES_AT)
    n_kinds, n_fields = struct.unpack_from(order + "II", head, _N_KINDS_AT)
    if not 0 < n_kinds <= KINDS_MAX or n_fields > FIELDS_MAX:
        raise FormatError(path, _N_KINDS_AT, f"{n_kinds} kinds of records with {n_fields} fields")
    size = ENTRY_BYTES * (n_kinds + n_fields)
    if header_bytes != PAGE_BYTES * (1 + -(-size // PAGE_BYTES)):
        raise FormatError(path, HEADER_BYTES_AT, f"a header of {header_bytes} bytes")
    tables = os.pread(descriptor, size, PAGE_BYTES)
    if len(tables) < size:
        raise FormatError(path, PAGE_BYTES + len(tables), "cut short within the kinds of records")
    (checksum,) = struct.unpack_from(order + "I", head, _TABLES_CRC_AT)
    if crc32c(tables) != checksum:
        raise FormatError(path, PAGE_BYTES, "the checksum of the kinds of records is wrong")

    kinds: list[RecordKind] = []
    field_at = ENTRY_BYTES * n_kinds
    for kind_at in range(0, ENTRY_BYTES * n_kinds, ENTRY_BYTES):
        raw, record_bytes, count = struct.unpack_from(order + "24sII", tables, kind_at)
        name = text_of(raw)
        fields_end = field_at + ENTRY_BYTES * count
        if not name or name in [kind.name for kind in kinds] or fields_end > size:
            raise FormatError(path, PAGE_BYTES + kind_at, f"a kind {name!r} of {count} fields")
        if not record_bytes and not count:
            kinds.append(RecordKind(name, None))
            continue
        fields = range(field_at, fields_end, ENTRY_BYTES)
        kinds.append(RecordKind(name, _dtype(path, order, tables, record_bytes, fields)))
        field_at = fields_end
    if field_at != size:
        raise FormatError(path, PAGE_BYTES + field_at, "fields of no kind")
    return tuple(kinds), header_bytes


def _dtype(
    path: Path, order: str, tables: bytes, record_bytes: int, places: range
) -> np.dtype[np.void]:
    """Return the dtype of a kind of records."""
    import numpy as np

    names: list[str] = []
    formats: list[object] = []
    offsets: list[int] = []
    for place in places:
        raw, offset, code, count = struct.unpack_from(order + "24sIHH", tables, place)
        name, letter = text_of(raw), _TYPES.get(code)
        size = (code & 15) * count
        if not name or name in names or letter is None or not size or offset + size > record_bytes:
            raise FormatError(path, PAGE_BYTES + place, f"a field {name!r} that cannot be")
        if letter == "S":
            formats.append(f"S{count}")
        else:
            plain = np.dtype(letter).newbyteorder("<" if order == "<" else ">")
            formats.append((plain, (count,)) if count > 1 else plain)
        names.append(name)
        offsets.append(offset)
    if not 0 < record_bytes <= RECORD_BYTES_MAX or not names:
        raise FormatError(path, PAGE_BYTES, f"records of {record_bytes} bytes")
    return np.dtype(
        {"names": names, "formats": formats, "offsets": offsets, "itemsize": record_bytes}
    )
