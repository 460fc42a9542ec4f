"""The reports of a call graph by their names, as text and for JSON."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gnomon.callgraph.call_graph import CallGraph

PLAIN_REPORTS = {
    "flat": "functions by what they have themselves",
    "graph": "each function between its callers and callees",
    "index": "names of functions with their numbers",
    "calls": "pairs of caller and callee by numbers of calls",
    "libraries": "programs and libraries, and the calls between them",
}
REPORTS = {
    **PLAIN_REPORTS,
    "statistics": "averages and deviations of functions over several files",
}


def report_text(
    graph: CallGraph, name: str, *, with_unused: bool = False, with_fields: bool = True
) -> str:
    """Return one of PLAIN_REPORTS as text.

    Args:
        graph: the graph.
        name: of the report.
        with_unused: functions too that have no value and were never called.
        with_fields: what the columns mean, behind it.
    """
    if name == "flat":
        from gnomon.callgraph.reports.flat_profile import flat_text

        return flat_text(graph, with_unused=with_unused, with_fields=with_fields)
    if name == "graph":
        from gnomon.callgraph.reports.graph_profile import graph_pieces

        return "".join(graph_pieces(graph, with_unused=with_unused, with_fields=with_fields))
    if name == "index":
        from gnomon.callgraph.reports.function_index import index_text

        return index_text(graph, with_unused=with_unused)
    if name == "calls":
        from gnomon.callgraph.reports.call_summary import summary_text

        return summary_text(graph)
    from gnomon.callgraph.reports.library_statistics import library_text

    return library_text(graph)


def report_pieces(
    graph: CallGraph, name: str, *, with_unused: bool = False, with_fields: bool = True
) -> Iterable[str]:
    """Return a report as `report_text` does, in pieces of whole lines."""
    if name != "graph":
        return (report_text(graph, name, with_unused=with_unused, with_fields=with_fields),)
    from gnomon.callgraph.reports.graph_profile import graph_pieces

    return graph_pieces(graph, with_unused=with_unused, with_fields=with_fields)


def report_data(graph: CallGraph, name: str, *, with_unused: bool = False) -> list[dict[str, Any]]:
    """Return the rows of one of PLAIN_REPORTS for JSON; parameters as of `report_text`."""
    from gnomon.callgraph.reports.call_summary import summary_data
    from gnomon.callgraph.reports.flat_profile import flat_data
    from gnomon.callgraph.reports.function_index import index_data
    from gnomon.callgraph.reports.graph_profile import graph_data
    from gnomon.callgraph.reports.library_statistics import library_data

    if name in ("calls", "libraries"):
        return summary_data(graph) if name == "calls" else library_data(graph)
    makers = {"flat": flat_data, "graph": graph_data, "index": index_data}
    return makers[name](graph, with_unused=with_unused)
