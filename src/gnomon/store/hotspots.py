"""Where the counts of a run are: by function, file or line, whatever capability wrote them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from gnomon.errors import UsageError
from gnomon.model.inlining import FunctionFragment, defining_files, has_unique_names
from gnomon.store.run import Run
from gnomon.terminal_text import suffixes

KINDS = ("function", "file", "line")

# A line that several processes ran is one row; repetitions are averaged.
_LINES = """
SELECT COALESCE(r.module, ''), COALESCE(r.name, ''), COALESCE(r.file, ''), COALESCE(r.line, 0),
       m.metric, SUM(p.exclusive)
FROM profile p JOIN paths USING (path) JOIN regions r USING (region) JOIN metrics m USING (metric)
WHERE r.kind IN {code} AND p.exclusive IS NOT NULL
GROUP BY ALL
"""
# A metric may have rows only where there is any, and none where no line had any: it is 0 then.
_METRICS = """
SELECT m.metric, COALESCE(m.name, ''), COALESCE(m.how, '') FROM metrics m
WHERE m.metric IN (
    SELECT p.metric FROM profile p JOIN paths USING (path) JOIN regions r USING (region)
    WHERE r.kind IN {code})
OR (m.absent_is_zero AND EXISTS (SELECT 1 FROM regions WHERE kind IN {code}))
ORDER BY m.metric
"""

Values = dict[str, float]


@dataclass(frozen=True, slots=True)
class Hotspot:
    """Counts of one function, file or line, without what it calls.

    Attributes:
        program: that a function is of; "" for files and lines.
        function: "" for files, and where it is not known.
        file: source file, "" where it is not known; a function's is the one it stands in.
        line: 0 for functions and files, and where it is not known.
        values: by event.
    """

    program: str
    function: str
    file: str
    line: int
    values: Values

    def as_dict(self) -> dict[str, Any]:
        """Return the row by field name; whole numbers as such, None for what is no number."""
        return {
            "program": self.program,
            "function": self.function,
            "file": self.file,
            "line": self.line,
            "self": {event: whole(value) for event, value in self.values.items()},
        }


@dataclass(frozen=True, slots=True)
class Hotspots:
    """The rows of one kind, and what is to be known of their events.

    Attributes:
        kind: function, file or line.
        events: names, in the order of the run.
        sort: the event that the rows are ordered by.
        how: how the counts of each event were obtained.
        totals: over the whole run, by event.
        file_totals: over each source file that is wanted, by event.
        rows: those wanted, most first.
        found: how many there are.
        file: the source file whose lines alone are wanted, "" for all.
        labels: a short name for each source file of the run; no two have the same.
    """

    kind: str
    events: tuple[str, ...]
    sort: str
    how: dict[str, str]
    totals: Values
    file_totals: dict[str, Values]
    rows: tuple[Hotspot, ...]
    found: int
    file: str
    labels: Mapping[str, str]


def whole(value: float | None) -> int | float | None:
    """Return a value as an integer if it is one, None if it is no number."""
    if value is None or not isfinite(value):
        return None
    return int(value) if float(value).is_integer() else value


def named(name: str, events: Sequence[str], kind: str) -> str:
    """Return the event that an option names, in any case and with or without PAPI_.

    Raises:
        UsageError: the run has no counts of such an event.
    """
    wanted = name.strip().lower().removeprefix("papi_")
    for event in events:
        if event.lower() == name.strip().lower():
            return event
    for event in events:
        if event.lower().removeprefix("papi_") == wanted:
            return event
    known = ", ".join(events) or "none"
    raise UsageError(f"{name}: this run has no {kind}s with that event; it has {known}")


def hotspots(run: Run, kind: str, *, sort: str = "", file: str = "", top: int = 0) -> Hotspots:
    """Return where the counts of a run are.

    Args:
        run: the run.
        kind: function, file or line.
        sort: event by which the rows are ordered; the run's first if "".
        file: only what is in source files whose path ends so; "" for all.
        top: only as many rows; 0 for all.

    Raises:
        UsageError: the run has no such event or file.
        RunDirectoryError: its tables cannot be read.
    """
    code = run.region_kinds.code()
    metrics = run.query(_METRICS.format(code=code))
    events = tuple(dict.fromkeys(str(name) for _, name, _ in metrics))
    if sort and events:
        sort = named(sort, events, kind)
    names = {metric: str(name) for metric, name, _ in metrics}
    repetitions = max(int(run.head["repetitions"]), 1)
    lines: dict[tuple[str, str, str, int], Values] = {}
    totals = dict.fromkeys(events, 0.0)
    for program, function, source, line, metric, value in run.query(_LINES.format(code=code)):
        mean = value / repetitions
        totals[names[metric]] += mean
        key = (str(program), str(function), str(source), int(line))
        values = lines.setdefault(key, dict.fromkeys(events, 0.0))
        values[names[metric]] += mean
    labels = suffixes({source for _, _, source, _ in lines})
    rows = _rows(kind, lines, events, unique=has_unique_names(run.head))
    rows = [row for row in rows if not file or is_in(row.file, file)]
    file_totals: dict[str, Values] = {}
    for (_, _, source, _), values in lines.items() if file else ():
        if is_in(source, file):
            _add(file_totals.setdefault(source, dict.fromkeys(events, 0.0)), values)
    if file and not rows and events:
        inlined = "; its lines are parts of others" if file_totals else ""
        what = "no such source file" if not inlined else f"no {kind} of that source file"
        raise UsageError(f"{file}: {run.path} has counts of {what}{inlined}")
    order = list(dict.fromkeys([sort, *events] if sort else events))
    rows.sort(key=lambda r: (*(-r.values[e] for e in order), r.file, r.line, r.function, r.program))
    shown = rows[:top] if top else rows
    return Hotspots(
        kind, events, order[0] if order else "", {str(name): str(one) for _, name, one in metrics},
        totals, file_totals, tuple(shown), len(rows), file, labels,
    )  # fmt: skip


def _rows(
    kind: str, lines: Mapping[tuple[str, str, str, int], Values], events: Sequence[str], *,
    unique: bool,
) -> list[Hotspot]:  # fmt: skip
    weights: dict[FunctionFragment, float] = {}
    if kind == "function":
        for (program, function, source, _), values in lines.items():
            part = FunctionFragment(program, function, source)
            weights[part] = weights.get(part, 0.0) + (values[events[0]] if events else 0.0)
    home = defining_files(weights, has_unique_names=unique)
    sums: dict[tuple[str, str, str, int], Values] = {}
    for (program, function, source, line), values in lines.items():
        key = ("", "", source, 0) if kind == "file" else ("", function, source, line)
        if kind == "function":
            key = (program, function, home[FunctionFragment(program, function, source)], 0)
        _add(sums.setdefault(key, dict.fromkeys(events, 0.0)), values)
    return [Hotspot(*key, values) for key, values in sums.items()]


def _add(to: Values, values: Values) -> None:
    for event, value in values.items():
        to[event] += value


def programs(rows: Iterable[Hotspot]) -> set[str]:
    """Return the programs that functions are of."""
    return {row.program for row in rows}


def is_in(source: str, wanted: str) -> bool:
    """Return whether a source file is the one that is wanted: its path, or the end of it."""
    return source == wanted or source.endswith("/" + wanted.lstrip("/"))
