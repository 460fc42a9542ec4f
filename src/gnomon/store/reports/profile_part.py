"""The part `profile` of a report: values by region, function, line, rank and so on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gnomon.errors import UsageError
from gnomon.model.tables import Cell
from gnomon.named_tuple import NamedTuple
from gnomon.store import call_paths, profile_query
from gnomon.store.hotspots import named, whole
from gnomon.store.profile_query import BY_REGIONS
from gnomon.store.reports import code_report, code_rows, profile_report
from gnomon.store.reports.code_rows import SAMPLED, CodeTable
from gnomon.store.reports.report_part import (
    CALLS,
    FILE,
    FUNCTION,
    HOW,
    LINE,
    METRIC,
    MODULE,
    OVER_LOCATIONS,
    PLACE,
    SAMPLES,
    SELF,
    TOP,
    TOTAL,
    UNIT,
    Key,
    PartData,
    PartText,
    Request,
)
from gnomon.store.run import Run

BY_CODE = ("function", "module")
BY = ("region", *BY_CODE, *(by for by in profile_query.BY if by != "region"))
_TASKS = ("process", "thread")
_OF_PLACES = ("rank", *_TASKS)
_KEYS = (
    Key("region", "string", "its name", ("region",)),
    Key("kind", "string", "of the region", ("region",)),
    Key("program", "boolean", "what a program has itself, no section of that name", ("region",)),
    FUNCTION._replace(by=("function", "line")),
    MODULE._replace(by=BY_CODE),
    FILE._replace(by=("function", "file", "line")),
    LINE._replace(by=("line",)),
    Key("rank", "integer", "of the location, -1 for none", _OF_PLACES),
    *(key._replace(by=_TASKS) for key in PLACE if key.name in ("location", "pid", "tid", "name")),
    Key("host", "string", "name of its node", _TASKS),
    METRIC, UNIT, HOW,
    SELF._replace(by=(*BY_REGIONS, *BY_CODE)), TOTAL,
    *(key._replace(by=profile_query.BY) for key in (*OVER_LOCATIONS, CALLS)),
    SAMPLES._replace(by=(*BY_CODE, "file", "line", *_OF_PLACES)),
)  # fmt: skip
_OF_LOCATIONS = """
SELECT p.{key}, m.name, SUM(p.raw) FROM (
    SELECT v.*, l.rank, l.kind FROM profile v JOIN locations l USING (location)
) p JOIN metrics m USING (metric)
WHERE m.how = 'sampled' AND p.path IN (SELECT path FROM paths WHERE parent = -1)
    AND p.raw IS NOT NULL GROUP BY ALL
"""


class Profile(NamedTuple):
    """Values summed up over all locations, and how they are spread over them."""

    name: str = "profile"
    title: str = "sums over all locations, and minimum, mean and maximum"
    by: tuple[str, ...] = BY
    argument: str = ""
    options: frozenset[str] = frozenset(("metrics", "top", "executor", "threshold", "inlined"))
    keys: tuple[Key, ...] = _KEYS

    def is_in(self, run: Run) -> bool:
        """Return whether the run has any value."""
        return bool(run.query("SELECT 1 FROM profile LIMIT 1"))

    def text(self, run: Run, request: Request) -> PartText:
        """Return a table of one metric or, by metric, of all."""
        top = TOP if request.top is None else request.top
        of_code = _of_code(run, request) if request.by in call_paths.BY else []
        is_sampled = bool(of_code) and of_code[0]["how"] == SAMPLED
        if request.by in BY_CODE or is_sampled:
            table = code_rows.table(run, request.by, of_code)
            text = code_report.code_text(
                run, table, request.by, width=request.width, top=top,
                threshold=request.threshold or 0.0,
                others=[str(row["name"]) for row in code_rows.metrics(run)],
                charged=request.charged,
            )  # fmt: skip
            return PartText(text, not table.metrics)
        metric, names = -1, list[str]()
        if request.by != "metric":
            metric, names = profile_report.metric(run, request.by, _one_metric(request))
        sums = profile_report.profile(run, request.by, metric)
        text = profile_report.profile_text(
            run, sums, request.by, width=request.width, top=top, others=names, metric=metric,
            threshold=request.threshold or 0.0,
        )  # fmt: skip
        return PartText(text, not sums)

    def data(self, run: Run, request: Request) -> PartData:
        """Return a row for each metric that was asked for, or all, of each key."""
        table = _table(run, request) if request.by in call_paths.BY else CodeTable((), {})
        rows = _code_rows(table, request)
        facts = {"profile": [row.as_dict() for row, _ in rows]} if rows else {}
        if request.by in BY_CODE:
            keys = [key.name for key in _KEYS if request.by in key.by]
            notes = code_report.notes(table)
            return PartData(
                [
                    {name: value for name, value in row.as_dict().items() if name in keys}
                    | {"metric": metric.name, "unit": metric.unit, "how": metric.how,
                       "total": whole(row.total)}
                    for row, metric in rows
                ],
                {**facts, "notes": notes},
            )  # fmt: skip
        number, name = -1, _one_metric(request)
        if name and request.by != "metric":
            number, _ = profile_report.metric(run, request.by, name)
        sums = profile_report.profile(run, request.by, number)
        data = profile_report.profile_data(run, sums, request.by, request.threshold or 0.0)
        listed: Sequence[Mapping[str, Any]] = list(data.rows)[: request.top or None]
        if request.by in ("file", "line", *_OF_PLACES):
            listed = _with_samples(run, listed, request.by, table)
        return data._replace(rows=listed, facts={**facts, **data.facts})


def _of_code(run: Run, request: Request) -> list[Mapping[str, Cell]]:
    """Return the metrics of code that were asked for, or the one that has most values.

    Raises:
        UsageError: the code of the run has no such metric.
    """
    listed = code_rows.metrics(run)
    if not request.metrics:
        return listed[:1]
    if request.by in BY_REGIONS and not listed:
        return []
    names = [str(row["name"]) for row in listed]
    if request.by not in BY_CODE:
        try:
            chosen = [named(name, names, request.by) for name in request.metrics]
        except UsageError:
            return []
    else:
        chosen = [named(name, names, request.by) for name in request.metrics]
    return [listed[names.index(name)] for name in dict.fromkeys(chosen)]


def _table(run: Run, request: Request) -> CodeTable:
    """Return the rows of the metrics of code that were asked for, or all."""
    wanted = _of_code(run, request) if request.metrics else code_rows.metrics(run)
    return code_rows.table(run, request.by, sorted(wanted, key=lambda row: int(str(row["metric"]))))


def _code_rows(
    table: CodeTable, request: Request
) -> list[tuple[code_rows.CodeRow, code_rows.CodeMetric]]:
    rows = [
        (row, metric)
        for metric in table.metrics
        for row in code_report.above(table.rows[metric.name], metric, request.threshold or 0.0)
    ]
    return rows[: request.top or None]


def _with_samples(
    run: Run, rows: Sequence[Mapping[str, Any]], by: str, table: CodeTable
) -> list[dict[str, Any]]:
    """Return rows of a profile with the samples behind the value of each."""
    samples: dict[tuple[Any, ...], float] = {}
    if by in _OF_PLACES:
        key = "location" if by in _TASKS else "rank"
        for location, metric, number in run.query(_OF_LOCATIONS.format(key=key)):
            samples[location, metric] = float(number)
        return [{**row, "samples": whole(samples.get((row[key], row["metric"])))} for row in rows]
    names = ("file", "line", "function") if by == "line" else ("file",)
    for metric, some in table.rows.items():
        for row in some:
            place = tuple(getattr(row.code, name) for name in names)
            if row.samples is not None:
                samples[*place, metric] = samples.get((*place, metric), 0.0) + row.samples
    return [
        {**row, "samples": whole(samples.get((*(row[name] for name in names), row["metric"])))}
        for row in rows
    ]


def _one_metric(request: Request) -> str:
    if len(request.metrics) > 1:
        raise UsageError(
            f"a profile by {request.by} is of one event: give -e once (--json has all)"
        )
    return next(iter(request.metrics), "")
