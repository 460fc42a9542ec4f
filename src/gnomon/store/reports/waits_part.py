"""The part `waits` of a report: how long threads ran and waited, for what, and where."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError
from gnomon.model.symbol_names import short_name
from gnomon.named_tuple import NamedTuple
from gnomon.store.reports.report_part import (
    FILE,
    FUNCTION,
    HOW,
    LINE,
    METRIC,
    MODULE,
    PLACE,
    TOP,
    UNIT,
    Key,
    PartData,
    PartText,
    Request,
)
from gnomon.store.reports.table_report import GAP, INDENT, title
from gnomon.terminal_text import filled, grid, shortened
from gnomon.units import number, printable, quantity

if TYPE_CHECKING:
    from gnomon.store.run import Run

BY_THREAD, BY_FUNCTION = "thread", "function"
METRIC_NAME = "Waiting time"
_OF_METRIC = {"metric": METRIC_NAME, "unit": "s", "how": "counted"}
_REASONS_SHOWN = 4
_PLACES_BELOW = 8
_ABSENT = "-"
_NAME_LEAST = 12
_ESTIMATED = ", estimated]"
# What stands between the code that waits and the kernel.
_LIBRARY_OF_C = re.compile(r"(libc|libpthread|ld-linux|ld-musl)\b.*|\[.*\]|")
_RUNTIME = re.compile(r"(libstdc\+\+|libgomp)\b.*|(lib)?python\d.*")
_VALUES = """
SELECT p.location, r.name, SUM(p.exclusive), SUM(p.raw) FROM profile p
JOIN metrics m USING (metric) JOIN paths t USING (path) JOIN regions r USING (region)
WHERE m.name = 'Waiting time' AND m.component = 'samples' AND r.kind = 'wait'
GROUP BY ALL HAVING SUM(p.exclusive) > 0
"""
_CPU_TIMES = """
SELECT p.location, SUM(p.exclusive) FROM profile p JOIN metrics m USING (metric)
WHERE m.name = 'CPU time' AND m.component = 'samples' GROUP BY ALL
"""
_SPANS = """
SELECT e.location, SUM(e.duration_ns) / 1e9 FROM events e JOIN regions r USING (region)
WHERE r.kind = 'thread' GROUP BY ALL
"""
_LOCATIONS = "SELECT location, kind, rank, pid, tid, name FROM locations"
_PATHS = """
SELECT t.path, t.parent, r.kind, r.name, r.module, r.file, r.line
FROM paths t JOIN regions r USING (region)
"""
_OF_PATHS = """
SELECT p.path, SUM(p.exclusive), SUM(p.raw) FROM profile p
JOIN metrics m USING (metric) JOIN paths t USING (path) JOIN regions r USING (region)
WHERE m.name = 'Waiting time' AND m.component = 'samples' AND r.kind = 'wait'
GROUP BY ALL HAVING SUM(p.exclusive) > 0
"""
_SAMPLES = """
SELECT s.path, MAX(s.weight), COALESCE(s.woken_by, ''), COALESCE(s.held_by, ''), SUM(s.weight)
FROM samples s JOIN metrics m USING (metric)
WHERE m.name = 'Waiting time' AND m.component = 'samples' GROUP BY s.path, 3, 4
"""

_SECONDS = Key("seconds", "number", "of all executions, those that are estimated with them")
_ESTIMATE = Key(
    "estimated", "number",
    "seconds of these whose stacks were not taken, given to stacks of waits as long",
)  # fmt: skip
_REASON = Key("reason", "string", "what was waited for: lock, read: pipe, sleep, waiting for a CPU")
_KEYS = (
    *(key._replace(by=(BY_THREAD,)) for key in PLACE),
    Key("wall", "number", "seconds from the thread's begin to its end; null where not known",
        (BY_THREAD,)),
    Key("running", "number", "seconds on a CPU: the rest of `wall`, or else `cpu_time`",
        (BY_THREAD,)),
    Key("cpu_time", "number", "the same as CPU time by samples; null where there are none",
        (BY_THREAD,)),
    _REASON, _SECONDS, _ESTIMATE,
    METRIC, UNIT, HOW,
    *(key._replace(by=(BY_FUNCTION,)) for key in (FUNCTION, MODULE, FILE, LINE)),
    Key("waits", "integer", "how many there were whose stacks were taken", (BY_FUNCTION,)),
    Key("longest", "number", "seconds of the longest of these; null where there is none",
        (BY_FUNCTION,)),
    Key("woken_by", "string", "who ended most of the time; empty where that is not known",
        (BY_FUNCTION,)),
    Key("held_by", "string", "the thread that had the lock for most of the time, likewise",
        (BY_FUNCTION,)),
)  # fmt: skip


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


class Waits(NamedTuple):
    """How long threads ran and waited, for what, and where."""

    name: str = "waits"
    title: str = "how long threads ran and waited, for what and where"
    by: tuple[str, ...] = (BY_THREAD, BY_FUNCTION)
    argument: str = ""
    options: frozenset[str] = frozenset(("top",))
    keys: tuple[Key, ...] = _KEYS

    def is_in(self, run: Run) -> bool:
        """Return whether waits were recorded."""
        return bool(run.query(f"{_OF_PATHS} LIMIT 1"))

    def text(self, run: Run, request: Request) -> PartText:
        """Return a table of threads, and below it of code; by function that alone.

        Raises:
            GnomonError: the run has no waits.
        """
        _check(self, run)
        top = TOP if request.top is None else request.top
        lines = [title(run)]
        if request.by != BY_FUNCTION:
            lines += _threads_text(threads(run), top, request.width)
        code = code_waits(run)
        most = top if request.by == BY_FUNCTION else _PLACES_BELOW
        lines += _code_text(code, most, request.width)
        return PartText("\n".join(lines) + "\n")

    def data(self, run: Run, request: Request) -> PartData:
        """Return a row for each reason of a thread, or of a line; raises as `text`."""
        _check(self, run)
        if request.by == BY_FUNCTION:
            return PartData(
                [{**one._asdict(), **_OF_METRIC} for one in code_waits(run)[: request.top or None]]
            )
        return PartData(
            [
                {
                    **thread.place,
                    "wall": thread.wall,
                    "running": thread.running,
                    "cpu_time": thread.cpu_time,
                    "reason": reason,
                    "seconds": seconds,
                    "estimated": thread.estimated.get(reason, 0.0),
                    **_OF_METRIC,
                }
                for thread in threads(run)[: request.top or None]
                for reason, seconds in thread.reasons.items()
            ]
        )


def _check(part: Waits, run: Run) -> None:
    if not part.is_in(run):
        raise GnomonError(
            f"{run.path}: no waits were recorded, or of less than 50 ms in all; to record them: "
            "gnomon record --off-cpu"
        )


def _reason(name: str) -> tuple[str, bool]:
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
    for location, name, seconds, _ in run.query(_VALUES):
        reason, is_estimate = _reason(str(name))
        own = reasons.setdefault(location, {})
        own[reason] = own.get(reason, 0.0) + seconds
        if is_estimate:
            of_estimate = estimated.setdefault(location, {})
            of_estimate[reason] = of_estimate.get(reason, 0.0) + seconds
    walls, cpu_times = dict(run.query(_SPANS)), dict(run.query(_CPU_TIMES))
    places = {row[0]: row for row in run.query(_LOCATIONS)}
    names = [key.name for key in PLACE]
    result = [
        ThreadWaits(
            dict(zip(names, places[location], strict=True)),
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
        reason, is_estimate = _reason(str(paths[path][2]))
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


def summary(run: Run, width: int) -> str:
    """Return what threads waited for in one line, "" if they did not.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    sums: dict[str, float] = {}
    locations = set()
    for location, name, seconds, _ in run.query(_VALUES):
        reason, _ = _reason(str(name))
        sums[reason] = sums.get(reason, 0.0) + seconds
        locations.add(location)
    total = sum(sums.values())
    if not total:
        return ""
    largest = sorted(sums, key=lambda reason: (-sums[reason], reason))
    told = [f"{_head(reason)} {100 * sums[reason] / total:.0f} %" for reason in largest]
    threads = "1 thread" if len(locations) == 1 else f"{number(len(locations))} threads"
    text = f"{threads} waited for {quantity(total, 's', _ABSENT)} in sum: "
    shown = 1
    while shown < min(len(told), _REASONS_SHOWN) and sums[largest[shown]] >= 0.005 * total:
        if len(text + ", ".join(told[: shown + 1])) > width:
            break
        shown += 1
    return text + ", ".join(told[:shown])


# --- text -----------------------------------------------------------------------------------------


def _threads_text(rows: Sequence[ThreadWaits], top: int, width: int) -> list[str]:
    total: dict[str, float] = {}
    for row in rows:
        for reason, seconds in row.reasons.items():
            total[reason] = total.get(reason, 0.0) + seconds
    shown = sorted(total, key=lambda reason: (-total[reason], reason))[:_REASONS_SHOWN]
    heads = [_head(reason) for reason in shown]
    has_more = len(total) > len(shown)
    cells = []
    for row in rows[:top] if top else rows:
        others = row.waiting - sum(row.reasons.get(reason, 0.0) for reason in shown)
        cells.append(
            [
                quantity(row.whole, "s", _ABSENT),
                _share(row.running, row.whole),
                *(_share(row.reasons.get(reason, 0.0), row.whole) for reason in shown),
                *([_share(others, row.whole)] if has_more else []),
            ]
        )
    names = [
        "wall" if all(row.wall for row in rows) else "sum",
        "running",
        *heads,
        *(["other"] if has_more else []),
    ]
    fixed = sum(
        max(len(name), *(len(row[column]) for row in cells)) + GAP
        for column, name in enumerate(names)
    )
    room = max(width - INDENT - fixed, _NAME_LEAST)
    for cell, own in zip(cells, rows, strict=False):
        rank = f"rank {own.place['rank']} " if int(own.place["rank"]) >= 0 else ""
        name = f"{rank}{own.place['tid']} {own.place['name']}"
        cell.append(shortened(printable(name), room))
    lines = list(grid([(name,) for name in (*names, "thread")], cells, len(names)).lines)
    if len(rows) > len(cells):
        lines.append(f"  and {number(len(rows) - len(cells))} more (--top 0 for all)")
    lines += filled(_of_what(rows), width)
    return lines


def _code_text(rows: Sequence[CodeWaits], most: int, width: int) -> list[str]:
    total = sum(row.seconds for row in rows)
    shown = rows[:most] if most else rows
    columns = [
        ("of waiting", [f"{100 * row.seconds / total:.1f} %" for row in shown]),
        ("total", [quantity(row.seconds, "s", _ABSENT) for row in shown]),
        ("longest", [quantity(row.longest, "s", _ABSENT) for row in shown]),
        ("waits", [number(row.waits) if row.waits else _ABSENT for row in shown]),
    ]
    reasons = [printable(_head(row.reason)) for row in shown]
    fixed = sum(max(map(len, (head, *cells)), default=0) + GAP for head, cells in columns)
    fixed += max(map(len, (*reasons, "for")), default=0) + GAP
    room = max(width - INDENT - fixed, _NAME_LEAST)
    places = [short_name(printable(_code(row)), room) for row in shown]
    cells = list(zip(*(cells for _, cells in columns), reasons, places, strict=True))
    lines = list(
        grid([(head,) for head, _ in columns] + [("for",), ("in",)], cells, len(columns)).lines
    )
    if len(rows) > len(shown):
        lines.append(f"  and {number(len(rows) - len(shown))} more (--by function --top 0 for all)")
    lines += _who(shown, width)
    estimated = sum(row.estimated for row in rows)
    if estimated:
        lines += filled(
            f"{100 * estimated / total:.1f} % of waiting is estimated by function: the stacks of "
            "these waits were not taken; waits and longest are of the others",
            width,
        )
    return lines


def _who(rows: Sequence[CodeWaits], width: int) -> list[str]:
    lines = []
    for row in rows:
        if row.woken_by in ("", "interrupt", "kernel") and not row.held_by:
            continue
        told = [f"woken by {row.woken_by}"] if row.woken_by else []
        told += [f"held by {row.held_by}"] if row.held_by else []
        text = f"{_head(row.reason)} in {_code(row)}: mostly {', '.join(told)}"
        lines += filled(printable(text), width, "", "  ")
    return lines


def _code(row: CodeWaits) -> str:
    if not row.function:
        return "(not known)"
    return f"{row.function}:{row.line}" if row.line else row.function


def _head(reason: str) -> str:
    return {"waiting for a CPU": "a CPU", "waiting, stack not taken": "(no stack)"}.get(
        reason, reason
    )


def _of_what(rows: Sequence[ThreadWaits]) -> str:
    if all(row.wall for row in rows):
        return "shares of each thread's wall time"
    return "shares of each thread's running, as CPU time by samples, and waiting"


def _share(seconds: float | None, wall: float | None) -> str:
    if seconds is None or not wall:
        return _ABSENT
    return f"{100 * seconds / wall:.1f} %"
