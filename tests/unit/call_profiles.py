"""Call profiles made by hand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnomon.callgraph.call_graph import CallGraph
from gnomon.callgraph.call_profile import UNKNOWN, CallProfile, GraphMetric, KnownPlaces

CPU = GraphMetric("CPU time", "s", "sampled")


def call_profile(
    own: Mapping[str, float],
    calls: Mapping[str, int] | None = None,
    totals: Mapping[str, float] | None = None,
    *,
    module: Mapping[str, str] | None = None,
    file: Mapping[str, str] | None = None,
) -> CallProfile:
    """Return a profile.

    Args:
        own: what functions have themselves.
        calls: numbers of calls, by "caller callee".
        totals: what calls came to, likewise.
        module: of functions; "app" by default.
        file: of functions; "" by default.
    """
    names = tuple(own)
    files = tuple((file or {}).get(name, "") for name in names)
    arcs = tuple(dict.fromkeys([*(calls or {}), *(totals or {})]))
    pairs = [arc.split() for arc in arcs]
    n = len(names)
    return CallProfile(
        program="app", metric=CPU, name=names, title=names,
        module=tuple((module or {}).get(name, "app") for name in names),
        places=KnownPlaces(files, np.zeros(n, np.int32)),
        own=np.array([own[name] for name in names], np.float64), whole=sum(own.values()),
        caller=np.array([names.index(caller) for caller, _ in pairs], np.int32),
        callee=np.array([names.index(callee) for _, callee in pairs], np.int32),
        calls=np.array([(calls or {}).get(arc, UNKNOWN) for arc in arcs], np.int64),
        arc_total=np.array([(totals or {}).get(arc, np.nan) for arc in arcs], np.float64),
        arc_own=np.full(len(arcs), np.nan),
    )  # fmt: skip


def values(graph: CallGraph) -> dict[str, tuple[float, float]]:
    """Return what each function has itself and what its callees came to in it, rounded."""
    names = graph.profile.name
    return {
        name: (round(float(graph.own[at]), 6), round(float(graph.children[at]), 6))
        for at, name in enumerate(names)
    }


def shown(graph: CallGraph) -> set[str]:
    """Return the functions that have an entry."""
    return {name for at, name in enumerate(graph.profile.name) if graph.is_shown[at]}
