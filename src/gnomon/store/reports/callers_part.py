"""The part `callers` of a report: who calls a function, and what it calls."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gnomon.errors import UsageError
from gnomon.model.symbol_names import short_name
from gnomon.model.tables import Cell
from gnomon.named_tuple import NamedTuple
from gnomon.store import call_paths, callers
from gnomon.store.hotspots import whole
from gnomon.store.reports.call_parts import NODE, arcs_note, chosen_metric, program_branch
from gnomon.store.reports.report_part import (
    FILE,
    HOW,
    METRIC,
    MODULE,
    SAMPLES,
    SELF,
    TOTAL,
    UNIT,
    Key,
    PartData,
    PartText,
    Request,
)
from gnomon.store.reports.run_facts import title
from gnomon.store.reports.table_report import INDENT, UNKNOWN
from gnomon.store.reports.tree_text import Way, tree_lines
from gnomon.terminal_text import filled, grid
from gnomon.units import number, printable, quantity

if TYPE_CHECKING:
    from gnomon.store.call_paths import Code
    from gnomon.store.call_tree import CallTree
    from gnomon.store.callers import Calls
    from gnomon.store.reports.call_parts import Branch
    from gnomon.store.run import Run

_FUNCTIONS = 3
"""Of a text, where the name is that of several."""
_THRESHOLD = 1.0
_NAMED = 5
_NAME_LEAST = 24


class Callers(NamedTuple):
    """Who calls a function, and what it calls."""

    name: str = "callers"
    title: str = "who calls a function, and what it calls"
    by: tuple[str, ...] = ()
    argument: str = "NAME"
    options: frozenset[str] = frozenset(("metrics", "threshold", "depth", "top", "inlined"))
    keys: tuple[Key, ...] = (
        *NODE,
        Key("relation", "string", "function (at the top), caller (of the node above) or callee (of "
            "the function above)"),
        Key("name", "string", "of the function; empty where it is not known"),
        MODULE, FILE, METRIC, UNIT, HOW,
        SELF, TOTAL,
        SAMPLES._replace(text="how many samples stand behind `self`, of callees behind `total`; "
                         "null of what was not sampled"),
    )  # fmt: skip

    def is_in(self, run: Run) -> bool:
        """Return whether functions are known."""
        return bool(run.query(f"SELECT 1 FROM regions WHERE kind IN {run.region_kinds.code()}"))

    def text(self, run: Run, request: Request) -> PartText:
        """Return the callers as an inverted tree, and the callees as a table."""
        metric = chosen_metric(run, request)
        lines = [title(run, request.width)]
        if metric is None:
            lines += filled("this run has no values of calls that could be added up", request.width)
            return PartText("\n".join(lines) + "\n", is_empty=True)
        threshold = _THRESHOLD if request.threshold is None else request.threshold
        branch = program_branch(run, metric)
        top = _FUNCTIONS if request.top is None else request.top
        functions = _functions(run, request, branch)
        for function in functions[:top] if top else functions:
            calls = _calls(run, request, branch, function, threshold)
            lines += ["", *_heading(calls, branch, metric, request)]
            lines += _callers(run, calls.callers, branch, metric, threshold, request.width)
            lines += _callees(run, calls, branch, metric, request.width)
        if top and len(functions) > top:
            names = ", ".join(code.function for _, code in functions[top : top + _NAMED])
            more = ", ..." if len(functions) > top + _NAMED else ""
            told = f"{len(functions) - top} more have that name (--top 0 for all): {names}{more}"
            lines += ["", *filled(printable(told), request.width, "", "  ")]
        if threshold:
            told = f"what has less than {number(threshold)} % of the function is cut: --threshold"
            lines += ["", *filled(told, request.width)]
        lines += filled(arcs_note(run), request.width)
        return PartText("\n".join(lines) + "\n")

    def data(self, run: Run, request: Request) -> PartData:
        """Return a row for each function of the name, each caller and each callee."""
        metric = chosen_metric(run, request)
        if metric is None:
            return PartData([])
        branch = program_branch(run, metric)
        all_calls = [
            _calls(run, request, branch, function, request.threshold or 0.0)
            for function in _functions(run, request, branch)[: request.top or None]
        ]
        return PartData(list(_rows(run, all_calls, metric)))


def _functions(run: Run, request: Request, branch: Branch) -> list[tuple[int, Code]]:
    """Return the functions that are meant, those with most first.

    Raises:
        UsageError: none is.
    """
    if not request.argument:
        name = printable(shlex.quote(str(run.path)))
        raise UsageError(f"callers: a function is missing; type gnomon report {name} callers NAME")
    totals = callers.totals(run, branch.values)
    functions = callers.matching(run, request.argument).items()
    return sorted(functions, key=lambda function: (-totals[function[0]], function[1]))


def _calls(
    run: Run, request: Request, branch: Branch, function: tuple[int, Code], threshold: float
) -> Calls:
    least, depth = threshold / 100, request.depth or 0
    return callers.calls(run, function, branch.values, least=least, depth=depth)


def _total(calls: Calls) -> float:
    return float(calls.callers.inclusive[0]) if len(calls.callers.group) else 0.0


def _heading(
    calls: Calls, branch: Branch, metric: Mapping[str, Cell], request: Request
) -> list[str]:
    code, tree, width = calls.function, calls.callers, request.width
    unit = str(metric["unit"] or "")
    own = float(tree.own[0]) if len(tree.group) else 0.0
    where = f" in {printable(code.module)}" if code.module else ""
    values = (
        f"self {quantity(own, unit)} ({_share(own, branch)}), "
        f"total {quantity(_total(calls), unit)} ({_share(_total(calls), branch)})"
    )
    name = short_name(printable(code.function), max(width - len(where) - 1, _NAME_LEAST))
    told = f"{printable(str(metric['name']))}, {metric['how']}{request.charged}: {values}"
    return [f"{name}{where}", *filled(told, width, " " * INDENT, " " * INDENT)]


def _callers(
    run: Run, tree: CallTree, branch: Branch, metric: Mapping[str, Cell], threshold: float,
    width: int,
) -> list[str]:  # fmt: skip
    if not len(tree.group):
        return ["  no value of this metric"]
    lines = tree_lines(
        tree, _described(run, tree.group.tolist()), whole=branch.whole,
        unit=str(metric["unit"] or ""), threshold=threshold, width=width, way=Way.CALLERS,
    )  # fmt: skip
    return list(lines)


def _callees(
    run: Run, calls: Calls, branch: Branch, metric: Mapping[str, Cell], width: int
) -> list[str]:
    if not len(calls.callees.group):
        return []
    told = _described(run, calls.callees.group.tolist())
    unit = str(metric["unit"] or "")
    totals = calls.callees.total.tolist()
    values = [(_share(total, branch), quantity(total, unit)) for total in totals]
    room = width - INDENT - sum(
        max(len(head), *map(len, column)) + INDENT
        for head, column in zip(("of total", "total"), zip(*values, strict=True), strict=True)
    )  # fmt: skip
    names = [
        short_name(printable(told[group].function) or UNKNOWN, room)
        for group in calls.callees.group.tolist()
    ]
    rows = [(*cells, name) for cells, name in zip(values, names, strict=True)]
    return list(grid([("of total",), ("total",), ("it calls",)], rows, 2).lines)


def _share(value: float, branch: Branch) -> str:
    return f"{100 * value / branch.whole:.1f} %" if branch.whole else "-"


def _described(run: Run, groups: list[int]) -> dict[int, Code]:
    import numpy as np

    return call_paths.described(run, np.unique(np.array(groups, dtype=np.int32)), "function")


def _rows(run: Run, all_calls: list[Calls], metric: Mapping[str, Cell]) -> Iterator[dict[str, Any]]:
    before = 0
    groups = [group for some in all_calls for part in (some.callers, some.callees)
              for group in part.group.tolist()]  # fmt: skip
    told = _described(run, groups)
    for some in all_calls:
        tree, callees = some.callers, some.callees
        nodes = [
            (parent, depth, "caller" if depth else "function", group, own, total, samples)
            for parent, depth, group, own, total, samples in zip(
                *(column.tolist() for column in tree[:6]), strict=True
            )
        ]
        nodes += [
            (0, 1, "callee", group, None, total, samples)
            for group, total, samples in zip(*(column.tolist() for column in callees), strict=True)
        ]
        for node, (parent, depth, relation, group, own, total, samples) in enumerate(nodes):
            code = told[group]
            yield {
                "number": before + node, "parent": parent if parent < 0 else before + parent,
                "depth": depth, "relation": relation, "name": code.function,
                "module": code.module, "file": code.file, "metric": metric["name"] or "",
                "unit": metric["unit"] or "", "how": metric["how"] or "", "self": whole(own),
                "total": whole(total), "samples": whole(samples),
            }  # fmt: skip
        before += len(nodes)
