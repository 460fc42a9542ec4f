"""A call graph: what functions and calls came to with all that was called, cycles, and an order.

Where a profile has only numbers of calls, what a function comes to is shared among its callers in
proportion to them; where it says what calls came to, that is taken. Time passes along arcs from
callees to callers; calls within a cycle pass none.

Source: Graham, Kessler, McKusick, gprof: a call graph execution profiler (1982), 4; the order of
additions, on which the last digit depends, is that of GNU gprof 2.40.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.callgraph import cycles, selection
from gnomon.callgraph.arc_shares import ArcShares, arc_shares
from gnomon.callgraph.call_profile import UNKNOWN, CallProfile
from gnomon.callgraph.chapter_flags import FunctionFlags, chapter_flags
from gnomon.callgraph.selection import SelectedFunctions, Selection

if TYPE_CHECKING:
    from gnomon.callgraph.cycles import CallOrder
    from gnomon.model.array_types import Flags, Floats, Ints, Longs

EVERYTHING = Selection()


@dataclass(frozen=True, slots=True)
class CallGraph:
    """A profile and what follows from it: n functions, c cycles, m arcs.

    Nodes are the functions, then the cycles. All values are in units of `profile.metric.per_unit`;
    those of a selection count what it lets through.

    Attributes:
        profile: what it is of.
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

    profile: CallProfile
    cycle: Ints
    members: tuple[tuple[int, ...], ...]
    calls: Longs
    self_calls: Longs
    children_time: Floats
    own: Floats
    children: Floats
    is_shown: Flags
    index: Ints
    order: Ints
    arc_own: Floats
    arc_children: Floats
    counted: float

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
    import numpy as np

    functions = selection.selected_functions(profile, chosen)
    maker = _Maker(profile, functions)
    if chosen.by_chapter:
        maker.set_flags(chapter_flags(profile, functions))
    else:
        maker.propagate_flags()
    maker.sum_cycles()
    maker.propagate_time()
    own, children = np.array(maker.prop_own), np.array(maker.prop_children)
    order = maker.order_of_nodes()
    index = np.zeros(len(order), np.int32)
    index[order] = np.arange(1, len(order) + 1)
    shares = maker.shares
    return CallGraph(
        profile, shares.cycle, tuple(map(tuple, maker.call_order.cycles)), shares.calls,
        shares.self_calls, np.array(maker.children_time), own, children,
        np.array(maker.is_shown, bool), index, np.array(order, np.int32),
        np.array(maker.arc_own), np.array(maker.arc_children), maker.counted,
    )  # fmt: skip


class _Maker:
    """The state of nodes while flags and times pass along arcs."""

    def __init__(self, profile: CallProfile, functions: SelectedFunctions) -> None:
        self._profile = profile
        self._functions = functions
        n = self._n = len(profile.name)
        self._caller = profile.caller.tolist()
        self._callee = profile.callee.tolist()
        # The last arc of a file is the first that is looked at, as in gprof.
        self._arcs_from: list[list[int]] = [[] for _ in range(n)]
        self._arcs_to: list[list[int]] = [[] for _ in range(n)]
        for arc in range(len(self._caller) - 1, -1, -1):
            self._arcs_from[self._caller[arc]].append(arc)
            self._arcs_to[self._callee[arc]].append(arc)
        self.call_order: CallOrder = cycles.call_order(
            [[self._callee[arc] for arc in arcs] for arcs in self._arcs_from]
        )
        self.shares: ArcShares = arc_shares(profile, self.call_order)
        self._cycle = self.shares.cycle.tolist()
        self._node_of = [n + cycle - 1 if cycle else at for at, cycle in enumerate(self._cycle)]
        n_nodes = n + len(self.call_order.cycles)
        self._fraction = [0.0] * n_nodes
        self._time = [*profile.own.tolist(), *[0.0] * (n_nodes - n)]
        self.is_shown = [False] * n_nodes
        self.children_time = [0.0] * n_nodes
        self.prop_own = [0.0] * n_nodes
        self.prop_children = [0.0] * n_nodes
        self.arc_own = [0.0] * len(self._caller)
        self.arc_children = [0.0] * len(self._caller)
        self.counted = 0.0

    def propagate_flags(self) -> None:
        """Pass on from callers to callees who is shown, and which fraction of times counts."""
        rank = self.call_order.rank
        functions = sorted(range(self._n), key=rank.__getitem__)
        last = -1
        for function in reversed(functions):
            node = self._node_of[function]
            if node != last:
                self._inherit(node)
                last = node
            self.is_shown[function] = self._shows(function)
            self._fraction[function] = self._counts(function)
            self.prop_own[function] = self._time[function] * self._fraction[function]
            self.counted += self.prop_own[function]

    def set_flags(self, flags: FunctionFlags) -> None:
        """Take it from somebody who is shown, and whose time counts."""
        rank = self.call_order.rank
        for function in sorted(range(self._n), key=rank.__getitem__, reverse=True):
            node = self._node_of[function]
            is_counted = function not in flags.without_time
            for each in {function, node}:
                self.is_shown[each] |= function in flags.shown
                self._fraction[each] = max(self._fraction[each], float(is_counted))
            if not is_counted:
                self._fraction[function] = 0.0
            self.prop_own[function] = self._time[function] * self._fraction[function]
            self.counted += self.prop_own[function]

    def _inherit(self, node: int) -> None:
        members = self._members(node)
        is_shown = False
        fraction = 0.0
        outside = self.shares.outside[node]
        if outside and not self._functions.with_time:
            fraction = outside
        for member in members:
            for arc in self._arcs_to[member]:
                caller = self._caller[arc]
                if self._node_of[caller] == node:
                    continue
                is_shown = is_shown or self.is_shown[caller]
                fraction += self._fraction[caller] * self.shares.share[arc]
        for each in (*members, node):
            self.is_shown[each] = is_shown
            self._fraction[each] = fraction

    def _members(self, node: int) -> list[int]:
        return [node] if node < self._n else self.call_order.cycles[node - self._n]

    def _shows(self, function: int) -> bool:
        chosen = self._functions
        if self.is_shown[function]:
            return function in chosen.with_entry or function not in chosen.without_entry
        return function in chosen.with_entry or (
            not chosen.with_entry and function not in chosen.without_entry
        )

    def _counts(self, function: int) -> float:
        chosen = self._functions
        fraction = self._fraction[function]
        if fraction:
            is_out = function not in chosen.with_time and function in chosen.without_time
            return 0.0 if is_out else fraction
        is_in = function in chosen.with_time or (
            not chosen.with_time and function not in chosen.without_time
        )
        return 1.0 if is_in else 0.0

    def sum_cycles(self) -> None:
        """Give each cycle what its members have themselves."""
        for number, members in enumerate(self.call_order.cycles):
            node = self._n + number
            for member in members:
                if self._fraction[member]:
                    self._time[node] += self._time[member]
            self.prop_own[node] = self._fraction[node] * self._time[node]

    def propagate_time(self) -> None:
        """Pass on times from callees to callers."""
        rank = self.call_order.rank
        for function in sorted(range(self._n), key=rank.__getitem__):
            if self._fraction[function]:
                for arc in self._arcs_from[function]:
                    self._pass_on(function, arc)

    def _pass_on(self, caller: int, arc: int) -> None:
        callee = self._callee[arc]
        node = self._node_of[callee]
        if node == self._node_of[caller] or not self._fraction[callee]:
            return
        own = self._time[node] * self.shares.own_share[arc]
        children = self.children_time[node] * self.shares.children_share[arc]
        share = own + children
        fraction = self._fraction[caller]
        self.children_time[caller] += share
        self.prop_children[caller] += fraction * share
        self.arc_own[arc] = own * fraction
        self.arc_children[arc] = children * fraction
        head = self._node_of[caller]
        if head != caller:
            self.children_time[head] += share
            self.prop_children[head] += fraction * share

    def order_of_nodes(self) -> list[int]:
        """Return the nodes by what they came to, the largest first."""
        names = [name.encode(errors="surrogateescape") for name in self._profile.name]
        calls = self.shares.calls.tolist()

        def key(node: int) -> tuple[float, bool, bool, int, bytes]:
            total = self.prop_own[node] + self.prop_children[node]
            if node >= self._n:
                return -total, False, False, 0, b""
            name = names[node]
            return -total, True, name.startswith(b"_"), -calls[node], name

        return sorted(range(len(self.prop_own)), key=key)


def known_calls(calls: int) -> int | None:
    """Return a number of calls, None where nobody counted them."""
    return None if calls == UNKNOWN else calls
