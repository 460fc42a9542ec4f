"""Which share of its callee each arc has: by numbers of calls, or by what calls came to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.callgraph.call_profile import UNKNOWN, CallProfile
from gnomon.named_tuple import NamedTuple
from gnomon.store import path_values

if TYPE_CHECKING:
    from gnomon.callgraph.cycles import CallOrder
    from gnomon.model.array_types import Flags, Floats, Ints, Longs


class ArcShares(NamedTuple):
    """Shares of arcs, of m arcs; nodes are n functions, then the cycles.

    Attributes:
        cycle: of each function the number of its cycle, 0 for none.
        calls: of each node the calls from elsewhere; UNKNOWN where they were not counted.
        self_calls: of each function the calls from itself, of a cycle those between its members.
        share: of each arc the part of what its callee comes to.
        own_share, children_share: the parts of what the callee has itself, and of its callees.
        outside: of each node the part that no arc has: it was entered from an unknown place.
    """

    cycle: Ints
    calls: Longs
    self_calls: Longs
    share: list[float]
    own_share: list[float]
    children_share: list[float]
    outside: list[float]


def arc_shares(profile: CallProfile, order: CallOrder) -> ArcShares:
    """Return the shares of a profile's arcs."""
    import numpy as np

    n = len(profile.name)
    cycle = np.zeros(n, np.int32)
    for number, members in enumerate(order.cycles, 1):
        cycle[members] = number
    node_of = np.where(cycle > 0, n + cycle - 1, np.arange(n))
    n_nodes = n + len(order.cycles)
    caller, callee = profile.caller, profile.callee
    is_self = caller == callee
    is_inside = node_of[caller] == node_of[callee] if len(caller) else is_self
    calls, self_calls = _calls(profile, node_of, n_nodes, is_self, is_inside)
    if profile.has_totals:
        total, own = _known_totals(profile, node_of, n_nodes, is_inside)
        weight = np.where(is_inside, 0.0, profile.arc_total)
        entering = path_values.added(node_of[callee], weight, n_nodes)
        # A file may say of its callers that they have more of a function than it has.
        share = _divided(weight, np.maximum(total, entering)[node_of[callee]])
        own_share, children_share = share.copy(), share.copy()
        is_split = np.isfinite(profile.arc_own) & (node_of[callee] < n)
        arc_own = np.where(is_split, profile.arc_own, 0.0)
        own_share[is_split] = _divided(arc_own, own[node_of[callee]])[is_split]
        below = (total - own)[node_of[callee]]
        children_share[is_split] = _divided(weight - arc_own, below)[is_split]
        outside = np.maximum(1.0 - _divided(entering, total), 0.0)
        outside[outside < 1e-9] = 0.0
    else:
        entered = calls[node_of[callee]].astype(np.float64)
        share = _divided(np.where(is_inside, 0, profile.calls).astype(np.float64), entered)
        own_share = children_share = share
        outside = np.zeros(n_nodes)
    return ArcShares(
        cycle, calls, self_calls, share.tolist(), own_share.tolist(), children_share.tolist(),
        outside.tolist(),
    )  # fmt: skip


def _calls(
    profile: CallProfile, node_of: Longs, n_nodes: int, is_self: Flags, is_inside: Flags
) -> tuple[Longs, Longs]:
    import numpy as np

    n = len(profile.name)
    calls, self_calls = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    if not profile.has_counts:
        calls[:] = self_calls[:] = UNKNOWN
        return calls, self_calls
    np.add.at(self_calls, profile.callee[is_self], profile.calls[is_self])
    if profile.calls_of is None:
        np.add.at(calls, profile.callee[~is_self], profile.calls[~is_self])
    else:
        calls[:n] = profile.calls_of - self_calls[:n]
    to_cycle = node_of[profile.callee] >= n if len(profile.callee) else is_self
    between = to_cycle & is_inside & ~is_self
    np.add.at(self_calls, node_of[profile.callee[between]], profile.calls[between])
    entering = to_cycle & ~is_inside
    np.add.at(calls, node_of[profile.callee[entering]], profile.calls[entering])
    return calls, self_calls


def _known_totals(
    profile: CallProfile, node_of: Longs, n_nodes: int, is_inside: Flags
) -> tuple[Floats, Floats]:
    """Return what each node has with all that it calls, and itself."""
    import numpy as np

    n = len(profile.name)
    own = np.concatenate((profile.own, np.zeros(n_nodes - n)))
    np.add.at(own, node_of[node_of >= n], profile.own[node_of >= n])
    total = own.copy()
    outgoing = np.where(is_inside, 0.0, profile.arc_total)
    total += path_values.added(node_of[profile.caller], outgoing, n_nodes)
    return total, own


def _divided(part: Floats, whole: Floats) -> Floats:
    import numpy as np

    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
