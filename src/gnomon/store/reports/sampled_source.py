"""A source file of a sampled run: beside its lines what they took, and what with their calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gnomon.errors import UsageError
from gnomon.model.tables import Cell
from gnomon.store import call_paths, hotspots
from gnomon.store.reports import code_rows
from gnomon.store.reports.code_report import notes, share_text
from gnomon.store.reports.code_rows import CodeMetric, CodeRow
from gnomon.store.reports.hotspot_report import stale_note
from gnomon.store.reports.report_part import PartText, Request
from gnomon.store.reports.run_facts import title
from gnomon.store.reports.table_report import GAP, INDENT
from gnomon.store.run import Run
from gnomon.store.source_digests import Sources
from gnomon.store.source_listing import folded_lines
from gnomon.terminal_text import filled, grid, short_path, suffixes
from gnomon.units import number, printable, quantity

_SOURCE_LEAST = 24
_NUMBER_WIDTH = 5
_NONE = "."


def metric_of(run: Run, request: Request) -> Mapping[str, Cell] | None:
    """Return the sampled metric that a source file is to be shown with, None for others.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    if len(request.metrics) > 1 or request.sort or request.counts:
        return None
    listed = code_rows.metrics(run)
    if request.metrics:
        names = [str(row["name"]) for row in listed]
        try:
            name = hotspots.named(request.metrics[0], names, "line")
        except UsageError:
            return None
        listed = [listed[names.index(name)]]
    first = next(iter(listed), None)
    return first if first is not None and first["how"] == code_rows.SAMPLED else None


def source_text(run: Run, request: Request, metric: Mapping[str, Cell]) -> PartText:
    """Return the lines of the source files that are meant.

    Raises:
        UsageError: the run has no samples in such a file.
        RunDirectoryError: the tables cannot be read.
    """
    wanted, width = request.file, request.width
    table = code_rows.table(run, call_paths.PLACE, [metric])
    first = table.metrics[0]
    rows = [row for row in table.rows[first.name] if hotspots.is_in(row.code.file, wanted)]
    if not rows:
        raise UsageError(f"{wanted}: {run.path} has counts of no such source file")
    rows = rows[: request.top] if request.top else rows
    files = [
        row
        for row in code_rows.table(run, "file", [metric]).rows[first.name]
        if hotspots.is_in(row.code.file, wanted)
    ]
    listing = _Listing(first, has_totals=any(row.total is not None for row in rows))
    sources = Sources(run.source_text)
    lines = listing.lines(files, rows, sources, width)
    told = f"{number(first.samples)} samples; ± is the standard error of a share"
    text = [
        title(run, width),
        printable(f"{first.name} by line, {first.how}{request.charged}"),
        *lines,
    ]
    text += ["", *filled(told, width)]
    for note in notes(table):
        text += filled(note, width)
    text += stale_note(run, sources, suffixes({row.code.file for row in files}), width)
    return PartText("\n".join(text) + "\n")


class _Listing:
    """A table of lines of source files."""

    def __init__(self, metric: CodeMetric, *, has_totals: bool) -> None:
        self._metric = metric
        self._has_totals = has_totals
        self._heads = ("of total", "self", *(("total",) if has_totals else ()), "line")

    def _cells(self, row: CodeRow) -> tuple[str, ...]:
        values = (row.own, row.total) if self._has_totals else (row.own,)
        share = share_text(row, self._metric) if row.own else _NONE
        return (share, *(quantity(value, self._metric.unit, "-") if value or value is None else
                         _NONE for value in values))  # fmt: skip

    def lines(
        self, files: Sequence[CodeRow], rows: Sequence[CodeRow], sources: Sources, width: int
    ) -> list[str]:
        """Return the table: the program, each file, then each file's lines."""
        whole = quantity(self._metric.whole, self._metric.unit)
        program = ("100.0 %", *((whole,) * (len(self._heads) - 2)))
        by_file: dict[str, dict[int, tuple[str, ...]]] = {}
        for row in rows:
            by_file.setdefault(row.code.file, {})[row.code.line] = self._cells(row)
        numbers = [program, *(self._cells(row) for row in (*files, *rows))]
        taken = [max(map(len, column)) for column in zip(self._heads[:-1], *numbers, strict=True)]
        room = width - INDENT - sum(taken) - GAP * (len(taken) + 1) - _NUMBER_WIDTH
        room = max(room, _SOURCE_LEAST)
        labels = suffixes({row.code.file for row in files})
        totals = [(*program, "", "total of the program")]
        for row in files:
            label = printable(labels[row.code.file])
            totals.append((*self._cells(row), "", short_path(f"total of {label}", room)))
        none = (_NONE,) * len(program)
        blocks = [
            folded_lines(of_file, none, sources.lines(file), room)
            for file, of_file in by_file.items()
        ]
        cells = [*totals, *(line for block in blocks for line in block)]
        heads = [*((head,) for head in self._heads), ("source",)]
        listed = grid(heads, cells, len(self._heads))
        text, begin = [*listed.heading, *listed.rows[: len(totals)]], len(totals)
        for file, block in zip(by_file, blocks, strict=True):
            text += ["", short_path(printable(file), width)]
            if not sources.lines(file):
                told = "the source cannot be read here: only the lines with samples"
                text += filled(told, width)
            text += listed.rows[begin : begin + len(block)]
            begin += len(block)
        return text


def with_totals(
    run: Run, rows: Sequence[Mapping[str, Any]], metrics: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the rows of lines with what each has with its calls, by metric, where that is known.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    wanted = [row for row in code_rows.metrics(run) if row["name"] in metrics]
    table = code_rows.table(run, "line", wanted)
    totals: dict[tuple[Any, ...], dict[str, float | None]] = {}
    for metric, some in table.rows.items():
        for row in some:
            by_metric = totals.setdefault(row.code[:1] + row.code[2:], {})
            known = by_metric.get(metric, 0.0)
            by_metric[metric] = None if known is None or row.total is None else known + row.total
    return [
        {**row, "total": {
            metric: hotspots.whole(value)
            for metric, value in totals.get((row["function"], row["file"], row["line"]), {}).items()
        }}
        for row in rows
    ]  # fmt: skip
