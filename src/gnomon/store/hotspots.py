"""Where the counts of a run are: by function, file or line, whatever capability wrote them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnomon.errors import UsageError
from gnomon.store.rundir import Run
from gnomon.units import number, printable

KINDS = ("function", "file", "line")

_SOURCE_LIMIT_BYTES = 64 << 20
_CODE_WIDTH = 60
# A line that several processes ran is one row; repetitions are averaged.
_LINES = """
SELECT r.name, r.file, r.line, m.metric, SUM(p.exclusive)
FROM profile p JOIN paths USING (path) JOIN regions r USING (region) JOIN metrics m USING (metric)
WHERE r.kind = 'cpu'
GROUP BY r.name, r.file, r.line, m.metric
"""
_METRICS = """
SELECT DISTINCT m.metric, m.name, m.unit, m.how
FROM profile p JOIN paths USING (path) JOIN regions r USING (region) JOIN metrics m USING (metric)
WHERE r.kind = 'cpu' ORDER BY m.metric
"""


@dataclass(frozen=True, slots=True)
class Hotspot:
    """Counts of one function, file or line, without what it calls.

    Attributes:
        function: "" for files, and where it is not known.
        file: source file, "" where it is not known.
        line: 0 for functions and files, and where it is not known.
        values: by event.
    """

    function: str
    file: str
    line: int
    values: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Return the row by field name."""
        return {
            "function": self.function,
            "file": self.file,
            "line": self.line,
            "values": self.values,
        }


@dataclass(frozen=True, slots=True)
class Hotspots:
    """The rows of one kind, and what is to be known of their events.

    Attributes:
        kind: function, file or line.
        events: names, in the order of the run.
        how: how the counts of each event came to be.
        totals: over all rows, by event, before any were left out.
        rows: those wanted, most first; the lines of one file in their order.
        found: how many there are.
        file: the source file whose lines alone are wanted, "" for all.
    """

    kind: str
    events: tuple[str, ...]
    how: dict[str, str]
    totals: dict[str, float]
    rows: tuple[Hotspot, ...]
    found: int
    file: str


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
    metrics = run.query(_METRICS)
    events = tuple(str(name) for _, name, _, _ in metrics)
    if sort and sort not in events:
        known = ", ".join(events) or "none"
        raise UsageError(f"--sort {sort}: this run has no lines with that event; it has {known}")
    names = {metric: str(name) for metric, name, _, _ in metrics}
    repetitions = max(int(run.head["repetitions"]), 1)
    sums: dict[tuple[str, str, int], dict[str, float]] = {}
    totals = dict.fromkeys(events, 0.0)
    for function, source, line, metric, value in run.query(_LINES):
        mean = value / repetitions
        totals[names[metric]] += mean
        if file and not _is_in(source, file):
            continue
        key = {
            "function": (function, source, 0),
            "file": ("", source, 0),
            "line": (function, source, line),
        }[kind]
        values = sums.setdefault(key, dict.fromkeys(events, 0.0))
        values[names[metric]] += mean
    if file and not sums and events:
        raise UsageError(f"--file {file}: this run has counts of no such source file")
    rows = [Hotspot(*key, values) for key, values in sums.items()]
    order = [sort, *events] if sort else list(events)
    if file and kind == "line":
        rows.sort(key=lambda row: (row.file, row.line, row.function))
    else:
        rows.sort(key=lambda r: (*(-r.values[e] for e in order), r.file, r.line, r.function))
    shown = rows[:top] if top else rows
    how = {str(name): str(one) for _, name, _, one in metrics}
    return Hotspots(kind, events, how, totals, tuple(shown), len(rows), file)


def _is_in(source: str, wanted: str) -> bool:
    return source == wanted or source.endswith("/" + wanted.lstrip("/"))


def text(run: Run, found: Hotspots) -> str:
    """Return a table of hotspots, lines with their source where it can be read."""
    what = printable(shlex.join(run.head["command"])) or "attached process"
    lines = [f"{run.path}: {what}", ""]
    if not found.events:
        lines.append(
            f"this run has no values of each {found.kind}; "
            "measure with: gnomon count --pmu emulated --run NAME -- program"
        )
        return "\n".join(lines) + "\n"
    head: list[str] = []
    for event in found.events:
        head += [event, "%"]
    rows = [(*_numbers(found, row), *_place(found.kind, row)) for row in found.rows]
    whole = Hotspot("", "", 0, found.totals)
    rows.insert(0, (*_numbers(found, whole), "total", *([""] * (len(_HEADS[found.kind]) - 1))))
    heads = (*head, *_HEADS[found.kind])
    if found.kind == "line":
        sources = _Sources()
        rows = [
            (*row, sources.code(one) if one else "")
            for row, one in zip(rows, (None, *found.rows), strict=True)
        ]
        heads = (*heads, "source")
    lines += _table(heads, rows, numbers=2 * len(found.events))
    if found.found > len(found.rows):
        lines.append(f"  and {number(found.found - len(found.rows))} more (--top 0 for all)")
    kinds = sorted(set(found.how.values()))
    lines += ["", f"{', '.join(kinds)}; without what is called from there"]
    return "\n".join(lines) + "\n"


_HEADS = {"function": ("function", "file"), "file": ("file",), "line": ("file:line", "function")}


def _numbers(found: Hotspots, row: Hotspot) -> list[str]:
    cells = []
    for event in found.events:
        value, total = row.values[event], found.totals[event]
        cells += [number(value) if value else ".", f"{100 * value / total:.1f}" if value else ""]
    return cells


def _place(kind: str, row: Hotspot) -> tuple[str, ...]:
    file = printable(row.file) or "(unknown)"
    function = printable(row.function) or "(unknown)"
    if kind == "function":
        return function, file
    if kind == "file":
        return (file,)
    return f"{file.rpartition('/')[2]}:{row.line}" if row.line else file, function


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: int) -> list[str]:
    widths = [max(len(row[at]) for row in (heads, *rows)) for at in range(len(heads))]
    lines = []
    for row in (heads, *rows):
        cells = (
            cell.rjust(width) if at < numbers else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  " + "  ".join(cells).rstrip())
    return lines


class _Sources:
    """Source files that are there to be read, each read once."""

    def __init__(self) -> None:
        self._files: dict[str, list[str]] = {}

    def code(self, row: Hotspot) -> str:
        """Return a line of source, "" where the file is not there or shorter."""
        if row.file not in self._files:
            self._files[row.file] = self._read(row.file)
        source = self._files[row.file]
        if not 0 < row.line <= len(source):
            return ""
        code = printable(" ".join(source[row.line - 1].split()))
        return code if len(code) <= _CODE_WIDTH else code[: _CODE_WIDTH - 1] + "…"

    def _read(self, name: str) -> list[str]:
        path = Path(name)
        try:
            if not name or not path.is_file() or path.stat().st_size > _SOURCE_LIMIT_BYTES:
                return []
            return path.read_text(errors="replace").splitlines()
        except (OSError, ValueError):
            return []
