"""The call graph profile: each function between its callers and callees, in GNU gprof's layout.

Source: GNU gprof's manual, "The Call Graph".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.callgraph.call_graph import known_calls
from gnomon.callgraph.reports.shown_unit import shown_unit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.callgraph.call_graph import CallGraph

_BLANK, _BLANKS = " " * 7, " " * 29
_RULE = "-----------------------------------------------"

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


class ArcLists:
    """The arcs to and from each function, in the order in which reports have them."""

    def __init__(self, graph: CallGraph) -> None:
        profile = graph.profile
        n = graph.n_functions
        caller, callee = profile.caller.tolist(), profile.callee.tolist()
        cycle = graph.cycle.tolist()
        time = (graph.arc_own + graph.arc_children).tolist()
        calls = profile.calls.tolist()
        self._to: list[list[int]] = [[] for _ in range(n)]
        self._from: list[list[int]] = [[] for _ in range(n)]
        self._keys: list[tuple[float, ...]] = []
        for arc, (begin, end) in enumerate(zip(caller, callee, strict=True)):
            self._to[end].append(arc)
            self._from[begin].append(arc)
            if begin == end:
                self._keys.append((0,))
            elif cycle[begin] and cycle[begin] == cycle[end]:
                self._keys.append((1, calls[arc]))
            else:
                self._keys.append((2, time[arc], calls[arc]))

    def callers(self, function: int) -> list[int]:
        """Return the arcs to a function, those with least first."""
        return sorted(self._to[function], key=self._keys.__getitem__)

    def callees(self, function: int) -> list[int]:
        """Return the arcs from a function, those with most first."""
        return sorted(self._from[function], key=self._keys.__getitem__, reverse=True)


def shown_nodes(graph: CallGraph, *, with_unused: bool = False) -> list[int]:
    """Return the nodes that have an entry, by their index.

    Args:
        graph: the graph.
        with_unused: those too that have no value and were never called.
    """
    has_value = (graph.own != 0) | (graph.children != 0)
    is_called = (graph.calls > 0) | (graph.self_calls > 0)
    is_listed = graph.is_shown & (has_value | is_called | with_unused)
    return [node for node in graph.order.tolist() if is_listed[node]]


def node_name(graph: CallGraph, node: int) -> str:
    """Return the name of a node with its cycle and index, in parentheses if it has no entry."""
    index = int(graph.index[node])
    shown = f"[{index}]" if graph.is_shown[node] else f"({index})"
    if node >= graph.n_functions:
        return f"<cycle {node - graph.n_functions + 1} as a whole> {shown}"
    cycle = f" <cycle {graph.cycle[node]}>" if graph.cycle[node] else ""
    return f"{graph.profile.title[node]}{cycle} {shown}"


def graph_text(graph: CallGraph, *, with_unused: bool = False, with_fields: bool = False) -> str:
    """Return the call graph profile.

    Args:
        graph: the graph.
        with_unused: as of `shown_nodes`.
        with_fields: what the columns mean, behind it.
    """
    text = "\n".join(_lines(graph, with_unused=with_unused)) + "\n"
    return text + FIELDS if with_fields else text


def _lines(graph: CallGraph, *, with_unused: bool) -> Iterator[str]:
    metric = graph.profile.metric
    counted = graph.counted
    yield f"{'':24}Call graph"
    yield ""
    yield ""
    start = f"granularity: each sample hit covers {metric.sample_bytes} byte(s)"
    if not metric.sample_bytes:
        start = f"{metric.name}, {metric.how}:"
    unit = shown_unit(graph.profile)
    if counted > 0:
        part = f" for {100.0 / counted:.2f}% of" if metric.sample_bytes else ""
        yield f"{start}{part} {counted / unit.divisor:.2f} {unit.name}".rstrip()
    else:
        yield f"{start} no time propagated"
        counted = 1.0
    yield ""
    yield "index % time    self  children    called     name"
    entries = _Entries(graph, counted)
    for node in shown_nodes(graph, with_unused=with_unused):
        yield from entries.cycle(node) if node >= graph.n_functions else entries.function(node)
        yield _RULE


class _Entries:
    """The lines of nodes."""

    def __init__(self, graph: CallGraph, counted: float) -> None:
        # Lists, for numbers of arrays are slow to take one by one.
        divisor = shown_unit(graph.profile).divisor
        self._graph = graph
        self._own = (graph.own / divisor).tolist()
        self._children = (graph.children / divisor).tolist()
        self._share = (100 * (graph.own + graph.children) / counted).tolist()
        self._arc_own = (graph.arc_own / divisor).tolist()
        self._arc_children = (graph.arc_children / divisor).tolist()
        self._index = graph.index.tolist()
        self._calls = graph.calls.tolist()
        self._self_calls = graph.self_calls.tolist()
        self._cycle = graph.cycle.tolist()
        self._caller = graph.profile.caller.tolist()
        self._callee = graph.profile.callee.tolist()
        self._arc_calls = graph.profile.calls.tolist()
        self._names = [node_name(graph, node) for node in range(len(self._own))]
        self._arcs = ArcLists(graph)
        self._n = graph.n_functions
        self._values = self._values_of_arcs()

    def function(self, node: int) -> Iterator[str]:
        callers = self._arcs.callers(node)
        if not callers:
            yield f"{_BLANKS}                    <spontaneous>"
        for arc in callers:
            yield self._values[arc] + self._names[self._caller[arc]]
        calls, self_calls = self._calls[node], self._self_calls[node]
        called = f"{'':16} "
        if calls >= 0 and calls + self_calls:
            called = f" {calls:7d}" + (f"+{self_calls:<7d} " if self_calls > 0 else f" {'':7} ")
        yield f"{self._start(node)}{called}{self._names[node]}"
        for arc in self._arcs.callees(node):
            yield self._values[arc] + self._names[self._callee[arc]]

    def cycle(self, node: int) -> Iterator[str]:
        graph = self._graph
        yield f"{self._start(node)}{self._called(node)} {self._names[node]}"
        members = sorted(graph.members[node - graph.n_functions], key=self._weight, reverse=True)
        for member in members:
            values = f"{self._own[member]:7.2f} {self._children[member]:7.2f}"
            called = self._called(member)
            yield f"{'':6} {'':5} {values}{called}     {self._names[member]}"

    def _weight(self, member: int) -> tuple[float, int]:
        graph = self._graph
        total = float(graph.own[member] + graph.children[member])
        return total, self._calls[member] + self._self_calls[member]

    def _called(self, node: int) -> str:
        calls, self_calls = self._calls[node], self._self_calls[node]
        called = f" {calls:7d}" if calls >= 0 else f" {'':7}"
        return called + (f"+{self_calls:<7d}" if self_calls > 0 else f" {'':7}")

    def _start(self, node: int) -> str:
        index = f"[{self._index[node]}]"[:6]
        values = f"{self._own[node]:7.2f} {self._children[node]:7.2f}"
        return f"{index:<6} {self._share[node]:5.1f} {values}"

    def _values_of_arcs(self) -> list[str]:
        """Return what stands before the name in the two lines that each arc has."""
        n, cycles, own, children = self._n, self._cycle, self._arc_own, self._arc_children
        of_arcs = []
        for arc, (caller, callee, calls) in enumerate(
            zip(self._caller, self._callee, self._arc_calls, strict=True)
        ):
            cycle = cycles[callee]
            if caller == callee or (cycle and cycle == cycles[caller]):
                count = f"{calls:7d}" if calls >= 0 else _BLANK
                of_arcs.append(f"{_BLANKS}{count}             ")
                continue
            times = f"             {own[arc]:7.2f} {children[arc]:7.2f}"
            if calls < 0:
                of_arcs.append(f"{times}                     ")
                continue
            all_calls = self._calls[n + cycle - 1 if cycle else callee]
            of_arcs.append(f"{times} {calls:7d}/{all_calls:<7d}     ")
        return of_arcs


def graph_data(graph: CallGraph, *, with_unused: bool = False) -> list[dict[str, Any]]:
    """Return the entries of the call graph profile for JSON."""
    arcs = ArcLists(graph)
    return [_entry(graph, arcs, node) for node in shown_nodes(graph, with_unused=with_unused)]


def _entry(graph: CallGraph, arcs: ArcLists, node: int) -> dict[str, Any]:
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
        "callers": [_arc(graph, arc, int(profile.caller[arc])) for arc in arcs.callers(node)],
        "callees": [_arc(graph, arc, int(profile.callee[arc])) for arc in arcs.callees(node)],
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
