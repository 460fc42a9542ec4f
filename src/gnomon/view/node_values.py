"""Values of a metric in the order of a tree's nodes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnomon.errors import UsageError
from gnomon.model import forest, location_kinds
from gnomon.model.array_types import Flags, Floats, Longs
from gnomon.model.metric import Metric
from gnomon.model.value import How
from gnomon.named_tuple import NamedTuple
from gnomon.view import profile_rows
from gnomon.view.profile_rows import ProfileRows
from gnomon.view.run_metadata import Dataset
from gnomon.view.tree import PathNodePairs, Tree

STATISTICS = ("total", "mean", "min", "median", "max")
# A value for each node and place at once; more takes too long and too much memory.
_CELLS_LIMIT = 40_000_000
# By how much parts may come to more than the whole: by rounding, and where both are estimates.
_MARGIN_COUNTED, _MARGIN = 1e-9, 0.05


class NodeValues(NamedTuple):
    """Inclusive and exclusive values, NaN where there are none."""

    inclusive: Floats
    exclusive: Floats


class PathValues(NamedTuple):
    """Values of paths, and which paths have any.

    `exclusive` is NaN where it was not measured, even if `has` is true.
    """

    inclusive: Floats
    exclusive: Floats
    has: Flags


def path_values(data: Dataset, metric: Metric, rows: ProfileRows, location: int = -1) -> PathValues:
    """Return a metric's values of each path: averages over executions of the command.

    Args:
        data: the run.
        metric: the metric.
        rows: all of the metric's.
        location: position of the only location that is wanted, with what is in it; -1 for all.
    """
    if metric.is_elapsed:
        together = data.together(metric.metric, location)
        if together.has.any():
            return PathValues(together.inclusive, together.exclusive, together.has)
    n = len(data.paths.number)
    if location >= 0:
        rows = rows.chosen(profile_rows.within(data, location)[rows.location])
    top_rows = profile_rows.top_level_rows(data, rows)
    count = np.bincount(top_rows.path, minlength=n)
    has = count > 0
    executions = top_rows.executions()
    # Ratios, peaks and what is of the whole machine: of several places there is no value.
    divisor = executions if metric.is_additive else np.maximum(count, 1)
    if not metric.is_additive:
        has &= count <= executions
    inclusive = np.bincount(top_rows.path, weights=top_rows.inclusive, minlength=n) / divisor
    exclusive = np.bincount(top_rows.path, weights=top_rows.exclusive, minlength=n) / divisor
    if metric.absent_is_zero and top_rows.n:
        # Lines are written that had any: the others are known to have had none.
        none = ~has & data.is_code
        inclusive[none] = exclusive[none] = 0.0
        has = has | none
    leaf = np.ones(n, dtype=bool)
    leaf[data.paths.parent[data.paths.parent >= 0]] = False
    exclusive = np.where(leaf & np.isnan(exclusive), inclusive, exclusive)
    return PathValues(np.where(has, inclusive, np.nan), np.where(has, exclusive, np.nan), has)


def told(data: Dataset, metric: Metric, location: int) -> str:
    """Return which value of several places is shown of a metric that is no sum; "" for a sum."""
    return data.together(metric.metric, location).told if metric.is_elapsed else ""


def node_values(
    data: Dataset, tree: Tree, metric: Metric, rows: ProfileRows, location: int,
    paths: PathValues | None = None,
) -> NodeValues:  # fmt: skip
    """Return a metric's values of each node; see `path_values`, whose result may be given."""
    if tree.by == "rank":
        return _by_rank(data, tree, metric, rows, location)
    paths = paths or path_values(data, metric, rows, location)
    if not metric.is_additive:
        return NodeValues(
            _single(paths.inclusive, paths.has, tree.inclusive, tree.n),
            _single(paths.exclusive, paths.has, tree.exclusive, tree.n),
        )
    return NodeValues(
        _added(paths.inclusive, paths.has, tree.inclusive, tree.n),
        _added(paths.exclusive, paths.has, tree.exclusive, tree.n),
    )


def _without_overlaps(values: NodeValues, tree: Tree, metric: Metric) -> NodeValues:
    """Return values with no exclusive one of a group where it is above the inclusive one.

    Sections of whole processes have in them what those of single threads have at the same time:
    added up, both exceed the total.
    """
    is_group = np.bincount(tree.exclusive.node, minlength=tree.n) > 1
    margin = _MARGIN_COUNTED if metric.how == How.COUNTED.value else _MARGIN
    most = values.inclusive + margin * np.abs(values.inclusive)
    overlaps = is_group & (values.exclusive > most)
    return values._replace(exclusive=np.where(overlaps, np.nan, values.exclusive))


def _added(values: Floats, has: Flags, pairs: PathNodePairs, n: int) -> Floats:
    """Return each node's sum over its paths that have a value; NaN where none has.

    A path that has a value which is NaN (an exclusive one that was not measured) makes the sum NaN.
    """
    chosen = has[pairs.path]
    nodes = pairs.node[chosen]
    sums = np.bincount(nodes, weights=values[pairs.path[chosen]], minlength=n)
    counted = np.bincount(nodes, minlength=n)
    return np.where(counted > 0, sums, np.nan)


def _single(values: Floats, has: Flags, pairs: PathNodePairs, n: int) -> Floats:
    """Return the values of nodes that are one path, of a metric that does not add up."""
    counted = np.bincount(pairs.node, minlength=n)
    sums = _added(values, has, pairs, n)
    return np.where(counted == 1, sums, np.nan)


def _by_rank(
    data: Dataset, tree: Tree, metric: Metric, rows: ProfileRows, location: int
) -> NodeValues:
    if location >= 0:
        rows = rows.chosen(profile_rows.within(data, location)[rows.location])
    executions = np.ones(len(data.locations))
    if data.repetitions > 1:
        key = np.unique(rows.location.astype(np.int64) << 32 | rows.repetition)
        executions = np.maximum(np.bincount(key >> 32, minlength=len(data.locations)), 1)
    scaled = rows._replace(
        inclusive=rows.inclusive / executions[rows.location],
        exclusive=rows.exclusive / executions[rows.location],
    )
    values = NodeValues(*(_functions(tree, scaled, pairs, at) for at, pairs in (
        (3, tree.inclusive), (4, tree.exclusive),
    )))  # fmt: skip
    inclusive = values.inclusive
    if not data.locations:
        return values
    whole = scaled.chosen(data.paths.parent[scaled.path] < 0)
    count = np.bincount(whole.location, minlength=len(data.locations))
    sums = np.bincount(whole.location, weights=whole.inclusive, minlength=len(data.locations))
    of_location = np.where(count > 0, sums, np.nan)
    if metric.is_additive:
        of_location = forest.filled_from_children(of_location, data.location_parents)
    is_place = (tree.location >= 0) & np.isnan(inclusive)
    kinds = np.array([kind in location_kinds.KINDS for kind in tree.kinds])
    is_place &= kinds[tree.kind]
    inclusive = np.where(is_place, of_location[tree.location], inclusive)
    paths = path_values(data, metric, rows, -1)
    roots = (data.paths.parent < 0) & paths.has
    if roots.any() and (metric.is_additive or roots.sum() == 1):
        inclusive[0] = paths.inclusive[roots].sum()
    return NodeValues(inclusive, values.exclusive)


def _functions(tree: Tree, rows: ProfileRows, pairs: PathNodePairs, column: int) -> Floats:
    """Return the sums of rows whose location and path are a node's."""
    if not len(pairs.path) or not rows.n:
        return np.full(tree.n, np.nan)
    width = int(max(pairs.path.max(), rows.path.max())) + 1
    wanted = tree.location[pairs.node].astype(np.int64) * width + pairs.path
    order = np.argsort(wanted, kind="stable")
    key = rows.location.astype(np.int64) * width + rows.path
    at = np.minimum(np.searchsorted(wanted[order], key), len(order) - 1)
    fits = wanted[order[at]] == key
    node = pairs.node[order[at[fits]]]
    sums = np.bincount(node, weights=rows[column][fits], minlength=tree.n)
    count = np.bincount(node, minlength=tree.n)
    return np.where(count > 0, sums, np.nan)


class NodeCells(NamedTuple):
    """Values of nodes at places: one at each position, in the order of nodes, then places."""

    node: Longs
    place: Longs
    value: Floats


def cells(data: Dataset, rows: ProfileRows, pairs: PathNodePairs, values: Floats) -> NodeCells:
    """Return the sums over each node's paths at each location; averages over executions.

    Args:
        data: the run.
        rows: rows of one metric, each at a place that counts.
        pairs: paths and nodes.
        values: of the rows.

    Raises:
        UsageError: they are too many.
    """
    order = np.argsort(pairs.path, kind="stable")
    path, node = pairs.path[order], pairs.node[order]
    first = np.searchsorted(path, rows.path, side="left")
    count = np.searchsorted(path, rows.path, side="right") - first
    total = int(count.sum())
    if total > _CELLS_LIMIT:
        raise UsageError(
            f"{data.name}: {total} values of single locations are too many to compare; "
            "choose a location, or the total"
        )
    starts = np.repeat(first - (np.cumsum(count) - count), count)
    nodes = node[starts + np.arange(total)].astype(np.int64)
    places = np.repeat(rows.location, count)
    key = nodes * max(len(data.locations), 1) + places
    weights = np.repeat(values, count)
    by_key = np.argsort(key, kind="stable")
    ordered = key[by_key]
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    begins = begins[: len(ordered)]
    sums = np.add.reduceat(weights[by_key], begins) if len(begins) else np.zeros(0)
    unique = ordered[begins]
    width = max(len(data.locations), 1)
    return NodeCells(unique // width, unique % width, sums)


def statistic(
    data: Dataset, tree: Tree, metric: Metric, rows: ProfileRows, location: int, which: str,
    paths: PathValues | None = None,
) -> NodeValues:  # fmt: skip
    """Return mean, min, median or max over the places that have a value of a node.

    Places are the innermost ones that have values of a path: threads, or where there are none,
    processes.

    Raises:
        UsageError: there is no such statistic, or too many places to compare.
    """
    if which not in STATISTICS:
        raise UsageError(f"statistic {which[:40]!a}: there are {', '.join(STATISTICS)}")
    if tree.by == "rank":
        return node_values(data, tree, metric, rows, location)
    if which == "total":
        values = node_values(data, tree, metric, rows, location, paths)
        return _without_overlaps(values, tree, metric)
    inclusive, exclusive = per_location(data, tree, rows, location)
    return NodeValues(reduced(inclusive, tree.n, which), reduced(exclusive, tree.n, which))


def per_location(
    data: Dataset, tree: Tree, rows: ProfileRows, location: int
) -> tuple[NodeCells, NodeCells]:
    """Return inclusive and exclusive values of nodes at the innermost places that have any.

    Raises:
        UsageError: they are too many.
    """
    if location >= 0:
        rows = rows.chosen(profile_rows.within(data, location)[rows.location])
    inner = profile_rows.leaf_location_rows(data, rows)
    return (
        cells(data, inner, tree.inclusive, inner.inclusive),
        cells(data, inner, tree.exclusive, inner.exclusive),
    )


def aligned(by_metric: Mapping[int, NodeCells]) -> tuple[Longs, Longs, dict[int, Floats]]:
    """Return the nodes and places of several metrics' values, and the values, NaN for none.

    Args:
        by_metric: values by number of the metric.
    """
    width = 1 + max((int(one.place.max(initial=0)) for one in by_metric.values()), default=0)
    keys = {at: one.node * width + one.place for at, one in by_metric.items()}
    every = np.unique(np.concatenate(list(keys.values()))) if keys else np.zeros(0, np.int64)
    values = {}
    for at, one in by_metric.items():
        values[at] = np.full(len(every), np.nan)
        values[at][np.searchsorted(every, keys[at])] = one.value
    return every // width, every % width, values


def reduced(cells: NodeCells, n: int, which: str) -> Floats:
    """Return one of `STATISTICS` of each of n nodes over its places, NaN where it has none."""
    known = ~np.isnan(cells.value)
    cells = NodeCells(cells.node[known], cells.place[known], cells.value[known])
    result_of = np.full(n, np.nan)
    if not len(cells.node):
        return result_of
    order = np.lexsort((cells.value, cells.node))
    node, value = cells.node[order], cells.value[order]
    begins = np.flatnonzero(np.concatenate(([True], node[1:] != node[:-1])))
    ends = np.concatenate((begins[1:], [len(node)]))
    if which == "min":
        result = value[begins]
    elif which == "max":
        result = value[ends - 1]
    elif which == "mean":
        result = np.add.reduceat(value, begins) / (ends - begins)
    else:
        middle = (begins + ends - 1) // 2
        result = (value[middle] + value[(begins + ends) // 2]) / 2
    result_of[node[begins]] = result
    return result_of
