"""A run as a file for speedscope, the viewer of flame graphs.

A profile for each metric that can be added up: the stacks of the run's paths, weighted with what
each path has by itself, of one execution, over all locations; times of several ranks or threads
are those that the view shows, for they are of the same moments. A line of a function is a frame
below the function's.

Source: the format as src/lib/file-format-spec.ts of jlfwong/speedscope has it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from math import fsum, isfinite
from typing import Any

from gnomon import __version__
from gnomon.errors import RunDirectoryError
from gnomon.model.metric import Aggregation
from gnomon.model.tables import METRICS
from gnomon.model.value import How
from gnomon.named_tuple import NamedTuple
from gnomon.store import moments, profile_query, table_limits
from gnomon.store.run import Run

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
# unit: speedscope's, and what makes it
_UNITS = {
    "ns": ("nanoseconds", 1),
    "s": ("seconds", 1),
    "bytes": ("bytes", 1),
    "KiB": ("bytes", 1024),
    "MiB": ("bytes", 1 << 20),
}
# Each stack is written whole: those of deep trees are more than a viewer, or a memory, can hold.
_FRAMES_MOST = 10_000_000

_PATHS = """
SELECT t.path, t.parent, r.kind, r.name, r.module, r.file, r.line
FROM paths t JOIN regions r USING (region) ORDER BY t.path
"""


class _Frame(NamedTuple):
    name: str
    file: str
    line: int


class _Path(NamedTuple):
    parent: int
    frames: tuple[int, ...]


def speedscope(run: Run) -> Iterator[str]:
    """Yield a run as a speedscope file.

    Raises:
        RunDirectoryError: a table cannot be read, or nothing in the run can be added up.
    """
    frames: dict[_Frame, int] = {}
    paths = _paths(run, frames)
    name = shlex.join(run.head["command"]) or run.path.name
    head = {
        "$schema": _SCHEMA,
        "exporter": f"gnomon {__version__}",
        "name": name,
        "activeProfileIndex": 0,
        "shared": {"frames": [_as_json(frame) for frame in frames]},
    }
    yield json.dumps(head)[:-1] + ', "profiles": ['
    first = True
    # A viewer shows the first one.
    for metric in sorted(run.rows(METRICS), key=lambda row: row["how"] != How.SAMPLED):
        if metric["formula"]:
            continue  # a ratio
        profile = _profile(run, metric, paths)
        if profile is not None:
            yield ("\n" if first else ",\n") + json.dumps(profile)
            first = False
    if first:
        raise RunDirectoryError(f"{run.path}: no values for a flame graph")
    yield "\n]}\n"


def _paths(run: Run, frames: dict[_Frame, int]) -> dict[int, _Path]:
    """Return each path's parent and frames; frames are numbered as they come."""
    frames_of = {}
    kinds = run.region_kinds
    for path, parent, kind, name, module, file, line in run.query(_PATHS):
        label = name or file or module or "(unknown)"
        own = [_Frame(label, file, 0 if kinds.of(kind).is_code else max(line, 0))]
        if kinds.of(kind).is_code and line > 0:
            own.append(_Frame(f"{file.rpartition('/')[2] or label}:{line}", file, line))
        numbers = tuple(frames.setdefault(frame, len(frames)) for frame in own)
        frames_of[int(path)] = _Path(int(parent), numbers)
    return frames_of


def _profile(
    run: Run, metric: Mapping[str, Any], paths: Mapping[int, _Path]
) -> dict[str, Any] | None:
    repetitions = max(int(run.head["repetitions"]), 1)
    unit, factor = _UNITS.get(str(metric["unit"]), ("none", 1))
    samples, weights = [], []
    frames = 0
    analysis = profile_query.Profile("path", int(metric["metric"]))
    found = profile_query.run(analysis, profile_query.parts(run))
    sums, told = moments.told_of(run, analysis.finest(found), "path")
    most = _widths_left(run, metric, paths)
    for row_sum in sums:
        stack = _stack(row_sum.key[3], paths)
        value = row_sum.total / repetitions if row_sum.together is None else row_sum.together
        value = min(value, most.get(row_sum.key[3], value))
        if stack and isfinite(value) and value > 0:
            frames += len(stack)
            if frames > _FRAMES_MOST:
                raise RunDirectoryError(
                    f"{run.path}: its stacks come to more than {_FRAMES_MOST} frames, too many for "
                    "a flame graph; see gnomon view, or gnomon export --to csv"
                )
            samples.append(stack)
            weights.append(_number(value * factor))
    if not samples:
        return None
    return {
        "type": "sampled",
        "name": f"{metric['name']} ({', '.join(filter(None, [str(metric['how']), told]))})",
        "unit": unit,
        "startValue": 0,
        "endValue": _number(fsum(weights)),
        "samples": samples,
        "weights": weights,
    }


def _widths_left(
    run: Run, metric: Mapping[str, Any], paths: Mapping[int, _Path]
) -> dict[int, float]:
    """Return the part of each path's time that no child covers, as a flame graph draws it.

    Of several threads each path has the longest one's time, which need not be the same thread's: of
    its own time a path has no more than that, or the graph would be wider than the run. Nothing
    follows where paths below are at the same time, nor of the program, which has what is in none.
    """
    if metric["aggregation"] != Aggregation.ELAPSED:
        return {}
    values = moments.of_run(run, int(metric["metric"])).values
    left = {path: value.inclusive for path, value in values.items() if path in paths}
    for path, value in values.items():
        above = paths[path].parent if path in paths else -1
        if above in left:
            left[above] -= value.inclusive
    return {at: value for at, value in left.items() if value >= 0 and paths[at].parent != -1}


def _stack(path: int, paths: Mapping[int, _Path]) -> list[int]:
    """Return the frames from the root to a path; [] if its parents lead nowhere."""
    stack: list[tuple[int, ...]] = []
    while path != -1:
        node = paths.get(path)
        if node is None or len(stack) > table_limits.DEPTH_MOST:
            return []
        stack.append(node.frames)
        path = node.parent
    return [frame for frames in reversed(stack) for frame in frames]


def _number(value: float) -> int | float:
    return int(value) if value.is_integer() else value


def _as_json(frame: _Frame) -> dict[str, str | int]:
    document: dict[str, str | int] = {"name": frame.name}
    if frame.file:
        document["file"] = frame.file
    if frame.line:
        document["line"] = frame.line
    return document
