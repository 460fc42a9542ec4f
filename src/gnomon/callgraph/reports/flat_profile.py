"""The flat profile: functions by what they have themselves, in GNU gprof's layout.

Source: GNU gprof's manual, "The Flat Profile".
"""

from __future__ import annotations

from gnomon.callgraph.call_graph import known_calls
from gnomon.callgraph.reports.shown_unit import shown_unit
from gnomon.units import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gnomon.callgraph.call_graph import CallGraph

_PREFIXES = (
    ("T", 1e-12), ("G", 1e-9), ("M", 1e-6), ("K", 1e-3), (" ", 1.0), ("m", 1e3), ("u", 1e6),
    ("n", 1e9), ("p", 1e12), ("f", 1e15), ("a", 1e18),
)  # fmt: skip
_THOUSAND = 1000.0

FIELDS = """
 % time      of the total, in this function itself
 cumulative  the sum of this and the functions above
 self        in this function itself, by which the list is sorted
 calls       how often it was called, without calls from itself; blank where
             nobody counted
 self/call   of each call, in this function itself
 total/call  of each call, in this function and in what it called
 name        of the function; the index shows its number in the call graph
"""


def flat_rows(graph: CallGraph, *, with_unused: bool = False) -> list[int]:
    """Return the functions, those first that have most themselves.

    Args:
        graph: the graph.
        with_unused: those too that have no value and were never called.
    """
    return graph.core.flat_rows(with_unused)


def flat_text(graph: CallGraph, *, with_unused: bool = False, with_fields: bool = False) -> str:
    """Return the flat profile.

    Args:
        graph: the graph.
        with_unused: as of `flat_rows`.
        with_fields: what the columns mean, behind it.
    """
    profile = graph.profile
    metric = profile.metric
    prefix, scale = _per_call(graph)
    shown = shown_unit(profile)
    whole = profile.whole
    head = _head(graph, prefix, shown.name)
    if whole <= 0:
        whole = 1.0
    rows = graph.core.flat_text(whole, shown.divisor, metric.per_unit, scale, with_unused)
    return head + rows + (FIELDS if with_fields else "")


def _head(graph: CallGraph, prefix: str, unit: str) -> str:
    metric = graph.profile.metric
    lines = ["Flat profile:", ""]
    if metric.sample_bytes:
        lines.append(f"Each sample counts as {1.0 / metric.per_unit:g} {unit}.")
    else:
        lines.append(printable(f"{metric.name}, {metric.how}"))
    if graph.profile.whole <= 0:
        lines += [" no time accumulated", ""]
    per_call = f"{prefix}{printable(metric.unit)[:1]}/call"
    lines += [
        f"{'%  ':>5} {'cumulative':>10} {'self  ':>8} {'':8} {'self  ':>8} {'total ':>8}  {'':8}",
        f"{'time':>5} {unit[:9]:>9}  {unit[:8]:>8} {'calls':>8} {per_call[:8]:>8} "
        f"{per_call[:8]:>8}  {'name':<8}",
        "",
    ]
    return "\n".join(lines)


def _per_call(graph: CallGraph) -> tuple[str, float]:
    """Return the prefix of units per call, and its factor: by the function that has most of one."""
    most = graph.core.most_per_call()
    if most <= 0:
        return _PREFIXES[0]
    most /= graph.profile.metric.per_unit
    fitting = (pair for pair in _PREFIXES if 1.0 <= pair[1] * most < _THOUSAND)
    return next(fitting, _PREFIXES[4])


def flat_data(graph: CallGraph, *, with_unused: bool = False) -> list[dict[str, Any]]:
    """Return the rows of the flat profile for JSON."""
    profile = graph.profile
    per_unit = profile.metric.per_unit
    own = (profile.own / per_unit).tolist()
    total = ((profile.own + graph.children_time[: graph.n_functions]) / per_unit).tolist()
    return [
        {
            "function": profile.title[function],
            "index": int(graph.index[function]),
            "module": profile.module[function],
            "file": profile.file[function],
            "line": int(profile.line[function]),
            "self": own[function],
            "total": total[function],
            "calls": known_calls(int(graph.calls[function])),
            "self_calls": known_calls(int(graph.self_calls[function])),
        }
        for function in flat_rows(graph, with_unused=with_unused)
    ]
