"""The wire format of Protocol Buffers: fields of a message, read and written.

The messages that Gnomon reads and writes (profile.proto) have fields of two kinds, numbers and
lengths. Google's own runtime would be a dependency for these lines, and makes objects of every
sample, where the reader of a million of them goes by the bytes that they have in common.

Source: protobuf.dev, "Encoding".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NoReturn

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
_WIDTHS = {FIXED64: 8, FIXED32: 4}
_VARINT_BYTES_MOST = 10
_BITS_64 = (1 << 64) - 1


class Wire:
    """The bytes of messages.

    Args:
        data: all of them.
        fail: raises the reader's error, with the offset and what is wrong there.
    """

    def __init__(self, data: bytes, fail: Callable[[int, str], NoReturn]) -> None:
        self.data = data
        self.fail = fail

    def varint(self, begin: int, end: int) -> tuple[int, int]:
        """Return the number that begins at a byte, without a sign, and where it ends."""
        data, value, shift, offset = self.data, 0, 0, begin
        while True:
            if offset >= end or offset - begin == _VARINT_BYTES_MOST:
                self.fail(begin, "a number without an end")
            byte = data[offset]
            offset += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & _BITS_64, offset
            shift += 7

    def fields(self, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield the fields of a message: number, value, end.

        Of a number the value is that, and the end is -1; of what has a length both are offsets.
        Fields of a fixed width, of which profile.proto has none, are left out.
        """
        data, varint = self.data, self.varint
        offset = begin
        while offset < end:
            start = offset
            tag = data[offset]
            offset += 1
            if tag >= 0x80:
                tag, offset = varint(start, end)
            number, kind = tag >> 3, tag & 7
            if not number:
                self.fail(start, "a field with the number 0")
            if kind == LENGTH:
                if offset < end and data[offset] < 0x80:
                    size = data[offset]
                    offset += 1
                else:
                    size, offset = varint(offset, end)
                if size > end - offset:
                    self.fail(start, f"a field of {size} bytes where {end - offset} are left")
                yield number, offset, offset + size
                offset += size
            elif kind == VARINT:
                value, offset = varint(offset, end)
                yield number, value, -1
            elif kind in _WIDTHS and _WIDTHS[kind] <= end - offset:
                offset += _WIDTHS[kind]
            else:
                self.fail(start, f"a field of kind {kind}, which no message has here")

    def numbers(self, begin: int, end: int) -> list[int]:
        """Return the numbers of a packed field."""
        packed = self.data[begin:end]
        if packed.isascii():
            return list(packed)
        numbers = []
        offset = begin
        while offset < end:
            value, offset = self.varint(offset, end)
            numbers.append(value)
        return numbers


def signed(value: int) -> int:
    """Return a number of 64 bits with its sign."""
    return value - (1 << 64) if value >> 63 else value


def varint(value: int) -> bytes:
    """Return a number as it is written, a negative one as 64 bits."""
    value &= _BITS_64
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def number_field(number: int, value: int) -> bytes:
    """Return a field with a number, nothing for 0, which is what a missing one means."""
    return varint(number << 3 | VARINT) + varint(value) if value else b""


def length_field(number: int, content: bytes) -> bytes:
    """Return a field with a text or message."""
    return varint(number << 3 | LENGTH) + varint(len(content)) + content


def packed_field(number: int, values: Iterable[int]) -> bytes:
    """Return a field with numbers."""
    return length_field(number, b"".join(map(varint, values)))
