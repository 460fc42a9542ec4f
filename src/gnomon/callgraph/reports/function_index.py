"""The function index: names in alphabetical order with their numbers, in GNU gprof's layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.callgraph.call_graph import CallGraph

_COLUMNS = 3
_WIDTH = 80
_INDEX_WIDTH = 5


def index_nodes(graph: CallGraph, *, with_unused: bool = False) -> list[int]:
    """Return the nodes of the index: functions by name, then the cycles.

    Args:
        graph: the graph.
        with_unused: functions too that have no value and were never called.
    """
    profile = graph.profile
    n = graph.n_functions
    is_used = (profile.own != 0) | (graph.calls[:n] > 0) | with_unused
    names = [name.encode(errors="surrogateescape") for name in profile.name]
    if not profile.metric.sample_bytes:
        # A function of a sampled path need not have a sample itself.
        is_used |= graph.children_time[:n] != 0
    functions = sorted((at for at in range(n) if is_used[at]), key=names.__getitem__)
    return [*functions, *range(n, n + len(graph.members))]


def index_text(graph: CallGraph, *, with_unused: bool = False) -> str:
    """Return the function index."""
    lines = ["Index by function name", "", *_lines(graph, with_unused=with_unused)]
    return "\n".join(lines) + "\n"


def _lines(graph: CallGraph, *, with_unused: bool) -> Iterator[str]:
    nodes = index_nodes(graph, with_unused=with_unused)
    n_rows = (len(nodes) + _COLUMNS - 1) // _COLUMNS
    column_width = (_WIDTH - 1) // _COLUMNS
    for row in range(n_rows):
        line, column, begin = "", 0, 0
        for node in nodes[row::n_rows]:
            index = int(graph.index[node])
            shown = f"[{index}]" if graph.is_shown[node] else f"({index})"
            column += len(shown)
            line += " " * max(begin + _INDEX_WIDTH - column, 0)
            column = max(column, begin + _INDEX_WIDTH)
            name = _name(graph, node)
            line += f" {shown} {name}"
            column += len(name)
            begin += column_width
        yield line


def _name(graph: CallGraph, node: int) -> str:
    if node >= graph.n_functions:
        return f"<cycle {node - graph.n_functions + 1}>"
    profile = graph.profile
    file = profile.file[node].rpartition("/")[2]
    return profile.title[node] + (f" ({file})" if profile.is_static[node] and file else "")


def index_data(graph: CallGraph, *, with_unused: bool = False) -> list[dict[str, Any]]:
    """Return the entries of the function index for JSON."""
    return [
        {
            "function": _name(graph, node),
            "index": int(graph.index[node]),
            "has_entry": bool(graph.is_shown[node]),
        }
        for node in index_nodes(graph, with_unused=with_unused)
    ]
