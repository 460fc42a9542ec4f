"""A file of speedscope as a run: profiles of samples and of events, of threads and of units.

Profiles of one unit are the threads of one metric. What has no frame is idle, and left out. A file
that Gnomon has written says in the names of its profiles which metric and thread each is of
(`profile_name`), and has the program as the outermost frame.

Source: the format as src/lib/file-format-spec.ts of jlfwong/speedscope has it; py-spy,
src/speedscope.rs, for the names of its profiles.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from math import isfinite
from pathlib import Path
from typing import IO, Any, NoReturn

from gnomon.errors import RunDirectoryError
from gnomon.model.tables import Table
from gnomon.model.value import How
from gnomon.store.profile_files import profile_file, stack_tables
from gnomon.store.profile_files.stack_tables import ROOT, Frame, Place, Quantity, StackTables
from gnomon.store.run import Run
from gnomon.store.unpacked_run import run_of_tables

FORMAT = "speedscope"
SCHEMA = "https://www.speedscope.app/file-format-schema.json"
EXPORTER = "gnomon "
"""How the `exporter` of a file begins that Gnomon has written."""
_LARGEST_BYTES = 512 << 20
_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\s*\"")
_UNITS = ("none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes")
_NAMES = {"s": "time", "bytes": "bytes", "": "weight"}
_OWN = re.compile(
    r"(?P<metric>.+) \((?P<how>[a-z]+)(?:, [^()]*)?\)"
    r"(?: of (?:rank (?P<rank>[0-9]{1,9}), )?(?P<process>.*) (?P<pid>-1|[0-9]{1,9}), "
    r"(?P<thread>.*) (?P<tid>-1|[0-9]{1,9}))?",
    re.DOTALL,
)
_SPY = re.compile(
    r"(?:Process (?P<pid>[0-9]{1,9}) )?Thread (?P<tid>[0-9]{1,9}|0x[0-9A-Fa-f]{1,16}) "
    r'"(?P<thread>.*)"',
    re.DOTALL,
)


def is_speedscope(start: bytes) -> bool:
    """Return whether a file begins as one of speedscope does."""
    if not _START.match(start):
        return False
    return SCHEMA.encode() in start or (b'"exporter"' in start and b'"shared"' in start)


def profile_name(metric: str, how: str, told: str, place: Place | None) -> str:
    """Return the name of a profile that Gnomon writes.

    Args:
        metric: its name.
        how: how it was measured.
        told: which of several values is shown; "" if there is but one.
        place: the thread; None for the whole run.
    """
    name = f"{metric} ({', '.join(filter(None, [how, told]))})"
    if place is None:
        return name
    rank = f"rank {place.rank}, " if place.rank >= 0 else ""
    return f"{name} of {rank}{place.process} {place.pid}, {place.thread} {place.tid}"


def line_frame(function: Frame, line: int) -> Frame:
    """Return the frame below a function that Gnomon writes for a line of it."""
    file = function.file.rpartition("/")[2] or function.name
    return function._replace(name=f"{file}:{line}", line=line)


def open_speedscope(path: Path) -> Run:
    """Return a file of speedscope as a run.

    Raises:
        RunDirectoryError: it cannot be read, or is damaged; names the place in it.
    """
    return run_of_tables(path, partial(read_speedscope, path))


def read_speedscope(path: Path, file: IO[bytes]) -> tuple[dict[str, Any], list[Table]]:
    """Return the head of the run that a file of speedscope stands for, and its tables.

    Args:
        path: to be named in errors.
        file: the content.

    Raises:
        RunDirectoryError: it cannot be read, or is damaged; names the place in it.
    """
    content = profile_file.whole_content(path, file, FORMAT, _LARGEST_BYTES)
    return _Reader(path).result(content)


class _Reader:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._where = ""
        self._tables = StackTables(self._fail)
        self._frames: list[Frame] = []
        self._regions: dict[int, int] = {}
        self._lines: dict[tuple[int, int], int] = {}
        self._stacks: dict[tuple[int, ...], int] = {}
        self._program = -1
        self._has_program = False
        self._idle: dict[str, float] = {}

    def _fail(self, problem: str) -> NoReturn:
        where = f"{self._where}: " if self._where else ""
        raise RunDirectoryError(
            f"{self._path}: {where}{problem}; no {FORMAT} file, or damaged: write it again"
        )

    def result(self, content: bytes) -> tuple[dict[str, Any], list[Table]]:
        """Return the head of the run and its tables."""
        document = self._document(content)
        del content
        exporter = document.get("exporter")
        exporter = exporter if isinstance(exporter, str) else ""
        self._has_program = exporter.startswith(EXPORTER)
        frames = self._list(self._object(document.get("shared"), "shared"), "frames")
        for at, frame in enumerate(frames):
            self._where = f"shared.frames[{at}]"
            self._frames.append(self._frame(frame))
        profiles = self._list(document, "profiles")
        wanted = self._wanted(profiles)
        for number, profile in enumerate(profiles):
            self._where = f"profiles[{number}]"
            # What is not taken may be damaged, too: it is read into tables of its own.
            reader = self if number in wanted else self._like()
            reader._add(profile, is_alone=len(profiles) == 1)
        self._where = ""
        title = document.get("name")
        title = title if isinstance(title, str) and title else self._path.name
        program = self._frames[self._program].name if self._program >= 0 else title
        warnings = [
            f"speedscope: {idle:g} {unit} in {name} have no frame (idle), and are left out"
            for (name, unit), idle in ((key.split("\0"), idle) for key, idle in self._idle.items())
        ]
        command = profile_file.words(title) if self._has_program else [title]
        head = profile_file.head(command, producer=exporter, warnings=warnings)
        return head, self._tables.tables(program)

    def _document(self, content: bytes) -> dict[str, Any]:
        def refuse_constant(text: str) -> NoReturn:
            self._fail(f"{text}, which is no number")

        try:
            document = json.loads(content, parse_constant=refuse_constant)
        except json.JSONDecodeError as error:
            offset = len(error.doc[: error.pos].encode(errors="surrogatepass"))
            profile_file.refuse(self._path, offset, f"not JSON: {error.msg}", FORMAT)
        except UnicodeDecodeError as error:
            profile_file.refuse(self._path, error.start, "not UTF-8 text", FORMAT)
        except (ValueError, RecursionError):
            self._fail("its JSON has numbers too long, or is nested too deep")
        document = self._object(document, "the file")
        if document.get("$schema") != SCHEMA and "shared" not in document:
            self._fail("it has no $schema and no shared frames; write it with a newer tool")
        return document

    def _object(self, value: object, what: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._fail(f"{what} is no object of JSON")
        return value

    def _list(self, of: dict[str, Any], name: str) -> list[Any]:
        value = of.get(name)
        if not isinstance(value, list):
            self._fail(f"'{name}' is missing, or no list")
        return value

    def _text(self, of: dict[str, Any], name: str) -> str:
        value = of.get(name)
        if value is not None and not isinstance(value, str):
            self._fail(f"'{name}' is no text")
        # What is no Unicode is shown as escapes.
        return (value or "").encode(errors="backslashreplace").decode()

    def _frame(self, value: object) -> Frame:
        frame = self._object(value, "it")
        line = frame.get("line")
        if line is None:
            line = 0
        if not isinstance(line, int) or not 0 <= line <= profile_file.NUMBER_MOST:
            self._fail("its line is no number of a line")
        file = self._text(frame, "file")
        name = self._text(frame, "name")
        return Frame(name or "(unknown)", stack_tables.module_of(file), file, int(line))

    # --- profiles ---------------------------------------------------------------------------------

    def _wanted(self, profiles: list[Any]) -> set[int]:
        """Return which profiles are read: where there are threads, the whole run is their sum."""
        told = [
            _OWN.fullmatch(str(one.get("name"))) if self._has_program and isinstance(one, dict)
            else None
            for one in profiles
        ]  # fmt: skip
        of_threads = {one["metric"] for one in told if one and one["tid"]}
        return {
            at for at, one in enumerate(told)
            if not (one and not one["tid"] and one["metric"] in of_threads)
        }  # fmt: skip

    def _like(self) -> _Reader:
        """Return a reader of the same frames, with tables of its own."""
        reader = _Reader(self._path)
        reader._where = self._where
        reader._frames = self._frames
        reader._has_program = self._has_program
        return reader

    def _add(self, value: object, *, is_alone: bool) -> None:
        profile = self._object(value, "it")
        unit_name = self._text(profile, "unit")
        if unit_name not in _UNITS:
            self._fail(f"the unit {unit_name[:40]!a}, which speedscope does not have")
        unit, factor = stack_tables.unit_of(unit_name)
        name = self._text(profile, "name")
        quantity, place = self._told(name, unit, is_alone=is_alone)
        kind = profile.get("type")
        if kind not in ("sampled", "evented"):
            self._fail("its type is neither sampled nor evented")
        numbers = self._tables.place(place), self._tables.quantity(quantity)
        add = self._add_events if kind == "evented" else self._add_samples
        idle = add(profile, numbers, factor)
        if idle:
            self._idle[f"{name}\0{unit}"] = idle * factor

    def _told(self, name: str, unit: str, *, is_alone: bool) -> tuple[Quantity, Place]:
        """Return what a profile is of."""
        if self._has_program and (own := _OWN.fullmatch(name)):
            how = own["how"] if own["how"] in set(How) else How.SAMPLED.value
            quantity = Quantity(own["metric"], unit, how)
            if not own["tid"]:
                return quantity, Place()
            return quantity, Place(
                int(own["tid"]), own["thread"], int(own["pid"]), own["process"],
                int(own["rank"] or -1),
            )  # fmt: skip
        quantity = Quantity(_NAMES[unit], unit)
        if spy := _SPY.fullmatch(name):
            pid = int(spy["pid"] or -1)
            if spy["tid"].startswith("0x"):
                return quantity, Place(-1, spy["thread"] or spy["tid"], pid)
            return quantity, Place(int(spy["tid"]), spy["thread"], pid)
        return quantity, Place() if is_alone else Place(thread=name)

    def _number(self, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._fail("a weight or time that is no number")
        try:
            number = float(value)
        except OverflowError:
            self._fail("a weight or time that is too large")
        if not isfinite(number):
            self._fail("a weight or time that is not finite")
        return number

    def _index(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            self._fail("a frame that is no number")
        if not 0 <= value < len(self._frames):
            self._fail(f"frame {value} of {len(self._frames)}")
        return value

    def _path_of(self, stack: tuple[int, ...]) -> int:
        path = self._stacks.get(stack)
        if path is None:
            for frame in stack:
                self._index(frame)
            if self._has_program and self._program < 0:
                self._program = stack[0]
            own = self._regions_below(stack) if self._has_program else map(self._region, stack)
            path = self._stacks[stack] = self._tables.stack(own)
        return path

    def _region(self, frame: int) -> int:
        region = self._regions.get(frame)
        if region is None:
            region = self._regions[frame] = self._tables.region(self._frames[frame])
        return region

    def _regions_below(self, stack: Sequence[int]) -> list[int]:
        """Return the regions below the program: a line that Gnomon wrote is one of its function."""
        regions: list[int] = []
        position = 1
        while position < len(stack):
            pair = (stack[position], stack[position + 1] if position + 1 < len(stack) else -1)
            region = self._lines.get(pair)
            if region is None:
                region = self._lines[pair] = self._region_of_line(*pair)
            regions.append(self._region(pair[0]) if region < 0 else region)
            position += 1 if region < 0 else 2
        return regions

    def _region_of_line(self, function: int, below: int) -> int:
        """Return the region of a function's line, -1 if the frame below it is none."""
        if below < 0:
            return -1
        frame, line = self._frames[function], self._frames[below].line
        if frame.line or not line or self._frames[below] != line_frame(frame, line):
            return -1
        return self._tables.region(frame._replace(line=line))

    def _add_samples(
        self, profile: dict[str, Any], numbers: tuple[int, int], factor: float
    ) -> float:
        """Take the stacks of a profile, and return the weight of those without a frame."""
        samples, weights = self._list(profile, "samples"), self._list(profile, "weights")
        if len(samples) != len(weights):
            self._fail(f"{len(samples)} samples and {len(weights)} weights")
        idle = 0.0
        profile_at = self._where
        for at, (sample, weight) in enumerate(zip(samples, weights, strict=True)):
            self._where = f"{profile_at}.samples[{at}]"
            number = self._number(weight)
            if not isinstance(sample, list):
                self._fail("a stack that is no list")
            if not sample:
                idle += number
                continue
            stack = tuple(sample)
            if any(isinstance(frame, list | dict) for frame in stack):
                self._fail("a frame that is no number")
            path = self._path_of(stack)
            if number:
                self._tables.add(*numbers, path, number * factor)
        return idle

    def _add_events(
        self, profile: dict[str, Any], numbers: tuple[int, int], factor: float
    ) -> float:
        """Take the calls and returns of a profile, and return the time without a frame."""
        events = self._list(profile, "events")
        open_frames: list[int] = []
        paths = [ROOT]
        since = None
        idle = 0.0
        profile_at = self._where
        for at, event in enumerate(events):
            self._where = f"{profile_at}.events[{at}]"
            if not isinstance(event, dict) or event.get("type") not in ("O", "C"):
                self._fail("an event that neither opens nor closes a frame")
            moment, frame = self._number(event.get("at")), self._index(event.get("frame"))
            passed = 0.0 if since is None else moment - since
            since = moment
            if passed < 0:
                self._fail(f"at {moment:g}, which is before the event above it")
            if not open_frames:
                idle += passed
            elif passed:
                self._tables.add(*numbers, paths[-1], passed * factor)
            if event["type"] == "O":
                open_frames.append(frame)
                if self._has_program and len(open_frames) == 1:
                    self._program = frame if self._program < 0 else self._program
                    paths.append(ROOT)
                else:
                    paths.append(self._tables.path(paths[-1], self._region(frame)))
            elif not open_frames or open_frames.pop() != frame:
                self._fail(f"frame {frame} is closed, and not the one that was opened last")
            else:
                paths.pop()
        if open_frames:
            self._fail(f"{len(open_frames)} frames are still open at the end")
        return idle
