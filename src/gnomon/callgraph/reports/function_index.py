"""The function index: names in alphabetical order with their numbers, in GNU gprof's layout."""

from __future__ import annotations

from gnomon.callgraph.call_graph import on_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gnomon.callgraph.call_graph import CallGraph


def index_nodes(graph: CallGraph, *, with_unused: bool = False) -> list[int]:
    """Return the nodes of the index: functions by name, then the cycles.

    Args:
        graph: the graph.
        with_unused: functions too that have no value and were never called.
    """
    return graph.core.index_nodes(with_unused, _has_paths(graph))


def _has_paths(graph: CallGraph) -> bool:
    """Return whether a function need not have anything itself: those of sampled paths."""
    return not graph.profile.metric.sample_bytes


def index_text(graph: CallGraph, *, with_unused: bool = False) -> str:
    """Return the function index."""
    rows = graph.core.index_text(on_lines(_static_files(graph)), with_unused, _has_paths(graph))
    return f"Index by function name\n\n{rows}"


def _static_files(graph: CallGraph) -> tuple[str, ...]:
    """Return the name of each function's file, "" of those that no file has for itself."""
    files = graph.profile.places.static_files()
    name_of = {file: file.rpartition("/")[2] for file in set(files)}
    return tuple(map(name_of.__getitem__, files))


def index_data(graph: CallGraph, *, with_unused: bool = False) -> list[dict[str, Any]]:
    """Return the entries of the function index for JSON."""
    files = _static_files(graph)

    def name(node: int) -> str:
        if node >= graph.n_functions:
            return f"<cycle {node - graph.n_functions + 1}>"
        return graph.profile.title[node] + (f" ({files[node]})" if files[node] else "")

    return [
        {
            "function": name(node),
            "index": int(graph.index[node]),
            "has_entry": bool(graph.is_shown[node]),
        }
        for node in index_nodes(graph, with_unused=with_unused)
    ]
