"""A run as a profile of pprof, compressed.

A sample type for each metric with values of calls; for CPU time the number of its samples too, as
Go writes both. A frame that was inlined is a further line of the location it was inlined into;
modules are mappings with their build ids. Threads, processes, ranks and hosts are labels. The
outermost frame is the program.

Source: google/pprof, proto/profile.proto.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

from gnomon import __version__
from gnomon.model.metric import CPU_TIME
from gnomon.model.tables import MODULES
from gnomon.named_tuple import NamedTuple
from gnomon.store.exports.stacks import SIZE_BYTES, TIME_SECONDS, RunStacks, Thread
from gnomon.store.profile_files.pprof_format import (
    COMMENT,
    COUNT,
    CPU,
    DEFAULT_SAMPLE_TYPE,
    DURATION,
    EXPORTER,
    FUNCTION,
    LABEL,
    LINE,
    LOCATION,
    MAPPING,
    SAMPLE,
    SAMPLE_TYPE,
    SAMPLES,
    STACK,
    STRING,
    TIME,
    VALUES,
)
from gnomon.store.profile_files.protobuf import length_field, number_field, packed_field
from gnomon.store.run import Run

_LEVEL = 6
_AT_ONCE_BYTES = 1 << 20
_NS = 1e9
_VALUE_MOST = (1 << 63) - 1


class _Type(NamedTuple):
    """A sample type: its name and unit, which metric it is of, and by what values are multiplied.

    The factor is 0 of the number of samples.
    """

    name: str
    unit: str
    metric: int
    factor: float


def pprof(run: Run) -> Iterator[bytes]:
    """Yield a run as a profile that gzip has compressed.

    Raises:
        RunDirectoryError: a table cannot be read, or nothing in the run can be added up.
    """
    gzip = zlib.compressobj(_LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    held = bytearray()
    for field in _Export(run).fields():
        held += field
        if len(held) > _AT_ONCE_BYTES:
            yield gzip.compress(bytes(held))
            held.clear()
    yield gzip.compress(bytes(held)) + gzip.flush()


class _Export:
    def __init__(self, run: Run) -> None:
        self._run = run
        self._stacks = RunStacks(run)
        self._strings: dict[str, int] = {"": 0}
        # Source: google/pprof, internal/report: the first mapping is that of the main program.
        self._mappings: dict[str, int] = {self._stacks.program(): 1}
        self._functions: dict[tuple[str, str], int] = {}
        # By its regions, the function that others were inlined into first.
        self._locations: dict[tuple[int, ...], int] = {}
        self._of_path: dict[int, bytes] = {}

    def fields(self) -> Iterator[bytes]:
        """Yield the fields of the profile."""
        types = self._types()
        for sample_type in types:
            yield length_field(SAMPLE_TYPE, self._value_type(sample_type.name, sample_type.unit))
        is_empty = True
        for sample in self._samples(types):
            yield length_field(SAMPLE, sample)
            is_empty = False
        if is_empty:
            raise self._stacks.nothing()
        locations = list(map(self._location, self._locations))
        functions = list(map(self._function, self._functions))
        yield from (length_field(MAPPING, mapping) for mapping in self._mapping_messages())
        yield from (length_field(LOCATION, location) for location in locations)
        yield from (length_field(FUNCTION, function) for function in functions)
        head = self._run.head
        comment = self._string(f"{EXPORTER}{__version__}: {self._stacks.name}")
        default = self._string(next(one for one in types if one.factor).name)
        for text in self._strings:
            yield length_field(STRING, text.encode(errors="backslashreplace"))
        yield number_field(TIME, round(float(head["started"]) * _NS))
        yield number_field(DURATION, round(float(head["wall_seconds"]) * _NS))
        yield packed_field(COMMENT, [comment])
        yield number_field(DEFAULT_SAMPLE_TYPE, default)

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))

    def _value_type(self, name: str, unit: str) -> bytes:
        return number_field(1, self._string(name)) + number_field(2, self._string(unit))

    def _types(self) -> list[_Type]:
        types = []
        for metric in self._stacks.metrics_of_calls():
            name, unit, number = str(metric["name"]), str(metric["unit"]), int(metric["metric"])
            if name == CPU_TIME:
                # Beside other metrics, too, the number is that of the type behind it.
                types.append(_Type(SAMPLES, COUNT, number, 0.0))
            if unit in TIME_SECONDS:
                is_cpu = name == CPU_TIME
                types.append(_Type(CPU if is_cpu else name, "nanoseconds", number,
                                   TIME_SECONDS[unit] * _NS))  # fmt: skip
            elif unit in SIZE_BYTES:
                types.append(_Type(name, "bytes", number, float(SIZE_BYTES[unit])))
            else:
                types.append(_Type(name, unit or COUNT, number, 1.0))
        return types

    # --- samples ----------------------------------------------------------------------------------

    def _samples(self, types: list[_Type]) -> Iterator[bytes]:
        """Yield the samples: those of each thread and path together, whatever they are of."""
        stacks = self._stacks
        threads, has_threads = stacks.threads(), stacks.has_threads()
        values: dict[tuple[int, int], list[int]] = {}
        for metric in stacks.metrics_of_calls():
            number = int(metric["metric"])
            own = [(at, one.factor) for at, one in enumerate(types) if one.metric == number]
            rows: Iterator[tuple[int, int, float, int]]
            if number in has_threads:
                rows = (tuple(row) for row in stacks.of_threads(metric))  # type: ignore[misc]
            else:
                rows = ((-1, path, value, -1) for path, value in stacks.of_run(metric)[0])
            for location, path, value, samples in rows:
                cells = values.setdefault((location, path), [0] * len(types))
                for at, factor in own:
                    cells[at] = min(round(value * factor) if factor else max(samples, 0),
                                    _VALUE_MOST)  # fmt: skip
        labels: dict[int, bytes] = {-1: b""}
        for (location, path), cells in values.items():
            frames = self._packed_stack(path)
            if not frames or not any(cells):
                continue
            if location not in labels:
                labels[location] = self._labels(threads[location])
            yield frames + packed_field(VALUES, cells) + labels[location]

    def _packed_stack(self, path: int) -> bytes:
        """Return the field with the locations of a stack, the innermost first; b"" for none."""
        packed = self._of_path.get(path)
        if packed is None:
            groups: list[list[int]] = []
            for region in self._stacks.stack(path):
                if groups and self._stacks.regions[region].is_inlined:
                    groups[-1].append(region)
                else:
                    groups.append([region])
            numbers = [
                self._locations.setdefault(tuple(group), len(self._locations) + 1)
                for group in reversed(groups)
            ]
            packed = self._of_path[path] = packed_field(STACK, numbers) if numbers else b""
        return packed

    def _labels(self, thread: Thread) -> bytes:
        texts = {"thread": thread.name, "process": thread.process, "host": thread.host}
        if thread.rank >= 0:
            # A number 0 is none to pprof.
            texts["rank"] = str(thread.rank)
        numbers = {"thread_id": thread.tid, "process_id": thread.pid}
        labels = [
            number_field(1, self._string(key)) + number_field(2, self._string(text))
            for key, text in texts.items() if text
        ]  # fmt: skip
        labels += [
            number_field(1, self._string(key)) + number_field(3, number)
            for key, number in numbers.items() if number >= 0
        ]  # fmt: skip
        return b"".join(length_field(LABEL, label) for label in labels)

    # --- code -------------------------------------------------------------------------------------

    def _location(self, regions: tuple[int, ...]) -> bytes:
        lines = []
        for number in reversed(regions):
            region = self._stacks.regions[number]
            function = self._functions.setdefault((region.name, region.file),
                                                  len(self._functions) + 1)  # fmt: skip
            lines.append(length_field(LINE, number_field(1, function)
                                      + number_field(2, region.line)))  # fmt: skip
        module = self._stacks.regions[regions[0]].module
        mapping = self._mappings.setdefault(module, len(self._mappings) + 1) if module else 0
        number = self._locations[regions]
        return number_field(1, number) + number_field(2, mapping) + b"".join(lines)

    def _function(self, function: tuple[str, str]) -> bytes:
        name, file = function
        # Without a name of the linker it takes this one as it is: <module> is no template.
        return (
            number_field(1, self._functions[function])
            + number_field(2, self._string(name))
            + number_field(4, self._string(file))
        )

    def _mapping_messages(self) -> Iterator[bytes]:
        modules: dict[str, dict[str, Any]] = {
            str(row["name"]): row for row in self._run.rows(MODULES)
        }
        # Names are known: pprof need not look into these files.
        flags = b"".join(number_field(number, 1) for number in (7, 8, 9, 10))
        for name, number in self._mappings.items():
            row = modules.get(name, {})
            file, build_id = str(row.get("path") or name), str(row.get("build_id") or "")
            yield (
                number_field(1, number)
                + number_field(5, self._string(file))
                + number_field(6, self._string(build_id))
                + flags
            )
