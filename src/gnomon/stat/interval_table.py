"""Intervals as lines of a table, with a heading that comes again when it has left the screen."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from gnomon.counters.component import EventInfo
from gnomon.model.value import How
from gnomon.stat.interval_columns import StatColumn, columns, columns_that_fit, format_cell
from gnomon.stat.interval_rows import MACHINE, PROCESS, IntervalRow, Sample
from gnomon.stat.watched_events import WatchedEvents
from gnomon.terminal_text import filled, shortened
from gnomon.units import duration, printable

_SHORT_NS = 1_000_000_000
_NAME_WIDTH = 24
_TITLES = {"cpu": "CPU", "core": "core", "node": "node", "socket": "socket", "cgroup": "cgroup",
           "process": "process"}  # fmt: skip
_WHOLE = "all"


class IntervalTable:
    """Renders samples one after the other."""

    def __init__(
        self, choice: WatchedEvents, infos: Mapping[str, EventInfo], period_ns: int
    ) -> None:
        """Prepare.

        Args:
            choice: what is counted.
            infos: what each event is.
            period_ns: how long an interval is meant to be.
        """
        self._choice = choice
        self._infos = infos
        self._period_ns = period_ns
        self._is_short = period_ns < _SHORT_NS
        self._front = 12 if self._is_short else 8
        self._since_heading = -1
        self._shape: tuple[object, ...] = ()
        self._columns: list[StatColumn] = []
        self._kept: list[StatColumn] = []
        self._extremes: dict[tuple[tuple[str, str], str], tuple[float, float]] = {}
        self._said: set[tuple[How, str]] = set()
        self._names = 0
        self._whose = ""
        self.left_out: tuple[str, ...] = ()

    def twin(self) -> IntervalTable:
        """Return one for the same, that has told nothing yet."""
        return IntervalTable(self._choice, self._infos, self._period_ns)

    def text(self, sample: Sample, width: int, height: int, *, bold: bool = False) -> str:
        """Return an interval as lines.

        Args:
            sample: the interval.
            width: columns of the terminal.
            height: its lines; 0 where the heading is not to come again.
            bold: of the heading.
        """
        lines: list[str] = []
        if not self._columns:
            self._choose(sample.rows)
        self._fit(sample.rows, width)
        due = height and self._since_heading + len(sample.rows) >= max(height - 1, 2)
        if self._since_heading < 0 or due:
            head = self._heading()
            lines += [f"\x1b[1m{line}\x1b[0m" for line in head] if bold else head
            self._since_heading = len(head)
        at = time.localtime(sample.time)
        moment = time.strftime("%H:%M:%S", at)
        if self._is_short:
            moment += f".{int(sample.time % 1 * 1000):03d}"
        for row in sample.rows:
            lines.append(self._line(moment, row, sample.span_ns, note=True))
        notes = [*self._hows(sample.rows), *sample.notes]
        for note in notes:
            lines += filled(f"# {note}", width, "", "#   ")
        self._since_heading += len(sample.rows) + len(notes)
        return "".join(f"{line}\n" for line in lines)

    def summary(self, sample: Sample, intervals: int, width: int) -> str:
        """Return the summary of all intervals: means, and the extremes of whole intervals."""
        if not self._columns:
            self._choose(sample.rows)
        self._fit(sample.rows, width)
        times = " in 1 interval" if intervals == 1 else f" in {intervals} intervals"
        times = times if intervals else ", less than an interval"
        lines = [f"--- {duration(sample.span_ns)}{times} ---", *self._heading()]
        for row in sample.rows:
            lines.append(self._line("mean", row, sample.span_ns))
            if len(sample.rows) == 1 and intervals > 1:
                for at, word in enumerate(("min", "max")):
                    cells = [
                        format_cell(self._extremes[row.key, self._id(column)][at], column.unit)
                        if (row.key, self._id(column)) in self._extremes
                        else "-"
                        for column in self._kept
                    ]
                    lines.append(self._joined(word, row, cells))
        return "".join(f"{line}\n" for line in lines)

    def _hows(self, rows: Sequence[IntervalRow]) -> list[str]:
        """Return the notes on columns that are not counted exactly, each once."""
        by_how: dict[How, list[str]] = {}
        for row in rows:
            hows: dict[str, How] = {value.event: value.how for value in row.values}
            if any(column.is_metric for column in self._kept):
                hows.update((metric.name, metric.how) for metric in row.metrics)
            for column in self._kept:
                how = hows.get(column.of, How.COUNTED)
                if how is not How.COUNTED and (how, column.of) not in self._said:
                    self._said.add((how, column.of))
                    by_how.setdefault(how, []).append(column.label)
        return [f"{how.value}: {', '.join(names)}" for how, names in by_how.items()]

    # --- the shape ---------------------------------------------------------------------------

    def _choose(self, rows: Sequence[IntervalRow]) -> None:
        kinds = [row.kind for row in rows]
        self._columns = columns(self._choice, kinds[0] if kinds else MACHINE, rows, self._infos)
        others = [kind for kind in kinds if kind != MACHINE]
        self._whose = others[0] if others else ""

    def _fit(self, rows: Sequence[IntervalRow], width: int) -> None:
        names = max((len(_name(row)) for row in rows), default=0) if self._whose else 0
        names = max(self._names, min(max(names, len(_TITLES.get(self._whose, ""))), _NAME_WIDTH))
        shape = (width, names)
        if shape == self._shape:
            return
        self._shape = shape
        self._names = names if self._whose else 0
        room = width - self._front - (self._names + 1 if self._whose else 0)
        self._kept, left = columns_that_fit(self._columns, room)
        self.left_out = tuple(column.label for column in left)
        self._since_heading = -1

    def _heading(self) -> list[str]:
        deep = max((len(column.head) for column in self._kept), default=1)
        front = "time".ljust(self._front)
        if self._whose:
            front += " " + _TITLES.get(self._whose, "").ljust(self._names)
        lines = []
        above = "".join(
            f" {_over(text, width)}"
            for text, width in _runs([(one.above, one.width) for one in self._kept])
        )
        if above.strip():
            lines.append((" " * len(front) + above).rstrip())
        for level in range(deep):
            cells = ""
            for column in self._kept:
                line = level - (deep - len(column.head))
                cells += " " + (column.head[line] if line >= 0 else "").rjust(column.width)
            lines.append(((front if level == deep - 1 else " " * len(front)) + cells).rstrip())
        return lines

    def _line(self, moment: str, row: IntervalRow, span_ns: int, *, note: bool = False) -> str:
        values = {value.event: value for value in row.values}
        asked = any(column.is_metric for column in self._kept)
        metrics = {metric.name: metric for metric in row.metrics} if asked else {}
        seconds = span_ns / 1e9
        cells = []
        for column in self._kept:
            number = column.cell(values, metrics, seconds)
            cells.append(format_cell(number, column.unit))
            if note and number is not None:
                key = (row.key, self._id(column))
                least, most = self._extremes.get(key, (number, number))
                self._extremes[key] = (min(least, number), max(most, number))
        line = self._joined(moment, row, cells)
        return f"{line}  ({row.gap})" if row.gap else line

    def _joined(self, moment: str, row: IntervalRow, cells: Sequence[str]) -> str:
        front = moment.ljust(self._front)
        whose = []
        if self._whose:
            whose = [shortened(printable(_name(row)), self._names).ljust(self._names)]
        wide = (cell.rjust(column.width) for cell, column in zip(cells, self._kept, strict=True))
        return " ".join([front, *whose, *wide]).rstrip()

    @staticmethod
    def _id(column: StatColumn) -> str:
        return column.name or "/".join(column.head)


def _name(row: IntervalRow) -> str:
    if row.kind == MACHINE:
        return _WHOLE
    return f"{row.name} {row.program}" if row.kind == PROCESS else row.name


def _runs(cells: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return neighbours of the same text as one, as wide as they are together."""
    runs: list[tuple[str, int]] = []
    for text, width in cells:
        if runs and runs[-1][0] == text:
            runs[-1] = (text, runs[-1][1] + 1 + width)
        else:
            runs.append((text, width))
    return runs


def _over(text: str, width: int) -> str:
    return text.center(width, "-") if text else " " * width
