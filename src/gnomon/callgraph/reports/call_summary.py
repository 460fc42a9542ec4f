"""The function call summary: pairs of caller and callee by their numbers of calls.

Source: the Redpaper's chapter 5.3, "Fields of the Function Call Summary window".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.callgraph.call_profile import UNKNOWN

if TYPE_CHECKING:
    from gnomon.callgraph.call_graph import CallGraph

_NOT_COUNTED = "calls were not counted: samples do not tell how many there were"


def summary_arcs(graph: CallGraph) -> list[int]:
    """Return the arcs with calls, those with most first."""
    profile = graph.profile
    calls = profile.calls.tolist()
    names = [name.encode(errors="surrogateescape") for name in profile.name]
    caller, callee = profile.caller.tolist(), profile.callee.tolist()
    return sorted(
        (arc for arc in range(len(calls)) if calls[arc] > 0),
        key=lambda arc: (-calls[arc], names[caller[arc]], names[callee[arc]]),
    )


def summary_text(graph: CallGraph) -> str:
    """Return the function call summary."""
    profile = graph.profile
    lines = ["Function Call Summary:", ""]
    arcs = summary_arcs(graph)
    whole = sum(int(profile.calls[arc]) for arc in arcs)
    if not arcs:
        lines.append(_NOT_COUNTED if (profile.calls == UNKNOWN).any() else "there are no calls")
        return "\n".join(lines) + "\n"
    lines.append(f"{'%total':>7} {'calls':>12}  function")
    for arc in arcs:
        calls = int(profile.calls[arc])
        pair = (profile.caller[arc], profile.callee[arc])
        names = " -> ".join(graph.core.node_name(int(function)) for function in pair)
        lines.append(f"{100 * calls / whole:7.2f} {calls:12d}  {names}")
    return "\n".join(lines) + "\n"


def summary_data(graph: CallGraph) -> list[dict[str, Any]]:
    """Return the rows of the function call summary for JSON."""
    profile = graph.profile
    arcs = summary_arcs(graph)
    whole = sum(int(profile.calls[arc]) for arc in arcs)
    return [
        {
            "caller": profile.title[profile.caller[arc]],
            "caller_index": int(graph.index[profile.caller[arc]]),
            "callee": profile.title[profile.callee[arc]],
            "callee_index": int(graph.index[profile.callee[arc]]),
            "calls": int(profile.calls[arc]),
            "share": int(profile.calls[arc]) / whole,
        }
        for arc in arcs
    ]
