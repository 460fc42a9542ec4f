"""The part of Python's marshal format that profiles are written in: dictionaries, tuples, scalars.

Python's own reader trusts what it reads. This one hands on one value after the other, so that a
small file cannot ask for much memory.

Source: CPython, Python/marshal.c, versions 0 to 5 of the format.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Value = str | int | float | tuple["Value", ...]
"""What a key or an element can be."""

REFERENCES_MOST = 2_000_000
_REFERENCED = 0x80
_ITEMS_MOST = 5
_DEPTH_MOST = 3
_DIGITS_MOST = 5
_DIGIT_BITS = 15
_SHORT_TEXT = b"zZ"
_TEXT = {b"a": "ascii", b"A": "ascii", b"u": "utf-8", b"t": "utf-8"}


class MarshalScan:
    """Reads a file from its beginning to its end.

    Args:
        content: of the file.
        fail: raises the reader's error, with what is wrong; `offset` says where.
    """

    def __init__(self, content: bytes, fail: Callable[[str], NoReturn]) -> None:
        self.offset = 0
        self._content = content
        self._fail = fail
        # None stands for a dictionary, which nothing may refer to.
        self._references: list[Value | None] = []

    def is_end(self) -> bool:
        """Return whether all of the file is read."""
        return self.offset == len(self._content)

    def dictionary_keys(self) -> Iterator[Value]:
        """Yield the keys of a dictionary; the caller reads the value of each before the next."""
        kind, is_referenced = self._kind()
        if kind != b"{":
            self._fail("no dictionary")
        if is_referenced:
            self._refer(None)
        while self._content[self.offset : self.offset + 1] != b"0":
            yield self.value()
        self.offset += 1

    def size_of_tuple(self) -> int:
        """Read the head of a tuple, whose elements the caller reads, and return their number."""
        kind, is_referenced = self._kind()
        if is_referenced:
            self._refer(None)
        return self._size_of_tuple(kind)

    def value(self, depth: int = 0) -> Value:
        """Read a value that is no dictionary."""
        begin = self.offset
        kind, is_referenced = self._kind()
        if kind == b"r":
            number = int.from_bytes(self._take(4), "little")
            value = self._references[number] if number < len(self._references) else None
            if value is None:
                self.offset = begin
                self._fail(f"it refers to value {number}, which is none")
            return value
        if kind in (b"(", b")"):
            place = self._refer(None) if is_referenced else -1
            if depth == _DEPTH_MOST:
                self._fail("tuples in tuples")
            value = tuple(self.value(depth + 1) for _ in range(self._size_of_tuple(kind)))
            if is_referenced:
                self._references[place] = value
            return value
        value = self._scalar(kind, begin)
        if is_referenced:
            self._refer(value)
        return value

    def _scalar(self, kind: bytes, begin: int) -> Value:
        if kind == b"i":
            return int.from_bytes(self._take(4), "little", signed=True)
        if kind == b"g":
            return float(struct.unpack("<d", self._take(8))[0])
        if kind in _SHORT_TEXT:
            return self._text(self._take(1)[0], "ascii")
        if kind in _TEXT:
            return self._text(int.from_bytes(self._take(4), "little"), _TEXT[kind])
        if kind == b"l":
            return self._long()
        if kind == b"c":
            self.offset = begin
            self._fail(
                "the code of a program, which python -m profile writes; write the profile with "
                "python -m cProfile -o FILE"
            )
        if kind != b"f":
            self.offset = begin
            self._fail("neither text nor a number nor a tuple of these")
        text = self._text(self._take(1)[0], "ascii")
        try:
            return float(text)
        except ValueError:
            self._fail(f"no number: {text!r}")

    def _long(self) -> int:
        size = int.from_bytes(self._take(4), "little", signed=True)
        if abs(size) > _DIGITS_MOST:
            self._fail("a number of more than 64 bits")
        digits = struct.unpack(f"<{abs(size)}H", self._take(2 * abs(size)))
        number = 0
        for digit in reversed(digits):
            number = number << _DIGIT_BITS | int(digit)
        return number if size >= 0 else -number

    def _text(self, size: int, encoding: str) -> str:
        return self._take(size).decode(encoding, "replace")

    def _size_of_tuple(self, kind: bytes) -> int:
        if kind not in (b"(", b")"):
            self._fail("no tuple")
        size = int.from_bytes(self._take(1 if kind == b")" else 4), "little")
        if size > _ITEMS_MOST:
            self._fail(f"a tuple of {size} elements")
        return size

    def _kind(self) -> tuple[bytes, bool]:
        byte = self._take(1)[0]
        return bytes([byte & ~_REFERENCED]), bool(byte & _REFERENCED)

    def _refer(self, value: Value | None) -> int:
        if len(self._references) == REFERENCES_MOST:
            self._fail(f"more than {REFERENCES_MOST} values that are referred to")
        self._references.append(value)
        return len(self._references) - 1

    def _take(self, size: int) -> bytes:
        end = self.offset + size
        if end > len(self._content):
            self._fail("it ends too early")
        taken = self._content[self.offset : end]
        self.offset = end
        return taken
