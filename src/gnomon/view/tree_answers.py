"""Answers about trees: nodes, their values, one node at each place, everything known of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from starlette.responses import Response

from gnomon.errors import UsageError
from gnomon.model.array_types import Ints
from gnomon.view import array_codec, distribution, node_details, request_params
from gnomon.view.node_calls import node_calls
from gnomon.view.node_kinds import node_kind
from gnomon.view.open_run import OpenRun
from gnomon.view.request_params import QueryParams


def as_json(content: object) -> Response:
    """Return an answer."""
    return Response(array_codec.as_json(content), media_type="application/json")


def tree(opened: OpenRun, asked: QueryParams) -> Response:
    """Return a tree, or what was added to it below a node."""
    by, node = asked.get("by", "region"), request_params.integer(asked, "open", -1)
    grouped = opened.tree(by) if node < 0 else opened.grown(by, node)
    first = request_params.integer(asked, "first", 0)
    if not 0 <= first <= grouped.n:
        raise UsageError(f"first={first}: the tree by {by} has {grouped.n} nodes")
    header = {
        "n": grouped.n, "first": first, "by": by,
        # Nodes that are added are those of paths whose names are there already.
        "strings": [] if first else grouped.strings,
        "kinds": [node_kind(kind)._asdict() for kind in grouped.kinds],
        "notes": list(grouped.notes),
    }  # fmt: skip
    calls = node_calls(opened, by)[first:]
    arrays = grouped.part(first, grouped.n).arrays() if first else grouped.arrays()
    arrays["region"] = numbers(opened.data.regions.number, arrays["region"])
    arrays["location"] = numbers(location_numbers(opened), arrays["location"])
    return packed(header, {**arrays, "calls": calls[: grouped.n - first]})


def values(opened: OpenRun, asked: QueryParams) -> Response:
    """Return the values of a tree's nodes, or of some of them."""
    metric = opened.metric(request_params.integer(asked, "metric"))
    by, which = asked.get("by", "region"), asked.get("statistic", "total")
    location = opened.location(request_params.integer(asked, "location", -1))
    first = request_params.integer(asked, "first", 0)
    nodes = (first, request_params.integer(asked, "end")) if "end" in asked else None
    node_values = opened.values(by, metric.metric, location, which, nodes)
    header = {
        "n": len(node_values.inclusive), "first": first if nodes else 0, "metric": metric.metric,
        "unit": metric.unit, "how": metric.how, "told": opened.told(metric.metric, location, which),
        "isShared": opened.is_shared(by, metric.metric, location, which),
    }  # fmt: skip
    return packed(header, node_values._asdict())


def spread(opened: OpenRun, asked: QueryParams) -> Response:
    """Return the values of one node at each of the innermost places."""
    metric = opened.metric(request_params.integer(asked, "metric"))
    grid = opened.spread(
        asked.get("by", "region"), metric.metric, request_params.integer(asked, "node", 0),
        opened.location(request_params.integer(asked, "location", -1)),
    )  # fmt: skip
    header = {
        "n": len(grid.location), "unit": metric.unit, "how": metric.how,
        "rows": grid.rows, "columns": grid.columns,
        "rowNames": grid.row_names, "columnNames": grid.column_names,
        "summary": {
            name: distribution.summary(opened.data, metric, grid.location, cells)
            for name, cells in (("inclusive", grid.inclusive), ("exclusive", grid.exclusive))
        },
    }  # fmt: skip
    arrays = {name: getattr(grid, name) for name in ("row", "column", "inclusive", "exclusive")}
    locations = numbers(location_numbers(opened), grid.location)
    return packed(header, {"location": locations, **arrays})


def node(opened: OpenRun, asked: QueryParams) -> Response:
    """Return everything known of a node."""
    location = opened.location(request_params.integer(asked, "location", -1))
    by = asked.get("by", "region")
    return as_json(node_details.node(opened, by, request_params.integer(asked, "node"), location))


def node_of_line(opened: OpenRun, asked: QueryParams) -> Response:
    """Return the node in which a line of the source has most."""
    by, file = asked.get("by", "region"), asked.get("file", "")
    line = request_params.integer(asked, "line")
    return as_json({"node": node_details.node_of_line(opened, by, file, line)})


def packed(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Response:
    """Return an answer of typed arrays."""
    return Response(array_codec.pack(header, arrays), media_type="application/octet-stream")


def location_numbers(opened: OpenRun) -> Ints:
    """Return the run's own number of each location."""
    return np.array([one.location for one in opened.data.locations], dtype=np.int32)


def numbers(numbers: Ints, positions: Ints) -> Ints:
    """Return the run's own numbers of positions, -1 for none."""
    if not len(numbers):
        return positions
    return np.where(positions >= 0, numbers[positions], -1).astype(np.int32)
