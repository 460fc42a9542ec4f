"""The library statistics: what each program and library has, and the calls between them.

Source: the Redpaper's chapter 5.3, "Library Statistics report".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.callgraph.reports.shown_unit import shown_unit
from gnomon.named_tuple import NamedTuple
from gnomon.units import printable

if TYPE_CHECKING:
    from gnomon.callgraph.call_graph import CallGraph

_UNKNOWN_MODULE = "(unknown)"


class Library(NamedTuple):
    """What the functions of a program or library have together.

    Attributes:
        name: as the profile has it.
        own: what they have themselves.
        within: calls between two of them.
        into: calls of them from elsewhere.
        out: their calls of others.
    """

    name: str
    own: float
    within: int
    into: int
    out: int


def libraries(graph: CallGraph) -> list[Library]:
    """Return the programs and libraries of a profile, those with most first."""
    profile = graph.profile
    own = dict.fromkeys(profile.module, 0.0)
    for module, value in zip(profile.module, profile.own.tolist(), strict=True):
        own[module] += value
    calls = {module: [0, 0, 0] for module in own}
    for caller, callee, count in zip(
        profile.caller.tolist(), profile.callee.tolist(), profile.calls.tolist(), strict=True
    ):
        begin, end = profile.module[caller], profile.module[callee]
        if begin == end:
            calls[end][0] += max(count, 0)
        else:
            calls[end][1] += max(count, 0)
            calls[begin][2] += max(count, 0)
    listed = [Library(module, value, *calls[module]) for module, value in own.items()]
    return sorted(listed, key=lambda library: (-library.own, library.name))


def library_text(graph: CallGraph) -> str:
    """Return the library statistics."""
    profile = graph.profile
    unit = shown_unit(profile)
    whole = profile.whole or 1.0
    heads = ("into", "within", "out of") if profile.has_counts else ()
    lines = ["Library Statistics:", ""]
    if profile.has_counts:
        lines.append(f"{'':7} {'':10} {'calls':>12} {'calls':>12} {'calls':>12}")
    lines.append(" ".join((f"{'%time':>7} {unit.name[:10]:>10}",
                           *(f"{head:>12}" for head in heads), " library")))  # fmt: skip
    for library in libraries(graph):
        counts = (library.into, library.within, library.out) if profile.has_counts else ()
        numbers = f"{100 * library.own / whole:7.2f} {library.own / unit.divisor:10.2f}"
        name = printable(library.name) or _UNKNOWN_MODULE
        lines.append(" ".join((numbers, *(f"{n:12d}" for n in counts), f" {name}")))
    return "\n".join(lines) + "\n"


def library_data(graph: CallGraph) -> list[dict[str, Any]]:
    """Return the rows of the library statistics for JSON."""
    profile = graph.profile
    per_unit = profile.metric.per_unit
    return [
        {
            "library": library.name,
            "self": library.own / per_unit,
            "share": library.own / profile.whole if profile.whole else None,
            "calls_into": library.into if profile.has_counts else None,
            "calls_within": library.within if profile.has_counts else None,
            "calls_out": library.out if profile.has_counts else None,
        }
        for library in libraries(graph)
    ]
