"""All that is known of one node, and of the lines of one file."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.errors import UsageError
from gnomon.view.columns import Floats, Longs
from gnomon.view.opened import Opened
from gnomon.view.tree import Tree

_REGIONS_LIMIT = 200


def plain(value: float) -> float | None:
    """Return a number for JSON, None for what is none."""
    return float(value) if np.isfinite(value) else None


def node(opened: Opened, by: str, number: int, location: int) -> dict[str, Any]:
    """Return what is known of a node: `NodeDetails` in api.ts.

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
                "region": int(regions.number[at]),
                "kind": str(regions.kind[at]),
                "name": str(regions.name[at]),
                "module": str(regions.module[at]),
                "file": str(regions.file[at]),
                "line": int(regions.line[at]),
            }
            for at in members[:_REGIONS_LIMIT].tolist()
        ],
        "values": _values(opened, by, number, location),
    }


def _facts(opened: Opened, tree: Tree, number: int, regions: int) -> list[dict[str, str]]:
    found = {
        "program": tree.text(tree.module, number),
        "file": tree.text(tree.file, number),
        "line": str(tree.line[number] or ""),
        "parts": str(int(tree.end[number]) - number - 1 or ""),
        "regions": str(regions or ""),
    }
    calls = opened.calls(tree.by)[number]
    if np.isfinite(calls):
        found["calls"] = f"{calls:.0f}"
    if tree.location[number] >= 0:
        place = opened.data.locations[int(tree.location[number])]
        found["place"] = place.title
        found["host"] = place.host
        found["rank"] = str(place.rank) if place.rank >= 0 else ""
        found["process"] = str(place.pid) if place.pid >= 0 else ""
        found["thread"] = str(place.tid) if place.tid >= 0 else ""
    return [{"title": title, "value": value} for title, value in found.items() if value]


def _values(opened: Opened, by: str, number: int, location: int) -> list[dict[str, Any]]:
    found = []
    for metric in opened.data.metrics:
        values = opened.values(by, metric.metric, location)
        inclusive, exclusive = plain(values.inclusive[number]), plain(values.exclusive[number])
        if inclusive is not None or exclusive is not None:
            found.append(
                {
                    "metric": metric.metric,
                    "inclusive": inclusive,
                    "exclusive": exclusive,
                    "total": plain(values.inclusive[0]),
                }
            )
    return found


def lines(opened: Opened, file: str, metrics: list[int], location: int) -> dict[str, Any]:
    """Return the values of each line of a source file: `LineValues` in api.ts.

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
    found = np.unique(at)
    where = np.searchsorted(found, at)
    columns = []
    for metric in metrics:
        values = opened.values("file", metric, location)
        is_derived = opened.metric(metric).is_derived
        columns.append(
            {
                "metric": metric,
                **{
                    name: _by_line(values[column][wanted], where, len(found), is_derived)
                    for column, name in enumerate(("inclusive", "exclusive"))
                },
                "total": plain(values.inclusive[0]),
            }
        )
    return {"file": file, "lines": found.tolist(), "metrics": columns}


def _by_line(values: Floats, where: Longs, n: int, is_derived: bool) -> list[float | None]:
    known = ~np.isnan(values)
    count = np.bincount(where[known], minlength=n)
    sums = np.bincount(where[known], weights=values[known], minlength=n)
    # A line in several functions: what comes from a formula is not added up.
    wanted = (count == 1) if is_derived else (count > 0)
    return [float(one) if there else None for one, there in zip(sums, wanted, strict=True)]
