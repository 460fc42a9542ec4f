"""How a value is spread over ranks, processes and threads: a heat map's cells and a summary."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.errors import UsageError
from gnomon.model.array_types import Floats, Ints
from gnomon.model.metric import Metric
from gnomon.named_tuple import NamedTuple
from gnomon.view import profile_rows
from gnomon.view.node_values import NodeCells, cells
from gnomon.view.profile_rows import ProfileRows
from gnomon.view.run_metadata import Dataset, Location
from gnomon.view.tree import PathNodePairs, Tree, is_place

_ROWS_LIMIT = 2_000_000


class Distribution(NamedTuple):
    """Values of one node at each place.

    Attributes:
        rows, columns: what they are: rank, process, core, thread ...
        row_names, column_names: of each row and column.
        location: position of each place.
        row, column: where each place stands.
        inclusive, exclusive: values, NaN where not known.
    """

    rows: str
    columns: str
    row_names: list[str]
    column_names: list[str]
    location: Ints
    row: Ints
    column: Ints
    inclusive: Floats
    exclusive: Floats


class PlaceValues(NamedTuple):
    """Values at places, by position of the location; NaN where not known."""

    place: Ints
    inclusive: Floats
    exclusive: Floats


def per_location(
    data: Dataset, tree: Tree, metric: Metric, rows: ProfileRows, node: int, location: int
) -> PlaceValues:
    """Return a metric's values of a node at each of the innermost places that have any.

    Args:
        data: the run.
        tree: the grouping.
        metric: the metric.
        rows: all of the metric's.
        node: number of the node in the tree.
        location: position of the only location that is wanted, with what is in it; -1 for all.

    Raises:
        UsageError: there is no such node, or there are too many places.
    """
    if not 0 <= node < tree.n:
        raise UsageError(f"there is no node {node} in the tree by {tree.by}")
    if tree.by == "rank" and tree.location[node] >= 0:
        at = int(tree.location[node])
        location = at if location < 0 or profile_rows.within(data, location)[at] else location
    if location >= 0:
        rows = rows.chosen(profile_rows.within(data, location)[rows.location])
    inclusive = _pairs(data, tree, tree.inclusive, node)
    exclusive = _pairs(data, tree, tree.exclusive, node)
    wanted = np.zeros(len(data.paths.number), dtype=bool)
    wanted[inclusive.path] = wanted[exclusive.path] = True
    inner = profile_rows.leaf_location_rows(data, rows.chosen(wanted[rows.path]))
    places = np.unique(inner.location)
    if len(places) > _ROWS_LIMIT:
        raise UsageError(f"{len(places)} locations are too many to show; choose a location")
    columns = [
        _at(places, cells(data, inner, pairs, values))
        for pairs, values in ((inclusive, inner.inclusive), (exclusive, inner.exclusive))
    ]
    if metric.absent_is_zero:
        # Where nothing was written there was none.
        columns = [np.where(np.isnan(values), 0.0, values) for values in columns]
    return PlaceValues(places.astype(np.int32), columns[0], columns[1])


def _pairs(data: Dataset, tree: Tree, pairs: PathNodePairs, node: int) -> PathNodePairs:
    """Return the paths of one node, as those of node 0."""
    if tree.by == "rank" and is_place(tree, node):
        path = np.flatnonzero(data.paths.parent < 0).astype(np.int32)
    else:
        path = np.unique(pairs.path[pairs.node == node])
    return PathNodePairs(path, np.zeros(len(path), dtype=np.int32))


def _at(places: Ints, found: NodeCells) -> Floats:
    values = np.full(len(places), np.nan)
    values[np.searchsorted(places, found.place)] = found.value
    return values


def moved(at_places: PlaceValues, column: str, places: Ints) -> Floats:
    """Return a column of values at more places, NaN at those that have none."""
    values = np.full(len(places), np.nan)
    values[np.searchsorted(places, at_places.place)] = getattr(at_places, column)
    return values


def grid(data: Dataset, places: Ints, inclusive: Floats, exclusive: Floats) -> Distribution:
    """Return places as rows (what they are in) and columns (which one in it)."""
    parents = data.location_parents.tolist()
    locations = data.locations
    row_of: dict[int, int] = {}
    column_of: dict[int, int] = {}
    seen: dict[int, int] = {}
    is_flat = all(locations[at].kind != "thread" for at in places.tolist())
    row_at, column_at = [], []
    for place in places.tolist():
        above = place if is_flat or parents[place] < 0 else parents[place]
        row = row_of.setdefault(above, len(row_of))
        column = seen.get(above, 0)
        seen[above] = column + 1
        column_of[place] = column
        row_at.append(row)
        column_at.append(column)
    width = max(column_at, default=-1) + 1
    row_kinds = {_kind(locations[at]) for at in row_of}
    return Distribution(
        rows=row_kinds.pop() if len(row_kinds) == 1 else "location",
        columns="" if is_flat else "thread",
        row_names=[locations[at].title for at in row_of],
        column_names=[""] if is_flat else [f"thread {at}" for at in range(width)],
        location=places,
        row=np.array(row_at, dtype=np.int32),
        column=np.array(column_at, dtype=np.int32),
        inclusive=inclusive,
        exclusive=exclusive,
    )


def _kind(location: Location) -> str:
    return "rank" if location.rank >= 0 and location.kind != "thread" else str(location.kind)


def summary(data: Dataset, metric: Metric, places: Ints, values: Floats) -> dict[str, Any] | None:
    """Return the `Summary` of the contract, None where there is no value."""
    with_value = np.flatnonzero(~np.isnan(values))
    if not len(with_value):
        return None
    order = with_value[np.argsort(values[with_value], kind="stable")]
    ordered = values[order]
    mean = float((ordered / len(ordered)).sum())
    numbers = [data.locations[int(places[at])].location for at in order[[0, len(order) // 2, -1]]]
    with np.errstate(all="ignore"):
        deviation = float(ordered.std(ddof=1)) if len(order) > 1 else 0.0
        has_total = len(ordered) == 1 or (metric.is_additive and not metric.is_elapsed)
        total = float(ordered.sum()) if has_total else np.nan
        imbalance = float(ordered[-1] / mean - 1 if mean else np.nan)
    return {
        "places": len(order),
        "min": float(ordered[0]),
        "median": to_jsonable(np.median(ordered)),
        "mean": to_jsonable(mean),
        "max": float(ordered[-1]),
        "total": to_jsonable(total),
        "deviation": to_jsonable(deviation),
        "minLocation": numbers[0],
        "medianLocation": numbers[1],
        "maxLocation": numbers[2],
        "imbalance": to_jsonable(imbalance),
    }


def to_jsonable(value: float) -> float | None:
    """Return a number for JSON, None for what is none."""
    return float(value) if np.isfinite(value) else None
