"""The parts of `gnomon report` that any run can have, whatever capabilities measured it."""

from __future__ import annotations

import shlex

from gnomon.errors import UsageError
from gnomon.model.tables import METRICS, schema_of
from gnomon.named_tuple import NamedTuple
from gnomon.store import hotspots
from gnomon.store.reports import (
    hotspot_report,
    run_facts,
    sampled_source,
    table_query,
    table_report,
)
from gnomon.store.reports.branches_part import Branches
from gnomon.store.reports.call_parts import Tree
from gnomon.store.reports.callers_part import Callers
from gnomon.store.reports.profile_part import Profile
from gnomon.store.reports.report_part import (
    DILATED,
    FILE,
    FUNCTION,
    HOW,
    LINE,
    METRIC,
    PLACE,
    REPETITION,
    SELF,
    TOP,
    TOTAL,
    UNIT,
    Key,
    PartData,
    PartText,
    ReportPart,
    Request,
)
from gnomon.store.reports.waits_part import Waits
from gnomon.store.run import Run
from gnomon.units import printable

_FILES_NAMED = 5
_COUNTS = frozenset(("metrics", "sort", "top", "counts", "inlined"))
_LINES = (
    Key("program", "string", "that a function is of; empty for files and lines"),
    FUNCTION, FILE, LINE, SELF._replace(type="numbers"),
)  # fmt: skip


class Values(NamedTuple):
    """Each value of the whole command or of a kind of places."""

    name: str = "values"
    title: str = "each value of the whole command, or of each location"
    by: tuple[str, ...] = ("command", "process", "thread", "core", "cpu")
    argument: str = ""
    options: frozenset[str] = frozenset()
    keys: tuple[Key, ...] = (
        *PLACE, METRIC, UNIT, HOW, TOTAL, REPETITION, DILATED,
    )  # fmt: skip

    def is_in(self, run: Run) -> bool:
        """Return whether the run has any value."""
        return _has_values(run)

    def text(self, run: Run, request: Request) -> PartText:
        """Return the values, a line for each."""
        rows = run_facts.profile(run, request.by)
        emulated = run_facts.is_emulated(run)
        text = run_facts.render_run_facts(
            run, rows, request.by, width=request.width, emulated=emulated
        )
        return PartText(text, not rows)

    def data(self, run: Run, request: Request) -> PartData:
        """Return the values, a row for each."""
        return PartData([row.as_dict() for row in run_facts.profile(run, request.by)])


class Hotspots(NamedTuple):
    """Functions, files and lines of source, those with most first."""

    name: str = "hotspots"
    title: str = "functions, files or lines, those with most first"
    by: tuple[str, ...] = hotspots.KINDS
    argument: str = ""
    options: frozenset[str] = _COUNTS | {"file"}
    keys: tuple[Key, ...] = _LINES

    def is_in(self, run: Run) -> bool:
        """Return whether values of functions are known."""
        return bool(hotspots.hotspots(run, "file", top=1).rows)

    def text(self, run: Run, request: Request) -> PartText:
        """Return a table, or the lines of a file beside its source."""
        is_listing = bool(request.file) and request.by == "line"
        metric = sampled_source.metric_of(run, request) if is_listing else None
        if metric is not None:
            return sampled_source.source_text(run, request, metric)
        top = (0 if is_listing else TOP) if request.top is None else request.top
        spots = _hotspots(run, request, top)
        text = hotspot_report.render_hotspots(
            run, spots, width=request.width, events=request.metrics, counts=request.counts,
            charged=request.charged,
        )  # fmt: skip
        return PartText(text, not spots.rows)

    def data(self, run: Run, request: Request) -> PartData:
        """Return a row for each, with an object of numbers by metric under `self`."""
        spots = _hotspots(run, request, request.top or 0)
        units = {row["name"]: row["unit"] for row in run.rows(METRICS)}
        metrics = [
            {
                "metric": name,
                "unit": units[name] or "",
                "how": spots.how[name],
                "total": hotspots.whole(spots.totals[name]),
            }
            for name in spots.events
        ]
        return PartData([row.as_dict() for row in spots.rows], {"metrics": metrics})


class Source(NamedTuple):
    """A source file with the counts beside its lines."""

    name: str = "source"
    title: str = "a source file, the counts beside its lines"
    by: tuple[str, ...] = ()
    argument: str = "FILE"
    options: frozenset[str] = _COUNTS
    keys: tuple[Key, ...] = (*_LINES, TOTAL._replace(type="numbers"))

    def is_in(self, run: Run) -> bool:
        """Return whether values of lines are known."""
        return HOTSPOTS.is_in(run)

    def text(self, run: Run, request: Request) -> PartText:
        """Return the source, folded where it has no counts."""
        return HOTSPOTS.text(run, _of_file(run, request))

    def data(self, run: Run, request: Request) -> PartData:
        """Return the lines of the file that have counts."""
        data = HOTSPOTS.data(run, _of_file(run, request))
        metrics = [str(one["metric"]) for one in data.facts["metrics"]]
        rows = sampled_source.with_totals(run, list(data.rows), metrics)
        return data._replace(rows=rows)


class Facts(NamedTuple):
    """What ran, where and when."""

    name: str = "run"
    title: str = "what ran, where and when, how it ended, what was not available"
    by: tuple[str, ...] = ()
    argument: str = ""
    options: frozenset[str] = frozenset()
    keys: tuple[Key, ...] = (
        Key("name", "string", "of a fact"),
        Key("value", "string", "the fact"),
    )

    def is_in(self, run: Run) -> bool:  # noqa: ARG002 - every run has it
        """Return True."""
        return True

    def text(self, run: Run, request: Request) -> PartText:
        """Return a line for each fact."""
        return PartText(table_report.run_text(run, request.width))

    def data(self, run: Run, request: Request) -> PartData:  # noqa: ARG002
        """Return a row for each fact; the document has all of run.json anyway."""
        return PartData([{"name": name, "value": text} for name, text in table_report.facts(run)])


class TableRows(NamedTuple):
    """A table of the run."""

    name: str
    title: str
    by: tuple[str, ...] = ()
    argument: str = ""
    options: frozenset[str] = frozenset(("top",))

    @property
    def keys(self) -> tuple[Key, ...]:
        """What a row has of the table's columns, and of the rows that these refer to."""
        return tuple(field.key for field in table_query.fields(schema_of(self.name)))

    def is_in(self, run: Run) -> bool:
        """Return whether the table has rows."""
        return bool(run.query(f"SELECT 1 FROM {self.name} LIMIT 1"))

    def text(self, run: Run, request: Request) -> PartText:
        """Return the columns for which there is room."""
        top = TOP if request.top is None else request.top
        rows = list(table_report.rows(run, self.name, top))
        is_whole = not top or len(rows) < top
        total = len(rows) if is_whole else table_report.count(run, self.name)
        text = table_report.table_text(run, self.name, rows, request.width, total)
        return PartText(text, not rows)

    def data(self, run: Run, request: Request) -> PartData:
        """Return every row, and all that is known of each."""
        return PartData(table_report.rows(run, self.name, request.top or 0, has_paths=True))


_TITLES = {
    "events": "events with their times: calls, operations, phases",
    "messages": "messages from one location to another",
    "files": "files, pipes and sockets that the program used",
    "samples": "samples of where the program was",
    "arcs": "calls of one region from another, without whole call paths",
    "coordinates": "positions of locations in a machine or network",
    "modules": "programs and libraries that were loaded",
}
"""Of the tables that a run may have, but those that have a part of their own."""


def _has_values(run: Run) -> bool:
    return bool(run.query("SELECT 1 FROM profile LIMIT 1"))


def _hotspots(run: Run, request: Request, top: int) -> hotspots.Hotspots:
    sort = request.sort or next(iter(request.metrics), "")
    return hotspots.hotspots(run, request.by, sort=sort, file=request.file, top=top)


def _of_file(run: Run, request: Request) -> Request:
    """Return the request for the lines of the file that is named.

    Raises:
        UsageError: none is.
    """
    if request.argument:
        return request._replace(by="line", file=request.argument, argument="")
    spots = hotspots.hotspots(run, "file")
    names = [spots.labels[row.file] for row in spots.rows if row.file][:_FILES_NAMED]
    which = f"; most is in {printable(', '.join(names))}" if names else ""
    name = printable(shlex.quote(str(run.path)))
    raise UsageError(f"source: its file is missing; type gnomon report {name} source FILE{which}")


HOTSPOTS = Hotspots()
PARTS: tuple[ReportPart, ...] = (
    Values(),
    HOTSPOTS,
    Source(),
    Profile(),
    Tree(),
    Callers(),
    Waits(),
    Branches(),
    Facts(),
    TableRows("locations", "processes, threads, cores and ranks that have values"),
    TableRows("regions", "regions that have values: sections, functions, lines, ..."),
    TableRows("metrics", "what was measured, in which unit, and how"),
    *(TableRows(name, told) for name, told in _TITLES.items()),
)
"""The first is that of a report that names none."""
