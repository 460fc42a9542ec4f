"""Reader of cachegrind's output files.

Source: Valgrind manual, chapter 5.6 (file format): description lines, the command, the names of
the events, then a line of counts for each source line below the names of its file and function,
and the sums in the last line.

A shell script leaves hundreds of files that differ in a few functions only (`images.py` says
why), so a file is first taken apart into the texts of its functions, and only those texts are
read that another file does not have too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain
from operator import add, sub
from pathlib import Path

from gnomon.counters.emulation.engine import Line
from gnomon.errors import FormatError
from gnomon.model.symbol_names import FORTRAN, external_procedure, module_procedure
from gnomon.named_tuple import NamedTuple

_LIMIT_BYTES = 1 << 30
_LARGEST_COUNT = 1 << 63
_LARGEST_LINE = 1 << 31
# What cachegrind writes where debug information says nothing.
_UNKNOWN = b"???"
# Functions of native/emulation/forks.c, which are not the program's.
_OURS = "gnomon_emulation_"
_FORTRAN = tuple(f".{one}".encode() for end in sorted(FORTRAN) for one in (end, end.upper()))

_LONGEST_ROW = 4000

Counts = tuple[int, ...]


class ParsedTexts(NamedTuple):
    """Texts of functions and rows of counts that were read already, of files of the same events."""

    texts: dict[bytes, Mapping[int, Counts]]
    rows: dict[bytes, Counts]


class CachegrindFile(NamedTuple):
    """What one process counted.

    Attributes:
        path: the file.
        command: program and arguments, as cachegrind joined them.
        events: cachegrind's names of the counts, such as Ir and D1mr.
        totals: their sums, in this order.
        texts: the lines of counts of each (source file, function), as they stand in the file.
    """

    path: Path
    command: str
    events: tuple[str, ...]
    totals: Counts
    texts: dict[tuple[bytes, bytes], bytes]

    def lines(
        self, base: CachegrindFile | None = None, seen: ParsedTexts | None = None
    ) -> dict[Line, Counts]:
        """Return the counts of each line, less those of an earlier file of the same process.

        Args:
            base: the earlier file.
            seen: what was read of other files, to be read once only; is added to.

        Raises:
            FormatError: a line is damaged, or the lines do not add up to the summary.
        """
        by_line: dict[Line, Counts] = {}
        seen = ParsedTexts({}, {}) if seen is None else seen
        other = {} if base is None else base.texts
        procedures = _procedures(self.texts)
        for (file, function), text in self.texts.items():
            had = other.get((file, function))
            if had == text:
                continue
            names = (_name(file), procedures.get(function) or _name(function))
            counts = self._counts(text, seen)
            if had is not None:
                counts = _less(counts, self._counts(had, seen))
            for number, values in counts.items():
                if any(values):
                    line = Line(names[0], names[1], number)
                    known = by_line.get(line)
                    by_line[line] = tuple(map(add, known, values)) if known else values
        self._check(by_line, base)
        own = [line for line in by_line if line.function.startswith(_OURS)]
        for line in own:
            del by_line[line]
        if min(chain.from_iterable(by_line.values()), default=0) < 0:
            raise FormatError(self.path, 0, f"it counts less than {base and base.path} before it")
        return by_line

    def _counts(self, text: bytes, seen: ParsedTexts) -> Mapping[int, Counts]:
        """Return the counts of a function's lines by their numbers."""
        known = seen.texts.get(text)
        if known is not None:
            return known
        by_number: dict[int, Counts] = {}
        for row in text.split(b"\n"):
            if not row:
                continue
            number, _, rest = row.partition(b" ")
            counts = seen.rows.get(rest)
            if counts is None:
                counts = seen.rows[rest] = self._numbers(rest, row)
            if not number.isdigit() or len(number) > 10 or int(number) >= _LARGEST_LINE:
                raise self._error(row, f"neither counts nor a name: {_shown(row)}")
            at = int(number)
            by_number[at] = tuple(map(add, by_number[at], counts)) if at in by_number else counts
        seen.texts[text] = by_number
        return by_number

    def _numbers(self, rest: bytes, row: bytes) -> Counts:
        numbers = _integers(rest)
        if numbers is None:
            raise self._error(row, f"a count that is none: {_shown(row)}")
        missing = len(self.events) - len(numbers)
        if missing < 0:
            raise self._error(row, f"{len(numbers)} counts of {len(self.events)} events")
        # Counts that are zero may be left out at the end.
        return numbers + (0,) * missing

    def _check(self, lines: dict[Line, Counts], base: CachegrindFile | None) -> None:
        less = base.totals if base else (0,) * len(self.events)
        expected = tuple(map(sub, self.totals, less))
        sums = tuple(map(sum, zip(*lines.values(), strict=True))) if lines else (0,) * len(less)
        if sums != expected:
            raise FormatError(
                self.path, 0, f"damaged: its lines add up to {sums}, its summary says {expected}"
            )

    def _error(self, row: bytes, problem: str) -> FormatError:
        return FormatError(self.path, max(_read(self.path).find(b"\n" + row) + 1, 0), problem)


def read(path: Path) -> CachegrindFile:
    """Return the content of a cachegrind file.

    Raises:
        FormatError: it is truncated, damaged, too large, or no such file.
        OSError: it cannot be read.
    """
    data = _read(path)
    if len(data) > _LIMIT_BYTES:
        raise FormatError(path, _LIMIT_BYTES, "too large for a file of cachegrind's")
    begin = 0 if data.startswith((b"fl=", b"fn=")) else data.find(b"\nfl=")
    end = data.find(b"\nsummary:", max(begin, 0))
    if end < 0:
        at_summary = data.startswith(b"summary:")
        raise FormatError(
            path, 0 if at_summary else len(data), "truncated or no file of cachegrind's: no summary"
        )
    head = data[: begin if 0 <= begin < end else end]
    command, events = _head(path, head)
    after = data[end + 1 :].partition(b"\n")
    if after[2].strip(b"\n"):
        raise FormatError(path, end + 1 + len(after[0]) + 1, "something follows the summary")
    totals = _integers(after[0][len(b"summary:") :])
    if totals is None or len(totals) != len(events):
        raise FormatError(path, end + 1, f"damaged summary: {_shown(after[0])}")
    body = data[begin:end] if 0 <= begin < end else b""
    return CachegrindFile(path, command, events, totals, _texts(path, body, begin))


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_LIMIT_BYTES + 1)


def _head(path: Path, head: bytes) -> tuple[str, tuple[str, ...]]:
    command: str | None = None
    events: tuple[str, ...] = ()
    offset = 0
    for row in head.split(b"\n"):
        if row.startswith(b"cmd:"):
            command = _text(row[4:].strip())
        elif row.startswith(b"events:"):
            events = tuple(_text(row[7:]).split())
        # What follows the command on more lines is its arguments'.
        elif row and command is None and not row.startswith((b"desc:", b"#")):
            raise FormatError(path, offset, f"not a file of cachegrind's: {_shown(row)}")
        offset += len(row) + 1
    if command is None:
        raise FormatError(path, len(head), "no command is named")
    if not events or len(set(events)) < len(events):
        raise FormatError(path, len(head), "no events are named, or one of them twice")
    return command, events


def _texts(path: Path, body: bytes, body_offset: int) -> dict[tuple[bytes, bytes], bytes]:
    texts: dict[tuple[bytes, bytes], bytes] = {}
    for chunk in body.split(b"\nfl=")[1:]:
        file, *functions = chunk.split(b"\nfn=")
        for row in file.split(b"\n")[1:]:
            # What is no row of counts belongs to a name with line ends in it.
            if _integers(row) is not None:
                offset = body_offset + body.find(chunk) + len(file.partition(b"\n")[0]) + 1
                raise FormatError(path, offset, "counts before the function that they belong to")
        for text in functions:
            name, _, rows = text.partition(b"\n")
            known = texts.get((file, name))
            texts[file, name] = rows if known is None else known + b"\n" + rows
    return texts


def _procedures(texts: Collection[tuple[bytes, bytes]]) -> dict[bytes, str]:
    """Return the names of Fortran procedures, as their programmers know them, by their symbols."""
    names_of = {
        symbol: module_procedure(_name(symbol)) for _, symbol in texts if b"_MOD_" in symbol
    }
    # What is included or inlined has another file, and belongs to the procedure all the same.
    external = {symbol for file, symbol in texts if file.endswith(_FORTRAN)} - names_of.keys()
    if external:
        taken = {symbol for _, symbol in texts}
        names = {symbol: external_procedure(_name(symbol)) for symbol in external}
        names_of |= {symbol: name for symbol, name in names.items() if name.encode() not in taken}
    return names_of


def _less(counts: Mapping[int, Counts], had: Mapping[int, Counts]) -> Mapping[int, Counts]:
    left = dict(counts)
    for number, less in had.items():
        left[number] = tuple(map(sub, left.get(number, (0,) * len(less)), less))
    return left


def _integers(text: bytes) -> Counts | None:
    """Return counts, "." for 0, None if one is none or beyond 64 bits."""
    if text.translate(None, b"0123456789 "):
        text = b" ".join(b"0" if word == b"." else word for word in text.split())
        if text.translate(None, b"0123456789 "):
            return None
    if len(text) > _LONGEST_ROW:
        return None
    numbers = tuple(map(int, text.split()))
    return numbers if max(numbers, default=0) < _LARGEST_COUNT else None


def _text(raw: bytes) -> str:
    return raw.decode(errors="backslashreplace")


def _name(raw: bytes) -> str:
    return "" if raw == _UNKNOWN else _text(raw)


def _shown(row: bytes) -> str:
    return ascii(_text(row[:40]))
