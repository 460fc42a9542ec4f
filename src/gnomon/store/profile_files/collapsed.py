"""Collapsed stacks as a run: one stack a line, frames separated by semicolons, then its weight.

Those of stackcollapse-perf.pl and its kin (annotations `_[k]`, `_[i]`, `_[j]`, `_[w]`, and the
outermost frame COMM-PID/TID of its option --tid), of `py-spy record -f raw` (process and thread as
frames, `function (file:line)`) and of austin (P and T as frames, `file:function:line`, times in
microseconds, what is special about the file in comments).

Source: brendangregg/FlameGraph, stackcollapse-perf.pl and flamegraph.pl; py-spy, src/flamegraph.rs
and src/stack_trace.rs; austin, its manual ("Basic format").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, NoReturn

from gnomon.model.metric import CPU_TIME
from gnomon.model.tables import Table
from gnomon.store.profile_files import profile_file, stack_tables
from gnomon.store.profile_files.stack_tables import ROOT, Frame, Place, Quantity, StackTables
from gnomon.store.run import Run
from gnomon.store.unpacked_run import run_of_tables

FORMAT = "collapsed"
KERNEL = "[kernel]"
_LINE_MOST_BYTES = 16 << 20
_LINE = re.compile(rb"[^\0-\x08\x0b\x0c\x0e-\x1f]*\S[ \t]+[-+]?[0-9]+(?:\.[0-9]+)?[ \t\r]*")
_WEIGHT = re.compile(rb"[0-9]{1,18}(?:\.[0-9]{1,18})?")
_ANNOTATION = re.compile(r"(.*\S)_\[([kijw])\]", re.DOTALL)
_PLACED = re.compile(r"(.*\S) \(([^()]+)\)", re.DOTALL)
_FILE_LINE = re.compile(r"(.+):([0-9]{1,10})", re.DOTALL)
_LIBRARY = re.compile(r"(?:.*/)?([^/]+\.so(?:\.[0-9.]+)?)")
_COMM_TID = re.compile(r"(.+)-([0-9]{1,10}|\?)/([0-9]{1,10})", re.DOTALL)
_SPY_PROCESS = re.compile(r'process ([0-9]{1,10}):"(.*)"', re.DOTALL)
_SPY_THREAD = re.compile(r"thread \((0x[0-9A-Fa-f]{1,16}|[0-9]{1,10})\)(?:: (.*))?", re.DOTALL)
_AUSTIN_PROCESS = re.compile(r"P([0-9]{1,10})")
_AUSTIN_THREAD = re.compile(r"T(?:[0-9]+:)?(0x[0-9A-Fa-f]{1,16}|[0-9A-Fa-f]{1,16})")
_AUSTIN_FRAME = re.compile(r"(.*):([^:]*):([0-9]{1,10})", re.DOTALL)
_HEADER = re.compile(rb"#\s*(austin|mode|memory):\s*(\S+)")
_AUSTIN_TIMES = {b"cpu": CPU_TIME, b"wall": "wall time (sampled)"}
_STACKS_LONG = 8
_MICROSECOND = 1e-6


def is_collapsed(start: bytes) -> bool:
    """Return whether most first lines of a file are stacks, one of which has a caller.

    Lines that are damaged and weights below 0 are for the reader to refuse, which names them.
    """
    *lines, rest = start.split(b"\n")
    if not lines:
        # The first stack is longer than what is looked at.
        return rest.count(b";") >= _STACKS_LONG and not re.search(rb"[\0-\x08{}]", rest)
    kept = [line for line in lines if line.strip() and not line.startswith(b"#")]
    n_stacks = sum(_LINE.fullmatch(line) is not None for line in kept)
    return n_stacks * 2 > len(kept) and any(b";" in line for line in (*kept, rest))


def open_collapsed(path: Path) -> Run:
    """Return a file of collapsed stacks as a run.

    Raises:
        RunDirectoryError: it cannot be read, or is damaged; names the byte and the line.
    """
    return run_of_tables(path, partial(read_collapsed, path))


def read_collapsed(path: Path, file: IO[bytes]) -> tuple[dict[str, Any], list[Table]]:
    """Return the head of the run that collapsed stacks stand for, and its tables.

    Args:
        path: to be named in errors.
        file: the content.

    Raises:
        RunDirectoryError: it cannot be read, or is damaged; names the byte and the line.
    """
    return _Reader(path).result(file)


class _Reader:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._line = 0
        self._tables = StackTables(self._fail)
        # What is below a path by the text of a frame; places are told before the first frame.
        self._regions: dict[bytes, int] = {}
        self._below: dict[tuple[int, bytes], int] = {}
        self._places: dict[tuple[bytes, ...], tuple[int, int]] = {}
        self._headers: dict[bytes, bytes] = {}
        self._is_austin = False
        self._comms: set[str] = set()

    def _fail(self, problem: str) -> NoReturn:
        profile_file.refuse(self._path, self._offset, problem, FORMAT, line=self._line)

    def result(self, file: IO[bytes]) -> tuple[dict[str, Any], list[Table]]:
        """Return the head of the run and its tables."""
        quantity, factor = -1, 1.0
        size = 0
        while line := file.readline(_LINE_MOST_BYTES):
            self._offset += size
            size = len(line)
            self._line += 1
            if size == _LINE_MOST_BYTES:
                self._fail(f"a line of more than {_LINE_MOST_BYTES >> 20} MiB")
            text = line.strip()
            if not text or text.startswith(b"#"):
                if header := _HEADER.match(text):
                    self._headers[header[1]] = header[2]
                    self._is_austin |= header[1] == b"austin"
                continue
            if quantity < 0:
                own, factor = self._quantity()
                quantity = self._tables.quantity(own)
            stack, weight = self._split(text)
            place, path = self._path_of(stack)
            # Of perf's events weights are periods, and Gnomon's are microseconds: how many samples
            # they are nobody says.
            self._tables.add(place, quantity, path, float(weight) * factor)
        program = self._comms.pop() if len(self._comms) == 1 else ""
        program = program or self._path.name
        head = profile_file.head([program])
        return head, self._tables.tables(program)

    def _quantity(self) -> tuple[Quantity, float]:
        """Return what weights are of, and by what they are multiplied."""
        if not self._is_austin:
            return Quantity(stack_tables.SAMPLES, description="weights of collapsed stacks"), 1.0
        mode = self._headers.get(b"mode", b"wall")
        if b"memory" in self._headers or mode == b"memory":
            return Quantity("memory", "bytes", description="weights of austin's stacks"), 1.0
        name = _AUSTIN_TIMES.get(mode, mode.decode(errors="backslashreplace"))
        return Quantity(name, "s", description="weights of austin's stacks"), _MICROSECOND

    def _split(self, text: bytes) -> tuple[list[bytes], bytes]:
        """Return the frames of a line, and its weight."""
        # A line without a frame has the weight of the program itself.
        *stack, weight = text.rsplit(None, 1)
        if not _WEIGHT.fullmatch(weight):
            shown = weight[:40].decode(errors="backslashreplace")
            if _WEIGHT.fullmatch(weight.removeprefix(b"-")):
                self._fail(
                    f"{shown!a} is a weight below 0, as in a difference of two profiles (compare "
                    "the two themselves: gnomon compare)"
                )
            self._fail(f"{shown!a} is no weight of a stack; a line ends in a number from 0 on")
        return [frame for text in stack for frame in text.split(b";") if frame], weight

    def _path_of(self, frames: Sequence[bytes]) -> tuple[int, int]:
        """Return the place and path of a stack."""
        place, first = self._place_of(frames)
        path, below = ROOT, self._below
        for at in range(first, len(frames)):
            frame = frames[at]
            number = below.get((path, frame))
            if number is None:
                own = self._regions.get(frame, -1)
                if own < 0:
                    text = frame.decode(errors="backslashreplace")
                    own = self._regions[frame] = self._tables.region(self._frame(text))
                number = below[path, frame] = self._tables.path(path, own)
            path = number
        return place, path

    def _place_of(self, frames: Sequence[bytes]) -> tuple[int, int]:
        """Return the place of a stack, and how many frames tell it."""
        key = tuple(frames[:2])
        told = self._places.get(key)
        if told is None:
            texts = [frame.decode(errors="backslashreplace") for frame in key]
            place, first = _place(texts)
            if place.process:
                self._comms.add(place.process.split(" ")[0].rpartition("/")[2])
            told = self._places[key] = (self._tables.place(place), first)
        return told

    def _frame(self, text: str) -> Frame:
        is_inlined: bool | None = None
        module = ""
        if annotation := _ANNOTATION.fullmatch(text):
            text = annotation[1]
            is_inlined = True if annotation[2] == "i" else None
            module = KERNEL if annotation[2] == "k" else ""
        if self._is_austin and (of_austin := _AUSTIN_FRAME.fullmatch(text)):
            file, name, line = of_austin.groups()
            return self._checked(Frame(name, stack_tables.module_of(file), file, int(line)))
        if placed := _PLACED.fullmatch(text):
            name, where = placed.groups()
            if library := _LIBRARY.fullmatch(where):
                return Frame(name, library[1], "", 0, is_inlined)
            if of_line := _FILE_LINE.fullmatch(where):
                file, line = of_line.groups()
                own = module or stack_tables.module_of(file)
                return self._checked(Frame(name, own, file, int(line), is_inlined))
            if stack_tables.module_of(where):
                return Frame(name, stack_tables.module_of(where), where, 0, is_inlined)
        return Frame(text, module, "", 0, is_inlined)

    def _checked(self, frame: Frame) -> Frame:
        if frame.line > profile_file.NUMBER_MOST:
            self._fail(f"a line {frame.line} of a source file")
        return frame


def _place(texts: Sequence[str]) -> tuple[Place, int]:
    """Return the place that the first frames of a stack tell, and how many these are."""
    first = texts[0] if texts else ""
    second = texts[1] if len(texts) > 1 else ""
    if told := _COMM_TID.fullmatch(first):
        pid = _number(told[2]) if told[2] != "?" else -1
        return Place(_number(told[3]), told[1], pid, told[1]), 1
    if told := _AUSTIN_PROCESS.fullmatch(first):
        of_thread = _AUSTIN_THREAD.fullmatch(second)
        if of_thread is None:
            return Place(pid=_number(told[1])), 1
        return Place(-1, f"T{of_thread[1]}", _number(told[1])), 2
    place, n = Place(), 0
    if told := _SPY_PROCESS.fullmatch(first):
        place, n = Place(pid=_number(told[1]), process=told[2]), 1
        first = second
    if told := _SPY_THREAD.fullmatch(first):
        name = told[2] or ""
        tid = -1 if told[1].startswith("0x") else _number(told[1])
        return place._replace(tid=tid, thread=name if tid >= 0 else name or told[1]), n + 1
    return place, n


def _number(text: str) -> int:
    """Return the number of a process or thread, -1 for one that none has."""
    number = int(text)
    return number if number <= profile_file.NUMBER_MOST else -1
