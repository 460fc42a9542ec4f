"""The build id of a program or library: which build of it a file is.

Source: ELF (gabi.xinuos.com), program headers and notes; the linker's note NT_GNU_BUILD_ID.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO

_NOTES = 4  # PT_NOTE
_BUILD_ID = 3  # NT_GNU_BUILD_ID
_HEADERS_MAX = 4096
_NOTES_BYTES_MAX = 1 << 20
_WIDE = 2  # ELFCLASS64
_BIG = 2  # ELFDATA2MSB


def build_id(path: Path) -> str:
    """Return a file's build id in hexadecimal digits, "" if it has none or is no ELF file.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        try:
            for notes, order in _notes(file):
                found = _among(notes, order)
                if found:
                    return found
        except struct.error:
            return ""
    return ""


def _notes(file: IO[bytes]) -> Iterator[tuple[bytes, str]]:
    """Yield each segment of notes, and the byte order.

    Raises:
        struct.error: the file ends too early.
    """
    head = file.read(64)
    if head[:4] != b"\x7fELF":
        return
    is_wide = head[4] == _WIDE
    order = ">" if head[5] == _BIG else "<"
    (table,) = struct.unpack_from(order + ("Q" if is_wide else "I"), head, 32 if is_wide else 28)
    size, n = struct.unpack_from(order + "HH", head, 54 if is_wide else 42)
    for at in range(min(n, _HEADERS_MAX)):
        file.seek(min(table + at * size, (1 << 63) - 1))
        header = file.read(56 if is_wide else 32)
        (kind,) = struct.unpack_from(order + "I", header)
        offset, length = (
            (
                *struct.unpack_from(order + "Q", header, 8),
                *struct.unpack_from(order + "Q", header, 32),
            )
            if is_wide
            else (
                *struct.unpack_from(order + "I", header, 4),
                *struct.unpack_from(order + "I", header, 16),
            )
        )
        if kind == _NOTES:
            file.seek(min(offset, (1 << 63) - 1))
            yield file.read(min(length, _NOTES_BYTES_MAX)), order


def _among(notes: bytes, order: str) -> str:
    offset = 0
    while offset + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from(order + "III", notes, offset)
        name = offset + 12
        begin = name + (name_size + 3) // 4 * 4
        if kind == _BUILD_ID and notes[name : name + name_size] == b"GNU\0":
            return notes[begin : begin + size].hex()
        offset = begin + (size + 3) // 4 * 4
    return ""
