"""The call profile of a run: from arcs where it has them, else from call paths.

Of paths it is known what calls from one function to another came to: the sum over the outermost
such calls. How many there were samples do not tell.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from gnomon.callgraph.call_profile import UNKNOWN, CallProfile, GraphMetric, KnownPlaces
from gnomon.errors import UsageError
from gnomon.named_tuple import NamedTuple
from gnomon.store import call_paths, path_values
from gnomon.store.reports import call_parts
from gnomon.store.reports.report_part import Request
from gnomon.units import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gnomon.model.array_types import Floats, Ints, Longs
    from gnomon.model.tables import Cell
    from gnomon.store.path_values import PathValues
    from gnomon.store.run import Run


class _Arcs(NamedTuple):
    """Arcs between groups of regions; a caller of -1 is not known."""

    caller: Ints
    callee: Ints
    calls: Longs
    total: Floats
    own: Floats


def call_profile_of_run(run: Run, metric: str = "") -> CallProfile:
    """Return the functions of a run and the calls between them, of one execution.

    Args:
        run: the run.
        metric: its name; "" for the one that most calls have.

    Raises:
        UsageError: there is no such metric, or the run has none of functions.
        RunDirectoryError: the tables cannot be read.
    """
    import numpy as np

    request = Request(by="program", metrics=(metric,) if metric else ())
    row = call_parts.chosen_metric(run, request)
    code = run.region_kinds.code()
    if row is None:
        raise UsageError(
            printable(f"{run.path}: it has no functions; see gnomon report RUN for what it has")
        )
    number = int(str(row["metric"]))
    branch = call_parts.program_branch(run, row)
    groups = call_paths.grouped(run, "function", code)
    arcs = (
        _recorded_arcs(run, number)
        if call_paths.has_arcs(run)
        else _arcs_of_paths(run, branch.values)
    )
    is_function = groups.group >= 0
    functions = np.unique(np.concatenate((groups.group[is_function], arcs.caller, arcs.callee)))
    functions = functions[functions >= 0]
    n = len(functions)
    own = path_values.added(
        np.searchsorted(functions, groups.group[is_function]), branch.values.own[is_function], n
    )
    told = call_paths.described(run, functions, "function")
    lines = _first_lines(run)
    described = [told[group] for group in functions.tolist()]
    names = tuple(one.function or "?" for one in described)
    is_inner = arcs.caller >= 0
    calls_of = None
    if (arcs.calls != UNKNOWN).all() and len(arcs.calls) and not is_inner.all():
        calls_of = np.zeros(n, np.int64)
        np.add.at(calls_of, np.searchsorted(functions, arcs.callee), arcs.calls)
    return CallProfile(
        program=_program(run),
        metric=GraphMetric(str(row["name"]), str(row["unit"] or ""), str(row["how"] or "")),
        name=names, title=names,
        module=tuple(one.module for one in described),
        places=KnownPlaces(
            tuple(one.file for one in described),
            [lines.get((one.module, one.function, one.file), 0) for one in described],
        ),
        own=own, whole=branch.whole,
        caller=np.searchsorted(functions, arcs.caller[is_inner]).astype(np.int32),
        callee=np.searchsorted(functions, arcs.callee[is_inner]).astype(np.int32),
        calls=arcs.calls[is_inner], arc_total=arcs.total[is_inner], arc_own=arcs.own[is_inner],
        calls_of=calls_of,
    )  # fmt: skip


def metrics_of_run(run: Run) -> list[Mapping[str, Cell]]:
    """Return the metrics that a graph of a run can be of, the usual one first.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    from gnomon.store.reports import code_rows

    return code_rows.metrics(run)


def _program(run: Run) -> str:
    command = run.head.get("command") or [run.path.name]
    return PurePath(str(command[0])).name or str(command[0])


def _first_lines(run: Run) -> dict[tuple[str, str, str], int]:
    rows = run.query(
        "SELECT module, name, file, MIN(line) FROM regions WHERE line > 0 GROUP BY ALL", threads=1
    )
    return {(str(module), str(name), str(file)): int(line) for module, name, file, line in rows}


def _recorded_arcs(run: Run, metric: int) -> _Arcs:
    """Return the arcs that the run has, of one execution."""
    import numpy as np

    region, first = call_paths.region_groups(run, "function", run.region_kinds.code())
    columns = run.columns(
        "SELECT caller, callee, SUM(calls) FILTER (metric = -1) AS calls, "
        f"SUM(inclusive) FILTER (metric = {metric}) AS inclusive FROM arcs "
        f"WHERE metric IN (-1, {metric}) GROUP BY ALL ORDER BY callee, caller",
        threads=1,
    )
    times = max(int(run.head["repetitions"]), 1)
    is_known = call_paths.positions(region, columns["callee"]) >= 0
    columns = {name: column[is_known] for name, column in columns.items()}
    callee = first[call_paths.positions(region, columns["callee"])]
    of_caller = call_paths.positions(region, columns["caller"])
    caller = np.where(of_caller >= 0, first[of_caller], -1)
    calls = columns["calls"].astype(np.float64)
    total = columns["inclusive"].astype(np.float64)
    key = caller.astype(np.int64) << 32 | callee.astype(np.int64)
    _, position, group = np.unique(key, return_index=True, return_inverse=True)
    n = len(position)
    summed = path_values.added(group, calls / times, n)
    is_counted = np.bincount(group, np.isnan(calls), minlength=n) == 0
    totals = path_values.added(group, total / times, n)
    has_total = np.bincount(group, np.isnan(total), minlength=n) == 0
    return _Arcs(
        caller[position], callee[position],
        np.where(is_counted, np.rint(summed), UNKNOWN).astype(np.int64),
        np.where(has_total, totals, np.nan), np.full(n, np.nan),
    )  # fmt: skip


def _arcs_of_paths(run: Run, values: PathValues) -> _Arcs:
    """Return what calls between functions came to by the call paths."""
    import numpy as np

    from gnomon.model import forest

    code = run.region_kinds.code()
    paths, groups = call_paths.of_run(run, code), call_paths.grouped(run, "function", code)
    caller_at = _code_above(paths.parent, groups.group)
    is_arc = (groups.group >= 0) & (caller_at >= 0) & paths.is_reached
    caller = np.where(is_arc, groups.group[np.maximum(caller_at, 0)], -1)
    key = np.where(is_arc, caller.astype(np.int64) << 32 | groups.group, -1)
    pairs, pair = np.unique(key, return_inverse=True)
    pair = np.where(is_arc, pair, -1).astype(np.int32)
    outermost = forest.outermost_in_walk(pair.astype(np.int32), paths.place, paths.end)
    is_first = is_arc & (outermost == np.arange(len(pair)))
    n = len(pairs)
    total = path_values.added(pair[is_first], values.inclusive[is_first], n)
    # A chain of calls from itself is one call of its caller.
    is_again = is_arc & (caller == groups.group)
    head = np.where(is_again, caller_at, np.arange(len(pair)))
    while True:
        further = head[head]
        if (further == head).all():
            break
        head = further
    own_of = path_values.added(head, values.own, len(pair))
    is_head = is_arc & (head == np.arange(len(pair)))
    own = path_values.added(pair[is_head], own_of[is_head], n)
    is_pair = pairs >= 0
    return _Arcs(
        (pairs[is_pair] >> 32).astype(np.int32), (pairs[is_pair] & 0xFFFFFFFF).astype(np.int32),
        np.full(int(is_pair.sum()), UNKNOWN, np.int64), total[is_pair], own[is_pair],
    )  # fmt: skip


def _code_above(parent: Ints, group: Ints) -> Ints:
    """Return the nearest path above each that is code, -1 for none."""
    import numpy as np

    above = parent.copy()
    while True:
        is_other = (above >= 0) & (group[np.maximum(above, 0)] < 0)
        if not is_other.any():
            return above
        above = np.where(is_other, parent[np.maximum(above, 0)], above)
