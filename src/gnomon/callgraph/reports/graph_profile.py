"""The call graph profile: each function between its callers and callees, in GNU gprof's layout.

Source: GNU gprof's manual, "The Call Graph".
"""

from __future__ import annotations

from gnomon.callgraph.call_graph import known_calls
from gnomon.callgraph.reports.shown_unit import shown_unit
from gnomon.units import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gnomon.callgraph.call_graph import CallGraph

_COLUMNS = "index % time    self  children    called     name"

FIELDS = """
 Each entry has one line with an index at the left: its function. Above it stand
 the functions that call it, below it those that it calls.

 index     the number of the function, by what it came to
 % time    of the total, in this function and in what it called
 self      in the function itself; of a caller or callee: as far as it is of
           these calls
 children  in what it called, likewise
 called    how often it was called, + calls from itself; of a caller or callee:
           these calls / all calls
 name      of the function, its cycle and its index, in parentheses where it
           has no entry
 <spontaneous> stands for callers that are not known. A cycle is of functions
 that call each other; time does not pass along calls within it.
"""


def graph_pieces(
    graph: CallGraph, *, with_unused: bool = False, with_fields: bool = False
) -> Iterator[str]:
    """Yield the call graph profile, some entries at a time.

    Args:
        graph: the graph.
        with_unused: nodes too that have no value and were never called.
        with_fields: what the columns mean, behind it.
    """
    metric = graph.profile.metric
    counted = graph.counted
    start = f"granularity: each sample hit covers {metric.sample_bytes} byte(s)"
    if not metric.sample_bytes:
        start = printable(f"{metric.name}, {metric.how}:")
    unit = shown_unit(graph.profile)
    if counted > 0:
        part = f" for {100.0 / counted:.2f}% of" if metric.sample_bytes else ""
        granularity = f"{start}{part} {counted / unit.divisor:.2f} {unit.name}".rstrip()
    else:
        granularity = f"{start} no time propagated"
        counted = 1.0
    yield f"{'':24}Call graph\n\n\n{granularity}\n\n{_COLUMNS}\n"
    begin, n_nodes = 0, graph.core.n_nodes()
    while begin < n_nodes:
        entries, begin = graph.core.graph_text(begin, counted, unit.divisor, with_unused)
        yield entries
    if with_fields:
        yield FIELDS


def graph_data(graph: CallGraph, *, with_unused: bool = False) -> list[dict[str, Any]]:
    """Return the entries of the call graph profile for JSON."""
    return [_entry(graph, node) for node in graph.core.entries(with_unused)]


def _entry(graph: CallGraph, node: int) -> dict[str, Any]:
    profile = graph.profile
    per_unit = profile.metric.per_unit
    is_function = node < graph.n_functions
    cycle = int(graph.cycle[node]) if is_function else node - graph.n_functions + 1
    entry: dict[str, Any] = {
        "function": profile.title[node] if is_function else f"<cycle {cycle} as a whole>",
        "index": int(graph.index[node]),
        "cycle": cycle,
        "self": float(graph.own[node]) / per_unit,
        "children": float(graph.children[node]) / per_unit,
        "calls": known_calls(int(graph.calls[node])),
        "self_calls": known_calls(int(graph.self_calls[node])),
    }
    if not is_function:
        members = graph.members[cycle - 1]
        return {**entry, "members": [int(graph.index[member]) for member in members]}
    return {
        **entry,
        "callers": [_arc(graph, arc, int(profile.caller[arc])) for arc in graph.core.callers(node)],
        "callees": [_arc(graph, arc, int(profile.callee[arc])) for arc in graph.core.callees(node)],
    }


def _arc(graph: CallGraph, arc: int, other: int) -> dict[str, Any]:
    per_unit = graph.profile.metric.per_unit
    return {
        "function": graph.profile.title[other],
        "index": int(graph.index[other]),
        "calls": known_calls(int(graph.profile.calls[arc])),
        "self": float(graph.arc_own[arc]) / per_unit,
        "children": float(graph.arc_children[arc]) / per_unit,
    }
