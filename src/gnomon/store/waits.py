"""How long threads ran and waited, for what, and where: what a run's tables say of waits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from gnomon.model.metric import CPU_TIME, WAITING_TIME
from gnomon.model.region_kinds import THREAD, WAIT
from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from gnomon.store.run import Run

PLACE = ("location", "kind", "rank", "pid", "tid", "name")
"""What is said of a thread."""
_ESTIMATED = ", estimated]"
# What stands between the code that waits and the kernel.
_LIBRARY_OF_C = re.compile(r"(libc|libpthread|ld-linux|ld-musl)\b.*|\[.*\]|")
_RUNTIME = re.compile(r"(libstdc\+\+|libgomp)\b.*|(lib)?python\d.*")
# Those of files of other tools are of no component.
_OF_SAMPLES = "m.component IN ('samples', '') AND m.name ="
_WAITS = f"""
FROM profile p JOIN metrics m USING (metric) JOIN paths t USING (path) JOIN regions r USING (region)
WHERE {_OF_SAMPLES} '{WAITING_TIME}' AND r.kind = '{WAIT}'
GROUP BY ALL HAVING SUM(p.exclusive) > 0
"""
IS_TOLD = f"""
SELECT 1 FROM profile p JOIN metrics m USING (metric) WHERE {_OF_SAMPLES} '{WAITING_TIME}' LIMIT 1
"""
"""Whether there is any waiting time, be it without reasons."""
VALUES = f"SELECT p.location, r.name, SUM(p.exclusive) {_WAITS}"
"""Of each location what it waited for, and how many seconds."""
_OF_PATHS = f"SELECT p.path, SUM(p.exclusive), SUM(p.raw) {_WAITS}"
_CPU_TIMES = f"""
SELECT p.location, SUM(p.exclusive) FROM profile p JOIN metrics m USING (metric)
WHERE {_OF_SAMPLES} '{CPU_TIME}' GROUP BY ALL
"""
_SPANS = f"""
SELECT e.location, SUM(e.duration_ns) / 1e9 FROM events e JOIN regions r USING (region)
WHERE r.kind = '{THREAD}' GROUP BY ALL
"""
_LOCATIONS = "SELECT location, kind, rank, pid, tid, name FROM locations"
_PATHS = """
SELECT t.path, t.parent, r.kind, r.name, r.module, r.file, r.line
FROM paths t JOIN regions r USING (region)
"""
_SAMPLES = f"""
SELECT s.path, MAX(s.weight), COALESCE(s.woken_by, ''), COALESCE(s.held_by, ''), SUM(s.weight)
FROM samples s JOIN metrics m USING (metric)
WHERE {_OF_SAMPLES} '{WAITING_TIME}' GROUP BY s.path, 3, 4
"""


class ThreadWaits(NamedTuple):
    """How long a thread ran and waited, in seconds.

    Attributes:
        place: the thread, by the names of `PLACE`.
        wall: from its begin to its end; None where that is not known.
        cpu_time: by its samples; None where it has none.
        reasons: what it waited for, and how long.
        estimated: which part of that is estimated.
    """

    place: Mapping[str, int | str]
    wall: float | None
    cpu_time: float | None
    reasons: dict[str, float]
    estimated: dict[str, float]

    @property
    def waiting(self) -> float:
        """All that it waited."""
        return sum(self.reasons.values())

    @property
    def running(self) -> float | None:
        """How long it had a CPU: as the scheduler told, or else by samples; None: neither did."""
        return self.cpu_time if self.wall is None else max(self.wall - self.waiting, 0.0)

    @property
    def whole(self) -> float:
        """Running and waiting."""
        return self.wall or self.waiting + (self.cpu_time or 0.0)


class CodeWaits(NamedTuple):
    """Waits of one line of the program's own code for one reason, in seconds."""

    reason: str
    seconds: float
    estimated: float
    function: str
    module: str
    file: str
    line: int
    waits: int
    longest: float | None
    woken_by: str
    held_by: str


def reason_of(name: str) -> tuple[str, bool]:
    """Return what was waited for, without brackets, and whether it is estimated."""
    if name.endswith(_ESTIMATED):
        return name[1 : -len(_ESTIMATED)], True
    return name.strip("[]"), False


def threads(run: Run) -> list[ThreadWaits]:
    """Return the threads of a run that waited, those that did most first.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    reasons: dict[int, dict[str, float]] = {}
    estimated: dict[int, dict[str, float]] = {}
    for location, name, seconds in run.query(VALUES):
        reason, is_estimate = reason_of(str(name))
        own = reasons.setdefault(location, {})
        own[reason] = own.get(reason, 0.0) + seconds
        if is_estimate:
            of_estimate = estimated.setdefault(location, {})
            of_estimate[reason] = of_estimate.get(reason, 0.0) + seconds
    walls, cpu_times = dict(run.query(_SPANS)), dict(run.query(_CPU_TIMES))
    places = {row[0]: row for row in run.query(_LOCATIONS)}
    result = [
        ThreadWaits(
            dict(zip(PLACE, places[location], strict=True)),
            walls.get(location),
            cpu_times.get(location),
            dict(sorted(own.items(), key=lambda item: (-item[1], item[0]))),
            estimated.get(location, {}),
        )
        for location, own in reasons.items()
        if location in places
    ]
    return sorted(result, key=lambda one: (-one.whole, -one.waiting, str(one.place["tid"])))


def code_waits(run: Run) -> list[CodeWaits]:
    """Return the waits of a run by line of code and reason, the longest in sum first.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    paths = {row[0]: row[1:] for row in run.query(_PATHS)}
    longest: dict[int, float] = {}
    wakers: dict[int, dict[str, float]] = {}
    holders: dict[int, dict[str, float]] = {}
    for path, most, woken_by, held_by, seconds in run.query(_SAMPLES):
        longest[path] = max(most, longest.get(path, 0.0))
        for table, name in ((wakers, woken_by), (holders, held_by)):
            if name:
                own = table.setdefault(path, {})
                own[name] = own.get(name, 0.0) + seconds
    grouped: dict[tuple[str, str, str, str, int], list[tuple[int, float, bool, int]]] = {}
    for path, seconds, waits in run.query(_OF_PATHS):
        reason, is_estimate = reason_of(str(paths[path][2]))
        key = (reason, *_place(paths, paths[path][0]))
        grouped.setdefault(key, []).append((path, seconds, is_estimate, waits or 0))
    rows = []
    for (reason, function, module, file, line), parts in grouped.items():
        durations = [longest[path] for path, *_ in parts if path in longest]
        rows.append(
            CodeWaits(
                reason,
                sum(seconds for _, seconds, _, _ in parts),
                sum(seconds for _, seconds, is_estimate, _ in parts if is_estimate),
                function,
                module,
                file,
                line,
                sum(waits for *_, waits in parts),
                max(durations, default=None),
                _most(wakers.get(path, {}) for path, *_ in parts),
                _most(holders.get(path, {}) for path, *_ in parts),
            )
        )
    return sorted(rows, key=lambda row: (-row.seconds, row.reason, row.function, row.line))


def _place(paths: Mapping[int, Sequence[object]], path: int) -> tuple[str, str, str, int]:
    """Return the innermost function of the program itself, with module, file and line."""
    runtime: tuple[str, str, str, int] | None = None
    innermost: tuple[str, str, str, int] | None = None
    while path in paths:
        parent, kind, name, module, file, line = paths[path]
        if kind == "cpu":
            place = (str(name), str(module), str(file or ""), int(str(line or 0)))
            if not _LIBRARY_OF_C.fullmatch(place[1]):
                if not _RUNTIME.fullmatch(place[1]):
                    return place
                runtime = runtime or place
            innermost = innermost or place
        path = int(str(parent))
    return runtime or innermost or ("", "", "", 0)


def _most(tables: Iterable[Mapping[str, float]]) -> str:
    sums: dict[str, float] = {}
    for table in tables:
        for name, seconds in table.items():
            sums[name] = sums.get(name, 0.0) + seconds
    return max(sums, key=lambda name: (sums[name], name), default="")
