"""Stacks with their weights as the tables of a run, whatever format they come from.

A stack is a path from the program's root; what a file says of threads, processes and ranks becomes
locations. Nothing is added that the file does not say: no moments, no calls, no total times.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable
from math import isfinite
from typing import TYPE_CHECKING, NoReturn

from gnomon.model.inlining import PYTHON
from gnomon.model.metric import WAITING_TIME, Aggregation
from gnomon.model.region_kinds import WAIT
from gnomon.model.tables import LOCATIONS, METRICS, MODULES, PATHS, REGIONS, Table
from gnomon.model.value import How
from gnomon.named_tuple import NamedTuple
from gnomon.store import table_limits

if TYPE_CHECKING:
    from collections.abc import Callable


ROOT = 0
"""The path, and the region, of the program."""
SAMPLES = "samples"
UNKNOWN_SAMPLES = -1
_BITS = 32
_REASON = re.compile(r"\[.+\]", re.DOTALL)
_TEXT_BYTES_MOST = table_limits.TEXTS_MOST_BYTES


class Frame(NamedTuple):
    """A function at a line; "" and 0 for what is not known, None where nobody told."""

    name: str
    module: str = ""
    file: str = ""
    line: int = 0
    is_inlined: bool | None = None


class Place(NamedTuple):
    """Where a stack was seen; "" and -1 for what is not known.

    Attributes:
        thread: the name of the thread.
        process: the name of the program.
    """

    tid: int = -1
    thread: str = ""
    pid: int = -1
    process: str = ""
    rank: int = -1
    host: str = ""


class Quantity(NamedTuple):
    """What the weights of stacks are of.

    Attributes:
        name: of the metric.
        unit: as Gnomon writes units.
        how: one of `How`.
        description: one line.
    """

    name: str
    unit: str = ""
    how: str = How.SAMPLED.value
    description: str = ""


_UNITS = {
    **dict.fromkeys(("nanoseconds", "nanosecond", "ns"), ("s", 1e-9)),
    **dict.fromkeys(("microseconds", "microsecond", "us", "µs"), ("s", 1e-6)),
    **dict.fromkeys(("milliseconds", "millisecond", "ms"), ("s", 1e-3)),
    **dict.fromkeys(("seconds", "second", "s"), ("s", 1.0)),
    **dict.fromkeys(("bytes", "byte", "b"), ("bytes", 1.0)),
    **dict.fromkeys(("kilobytes", "kilobyte", "kb", "kib"), ("bytes", 1024.0)),
    **dict.fromkeys(("megabytes", "megabyte", "mb", "mib"), ("bytes", 1048576.0)),
    **dict.fromkeys(("gigabytes", "gigabyte", "gb", "gib"), ("bytes", 1073741824.0)),
    **dict.fromkeys(("count", "none", "samples", ""), ("", 1.0)),
}
"""Units of other tools: Gnomon's, and by what values are multiplied.

Source: google/pprof, internal/measurement: its kilobyte has 1024 bytes; speedscope's units.
"""


def unit_of(name: str) -> tuple[str, float]:
    """Return Gnomon's unit for that of another tool, and the factor of its values."""
    return _UNITS.get(name.lower(), (name, 1.0))


def module_of(file: str) -> str:
    """Return the module of a frame of which only the file is known: Python's, or none."""
    return PYTHON if file.endswith((".py", ".pyx")) or file.startswith("<frozen ") else ""


class StackTables:
    """Collects stacks.

    Args:
        fail: raises the reader's error, with what is wrong.
    """

    def __init__(self, fail: Callable[[str], NoReturn]) -> None:
        self._fail = fail
        self._regions: dict[Frame, int] = {}
        self._children: dict[int, int] = {}
        self._parents = array("q", [-1])
        self._region_of_path = array("q", [ROOT])
        self._depths = array("q", [0])
        self._places: dict[Place, int] = {}
        self._quantities: dict[Quantity, int] = {}
        self._modules: dict[str, tuple[str, str]] = {}
        self._text_bytes = 0
        # Of each weight: place and metric, path, weight, number of samples.
        self._columns = (array("q"), array("q"), array("q"), array("d"), array("q"))

    def region(self, frame: Frame) -> int:
        """Return the number of a frame's region."""
        number = self._regions.get(frame)
        if number is None:
            number = self._regions[frame] = len(self._regions) + 1
            self._add_texts(frame.name, frame.module, frame.file)
            if number >= table_limits.ROWS_MOST[REGIONS.name]:
                self._fail(f"more than {number} functions and lines")
        return number

    def path(self, parent: int, region: int) -> int:
        """Return the number of the path of a region that is called from a path."""
        key = parent << _BITS | region
        number = self._children.get(key)
        if number is None:
            number = self._children[key] = len(self._parents)
            depth = self._depths[parent] + 1
            if depth > table_limits.DEPTH_MOST:
                self._fail(f"a stack of more than {table_limits.DEPTH_MOST} frames")
            if number >= table_limits.ROWS_MOST[PATHS.name]:
                self._fail(f"more than {number} different call paths")
            self._parents.append(parent)
            self._region_of_path.append(region)
            self._depths.append(depth)
        return number

    def stack(self, regions: Iterable[int]) -> int:
        """Return the path of regions, the outermost first."""
        path = ROOT
        for region in regions:
            path = self.path(path, region)
        return path

    def place(self, place: Place) -> int:
        """Return the number of a place."""
        number = self._places.get(place)
        if number is None:
            number = self._places[place] = len(self._places)
            self._add_texts(place.thread, place.process, place.host)
            if number >= table_limits.ROWS_MOST[LOCATIONS.name] // 3:
                self._fail(f"more than {number} threads")
        return number

    def quantity(self, quantity: Quantity) -> int:
        """Return the number of a metric."""
        number = self._quantities.setdefault(quantity, len(self._quantities))
        if number >= table_limits.ROWS_MOST[METRICS.name]:
            self._fail(f"more than {number} metrics")
        return number

    def module(self, name: str, path: str, build_id: str) -> None:
        """Take a note of a program or library."""
        if name not in self._modules:
            self._modules[name] = (path, build_id)
            self._add_texts(path, build_id)

    def add(
        self, place: int, quantity: int, path: int, weight: float, samples: int = UNKNOWN_SAMPLES
    ) -> None:
        """Take the weight of a stack.

        Args:
            place: its number.
            quantity: its number.
            path: its number.
            weight: of the stack alone, in the metric's unit.
            samples: how many samples that are.
        """
        if not isfinite(weight) or weight < 0:
            self._fail(f"a weight of {weight}; those of stacks are numbers from 0 on")
        columns = self._columns
        columns[0].append(place)
        columns[1].append(quantity)
        columns[2].append(path)
        columns[3].append(weight)
        columns[4].append(samples)

    def _add_texts(self, *texts: str) -> None:
        self._text_bytes += sum(map(len, texts))
        if self._text_bytes > _TEXT_BYTES_MOST:
            self._fail(f"names of more than {_TEXT_BYTES_MOST >> 20} MiB")

    def tables(self, program: str) -> list[Table]:
        """Return the tables of a run.

        Args:
            program: its name.
        """
        if not self._columns[0]:
            self._fail("it has no stacks with a weight")
        locations, of_places = _locations(list(self._places), program)
        of_waits = self._innermost_of_waits()
        return [
            locations,
            Table(
                REGIONS,
                [
                    (ROOT, "hpm", program, program, "", 0, None),
                    *(
                        (number, WAIT if number in of_waits and _REASON.fullmatch(frame.name)
                         else "cpu", frame.name, frame.module, frame.file, frame.line,
                         frame.is_inlined)
                        for frame, number in self._regions.items()
                    ),
                ],
            ),
            Table.of(
                PATHS,
                {
                    "path": array("i", range(len(self._parents))),
                    "parent": array("i", self._parents),
                    "region": array("i", self._region_of_path),
                },
            ),
            self._metrics(),
            self._profile(of_places),
            Table(MODULES, [(name, *rest) for name, rest in self._modules.items()]),
        ]  # fmt: skip

    def _innermost_of_waits(self) -> set[int]:
        """Return the regions in which time was waited: Gnomon has the reason innermost."""
        waiting = {
            number for quantity, number in self._quantities.items() if quantity.name == WAITING_TIME
        }
        if not waiting:
            return set()
        of_rows = zip(self._columns[1], self._columns[2], strict=True)
        return {self._region_of_path[path] for quantity, path in of_rows if quantity in waiting}

    def _metrics(self) -> Table:
        table = Table(METRICS)
        for quantity, number in self._quantities.items():
            table.add(
                metric=number, name=quantity.name, unit=quantity.unit, formula="", how=quantity.how,
                component="", domain="all", scope="thread", description=quantity.description,
                aggregation=Aggregation.SUM.value, absent_is_zero=True, reproducible=False,
                dilated=False,
            )  # fmt: skip
        return table

    def _profile(self, of_places: list[int]) -> Table:
        import numpy as np

        from gnomon.store.path_sums import ProfileRows, profile_of, sums_on_paths

        place, quantity, path, weight, samples = map(np.array, self._columns)
        n_metrics = len(self._quantities)
        # Of a metric of which some weights have no number of samples no sum has one.
        is_counted = np.ones(n_metrics, bool)
        is_counted[quantity[samples == UNKNOWN_SAMPLES]] = False
        location = np.array(of_places, np.int64)[place]
        sums = sums_on_paths(
            np.array(self._parents),
            np.array(self._depths),
            location * n_metrics + quantity,
            path,
            weight,
            np.maximum(samples, 0),
        )
        if not np.isfinite(sums.inclusive).all():
            self._fail("its weights come to more than a number can hold")
        table = sums.rows(sums.keys // n_metrics, sums.paths, sums.keys % n_metrics)
        # What threads have, the command has together: comparisons judge that.
        of_threads = (table.path == ROOT) & (table.location != 0)
        together = [
            (0, ROOT, number, *(column[of_threads & (table.metric == number)].sum()
                                for column in table[3:]))
            for number in np.unique(table.metric[of_threads]).tolist()
        ]  # fmt: skip
        if together:
            table = ProfileRows(*map(np.append, table, zip(*together, strict=True)))
        return profile_of(table, is_counted[table.metric])


def _locations(places: list[Place], program: str) -> tuple[Table, list[int]]:
    """Return the locations, and that of each place.

    Values count from one kind of location: if some stacks have a thread, so has each.
    """
    has_threads = any(place.tid >= 0 or place.thread for place in places)
    has_processes = any(place.pid >= 0 or place.process for place in places)
    has_ranks = any(place.rank >= 0 for place in places)
    hosts = {place.host for place in places if place.host}
    table = Table(LOCATIONS)
    host = hosts.pop() if len(hosts) == 1 else ""
    table.append((0, -1, "command", host, -1, -1, -1, program))
    numbers: dict[tuple[str, int, int, int, str, str], int] = {}

    def located(kind: str, place: Place, parent: int, name: str) -> int:
        pid = -1 if kind == "rank" else place.pid
        tid = place.tid if kind == "thread" else -1
        # A thread with a number may have its name in some stacks only.
        is_named = tid < 0 if kind == "thread" else pid < 0
        key = (kind, parent, pid, tid, place.host, name if is_named else "")
        if key not in numbers:
            numbers[key] = len(table)
            table.append((len(table), parent, kind, place.host or host, place.rank, pid, tid, name))
        elif name and kind != "rank":
            names = table.texts("name")
            names[numbers[key]] = names[numbers[key]] or name
        return numbers[key]

    of_places = []
    for place in places:
        number = 0
        if has_ranks and place.rank >= 0:
            number = located("rank", place, number, "")
        if has_processes:
            number = located("process", place, number, place.process)
        if has_threads:
            number = located("thread", place, number, place.thread)
        of_places.append(number)
    return table, of_places
