"""The source line of each instruction of a Python code object, from its table of lines.

CPython 3.11 and newer write one entry for a run of instructions (Objects/locations.md of its
sources): a byte with its most significant bit set has the kind of the entry and how many code units
it covers; bytes of the entry that follow have that bit clear.
"""

from __future__ import annotations

from bisect import bisect_right

_NONE, _LONG, _NO_COLUMNS, _FIRST_ONE_LINE = 15, 14, 13, 10


class LineTable:
    """Lines of one code object."""

    def __init__(self, first_line: int, table: bytes) -> None:
        """Read a table, whatever it holds."""
        self._first_line = max(first_line, 0)
        self._starts: list[int] = []
        self._lines: list[int] = []
        instruction, line = 0, first_line
        for begin, end in _entries(table):
            kind, length = table[begin] >> 3 & 15, (table[begin] & 7) + 1
            if kind in (_LONG, _NO_COLUMNS):
                line += _signed(table[begin + 1 : end])
            elif kind >= _FIRST_ONE_LINE and kind != _NONE:
                line += kind - _FIRST_ONE_LINE
            self._starts.append(instruction)
            self._lines.append(self._first_line if kind == _NONE else max(line, 0))
            instruction += length

    def line(self, instruction: int) -> int:
        """Return the line of an instruction; of one before the first, that of the function."""
        index = bisect_right(self._starts, instruction) - 1
        return self._lines[index] if index >= 0 else self._first_line


def _entries(table: bytes) -> list[tuple[int, int]]:
    begins = [index for index, byte in enumerate(table) if byte & 0x80]
    ends = [*begins[1:], len(table)]
    return list(zip(begins, ends[: len(begins)], strict=True))


def _signed(data: bytes) -> int:
    """Return the first number: six bits a byte, lowest first, the sign in the lowest bit."""
    value = shift = 0
    for byte in data[:6]:
        value |= (byte & 63) << shift
        shift += 6
        if not byte & 0x40:
            break
    return -(value >> 1) if value & 1 else value >> 1
