"""A run as a file for the Firefox Profiler (profiler.firefox.com).

A track for each thread. Where the run has samples these are at their times, of the first
execution; CPU time and time of waiting are one track, and other metrics have one each beside it.
Values without samples, as those of a run that was imported, stand one behind the other: their order
is that of the call paths, and no time.

Source: firefox-devtools/profiler, src/types/profile.ts and docs-developer/CHANGELOG-formats.md, as
of version 60 of the processed profile format; later ones upgrade it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any

from gnomon import __version__
from gnomon.model import forest
from gnomon.model.inlining import PYTHON
from gnomon.model.region_kinds import WAIT
from gnomon.model.tables import MODULES
from gnomon.model.value import How
from gnomon.named_tuple import NamedTuple
from gnomon.store import table_limits
from gnomon.store.exports.stacks import (
    NO_PARENT,
    SIZE_BYTES,
    TIME_SECONDS,
    CodeRegion,
    RunStacks,
    Sample,
    Thread,
    begin_ns,
    first_ns,
)
from gnomon.store.profile_files.collapsed import KERNEL
from gnomon.store.run import Run

VERSION = 60
"""Of the processed profile format."""
_GECKO_VERSION = 30
# Source: profile.ts, CategoryColor. The first grey one is that of stacks which have no other.
_CATEGORIES = (
    ("Other", "grey"), ("Native", "yellow"), ("Python", "blue"), ("Kernel", "orange"),
    ("Waiting", "transparent"), ("Sections", "green"),
)  # fmt: skip
_OTHER, _NATIVE, _PYTHON, _KERNEL, _WAITING, _SECTIONS = range(len(_CATEGORIES))
_LIBRARY = 1
_INTERVAL_MS = 1.0
_DIGITS = 6
_NOTHING: dict[str, Any] = {
    "data": [], "name": [], "startTime": [], "endTime": [], "phase": [], "category": [],
    "length": 0,
}  # fmt: skip


class _Weight(NamedTuple):
    """A row of a thread's samples: when (ms), the stack, its weight, and CPU time since (ns)."""

    time: float
    stack: int | None
    weight: float
    cpu_ns: int


def firefox(run: Run) -> Iterator[str]:
    """Yield a run as a profile of the Firefox Profiler.

    Raises:
        RunDirectoryError: a table cannot be read, or nothing in the run can be added up.
    """
    export = _Export(run)
    threads = export.threads()
    first = next(threads, None)
    if first is None:
        raise export.stacks.nothing()
    yield json.dumps(export.head())[:-1] + ', "threads": ['
    yield "\n" + json.dumps(first)
    for thread in threads:
        yield ",\n" + json.dumps(thread)
    yield "\n]}\n"


class _Export:
    def __init__(self, run: Run) -> None:
        self.stacks = RunStacks(run)
        self._run = run
        self._strings: dict[str, int] = {}
        self._libraries: dict[str, int] = {}
        self._sources: dict[str, int] = {}
        self._start_ns = round(float(run.head["started"]) * 1e9)
        self._interval_ms = _INTERVAL_MS
        self._frame_of: dict[int, int] = {}
        self._frames: list[CodeRegion] = []
        self._functions: dict[tuple[str, str, str], int] = {}
        for region in self.stacks.regions.values():
            self._frame_of[region.region] = len(self._frames)
            self._frames.append(region)
            key = (region.name, region.module, region.file)
            self._functions.setdefault(key, len(self._functions))
            if region.module:
                self._libraries.setdefault(region.module, len(self._libraries))
            if region.file:
                self._sources.setdefault(region.file, len(self._sources))
        self._stack_of, self._stack_table = self._make_stacks()

    def _make_stacks(self) -> tuple[dict[int, int], dict[str, Any]]:
        """Return the number of each path's stack, and the table: callers come before callees."""
        import numpy as np

        paths = list(self.stacks.paths)
        position = {path: at for at, path in enumerate(paths)} | {NO_PARENT: -1}
        parents = [self.stacks.paths[path].parent for path in paths]
        # Whose caller is missing has itself for one: in no level, as what goes in circles.
        above = [position.get(parent, at) for at, parent in enumerate(parents)]
        levels = forest.levels(np.array(above, np.int32), table_limits.DEPTH_MOST)
        in_order = [at for level in levels for at in level.tolist()]
        number = {at: stack for stack, at in enumerate(in_order)}
        table = {
            "frame": [self._frame_of[self.stacks.paths[paths[at]].region] for at in in_order],
            "prefix": [number[above[at]] if above[at] >= 0 else None for at in in_order],
            "length": len(in_order),
        }
        return {paths[at]: stack for at, stack in number.items()}, table

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))

    # --- threads ----------------------------------------------------------------------------------

    def threads(self) -> Iterator[dict[str, Any]]:
        """Yield the threads: those that were sampled at their times, then values without."""
        metrics = self.stacks.metrics_of_calls()
        timelines = {int(one["metric"]): list(self.stacks.timeline(one)) for one in metrics}
        is_sampled = [one for one in metrics if timelines[int(one["metric"])]]
        times = [one for one in is_sampled if one["unit"] in TIME_SECONDS]
        groups = [times] if times else []
        groups += [[one] for one in is_sampled if one not in times]
        every = [first_ns(timelines[int(one["metric"])], one) for one in is_sampled]
        self._start_ns = min([self._start_ns, *every]) if self._start_ns else min(every, default=0)
        self._set_interval(times, timelines)
        threads = self.stacks.threads()
        for order, group in enumerate(groups):
            samples = [
                (sample, one)
                for one in group
                for sample in timelines[int(one["metric"])]
                if sample.location in threads
            ]
            samples.sort(key=lambda pair: threads[pair[0].location].order)
            for location, own in groupby(samples, lambda pair: pair[0].location):
                weights = self._in_time(list(own))
                yield self._thread(threads[location], group[0], weights, is_main=not order)
        for metric in metrics:
            if not timelines[int(metric["metric"])]:
                yield from self._without_times(metric, threads)

    def _set_interval(
        self, times: Sequence[Mapping[str, Any]], timelines: Mapping[int, list[Sample]]
    ) -> None:
        """Take the usual weight of a sample for the interval between two."""
        from statistics import median

        for metric in times:
            if metric["how"] == How.SAMPLED:
                weights = median(one.weight for one in timelines[int(metric["metric"])])
                self._interval_ms = (
                    round(weights * TIME_SECONDS[str(metric["unit"])] * 1e3, _DIGITS)
                    or _INTERVAL_MS
                )
                return

    def _in_time(self, samples: list[tuple[Sample, Mapping[str, Any]]]) -> list[_Weight]:
        """Return the samples of a thread in the order of time, with what is between them."""
        samples.sort(key=lambda pair: pair[0].time_ns)
        weights: list[_Weight] = []
        end_ns = None
        for sample, metric in samples:
            stack = self._stack_of.get(sample.path)
            if stack is None:
                continue
            is_time = metric["unit"] in TIME_SECONDS
            begin = begin_ns(sample, metric) if is_time else sample.time_ns
            # What a sample stands for ends with it; a thread that ran on has none in between.
            if is_time and end_ns is not None and begin - end_ns > self._interval_ms * 2e6:
                weights.append(_Weight(self._ms(end_ns), None, 0.0, 0))
            runs = is_time and metric["how"] == How.SAMPLED
            weight = _weight(sample.weight, metric)
            cpu_ns = round(sample.weight * TIME_SECONDS[str(metric["unit"])] * 1e9) if runs else 0
            weights.append(_Weight(self._ms(sample.time_ns), stack, weight, cpu_ns))
            duration = 0 if runs or not is_time else round(weight * 1e6)
            end_ns = max(end_ns or 0, sample.time_ns + duration)
        if end_ns is not None:
            weights.append(_Weight(self._ms(end_ns), None, 0.0, 0))
        return sorted(weights, key=attrgetter("time"))

    def _without_times(
        self, metric: Mapping[str, Any], threads: Mapping[int, Thread]
    ) -> Iterator[dict[str, Any]]:
        rows: Iterable[tuple[int, int, float]]
        if metric["metric"] in self.stacks.has_threads():
            rows = ((one.location, one.path, one.value) for one in self.stacks.of_threads(metric))
        else:
            rows = ((-1, path, value) for path, value in self.stacks.of_run(metric)[0])
        head = self._run.head
        whole = Thread(-1, -1, "", int(head.get("pid") or -1), self.stacks.program(), -1, "")
        for location, own in groupby(rows, itemgetter(0)):
            weights: list[_Weight] = []
            end = 0.0
            for _, path, value in own:
                stack = self._stack_of.get(path)
                if stack is None:
                    continue
                weight = _weight(value, metric)
                weights.append(_Weight(round(end, _DIGITS), stack, weight, 0))
                end += weight if metric["unit"] in TIME_SECONDS else self._interval_ms
            if weights:
                weights.append(_Weight(round(end, _DIGITS), None, 0.0, 0))
                thread = threads.get(location, whole)
                yield self._thread(thread, metric, weights, is_main=location < 0)

    def _ms(self, time_ns: int) -> float:
        return round((time_ns - self._start_ns) * 1e-6, _DIGITS)

    def _thread(
        self, thread: Thread, metric: Mapping[str, Any], weights: Sequence[_Weight], *,
        is_main: bool,
    ) -> dict[str, Any]:  # fmt: skip
        unit = str(metric["unit"])
        is_time = unit in TIME_SECONDS
        kind = "tracing-ms" if is_time else "bytes" if unit in SIZE_BYTES else "samples"
        name = thread.name or thread.process or "thread"
        if not (is_time and is_main):
            name = f"{name}: {metric['name']}"
        process = thread.process or thread.name
        if thread.rank >= 0:
            process = f"rank {thread.rank}: {process}"
        samples = {
            "stack": [one.stack for one in weights],
            "time": [one.time for one in weights],
            "weight": [one.weight for one in weights],
            "weightType": kind,
            "length": len(weights),
        }
        if is_time and any(one.cpu_ns for one in weights):
            samples["threadCPUDelta"] = [one.cpu_ns for one in weights]
        return {
            "processType": "default",
            "processStartupTime": 0,
            "processShutdownTime": None,
            "registerTime": 0,
            "unregisterTime": None,
            "pausedRanges": [],
            "name": name,
            "isMainThread": is_main and thread.tid in (thread.pid, -1),
            "processName": process,
            "pid": str(max(thread.pid, 0)),
            "tid": max(thread.tid, 0),
            "samples": samples,
            "markers": _NOTHING,
        }

    # --- everything else --------------------------------------------------------------------------

    def head(self) -> dict[str, Any]:
        """Return the profile without its threads."""
        shared = self._shared()
        return {
            "meta": self._meta(),
            "libs": self._libs(),
            "shared": shared | {"stringArray": list(self._strings)},
        }

    def _meta(self) -> dict[str, Any]:
        head = self._run.head
        hosts = head["hosts"]
        host: Mapping[str, Any] = hosts[0] if hosts else {}
        meta: dict[str, Any] = {
            "interval": self._interval_ms,
            "startTime": self._start_ns * 1e-6,
            "processType": 0,
            "product": self.stacks.name,
            "stackwalk": 1,
            "debug": False,
            "version": _GECKO_VERSION,
            "preprocessedProfileVersion": VERSION,
            "symbolicated": True,
            "symbolicationNotSupported": True,
            "importedFrom": f"gnomon {__version__}",
            "arguments": self.stacks.name,
            "categories": [
                {"name": name, "color": color, "subcategories": ["Other"]}
                for name, color in _CATEGORIES
            ],
            "markerSchema": [],
            "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
            "usesOnlyOneStackType": True,
            "sourceCodeIsNotOnSearchfox": True,
            "keepProfileThreadOrder": True,
        }
        for key, own in (("oscpu", "kernel"), ("CPUName", "cpu_model"), ("logicalCPUs", "cpus")):
            if host.get(own):
                meta[key] = host[own]
        return meta

    def _libs(self) -> list[dict[str, Any]]:
        modules = {str(row["name"]): row for row in self._run.rows(MODULES)}
        libraries = []
        for name in self._libraries:
            row = modules.get(name, {})
            path, build_id = str(row.get("path") or name), str(row.get("build_id") or "")
            libraries.append(
                {
                    "arch": "", "name": name, "path": path, "debugName": name, "debugPath": path,
                    "breakpadId": "", "codeId": build_id or None,
                }
            )  # fmt: skip
        return libraries

    def _shared(self) -> dict[str, Any]:
        n, n_functions = len(self._frames), len(self._functions)
        functions = list(self._functions)
        lines = [one.line if one.line > 0 else None for one in self._frames]
        return {
            "stackTable": self._stack_table,
            "frameTable": {
                "address": [-1] * n,
                "inlineDepth": [int(one.is_inlined) for one in self._frames],
                "category": [_category(one) for one in self._frames],
                "subcategory": [0] * n,
                "func": [self._functions[one.name, one.module, one.file] for one in self._frames],
                "nativeSymbol": [None] * n,
                "innerWindowID": [0] * n,
                "line": lines,
                "column": [None] * n,
                "length": n,
            },
            "funcTable": {
                "name": [self._string(name) for name, _, _ in functions],
                "isJS": [False] * n_functions,
                "relevantForJS": [False] * n_functions,
                "resource": [
                    self._libraries[module] if module else -1 for _, module, _ in functions
                ],
                "source": [self._sources[file] if file else None for _, _, file in functions],
                "lineNumber": [None] * n_functions,
                "columnNumber": [None] * n_functions,
                "length": n_functions,
            },
            "resourceTable": {
                "lib": list(self._libraries.values()),
                "name": [self._string(name) for name in self._libraries],
                "host": [None] * len(self._libraries),
                "type": [_LIBRARY] * len(self._libraries),
                "length": len(self._libraries),
            },
            "nativeSymbols": {
                "libIndex": [], "address": [], "name": [], "functionSize": [], "length": 0,
            },
            "sources": {
                "uuid": [None] * len(self._sources),
                "filename": [self._string(file) for file in self._sources],
                "length": len(self._sources),
            },
        }  # fmt: skip


def _category(region: CodeRegion) -> int:
    if region.kind == WAIT:
        return _WAITING
    if region.module == KERNEL:
        return _KERNEL
    if region.module == PYTHON:
        return _PYTHON
    if region.is_code:
        return _NATIVE if region.module else _OTHER
    return _SECTIONS if region.kind == "hpm" else _OTHER


def _weight(value: float, metric: Mapping[str, Any]) -> float:
    """Return a value in what the viewer counts in: milliseconds, bytes, or as it is."""
    unit = str(metric["unit"])
    if unit in TIME_SECONDS:
        return round(value * TIME_SECONDS[unit] * 1e3, _DIGITS)
    return value * SIZE_BYTES.get(unit, 1)
