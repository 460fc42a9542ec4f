"""Profiles of Python's cProfile and profile as runs: what `-o FILE` and `dump_stats` write.

A function's own time becomes a row of the profile, on a path below the program; who called it, how
often and what that came to, a row of `arcs`. Times are what the profiler's clock says: of cProfile
wall time, unless it was given a clock of its own, which the file does not tell.

Source: CPython, Lib/cProfile.py (create_stats), Lib/profile.py, Lib/pstats.py (add_callers).
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from math import isfinite
from pathlib import Path
from typing import IO, Any, NoReturn

from gnomon.model.inlining import PYTHON
from gnomon.model.tables import ARCS, Table
from gnomon.model.value import How
from gnomon.store.profile_files import profile_file
from gnomon.store.profile_files.marshal_format import MarshalScan, Value
from gnomon.store.profile_files.stack_tables import (
    ROOT,
    UNKNOWN_SAMPLES,
    Frame,
    Place,
    Quantity,
    StackTables,
)
from gnomon.store.run import Run
from gnomon.store.unpacked_run import run_of_tables

FORMAT = "pstats"
LARGEST_BYTES = 32 << 20
_STARTS = tuple(
    dictionary + key
    for dictionary in (b"{", b"\xfb")
    for key in (b")\x03", b"\xa9\x03", b"(\x03\0\0\0", b"\xa8\x03\0\0\0", b"0")
)
_TIME = Quantity(
    "wall time",
    "s",
    How.COUNTED.value,
    "what the clock of the profiler said: cProfile's is wall time",
)
_BUILT_IN = "~"
_CALLS_MOST = (1 << 63) - 1


def is_pstats(start: bytes) -> bool:
    """Return whether a file begins as a dictionary of functions, or is one of none."""
    return start.startswith(_STARTS) and (start[1:2] != b"0" or len(start) == 2)


def open_pstats(path: Path) -> Run:
    """Return a profile of cProfile as a run.

    Raises:
        RunDirectoryError: it cannot be read, or is damaged; names the byte.
    """
    return run_of_tables(path, partial(read_pstats, path))


def read_pstats(path: Path, file: IO[bytes]) -> tuple[dict[str, Any], list[Table]]:
    """Return the head of the run that a profile stands for, and its tables.

    Args:
        path: to be named in errors.
        file: the content.

    Raises:
        RunDirectoryError: it cannot be read, or is damaged; names the byte.
    """
    content = profile_file.whole_content(path, file, FORMAT, LARGEST_BYTES)
    return _Reader(path, content).result()


class _Reader:
    def __init__(self, path: Path, content: bytes) -> None:
        self._path = path
        self._scan = MarshalScan(content, self._fail)
        self._stacks = StackTables(self._fail)
        self._arcs = Table(ARCS)
        self._place = self._stacks.place(Place())
        self._quantity = self._stacks.quantity(_TIME)
        self._is_below_zero = False
        self._lines = _lines_of_names(content)

    def _fail(self, problem: str) -> NoReturn:
        profile_file.refuse(self._path, self._scan.offset, problem, FORMAT)

    def result(self) -> tuple[dict[str, Any], list[Table]]:
        """Return the head of the run and its tables."""
        n_functions = 0
        functions: set[int] = set()
        for key in self._scan.dictionary_keys():
            region = self._region(key)
            if region in functions:
                self._fail("a function that came before")
            functions.add(region)
            n_functions += 1
            self._add_function(region)
        if not self._scan.is_end():
            self._fail("more than a profile")
        if not n_functions:
            self._fail("it has no functions")
        warnings = ["times below 0 are taken as 0"] if self._is_below_zero else []
        head = profile_file.head([self._path.name], producer="cProfile", warnings=warnings)
        return head, [*self._stacks.tables(self._path.name), self._arcs]

    def _region(self, key: Value) -> int:
        """Return the number of the region of (file, line, function)."""
        if not isinstance(key, tuple) or len(key) != 3:
            self._fail("no function: a file, a line and a name")
        file, line, name = key
        if not (isinstance(file, str) and isinstance(line, int) and isinstance(name, str)):
            self._fail("no function: a file, a line and a name")
        if not 0 <= line <= profile_file.NUMBER_MOST:
            self._fail(f"no number of a line: {line}")
        is_built_in = file == _BUILT_IN
        if is_built_in:
            return self._stacks.region(Frame(name or "?", PYTHON, "", 0))
        # Methods of several classes have the same name: the line tells them apart.
        is_shared = len(self._lines.get((file, name), ())) > 1
        title = f"{name or '?'}:{line}" if is_shared else name or "?"
        return self._stacks.region(Frame(title, PYTHON, file, line))

    def _add_function(self, region: int) -> None:
        """Read the calls and times of a function, and its callers."""
        if self._scan.size_of_tuple() != 5:
            self._fail("a function without its calls, times and callers")
        self._calls(self._scan.value())
        calls = self._calls(self._scan.value())
        own = self._seconds(self._scan.value())
        self._seconds(self._scan.value())
        self._stacks.add(
            self._place, self._quantity, self._stacks.path(ROOT, region), own, UNKNOWN_SAMPLES
        )
        of_callers = 0
        for caller in self._scan.dictionary_keys():
            of_callers += self._add_caller(self._region(caller), region)
        # From outside of what was profiled.
        if calls > of_callers:
            self._add_arc(-1, region, calls - of_callers, None)

    def _add_caller(self, caller: int, region: int) -> int:
        """Read what calls of a caller came to, and return their number."""
        value = self._scan.value()
        inclusive = None
        # `profile` has only a number. Source: Lib/pstats.py, add_callers.
        if isinstance(value, tuple):
            if len(value) != 4:
                self._fail("calls without their numbers and times")
            inclusive = self._seconds(value[3])
            value = value[0]
        calls = self._calls(value)
        self._add_arc(caller, region, calls, inclusive)
        return calls

    def _add_arc(self, caller: int, callee: int, calls: int, inclusive: float | None) -> None:
        self._arcs.add(
            repetition=0, location=0, caller=caller, callee=callee, metric=-1, calls=calls,
            inclusive=None,
        )  # fmt: skip
        if inclusive is not None:
            self._arcs.add(
                repetition=0, location=0, caller=caller, callee=callee, metric=0, calls=None,
                inclusive=inclusive,
            )  # fmt: skip

    def _calls(self, value: Value) -> int:
        if not isinstance(value, int) or not 0 <= value <= _CALLS_MOST:
            self._fail(f"no number of calls: {value!r}")
        return value

    def _seconds(self, value: Value) -> float:
        if not isinstance(value, int | float) or not isfinite(value):
            self._fail(f"no time: {value!r}")
        self._is_below_zero |= value < 0
        return max(float(value), 0.0)


class _UnreadableError(Exception):
    """What `_lines_of_names` reads is no profile."""


def _lines_of_names(content: bytes) -> dict[tuple[str, str], set[int]]:
    """Return the lines at which functions of each file and name begin.

    What is no profile is for whoever reads it afterwards to refuse.
    """
    lines: dict[tuple[str, str], set[int]] = {}

    def stop(problem: str) -> NoReturn:
        raise _UnreadableError(problem)

    def add(key: Value) -> None:
        match key:
            case (str(file), int(line), str(name)):
                lines.setdefault((file, name), set()).add(line)

    scan = MarshalScan(content, stop)
    with suppress(_UnreadableError):
        for key in scan.dictionary_keys():
            add(key)
            for _ in range(scan.size_of_tuple() - 1):
                scan.value()
            for caller in scan.dictionary_keys():
                add(caller)
                scan.value()
    return lines
