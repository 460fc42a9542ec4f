"""What an ELF file says of itself and of what it needs: build id, segments and needed libraries.

Source: elf(5). A file may be anything: what makes no sense is a ValueError.
"""

from __future__ import annotations

import os
import struct
from contextlib import contextmanager
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PT_LOAD, _PT_DYNAMIC, _PT_NOTE = 1, 2, 4
_DT_NEEDED, _DT_STRTAB, _DT_STRSZ = 1, 5, 10
_NT_GNU_BUILD_ID = 3
_BUILD_ID_MOST = 64
# More than any has: a table that is larger makes no sense.
_TABLE_MOST = 1 << 26


class _Segment:
    __slots__ = ("address", "kind", "offset", "size")

    def __init__(self, kind: int, offset: int, address: int, size: int) -> None:
        self.kind, self.offset, self.address, self.size = kind, offset, address, size


class _Elf:
    """An open ELF file. ValueError: it is none."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        head = self.read(0, 64)
        if (
            len(head) < 52
            or head[:4] != b"\x7fELF"
            or head[4] not in (1, 2)
            or head[5] not in (1, 2)
        ):
            raise ValueError("no ELF file")
        self.order = "<" if head[5] == 1 else ">"
        self.is_64 = head[4] == 2
        (begin,) = self.unpack("Q" if self.is_64 else "I", head, 32 if self.is_64 else 28)
        size, number = self.unpack("2H", head, 54 if self.is_64 else 42)
        table = self.read(begin, min(size * number, _TABLE_MOST))
        self.segments = [self._segment(table, place * size) for place in range(number)]

    def _segment(self, table: bytes, place: int) -> _Segment:
        if self.is_64:
            kind, _, offset, address, _, size = self.unpack("2I4Q", table, place)
        else:
            kind, offset, address, _, size = self.unpack("5I", table, place)
        return _Segment(kind, offset, address, size)

    def unpack(self, form: str, data: bytes, place: int) -> tuple[int, ...]:
        try:
            return struct.unpack_from(self.order + form, data, place)
        except struct.error as error:
            raise ValueError(f"it ends within a table: {error}") from error

    def read(self, offset: int, size: int) -> bytes:
        if offset > (1 << 62) or size > _TABLE_MOST:
            raise ValueError("a table is too large")
        return os.pread(self._descriptor, size, offset)

    def contents(self, kind: int) -> Iterator[bytes]:
        for segment in self.segments:
            if segment.kind == kind:
                yield self.read(segment.offset, segment.size)

    def offset(self, address: int) -> int:
        for segment in self.segments:
            if segment.kind == _PT_LOAD and 0 <= address - segment.address < segment.size:
                return segment.offset + address - segment.address
        raise ValueError("an address is in no segment")


@contextmanager
def _opened(path: Path) -> Iterator[_Elf]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield _Elf(descriptor)
    finally:
        os.close(descriptor)


def build_id(path: Path) -> str:
    """Return the build id of a file in hexadecimal digits, "" if it has none.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no ELF file, or a damaged one.
    """
    with _opened(path) as elf:
        return _build_id(elf)


def loaded_segments(path: Path) -> tuple[str, list[tuple[int, int, int]]]:
    """Return the build id of a file, and offset, size and address of what is loaded of it.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no ELF file, or a damaged one.
    """
    with _opened(path) as elf:
        parts = [
            (one.offset, one.size, one.address) for one in elf.segments if one.kind == _PT_LOAD
        ]
        return _build_id(elf), parts


def build_id_of_notes(notes: bytes, order: str = "=") -> str:
    """Return the build id among notes, "" if there is none.

    Args:
        notes: as a segment has them, or /sys/kernel/notes.
        order: their byte order as `struct` names it.

    Raises:
        ValueError: they end within one.
    """
    place = 0
    while place + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from(f"{order}3I", notes, place)
        begin = place + 12 + -(-name_size // 4) * 4
        name = notes[place + 12 : place + 12 + name_size]
        if kind == _NT_GNU_BUILD_ID and name == b"GNU\0" and size <= _BUILD_ID_MOST:
            return notes[begin : begin + size].hex()
        place = begin + -(-size // 4) * 4
    return ""


def _build_id(elf: _Elf) -> str:
    found = (build_id_of_notes(notes, elf.order) for notes in elf.contents(_PT_NOTE))
    return next(filter(None, found), "")


def needed_libraries(path: Path) -> tuple[str, ...]:
    """Return the names of the libraries that a program or library needs, in their order.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no ELF file, or a damaged one.
    """
    with _opened(path) as elf:
        form, step = ("2Q", 16) if elf.is_64 else ("2I", 8)
        needed: list[int] = []
        values: dict[int, int] = {}
        for table in elf.contents(_PT_DYNAMIC):
            for place in range(0, len(table) - step + 1, step):
                tag, value = elf.unpack(form, table, place)
                if tag == _DT_NEEDED:
                    needed.append(value)
                else:
                    values.setdefault(tag, value)
        if not needed:
            return ()
        texts = elf.read(elf.offset(values.get(_DT_STRTAB, 0)), values.get(_DT_STRSZ, 0))
        ends = ((name, texts.find(b"\0", name)) for name in needed)
        return tuple(texts[name : end if end >= 0 else None].decode(errors="replace")
                     for name, end in ends)  # fmt: skip
