"""The flat profile: functions by what they have themselves, in GNU gprof's layout.

Source: GNU gprof's manual, "The Flat Profile".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.callgraph.call_graph import known_calls
from gnomon.callgraph.reports.shown_unit import shown_unit
from gnomon.callgraph.selection import OF_PROFILING

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    profile = graph.profile
    own, calls = profile.own.tolist(), graph.calls.tolist()
    names = [name.encode(errors="surrogateescape") for name in profile.name]
    used = (
        function
        for function, name in enumerate(profile.name)
        if (with_unused or own[function] or calls[function] > 0) and name not in OF_PROFILING
    )
    return sorted(used, key=lambda used: (-own[used], -calls[used], names[used]))


def flat_text(graph: CallGraph, *, with_unused: bool = False, with_fields: bool = False) -> str:
    """Return the flat profile.

    Args:
        graph: the graph.
        with_unused: as of `flat_rows`.
        with_fields: what the columns mean, behind it.
    """
    lines = ["Flat profile:", *_lines(graph, with_unused=with_unused)]
    text = "\n".join(lines) + "\n"
    return text + FIELDS if with_fields else text


def _lines(graph: CallGraph, *, with_unused: bool) -> Iterator[str]:
    profile = graph.profile
    metric = profile.metric
    rows = flat_rows(graph, with_unused=with_unused)
    prefix, scale = _per_call(graph)
    shown = shown_unit(profile)
    unit = shown.name
    yield ""
    if metric.sample_bytes:
        yield f"Each sample counts as {1.0 / metric.per_unit:g} {unit}."
    else:
        yield f"{metric.name}, {metric.how}"
    whole = profile.whole
    if whole <= 0:
        yield " no time accumulated"
        yield ""
        whole = 1.0
    per_call = f"{prefix}{metric.unit[:1] or '1'}/call"
    yield (
        f"{'%  ':>5} {'cumulative':>10} {'self  ':>8} {'':8} {'self  ':>8} {'total ':>8}  {'':8}"
    )
    unit_head = unit[:9]
    yield (
        f"{'time':>5} {unit_head:>9}  {unit_head[:8]:>8} {'calls':>8} {per_call[:8]:>8} "
        f"{per_call[:8]:>8}  {'name':<8}"
    )
    sum_so_far = 0.0
    own, below, calls = profile.own.tolist(), graph.children_time.tolist(), graph.calls.tolist()
    for function in rows:
        mine, n = own[function], calls[function]
        sum_so_far += mine
        start = (
            f"{100 * mine / whole:6.2f} {sum_so_far / shown.divisor:9.2f} "
            f"{mine / shown.divisor:8.2f}"
        )
        counts = f"{'':8} {'':8} {'':8}"
        if n > 0:
            each = scale * mine / metric.per_unit / n
            total = scale * (mine + below[function]) / metric.per_unit / n
            counts = f"{n:8d} {each:8.2f} {total:8.2f}"
        yield f"{start} {counts}  {profile.title[function]}"


def _per_call(graph: CallGraph) -> tuple[str, float]:
    """Return the prefix of units per call, and its factor: by the function that has most of one."""
    profile = graph.profile
    calls = graph.calls[: graph.n_functions]
    is_called = calls > 0
    if not is_called.any():
        return _PREFIXES[0]
    own = profile.own[is_called] + graph.children_time[: graph.n_functions][is_called]
    most = float((own / calls[is_called]).max())
    if most <= 0:
        return _PREFIXES[0]
    most /= profile.metric.per_unit
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
