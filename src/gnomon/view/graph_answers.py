"""Answers about call graphs: functions, calls and cycles of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.responses import Response

from gnomon.callgraph.call_graph import CallGraph, call_graph
from gnomon.callgraph.reports.function_statistics import statistics_data, statistics_text
from gnomon.callgraph.reports.plain_reports import REPORTS, report_data, report_text
from gnomon.callgraph.selection import Selection
from gnomon.csv_text import csv_of
from gnomon.errors import UsageError
from gnomon.view import request_params
from gnomon.view.graph_inputs import graph_input, recorded_runs
from gnomon.view.tree_answers import as_json, packed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnomon.callgraph.inputs import GraphInput
    from gnomon.model.array_types import Ints
    from gnomon.store.run import Run
    from gnomon.view.open_run import OpenRun
    from gnomon.view.request_params import QueryParams

_NAMES_MOST = 100


def graph(opened: OpenRun, asked: QueryParams) -> Response:
    """Return the call graph of a run; names of functions in parameters have newlines between.

    Raises:
        UsageError: it has no functions, or not those that were named.
        RunDirectoryError: it cannot be read.
    """
    return _answer(recorded_runs(opened), _graph(opened, asked, graph_input(opened, asked)))


def report(opened: OpenRun, asked: QueryParams) -> Response:
    """Return a report of the call graph: rows, or a file as `gnomon callgraph` writes it.

    Raises:
        UsageError: there is no such report, function or format, or as `graph`.
        RunDirectoryError: the run cannot be read.
    """
    kind, form = asked.get("kind", ""), asked.get("format", "json")
    if kind not in REPORTS:
        raise UsageError(f"report {kind[:40]!a}: there are {', '.join(REPORTS)}")
    if form not in ("json", "text", "csv") or (form, kind) == ("csv", "graph"):
        raise UsageError(f"format {form[:40]!a}: there are json, text and, but of graph, csv")
    with_unused = asked.get("unused") == "yes"
    read = graph_input(opened, asked, by_file=kind == "statistics", with_unused=with_unused)
    whole = _graph(opened, asked, read)
    if kind == "statistics":
        functions = _function(whole, asked)
        rows = statistics_data(whole, read.files, functions)
        text = statistics_text(whole, read.files, functions) if form == "text" else ""
    else:
        rows = report_data(whole, kind, with_unused=with_unused) if form != "text" else []
        text = "" if form != "text" else report_text(
            whole, kind, with_unused=with_unused, with_fields=asked.get("brief") != "yes"
        )  # fmt: skip
    if form == "json":
        return as_json(_document(kind, rows, len(read.files)))
    name = f"{kind}.{'txt' if form == 'text' else 'csv'}"
    return Response(
        (text if form == "text" else csv_of(rows)).encode(errors="backslashreplace"),
        media_type="text/plain" if form == "text" else "text/csv",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _document(kind: str, rows: list[dict[str, Any]], n_files: int) -> dict[str, Any]:
    if kind == "graph":
        # A cycle has members alone, a function callers and callees alone.
        empty: dict[str, Any] = {"members": [], "callers": [], "callees": []}
        rows = [{**empty, **entry} for entry in rows]
    if kind == "statistics":
        rows = [{"calls_spread": None, **row} for row in rows]
    lists: dict[str, Any] = {name: [] for name in REPORTS}
    return {"kind": kind, "files": n_files} | lists | {kind: rows}


def _function(whole: CallGraph, asked: QueryParams) -> list[int] | None:
    """Return the position of the function whose index was asked for, None for all."""
    index = request_params.integer(asked, "function", -1)
    if index < 0:
        return None
    functions = np.flatnonzero(whole.index[: whole.n_functions] == index).tolist()
    if not functions:
        raise UsageError(f"there is no function [{index}]")
    return functions


def _graph(opened: OpenRun, asked: QueryParams, read: GraphInput) -> CallGraph:
    profile = read.profile
    hidden, dropped, shown, counted = (_names(asked, name) for name in ("e", "E", "f", "F"))
    # With nothing left out it is the command's own graph: sums in another order break ties anew.
    is_chosen = bool(hidden or dropped or shown or counted)
    chosen = Selection(hidden, dropped, shown, counted, by_chapter=is_chosen)
    key = ("call graph", asked.get("metric", ""), asked.get("unused", ""), chosen)
    return opened.once(key, lambda: call_graph(profile, chosen))


def _names(asked: QueryParams, name: str) -> tuple[str, ...]:
    names = tuple(one for one in asked.get(name, "").split("\n") if one)
    if len(names) > _NAMES_MOST:
        raise UsageError(f"-{name}: more than {_NAMES_MOST} functions")
    return names


def _answer(runs: Sequence[Run], graph_: CallGraph) -> Response:
    profile = graph_.profile
    per_unit = profile.metric.per_unit
    # A program of gmon.out files also has functions that were never run: they have no box.
    is_used = profile.own > 0
    is_used[profile.caller] = is_used[profile.callee] = True
    used = np.flatnonzero(is_used)
    number = np.cumsum(is_used, dtype=np.int32) - 1
    modules, module = _numbered([profile.module[function] for function in used])
    sources, source = _numbered([profile.file[function] for function in used])
    paths = {
        str(name): str(path)
        for run in runs
        for name, path in run.query("SELECT name, path FROM modules")
    }
    header = {
        "n": len(used), "program": profile.program, "metric": profile.metric.name,
        "unit": profile.metric.unit, "how": profile.metric.how,
        "whole": profile.whole / per_unit, "counted": graph_.counted / per_unit,
        "files": profile.n_files, "isEstimated": not profile.has_totals,
        "names": [profile.title[function] for function in used],
        "modules": [{"name": name, "path": paths.get(name) or name} for name in modules],
        "sources": sources,
    }  # fmt: skip
    arrays = {
        "own": graph_.own[used] / per_unit, "total": graph_.total[used] / per_unit,
        "calls": graph_.calls[used].astype(np.float64),
        "selfCalls": graph_.self_calls[used].astype(np.float64),
        "cycle": graph_.cycle[used], "index": graph_.index[used], "module": module,
        "source": source, "line": profile.line[used],
        "isShown": graph_.is_shown[used].astype(np.uint8),
        "caller": number[profile.caller], "callee": number[profile.callee],
        "arcCalls": profile.calls.astype(np.float64),
        "arcTotal": (graph_.arc_own + graph_.arc_children) / per_unit,
    }  # fmt: skip
    return packed(header, arrays)


def _numbered(texts: Sequence[str]) -> tuple[list[str], Ints]:
    """Return different texts, and the number of each one's."""
    numbers: dict[str, int] = {}
    column = [numbers.setdefault(text, len(numbers)) for text in texts]
    return list(numbers), np.array(column, np.int32)
