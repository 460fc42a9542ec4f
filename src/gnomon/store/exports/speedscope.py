"""A run as a file for speedscope, the viewer of flame graphs.

A profile for each metric that can be added up: the stacks of the run's paths, weighted with what
each path has by itself, of one execution, over all locations; times of several ranks or threads
are those that the view shows, for they are of the same moments. A line of a function is a frame
below the function's. Where the run has samples, each thread has a profile of its own, in the order
of time: what it did between its samples is without a frame.

Source: the format as src/lib/file-format-spec.ts of jlfwong/speedscope has it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from math import fsum
from operator import attrgetter
from typing import Any

from gnomon import __version__
from gnomon.store.exports.stacks import (
    FRAMES_MOST,
    TIME_SECONDS,
    CodeRegion,
    RunStacks,
    Sample,
    Thread,
    begin_ns,
    first_ns,
    too_many_frames,
)
from gnomon.store.profile_files.speedscope import EXPORTER, SCHEMA, line_frame, profile_name
from gnomon.store.profile_files.stack_tables import Frame, Place
from gnomon.store.run import Run

# unit: speedscope's, and what makes it
_UNITS = {
    "ns": ("nanoseconds", 1),
    "s": ("seconds", 1),
    "bytes": ("bytes", 1),
    "KiB": ("bytes", 1024),
    "MiB": ("bytes", 1 << 20),
}
_NS_DIGITS = 9


def speedscope(run: Run) -> Iterator[str]:
    """Yield a run as a speedscope file.

    Raises:
        RunDirectoryError: a table cannot be read, or nothing in the run can be added up.
    """
    export = _Export(run)
    yield json.dumps(export.head())[:-1] + ', "profiles": ['
    separator = "\n"
    for profile in export.profiles():
        yield separator + json.dumps(profile)
        separator = ",\n"
    if separator == "\n":
        raise export.stacks.nothing()
    yield "\n]}\n"


class _Export:
    def __init__(self, run: Run) -> None:
        self.stacks = RunStacks(run)
        # Frames are numbered as they come.
        self._frames: dict[Frame, int] = {}
        self._of_region: dict[int, tuple[int, ...]] = {}
        for path in self.stacks.paths.values():
            if path.region not in self._of_region:
                own = _frames(self.stacks.regions[path.region])
                self._of_region[path.region] = tuple(
                    self._frames.setdefault(frame, len(self._frames)) for frame in own
                )
        self._n_frames = 0
        self._known: dict[int, list[int]] = {}

    def head(self) -> dict[str, Any]:
        return {
            "$schema": SCHEMA,
            "exporter": f"{EXPORTER}{__version__}",
            "name": self.stacks.name,
            "activeProfileIndex": 0,
            "shared": {"frames": [_as_json(frame) for frame in self._frames]},
        }

    def profiles(self) -> Iterator[dict[str, Any]]:
        """Yield the profile of each metric, and behind it those of its threads."""
        for metric in self.stacks.metrics():
            profile = self._of_run(metric)
            if profile is not None:
                yield profile
                yield from self._of_threads(metric)

    def _of_run(self, metric: Mapping[str, Any]) -> dict[str, Any] | None:
        unit, factor = _UNITS.get(str(metric["unit"]), ("none", 1))
        samples, weights = [], []
        values, told = self.stacks.of_run(metric)
        for path, value in values:
            stack = self._stack(path)
            if stack:
                samples.append(stack)
                weights.append(_number(value * factor))
        if not samples:
            return None
        name = profile_name(str(metric["name"]), str(metric["how"]), told, None)
        return _profile(name, unit, samples, weights)

    def _of_threads(self, metric: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the profile of each thread that was sampled, in the order of time."""
        samples = list(self.stacks.timeline(metric))
        # In the order of time a stack comes again and again: what would be too large is left out.
        lengths = {path: len(self._stack(path, is_counted=False)) for path in
                   {sample.path for sample in samples}}  # fmt: skip
        if sum(lengths[sample.path] for sample in samples) > FRAMES_MOST - self._n_frames:
            return
        first = first_ns(samples, metric)
        threads = self.stacks.threads()
        for location, of_thread in groupby(samples, attrgetter("location")):
            if location in threads:
                yield self._of_thread(metric, threads[location], of_thread, first)

    def _of_thread(
        self, metric: Mapping[str, Any], thread: Thread, samples: Iterator[Sample], first: int
    ) -> dict[str, Any]:
        unit, factor = _UNITS.get(str(metric["unit"]), ("none", 1))
        seconds_each = TIME_SECONDS.get(str(metric["unit"]))
        stacks: list[list[int]] = []
        weights: list[float] = []
        last = -1
        end_ns = first
        for sample in samples:
            if seconds_each is not None:
                begin, length_ns = (
                    begin_ns(sample, metric),
                    round(sample.weight * seconds_each * 1e9),
                )
                # Where less than a sample is missing, another one need not be.
                if begin - end_ns > length_ns:
                    stacks.append([])
                    weights.append((begin - end_ns) * 1e-9 / seconds_each * factor)
                    last = -1
                    end_ns = begin
                end_ns += length_ns
            weight = sample.weight * factor
            if sample.path == last:
                weights[-1] += weight
                continue
            stacks.append(self._stack(sample.path))
            weights.append(weight)
            last = sample.path
        place = Place(thread.tid, thread.name, thread.pid, thread.process, thread.rank, thread.host)
        name = profile_name(str(metric["name"]), str(metric["how"]), "", place)
        return _profile(name, unit, stacks, [_number(round(one, _NS_DIGITS)) for one in weights])

    def _stack(self, path: int, *, is_counted: bool = True) -> list[int]:
        """Return the frames from the root to a path.

        Raises:
            RunDirectoryError: all stacks come to too many.
        """
        stack = self._known.get(path)
        if stack is None:
            stack = self._known[path] = [
                frame for region in self.stacks.stack(path) for frame in self._of_region[region]
            ]
        if is_counted:
            self._n_frames += len(stack)
            if self._n_frames > FRAMES_MOST:
                raise too_many_frames(self.stacks.run)
        return stack


def _frames(region: CodeRegion) -> list[Frame]:
    if not region.is_code:
        return [Frame(region.name, file=region.file, line=region.line)]
    function = Frame(region.name, file=region.file)
    return [function, line_frame(function, region.line)] if region.line else [function]


def _profile(
    name: str, unit: str, samples: list[list[int]], weights: list[int | float]
) -> dict[str, Any]:
    return {
        "type": "sampled",
        "name": name,
        "unit": unit,
        "startValue": 0,
        "endValue": _number(fsum(weights)),
        "samples": samples,
        "weights": weights,
    }


def _number(value: float) -> int | float:
    return int(value) if float(value).is_integer() else value


def _as_json(frame: Frame) -> dict[str, str | int]:
    document: dict[str, str | int] = {"name": frame.name}
    if frame.file:
        document["file"] = frame.file
    if frame.line:
        document["line"] = frame.line
    return document
