"""All that is known of one node, and of the lines of one file."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.errors import UsageError
from gnomon.model import forest
from gnomon.model.array_types import Cells, Flags, Floats, Ints
from gnomon.model.metric import Metric
from gnomon.view import node_values, profile_rows
from gnomon.view.distribution import to_jsonable
from gnomon.view.node_calls import node_calls
from gnomon.view.open_run import OpenRun
from gnomon.view.tree import CALLERS, Tree, is_place

_REGIONS_LIMIT = 200


def node(opened: OpenRun, by: str, number: int, location: int) -> dict[str, Any]:
    """Return the `NodeDetails` of the contract for a node.

    Raises:
        UsageError: there is no such grouping or node.
        RunDirectoryError: the tables cannot be read.
    """
    tree = opened.tree(by)
    if not 0 <= number < tree.n:
        raise UsageError(f"there is no node {number} in the tree by {by}")
    ancestors = []
    above = int(tree.parent[number])
    while above >= 0:
        ancestors.append(tree.text(tree.name, above))
        above = int(tree.parent[above])
    regions = opened.data.regions
    members = np.unique(
        opened.data.paths.region[tree.exclusive.path[tree.exclusive.node == number]]
    )
    if tree.region[number] >= 0:
        members = np.union1d(members, [tree.region[number]])
    return {
        "name": tree.text(tree.name, number),
        "kind": tree.kinds[int(tree.kind[number])],
        "ancestors": ancestors[::-1],
        "facts": _facts(opened, tree, number, len(members)),
        "regions": [
            {
                "region": int(regions.number[region]),
                "kind": str(regions.kind[region]),
                "name": str(regions.name[region]),
                "module": str(regions.module[region]),
                "file": str(regions.file[region]),
                "line": int(regions.line[region]),
            }
            for region in members[:_REGIONS_LIMIT].tolist()
        ],
        "values": _values(opened, tree, number, location),
    }


def _facts(opened: OpenRun, tree: Tree, number: int, regions: int) -> list[dict[str, str]]:
    kind = tree.kinds[tree.kind[number]]
    facts = {
        "kind": kind,
        "program": tree.text(tree.module, number),
        "file": tree.text(tree.file, number),
        "hottest line" if kind == "function" else "line": str(tree.line[number] or ""),
        "parts": str(int(tree.end[number]) - number - 1 or ""),
        "regions": str(regions or ""),
    }
    calls = node_calls(opened, tree.by)[number]
    if np.isfinite(calls):
        facts["calls"] = f"{calls:.0f}"
    if tree.location[number] >= 0:
        place = opened.data.locations[int(tree.location[number])]
        facts["location"] = place.title
        facts["host"] = place.host
        facts["rank"] = str(place.rank) if place.rank >= 0 else ""
        facts["process"] = str(place.pid) if place.pid >= 0 else ""
        facts["thread"] = str(place.tid) if place.tid >= 0 else ""
    return [{"title": title, "value": value} for title, value in facts.items() if value]


def _values(opened: OpenRun, tree: Tree, number: int, location: int) -> list[dict[str, Any]]:
    """Return every metric's values of a node; only the rows of its own paths are read for it."""
    data = opened.data
    roots = np.flatnonzero(data.paths.parent < 0).astype(np.int32)
    inclusive, exclusive = (
        pairs.path[pairs.node == number] for pairs in (tree.inclusive, tree.exclusive)
    )
    only = location
    if tree.by == "rank":
        place = int(tree.location[number])
        if place >= 0:
            if location >= 0 and not profile_rows.within(data, location)[place]:
                return []
            only = place
        if is_place(tree, number):
            inclusive = roots
    read = profile_rows.rows_of_paths(
        data, np.unique(np.concatenate([inclusive, exclusive, roots]))
    )
    shared = opened.shared(tree.by, location)
    sums: dict[int, tuple[float, float]] = {}
    totals: dict[int, float] = {}
    for metric in data.metrics:
        rows = read.get(metric.metric)
        if rows is None:
            continue
        path_values = node_values.path_values(data, metric, rows, only)
        sums[metric.metric] = (
            _sum(metric, path_values.inclusive[inclusive], path_values.has[inclusive]),
            _sum(metric, path_values.exclusive[exclusive], path_values.has[exclusive]),
        )
        whole = (
            path_values
            if only == location
            else node_values.path_values(data, metric, rows, location)
        )
        if shared[metric.metric]:
            totals[metric.metric] = _sum(metric, whole.inclusive[roots], whole.has[roots])
    for metric in data.metrics:
        if opened.known()[metric.metric].recomputed:
            _recompute(opened, metric, sums)
    return [
        {
            "metric": metric_number,
            "told": node_values.told(data, data.metric_of[metric_number], only),
            "inclusive": to_jsonable(pair[0]),
            "exclusive": to_jsonable(pair[1]),
            "total": to_jsonable(totals.get(metric_number, float("nan"))),
        }
        for metric_number, pair in sorted(sums.items())
        if not np.isnan(pair).all()
    ]


def _sum(metric: Metric, values: Floats, has: Flags) -> float:
    if not has.any() or (not metric.is_additive and len(values) > 1):
        return float("nan")
    return float(values[has].sum())


def _recompute(opened: OpenRun, metric: Metric, sums: dict[int, tuple[float, float]]) -> None:
    formula = opened.inputs.formula(metric)
    assert formula is not None
    needed = opened.inputs.needed(formula)
    none = (float("nan"), float("nan"))
    again = [
        opened.inputs.evaluate(
            formula, {one.metric: np.array([sums.get(one.metric, none)[at]]) for one in needed}, 1
        )[0]
        for at in (0, 1)
    ]
    recorded = sums.get(metric.metric, none)[0]
    sums[metric.metric] = (float(again[0]) if np.isnan(recorded) else recorded, float(again[1]))


def lines(opened: OpenRun, file: str, metrics: list[int], location: int) -> dict[str, Any]:
    """Return the values of each line of a source file: `LineValues` of the contract.

    Raises:
        UsageError: the run does not name the file, or has no such metric.
        RunDirectoryError: the tables cannot be read.
    """
    if file not in opened.source_files():
        raise UsageError(f"{file[:200]!a}: the run names no such source file")
    tree = opened.tree("file")
    number = tree.strings.index(file)
    wanted = np.flatnonzero((tree.file == number) & (tree.line > 0))
    at = tree.line[wanted]
    line_numbers = np.unique(at)
    where = np.searchsorted(line_numbers, at)
    columns = []
    for metric in metrics:
        of_nodes = opened.values("file", metric, location)
        is_additive = opened.metric(metric).is_additive
        inclusive, exclusive = (
            _by_line(values[wanted], where, len(line_numbers), is_additive) for values in of_nodes
        )
        if is_additive and opened.data.has_call_paths:
            # Functions that share a line, as instances of a template, may call each other.
            inclusive = _outermost_by_line(opened, file, line_numbers, metric, location)
        columns.append(
            {
                "metric": metric,
                "inclusive": inclusive,
                "exclusive": exclusive,
                "total": to_jsonable(of_nodes.inclusive[0])
                if opened.is_shared("file", metric, location, "total")
                else None,
            }
        )
    return {"file": file, "lines": line_numbers.tolist(), "metrics": columns}


def node_of_line(opened: OpenRun, by: str, file: str, line: int) -> int:
    """Return the node of a call tree in which a line has most, -1 where it has none.

    Raises:
        UsageError: there is no such grouping.
        RunDirectoryError: the tables cannot be read.
    """
    data, tree = opened.data, opened.tree(by)
    is_line = (data.regions.file == file) & (data.regions.line == line)
    paths = np.flatnonzero(is_line[data.paths.region] & data.is_code)
    number = opened.first_metric()
    if not len(paths) or number < 0:
        return -1
    values = opened.path_values(number, -1)
    own, whole = (np.nan_to_num(column[paths]) for column in (values.exclusive, values.inclusive))
    hottest = paths[np.lexsort((whole, own))[-1]]
    nodes = tree.exclusive.node[tree.exclusive.path == hottest]
    if not len(nodes):
        return -1
    # A line is below its function; bottom-up what a function calls is above it.
    return int(nodes.min() if by == CALLERS else nodes.max())


def _outermost_by_line(
    opened: OpenRun, file: str, line_numbers: Ints, metric: int, location: int
) -> list[float | None]:
    """Return for each line of a file the sum over its calls that are not within one of itself."""
    data = opened.data
    is_in_file = data.regions.file == file
    line = np.where(is_in_file, data.regions.line, 0)[data.paths.region]
    at = np.searchsorted(line_numbers, line)
    is_line = line_numbers[np.minimum(at, len(line_numbers) - 1)] == line
    group = np.where(is_line & (line > 0), at, -1).astype(np.int32)
    path_values = opened.path_values(metric, location)
    outermost = forest.first_of_their_kind(group, data.paths.parent, data.walk)
    chosen = outermost & path_values.has
    return _by_line(path_values.inclusive[chosen], group[chosen], len(line_numbers), True)


def _by_line(values: Floats, where: Cells, n: int, is_additive: bool) -> list[float | None]:
    known = ~np.isnan(values)
    count = np.bincount(where[known], minlength=n)
    sums = np.bincount(where[known], weights=values[known], minlength=n)
    # A line may be in several functions.
    wanted = (count > 0) if is_additive else (count == 1)
    return [float(one) if there else None for one, there in zip(sums, wanted, strict=True)]
