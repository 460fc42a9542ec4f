"""A call graph: what functions and calls came to with all that was called, cycles, and an order.

Where a profile has only numbers of calls, what a function comes to is shared among its callers in
proportion to them; where it says what calls came to, that is taken. Time passes along arcs from
callees to callers; calls within a cycle pass none. native/callgraph does it, as GNU gprof does.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

from gnomon.callgraph import _call_graph, selection
from gnomon.callgraph.call_profile import UNKNOWN, CallProfile
from gnomon.callgraph.selection import Selection
from gnomon.units import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

    from gnomon.model.array_types import Flags, Floats, Ints, Longs

EVERYTHING = Selection()


class _Column(cached_property):  # type: ignore[type-arg]
    """An array of the graph in C by the name of the attribute, made when somebody asks for it."""

    def __init__(self, kind: str) -> None:
        super().__init__(lambda graph: _array(graph.core, str(self.attrname), kind))


def _array(core: _call_graph.CallGraph, column: str, kind: str) -> npt.NDArray[Any]:
    import numpy as np

    values = core.column(column)
    return np.frombuffer(values, kind) if values else np.zeros(0, kind)


def _column(kind: str) -> Any:  # noqa: ANN401 - an array, to whoever asks for the attribute
    return _Column(kind)


class CallGraph:
    """A profile and what follows from it: n functions, c cycles, m arcs.

    Nodes are the functions, then the cycles. All values are in units of `profile.metric.per_unit`;
    those of a selection count what it lets through. Arrays are made when somebody asks for them.

    Attributes:
        profile: what it is of.
        core: the graph in C.
        cycle: of each function the number of its cycle from 1 on, 0 for none, int32.
        members: of each cycle its functions.
        calls: of each node how often it was called from elsewhere, int64; UNKNOWN without counts.
        self_calls: of each function those from itself, of cycles those between members, int64.
        children_time: of each node what its callees came to in it, without a selection's fractions.
        own, children: of each node what it has itself and what its callees came to in it.
        is_shown: which nodes have an entry.
        index: of each node its number in reports, from 1 on: those with most first.
        order: the nodes by that number.
        arc_own, arc_children: of each arc what the callee itself and its callees came to in it; 0
            within a cycle.
        counted: what all functions have themselves that the selection lets through.
    """

    def __init__(self, profile: CallProfile, core: _call_graph.CallGraph) -> None:
        self.profile = profile
        self.core = core
        self.counted = core.counted()

    cycle: Ints = _column("i4")
    calls: Longs = _column("i8")
    self_calls: Longs = _column("i8")
    children_time: Floats = _column("f8")
    own: Floats = _column("f8")
    children: Floats = _column("f8")
    is_shown: Flags = _column("?")
    index: Ints = _column("i4")
    order: Ints = _column("i4")
    arc_own: Floats = _column("f8")
    arc_children: Floats = _column("f8")

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:  # noqa: D102
        first, functions = (
            _array(self.core, name, "u4").tolist() for name in ("first_member", "members")
        )
        return tuple(tuple(functions[begin:end]) for begin, end in pairwise(first))

    @property
    def total(self) -> Floats:
        """Of each node what it has with all that it calls."""
        return self.own + self.children

    @property
    def n_functions(self) -> int:
        """How many of the nodes are functions."""
        return len(self.profile.name)


def call_graph(profile: CallProfile, chosen: Selection = EVERYTHING) -> CallGraph:
    """Return the graph of a profile.

    Args:
        profile: the profile.
        chosen: what is left out of it.

    Raises:
        UsageError: a function of the selection is not there.
    """
    choice = _choice(profile, chosen)
    titles = on_lines(profile.title)
    core = _call_graph.CallGraph(profile.name, titles, *profile.columns, choice)
    return CallGraph(profile, core)


def on_lines(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names as lines of reports have them: what ends a line would break their columns."""
    # Names of programs are many, and have none: that is soon seen of all of them together.
    return tuple(map(printable, names)) if "\n" in "".join(names) else names


def _choice(profile: CallProfile, chosen: Selection) -> bytes:
    """Return of each function a byte of what a selection says of it, as C has it.

    Raises:
        UsageError: a function that it names is not there.
    """
    functions = selection.selected_functions(profile, chosen)
    says = bytearray(len(profile.name))
    if chosen.by_chapter:
        from gnomon.callgraph.chapter_flags import chapter_flags

        flags = chapter_flags(profile, functions)
        for position in range(len(says)):
            says[position] = (
                _call_graph.IS_DECIDED
                | _call_graph.IS_SHOWN * (position in flags.shown)
                | _call_graph.IS_COUNTED * (position not in flags.without_time)
            )
        return bytes(says)
    for positions, what in (
        (functions.without_entry, _call_graph.WITHOUT_ENTRY),
        (functions.with_entry, _call_graph.WITH_ENTRY),
        (functions.without_time, _call_graph.WITHOUT_TIME),
        (functions.with_time, _call_graph.WITH_TIME),
    ):
        for position in positions:
            says[position] |= what
    return bytes(says)


def known_calls(calls: int) -> int | None:
    """Return a number of calls, None where nobody counted them."""
    return None if calls == UNKNOWN else calls
