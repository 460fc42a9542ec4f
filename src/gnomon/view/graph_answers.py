"""Answers about call graphs: functions, calls and cycles of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
from starlette.responses import Response

from gnomon.callgraph.call_graph import CallGraph, call_graph
from gnomon.callgraph.call_profile import CallProfile
from gnomon.callgraph.reports.plain_reports import PLAIN_REPORTS, report_data, report_text
from gnomon.callgraph.run_profile import call_profile_of_run
from gnomon.callgraph.selection import Selection
from gnomon.csv_text import csv_of
from gnomon.errors import UsageError
from gnomon.model.array_types import Ints
from gnomon.store.run import Run
from gnomon.view import request_params
from gnomon.view.open_run import OpenRun
from gnomon.view.recorded_run import recorded_run
from gnomon.view.request_params import QueryParams
from gnomon.view.tree_answers import as_json, packed

_NAMES_MOST = 100


def graph(opened: OpenRun, asked: QueryParams) -> Response:
    """Return the call graph of a run; names of functions in parameters have newlines between.

    Raises:
        UsageError: it is a combination, has no functions, or not those that were named.
        RunDirectoryError: it cannot be read.
    """
    run, whole = _graph(opened, asked)
    return _answer(run, whole)


def report(opened: OpenRun, asked: QueryParams) -> Response:
    """Return a report of the call graph: rows, or a file as `gnomon callgraph` writes it.

    Raises:
        UsageError: there is no such report or format, or as `graph`.
        RunDirectoryError: the run cannot be read.
    """
    kind, form = asked.get("kind", ""), asked.get("format", "json")
    if kind not in PLAIN_REPORTS:
        raise UsageError(f"report {kind[:40]!a}: there are {', '.join(PLAIN_REPORTS)}")
    if form not in ("json", "text", "csv") or (form, kind) == ("csv", "graph"):
        raise UsageError(f"format {form[:40]!a}: there are json, text and, but of graph, csv")
    _, whole = _graph(opened, asked)
    if form == "json":
        rows = {name: report_data(whole, name) if name == kind else [] for name in PLAIN_REPORTS}
        # A cycle has members alone, a function callers and callees alone.
        empty: dict[str, Any] = {"members": [], "callers": [], "callees": []}
        entries = [{**empty, **entry} for entry in rows["graph"]]
        return as_json({"kind": kind, **rows, "graph": entries})
    text = report_text(whole, kind) if form == "text" else csv_of(report_data(whole, kind))
    name = f"{kind}.{'txt' if form == 'text' else 'csv'}"
    return Response(
        text.encode(errors="backslashreplace"),
        media_type="text/plain" if form == "text" else "text/csv",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _graph(opened: OpenRun, asked: QueryParams) -> tuple[Run, CallGraph]:
    if opened.parts:
        raise UsageError(f"{opened.title}: a combination has no call graph; choose one of its runs")
    number = request_params.integer(asked, "metric", -1)
    metric = opened.metric(number).name if number >= 0 else ""
    run = recorded_run(opened)
    profile: CallProfile = opened.once(
        ("call profile", metric), lambda: call_profile_of_run(run, metric)
    )
    hidden, dropped, shown, counted = (_names(asked, name) for name in ("e", "E", "f", "F"))
    # With nothing left out it is the command's own graph: sums in another order break ties anew.
    is_chosen = bool(hidden or dropped or shown or counted)
    chosen = Selection(hidden, dropped, shown, counted, by_chapter=is_chosen)
    whole: CallGraph = opened.once(
        ("call graph", metric, chosen), lambda: call_graph(profile, chosen)
    )
    return run, whole


def _names(asked: QueryParams, name: str) -> tuple[str, ...]:
    names = tuple(one for one in asked.get(name, "").split("\n") if one)
    if len(names) > _NAMES_MOST:
        raise UsageError(f"-{name}: more than {_NAMES_MOST} functions")
    return names


def _answer(run: Run, graph_: CallGraph) -> Response:
    profile = graph_.profile
    n = graph_.n_functions
    per_unit = profile.metric.per_unit
    modules, module = _numbered(profile.module)
    sources, source = _numbered(profile.file)
    paths = {str(name): str(path) for name, path in run.query("SELECT name, path FROM modules")}
    header = {
        "n": n, "program": profile.program, "metric": profile.metric.name,
        "unit": profile.metric.unit, "how": profile.metric.how,
        "whole": profile.whole / per_unit, "counted": graph_.counted / per_unit,
        "files": profile.n_files, "isEstimated": not profile.has_totals,
        "names": list(profile.title),
        "modules": [{"name": name, "path": paths.get(name) or name} for name in modules],
        "sources": sources,
    }  # fmt: skip
    arrays = {
        "own": graph_.own[:n] / per_unit, "total": graph_.total[:n] / per_unit,
        "calls": graph_.calls[:n].astype(np.float64),
        "selfCalls": graph_.self_calls[:n].astype(np.float64),
        "cycle": graph_.cycle, "index": graph_.index[:n], "module": module, "source": source,
        "line": profile.line, "isShown": graph_.is_shown[:n].astype(np.uint8),
        "caller": profile.caller, "callee": profile.callee,
        "arcCalls": profile.calls.astype(np.float64),
        "arcTotal": (graph_.arc_own + graph_.arc_children) / per_unit,
    }  # fmt: skip
    return packed(header, arrays)


def _numbered(texts: tuple[str, ...]) -> tuple[list[str], Ints]:
    """Return different texts, and the number of each one's."""
    numbers: dict[str, int] = {}
    column = [numbers.setdefault(text, len(numbers)) for text in texts]
    return list(numbers), np.array(column, np.int32)
