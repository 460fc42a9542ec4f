"""A profile of pprof as a run.

Each sample type is a metric; of a location with inlined calls each line is a frame. Labels that
name a thread, process, rank or host are locations; others, and what the file asks to hide, are left
out, and a warning of the run says so.

Source: google/pprof, proto/profile.proto.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import IO, Any, NoReturn

from gnomon.model.metric import CPU_TIME
from gnomon.model.tables import Table
from gnomon.named_tuple import NamedTuple
from gnomon.store.profile_files import profile_file, stack_tables
from gnomon.store.profile_files.pprof_format import (
    COMMENT,
    COUNT,
    CPU,
    DEFAULT_SAMPLE_TYPE,
    DROP_FRAMES,
    DURATION,
    EXPORTER,
    FUNCTION,
    LABEL,
    LINE,
    LOCATION,
    MAPPING,
    PERIOD,
    PERIOD_TYPE,
    SAMPLE,
    SAMPLE_TYPE,
    SAMPLES,
    STACK,
    STRING,
    TIME,
    VALUES,
)
from gnomon.store.profile_files.protobuf import Wire, length_field, signed, varint
from gnomon.store.profile_files.stack_tables import Frame, Place, Quantity, StackTables
from gnomon.store.run import Run
from gnomon.store.unpacked_run import run_of_tables

FORMAT = "pprof"
_NS = 1e-9
# Moments and durations of heads are below 1e11 s.
_NS_MOST = 10**19
_KEYS = {
    **dict.fromkeys(("thread", "thread_name", "thread name"), "thread"),
    **dict.fromkeys(("tid", "thread_id", "thread id", "thread native id"), "tid"),
    **dict.fromkeys(("process", "process_name", "process name", "comm"), "process"),
    **dict.fromkeys(("pid", "process_id", "process id"), "pid"),
    **dict.fromkeys(("rank", "mpi_rank"), "rank"),
    **dict.fromkeys(("host", "hostname"), "host"),
}
_TEXTS = ("thread", "process", "host")


class _Mapping(NamedTuple):
    name: str = ""
    start: int = 0
    offset: int = 0
    has_inlined: bool = False


class _Line(NamedTuple):
    function: int
    line: int


class _Fields(NamedTuple):
    """Where the messages of a profile are: (begin, end) of each."""

    sample_types: list[tuple[int, int]]
    samples: list[tuple[int, int]]
    mappings: list[tuple[int, int]]
    locations: list[tuple[int, int]]
    functions: list[tuple[int, int]]
    strings: list[tuple[int, int]]
    numbers: dict[int, int]
    comments: list[int]
    period_type: list[tuple[int, int]]


def open_pprof(path: Path) -> Run:
    """Return a profile as a run.

    Raises:
        RunDirectoryError: it cannot be read, or is damaged; names the byte, of a compressed file of
            what is in it.
    """
    return run_of_tables(path, partial(read_pprof, path))


def read_pprof(path: Path, file: IO[bytes]) -> tuple[dict[str, Any], list[Table]]:
    """Return the head of the run that a profile stands for, and its tables.

    Args:
        path: to be named in errors.
        file: the content.

    Raises:
        RunDirectoryError: it cannot be read, or is damaged; names the byte, of a compressed file of
            what is in it.
    """
    content = profile_file.whole_content(path, file, FORMAT)
    return _Reader(path, content).result()


class _Reader:
    def __init__(self, path: Path, content: bytes) -> None:
        self._path = path
        self._wire = Wire(content, self._fail)
        self._offset = 0
        self._tables = StackTables(lambda problem: self._fail(self._offset, problem))
        self._fields = self._split(content)
        self._strings: dict[int, str] = {}
        self._ignored: set[str] = set()
        self._samples_at = -1
        self._program = ""
        # Of locations that stacks have, by number and whether the first frame is the program.
        self._regions: dict[tuple[int, bool], tuple[int, ...]] = {}

    def _fail(self, offset: int, problem: str) -> NoReturn:
        profile_file.refuse(self._path, offset, problem, FORMAT)

    def _split(self, content: bytes) -> _Fields:
        fields = _Fields([], [], [], [], [], [], {}, [], [])
        by_number = {
            SAMPLE_TYPE: fields.sample_types, SAMPLE: fields.samples, MAPPING: fields.mappings,
            LOCATION: fields.locations, FUNCTION: fields.functions, STRING: fields.strings,
            PERIOD_TYPE: fields.period_type,
        }  # fmt: skip
        for number, value, end in self._wire.fields(0, len(content)):
            messages = by_number.get(number)
            if messages is None:
                if number == COMMENT:
                    fields.comments.extend([value] if end < 0 else self._wire.numbers(value, end))
                elif end < 0:
                    fields.numbers[number] = value
            elif end < 0:
                self._fail(0, f"field {number} is a number and no message")
            else:
                messages.append((value, end))
        return fields

    def result(self) -> tuple[dict[str, Any], list[Table]]:
        """Return the head of the run and its tables."""
        if not self._fields.sample_types:
            self._fail(0, "it has no sample types")
        comments = [self._string(number, 0) for number in self._fields.comments]
        own = next((text for text in comments if text.startswith(EXPORTER)), "")
        mappings = self._mappings()
        self._add_samples(self._locations(mappings), has_program=bool(own))
        # The first mapping is that of the program.
        program = self._program or next(iter(mappings.values()), _Mapping()).name
        program = program or self._path.name
        command = own.partition(": ")[2]
        self._offset = 0
        numbers = self._fields.numbers
        started, wall = (signed(numbers.get(number, 0)) for number in (TIME, DURATION))
        if not (0 <= started < _NS_MOST and 0 <= wall < _NS_MOST):
            self._fail(0, "its times are not times")
        head = profile_file.head(
            profile_file.words(command) if command else [program],
            producer=own.partition(":")[0],
            started=started * _NS,
            wall_seconds=wall * _NS,
            warnings=self._warnings(),
        )
        return head, self._tables.tables(program)

    def _warnings(self) -> list[str]:
        warnings = []
        if pattern := self._string(self._fields.numbers.get(DROP_FRAMES, 0), 0):
            warnings.append(
                f"pprof: the file asks to hide functions that match {pattern}; they are shown"
            )
        if self._ignored:
            keys = ", ".join(sorted(self._ignored))
            warnings.append(f"pprof: labels of samples are left out: {keys}")
        return warnings

    def _string(self, number: int, offset: int) -> str:
        text = self._strings.get(number)
        if text is None:
            strings = self._fields.strings
            if number >= len(strings):
                # Some writers leave out the empty one that has the number 0.
                if not number:
                    return ""
                self._fail(offset, f"string {number} of {len(strings)}")
            begin, end = strings[number]
            text = self._wire.data[begin:end].decode(errors="backslashreplace")
            self._strings[number] = text
        return text

    # --- code -------------------------------------------------------------------------------------

    def _message(self, begin: int, end: int) -> dict[int, int]:
        """Return the numbers of a message, by field."""
        return {
            number: value for number, value, field_end in self._wire.fields(begin, end)
            if field_end < 0
        }  # fmt: skip

    def _number(self, fields: dict[int, int], seen: dict[int, Any], begin: int, what: str) -> int:
        number = fields.get(1, 0)
        if not number or number in seen:
            why = "a second time" if number else "which stands for none"
            self._fail(begin, f"a {what} with the number {number}, {why}")
        return number

    def _mappings(self) -> dict[int, _Mapping]:
        mappings: dict[int, _Mapping] = {}
        for begin, end in self._fields.mappings:
            fields = self._message(begin, end)
            file = self._string(fields.get(5, 0), begin)
            name = file.rpartition("/")[2]
            number = self._number(fields, mappings, begin, "mapping")
            mappings[number] = _Mapping(
                name, fields.get(2, 0), fields.get(4, 0), bool(fields.get(10))
            )
            if name:
                self._tables.module(name, file, self._string(fields.get(6, 0), begin))
        return mappings

    def _functions(self) -> dict[int, tuple[str, str]]:
        functions: dict[int, tuple[str, str]] = {}
        for begin, end in self._fields.functions:
            fields = self._message(begin, end)
            number = self._number(fields, functions, begin, "function")
            name = self._string(fields.get(2, 0), begin) or self._string(fields.get(3, 0), begin)
            functions[number] = (name, self._string(fields.get(4, 0), begin))
        return functions

    def _locations(self, mappings: dict[int, _Mapping]) -> dict[int, tuple[Frame, ...]]:
        """Return the frames of each location, the outermost first."""
        functions = self._functions()
        locations: dict[int, tuple[Frame, ...]] = {}
        for begin, end in self._fields.locations:
            self._offset = begin
            fields: dict[int, int] = {}
            lines: list[_Line] = []
            for number, value, field_end in self._wire.fields(begin, end):
                if field_end < 0:
                    fields[number] = value
                elif number == LINE:
                    of_line = self._message(value, field_end)
                    lines.append(_Line(of_line.get(1, 0), signed(of_line.get(2, 0))))
            mapping_number = fields.get(2, 0)
            if mapping_number and mapping_number not in mappings:
                self._fail(begin, f"mapping {mapping_number}, which is not there")
            mapping = mappings.get(mapping_number, _Mapping())
            number = self._number(fields, locations, begin, "location")
            frames = self._frames(lines, functions, mapping, fields.get(3, 0))
            locations[number] = tuple(frames)
        return locations

    def _frames(
        self, lines: list[_Line], functions: dict[int, tuple[str, str]], mapping: _Mapping,
        address: int,
    ) -> Iterable[Frame]:  # fmt: skip
        if not lines:
            offset = address - mapping.start + mapping.offset if mapping.name else address
            yield Frame(f"{mapping.name}+{max(offset, 0):#x}" if mapping.name else f"{offset:#x}",
                        mapping.name)  # fmt: skip
        is_told = mapping.has_inlined or len(lines) > 1
        for depth, line in enumerate(reversed(lines)):
            if line.function not in functions:
                self._fail(self._offset, f"function {line.function}, which is not there")
            if not 0 <= line.line <= profile_file.NUMBER_MOST:
                self._fail(self._offset, f"a line {line.line}")
            name, file = functions[line.function]
            module = mapping.name or stack_tables.module_of(file)
            yield Frame(name or "(unknown)", module, file, line.line,
                        depth > 0 if is_told else None)  # fmt: skip

    # --- samples ----------------------------------------------------------------------------------

    def _quantities(self) -> list[tuple[int, float]]:
        """Return the metric and factor of each sample type; the default one is the first metric."""
        types = []
        for begin, end in self._fields.sample_types:
            fields = self._message(begin, end)
            types.append((self._string(fields.get(1, 0), begin),
                          self._string(fields.get(2, 0), begin)))  # fmt: skip
        described = self._period()
        own = []
        for name, unit_name in types:
            unit, factor = stack_tables.unit_of(unit_name)
            is_cpu = name.lower() == CPU and unit == "s"
            own.append((Quantity(CPU_TIME if is_cpu else name or "value", unit,
                                 description=described), factor))  # fmt: skip
        default = self._string(self._fields.numbers.get(DEFAULT_SAMPLE_TYPE, 0), 0)
        names = [name for name, _ in types]
        # Source: google/pprof, profile.SampleIndexByName: without a default the last one.
        first = names.index(default) if default in names else -1
        self._tables.quantity(own[first][0])
        self._samples_at = types.index((SAMPLES, COUNT)) if (SAMPLES, COUNT) in types else -1
        return [(self._tables.quantity(quantity), factor) for quantity, factor in own]

    def _period(self) -> str:
        period = signed(self._fields.numbers.get(PERIOD, 0))
        if period <= 0 or not self._fields.period_type:
            return ""
        begin, end = self._fields.period_type[-1]
        fields = self._message(begin, end)
        name, unit = (self._string(fields.get(number, 0), begin) for number in (1, 2))
        return f"a sample every {period} {unit} of {name}"

    def _add_samples(self, locations: dict[int, tuple[Frame, ...]], *, has_program: bool) -> None:
        quantities = self._quantities()
        add, wire = self._tables.add, self._wire
        data = wire.data
        # Most samples have a stack, values and labels of which others have the same bytes.
        paths: dict[bytes, int] = {}
        places: dict[bytes, int] = {}
        weights: dict[bytes, list[tuple[int, float, int]]] = {}
        for begin, end in self._fields.samples:
            self._offset = begin
            stack = values = labels = b""
            for number, value, field_end in wire.fields(begin, end):
                # Numbers one by one are the same as those of a packed field.
                content = data[value:field_end] if field_end >= 0 else varint(value)
                if number == STACK:
                    stack += content
                elif number == VALUES:
                    values += content
                elif number == LABEL and field_end >= 0:
                    labels += length_field(LABEL, content)
            path = paths.get(stack)
            if path is None:
                path = self._path_of(stack, locations, has_program=has_program)
                paths[stack] = path
            place = places.get(labels)
            if place is None:
                place = places[labels] = self._place(labels)
            row = weights.get(values)
            if row is None:
                row = weights[values] = self._weights(values, quantities)
            for quantity, weight, n in row:
                add(place, quantity, path, weight, n)

    def _numbers(self, packed: bytes) -> list[int]:
        wire = Wire(packed, lambda _, problem: self._fail(self._offset, problem))
        return wire.numbers(0, len(packed))

    def _weights(
        self, packed: bytes, quantities: list[tuple[int, float]]
    ) -> list[tuple[int, float, int]]:
        """Return the values of a sample that are not 0: metric, value, number of samples."""
        values = self._numbers(packed)
        if len(values) != len(quantities):
            self._fail(self._offset, f"a sample with {len(values)} values; there are "
                                     f"{len(quantities)} sample types")  # fmt: skip
        # The number of samples is also that of the type behind it, a time.
        counted = (self._samples_at, self._samples_at + 1) if self._samples_at >= 0 else ()
        row = []
        for position, (quantity, factor) in enumerate(quantities):
            if values[position] >> 63:
                self._fail(
                    self._offset,
                    f"a value of {signed(values[position])}: what is less than nothing, as in a "
                    "difference of two profiles, is not read",
                )
            n = values[self._samples_at] if position in counted else stack_tables.UNKNOWN_SAMPLES
            if values[position]:
                row.append((quantity, values[position] * factor, n))
        return row

    def _path_of(
        self, packed: bytes, locations: dict[int, tuple[Frame, ...]], *, has_program: bool
    ) -> int:
        regions: list[int] = []
        is_program = has_program
        for number in reversed(self._numbers(packed)):
            own = self._regions.get((number, is_program))
            if own is None:
                frames = locations.get(number)
                if frames is None:
                    self._fail(self._offset, f"location {number}, which is not there")
                if is_program:
                    self._program = self._program or frames[0].name
                own = tuple(map(self._tables.region, frames[1:] if is_program else frames))
                self._regions[number, is_program] = own
            regions += own
            is_program = False
        return self._tables.stack(regions)

    def _place(self, labels: bytes) -> int:
        """Return the place that the labels of a sample tell."""
        told: dict[str, Any] = {}
        wire = Wire(labels, lambda _, problem: self._fail(self._offset, problem))
        for _, begin, end in wire.fields(0, len(labels)):
            fields = {number: value for number, value, field_end in wire.fields(begin, end)
                      if field_end < 0}  # fmt: skip
            key = self._string(fields.get(1, 0), self._offset)
            own = _KEYS.get(key.lower())
            text = self._string(fields.get(2, 0), self._offset)
            count = fields.get(3, 0)
            if own in _TEXTS and text:
                told[own] = text
            elif own and own not in _TEXTS and (text.isdecimal() or not text):
                count = int(text[:20]) if text else count
                if count > profile_file.NUMBER_MOST:
                    continue  # the handle of a thread, by its address
                told[own] = count
            else:
                self._ignored.add(key[:80])
        return self._tables.place(Place(**told))
