"""The stacks of a run and what each comes to, for the exports to viewers of stacks."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from gnomon.errors import RunDirectoryError, UsageError
from gnomon.model.metric import Aggregation, is_additive
from gnomon.model.tables import METRICS, SAMPLES
from gnomon.model.value import How
from gnomon.named_tuple import NamedTuple
from gnomon.store import moments, profile_query, table_limits
from gnomon.store.run import Run

FRAMES_MOST = 10_000_000
"""Of all stacks of a file that writes each as a whole: a viewer, or a memory, holds no more."""
NO_PARENT = -1
"""The kind of the regions that say what a thread waits for."""

_PATHS = """
SELECT t.path, t.parent, r.region, r.kind, r.name, r.module, r.file, r.line,
       COALESCE(r.inlined, FALSE)
FROM paths t JOIN regions r USING (region) ORDER BY t.path
"""
# What threads have on paths by themselves, and how many samples that are: those of the path without
# those of the paths below it.
_OF_THREADS = """
WITH given AS (
    SELECT p.location, p.path, SUM(p.exclusive) AS value, SUM(p.raw) AS samples
    FROM profile p JOIN locations l USING (location)
    WHERE p.metric = {metric} AND l.kind = 'thread' GROUP BY ALL
), below AS (
    SELECT g.location, t.parent AS path, SUM(g.samples) AS samples
    FROM given g JOIN paths t USING (path) WHERE t.parent <> -1 GROUP BY ALL
)
SELECT g.location, g.path, g.value, g.samples - COALESCE(b.samples, 0)
FROM given g LEFT JOIN below b USING (location, path)
WHERE isfinite(g.value) AND g.value > 0 ORDER BY g.location, g.path
"""
_HAS_THREADS = """
SELECT DISTINCT p.metric FROM profile p JOIN locations l USING (location)
JOIN paths t USING (path) JOIN regions r USING (region)
WHERE l.kind = 'thread' AND r.kind IN {code}
"""
_HAS_CALLS = """
SELECT DISTINCT p.metric FROM profile p JOIN paths t USING (path)
WHERE t.parent <> -1 AND isfinite(p.exclusive) AND p.exclusive > 0
"""
_LOCATIONS = """
SELECT l.location, l.tid, l.name, l.pid, COALESCE(p.name, ''), l.rank, l.host
FROM locations l LEFT JOIN locations p ON p.location = l.parent AND p.kind = 'process'
"""
_TIMELINE = """
SELECT s.location, s.path, s.time_ns, s.weight FROM samples s JOIN locations l USING (location)
WHERE s.metric = {metric} AND s.repetition = 0 AND s.path <> -1 AND s.time_ns IS NOT NULL
    AND isfinite(s.weight) AND s.weight > 0
ORDER BY l.rank, l.pid, l.tid, s.location, s.time_ns
"""


class CodeRegion(NamedTuple):
    """A region that a path is in; `name` is never empty."""

    region: int
    kind: str
    name: str
    module: str
    file: str
    line: int
    is_inlined: bool
    is_code: bool


class CallPath(NamedTuple):
    """A path: its caller, -1 for none, and the number of its region."""

    parent: int
    region: int


class Thread(NamedTuple):
    """A location that has stacks; -1 and "" for what is not known."""

    location: int
    tid: int
    name: str
    pid: int
    process: str
    rank: int
    host: str

    @property
    def order(self) -> tuple[int, int, int, int]:
        """Where it stands among all: by rank, process and thread."""
        return (self.rank, self.pid, self.tid, self.location)


class ThreadValue(NamedTuple):
    """What a thread has on a path by itself, of one execution; `samples` is -1 where not known."""

    location: int
    path: int
    value: float
    samples: int


class Sample(NamedTuple):
    """A stack of a thread at a moment, in nanoseconds since 1970."""

    location: int
    path: int
    time_ns: int
    weight: float


class RunStacks:
    """The call paths of a run, and the values that metrics have on them.

    Attributes:
        run: the run.
        name: its command.
        paths: by their numbers.
        regions: by their numbers.

    Raises:
        RunDirectoryError: the tables cannot be read, as of every method.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.name = shlex.join(run.head["command"]) or run.path.name
        self.paths: dict[int, CallPath] = {}
        self.regions: dict[int, CodeRegion] = {}
        kinds = run.region_kinds
        for path, parent, region, kind, name, module, file, line, is_inlined in run.query(_PATHS):
            self.paths[int(path)] = CallPath(int(parent), int(region))
            if region not in self.regions:
                label = name or file or module or "(unknown)"
                self.regions[int(region)] = CodeRegion(
                    int(region), kind, label, module, file, max(int(line), 0), bool(is_inlined),
                    kinds.of(kind).is_code,
                )  # fmt: skip

    def stack(self, path: int) -> list[int]:
        """Return the regions from the root to a path; [] if its parents lead nowhere."""
        stack: list[int] = []
        while path != NO_PARENT:
            node = self.paths.get(path)
            if node is None or len(stack) > table_limits.DEPTH_MOST:
                return []
            stack.append(node.region)
            path = node.parent
        stack.reverse()
        return stack

    def program(self) -> str:
        """Return the name of the program: the module, or name, of the first root."""
        roots = (path for path in self.paths.values() if path.parent == NO_PARENT)
        root = next(roots, None)
        if root is None:
            return self.name
        region = self.regions[root.region]
        return region.module or region.name

    def metrics(self) -> list[dict[str, Any]]:
        """Return the rows of the metrics that add up, those that were sampled first."""
        rows = [
            row for row in self.run.rows(METRICS)
            if is_additive(str(row["formula"] or ""), str(row["aggregation"] or ""))
        ]  # fmt: skip
        # A viewer shows the first one.
        return sorted(rows, key=lambda row: row["how"] != How.SAMPLED)

    def metrics_of_calls(self) -> list[dict[str, Any]]:
        """Return those of `metrics` that have values below the program; else all."""
        rows = self.metrics()
        of_calls = {int(metric) for (metric,) in self.run.query(_HAS_CALLS)}
        return [row for row in rows if row["metric"] in of_calls] or rows

    def metric(self, name: str) -> dict[str, Any]:
        """Return the row of a metric by its name, in any case; for "" the first with calls.

        Raises:
            UsageError: no metric of the run has that name.
        """
        rows = self.metrics_of_calls()
        if not name:
            if not rows:
                raise self.nothing()
            return rows[0]
        for row in (*rows, *self.metrics()):
            if str(row["name"]).lower() == name.strip().lower():
                return row
        names = ", ".join(dict.fromkeys(str(row["name"]) for row in rows))
        raise UsageError(f"metric '{name}': {self.run.path} has no values of it; it has {names}")

    def nothing(self) -> RunDirectoryError:
        """Return the error that a run has no stacks."""
        return RunDirectoryError(f"{self.run.path}: no values for a flame graph")

    def has_threads(self) -> frozenset[int]:
        """Return the metrics whose code was measured by thread."""
        code = self.run.region_kinds.code()
        return frozenset(int(row[0]) for row in self.run.query(_HAS_THREADS.format(code=code)))

    def threads(self) -> dict[int, Thread]:
        """Return the threads by the numbers of their locations."""
        return {int(row[0]): Thread(*row) for row in self.run.query(_LOCATIONS)}

    def of_run(self, metric: Mapping[str, Any]) -> tuple[list[tuple[int, float]], str]:
        """Return what paths have by themselves over all locations, and which of several it is.

        Times of several ranks or threads are those that the view shows, for they are of the same
        moments. All is of one execution.
        """
        run = self.run
        repetitions = max(int(run.head["repetitions"]), 1)
        analysis = profile_query.Profile("path", int(metric["metric"]))
        found = profile_query.run(analysis, profile_query.parts(run))
        sums, told = moments.told_of(run, analysis.finest(found), "path")
        most = self._widths_left(metric)
        values = []
        for row in sums:
            path = int(row.key[3])
            value = row.total / repetitions if row.together is None else row.together
            value = min(value, most.get(path, value))
            if isfinite(value) and value > 0:
                values.append((path, value))
        return values, told

    def of_threads(self, metric: Mapping[str, Any]) -> Iterator[ThreadValue]:
        """Yield what threads have on paths, by location and path."""
        repetitions = max(int(self.run.head["repetitions"]), 1)
        for rows in self.run.stream(_OF_THREADS.format(metric=int(metric["metric"]))):
            for location, path, value, samples in rows:
                n = -1 if samples is None else int(samples)
                yield ThreadValue(int(location), int(path), float(value) / repetitions, n)

    def timeline(self, metric: Mapping[str, Any]) -> Iterator[Sample]:
        """Yield the samples of the first execution by thread and time, none if it has none."""
        if SAMPLES not in self.run.schemas:
            return
        for rows in self.run.stream(_TIMELINE.format(metric=int(metric["metric"]))):
            for location, path, time_ns, weight in rows:
                yield Sample(int(location), int(path), int(time_ns), float(weight))

    def _widths_left(self, metric: Mapping[str, Any]) -> dict[int, float]:
        """Return the part of each path's time that no child covers, as a flame graph draws it.

        Of several threads each path has the longest one's time, which need not be the same
        thread's: of its own time a path has no more than that, or the graph would be wider than the
        run. Nothing follows where paths below are at the same time, nor of the program, which has
        what is in none.
        """
        if metric["aggregation"] != Aggregation.ELAPSED:
            return {}
        paths = self.paths
        values = moments.of_run(self.run, int(metric["metric"])).values
        left = {path: value.inclusive for path, value in values.items() if path in paths}
        for path, value in values.items():
            above = paths[path].parent if path in paths else NO_PARENT
            if above in left:
                left[above] -= value.inclusive
        return {
            path: value for path, value in left.items()
            if value >= 0 and paths[path].parent != NO_PARENT
        }  # fmt: skip


def too_many_frames(run: Run) -> RunDirectoryError:
    """Return the error that the stacks of a run are too many to be written as a whole each."""
    return RunDirectoryError(
        f"{run.path}: its stacks come to more than {FRAMES_MOST} frames, too many for "
        "a flame graph; see gnomon view, or gnomon export --to csv"
    )


TIME_SECONDS = {"ns": 1e-9, "s": 1.0}
"""Units of times, and how many seconds each is."""
SIZE_BYTES = {"bytes": 1, "KiB": 1024, "MiB": 1 << 20}
"""Units of sizes, and how many bytes each is."""


def begin_ns(sample: Sample, metric: Mapping[str, Any]) -> int:
    """Return when what a sample stands for began, where its metric is a time.

    A sample is taken at the end of the time that it stands for; what was counted is a duration from
    its moment on.
    """
    if metric["how"] != How.SAMPLED:
        return sample.time_ns
    return sample.time_ns - round(sample.weight * TIME_SECONDS[metric["unit"]] * 1e9)


def first_ns(samples: Sequence[Sample], metric: Mapping[str, Any]) -> int:
    """Return the earliest moment of samples, 0 of none."""
    is_time = metric["unit"] in TIME_SECONDS
    return min((begin_ns(one, metric) if is_time else one.time_ns for one in samples), default=0)
