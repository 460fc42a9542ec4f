"""Communities of a sparse graph: who exchanges more with each other than chance would have it.

Pairs of communities are merged as long as that raises the modularity (Newman 2004), all pairs that
are each other's best choice at once, as multilevel partitioners coarsen a graph. Nothing is drawn
by lot: one graph has one answer, and where choices are equal, neighbours by number come together.
"""

from __future__ import annotations

import numpy as np

from gnomon.model.array_types import Flags, Floats, Ints, Longs
from gnomon.named_tuple import NamedTuple

# Each level merges a tenth of what is left, or all that want to join others.
_LEVELS_MOST = 64
_ENOUGH = 0.1
# Gains that differ by less are equal: what is left is the order of additions.
_GAIN_STEPS = 1 << 20
_DISTANCE_MOST = (1 << 20) - 1


class _Graph(NamedTuple):
    """Edges both ways, in the order of their nodes: without those from a node to itself.

    Attributes:
        degree: of each node, with what its members exchange with each other.
    """

    source: Longs
    target: Longs
    weight: Floats
    degree: Floats

    @property
    def n(self) -> int:
        return len(self.degree)


def communities(n: int, source: Ints, target: Ints, weight: Floats) -> Ints:
    """Return the number of each node's community: from 0, in the order of their first nodes.

    Args:
        n: how many nodes there are.
        source: a node of each edge; of several edges between two nodes the sum counts, whatever
            their directions.
        target: the other one.
        weight: of each edge, not negative.
    """
    community: Longs = np.arange(n, dtype=np.int64)
    graph = _graph(n, source.astype(np.int64), target.astype(np.int64), weight)
    total = float(graph.degree.sum())
    for _ in range(_LEVELS_MOST if total > 0 else 0):
        merged = _merged(graph, total)
        if merged is None:
            break
        number, graph = merged
        community = number[community]
    return community.astype(np.int32)


def _graph(n: int, source: Longs, target: Longs, weight: Floats) -> _Graph:
    degree: Floats = np.asarray(np.bincount(source, weights=weight, minlength=n), np.float64)
    degree += np.bincount(target, weights=weight, minlength=n)
    is_edge = (source != target) & (weight > 0)
    low = np.minimum(source, target)[is_edge]
    high = np.maximum(source, target)[is_edge]
    both = np.concatenate((weight[is_edge], weight[is_edge]))
    return _summed(np.concatenate((low, high)), np.concatenate((high, low)), both, degree)


def _summed(source: Longs, target: Longs, weight: Floats, degree: Floats) -> _Graph:
    n = len(degree)
    key = source * n + target
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    begins = np.flatnonzero(np.diff(ordered, prepend=-1))
    sums = np.add.reduceat(weight[order], begins) if len(begins) else np.zeros(0)
    unique = ordered[begins]
    return _Graph(unique // n, unique % n, sums, degree)


def _merged(graph: _Graph, total: float) -> tuple[Longs, _Graph] | None:
    """Return the number of each node after merging, and the graph of those; None if none gains."""
    choice = _choices(graph, total)
    has_choice = choice >= 0
    if not has_choice.any():
        return None
    number = np.arange(graph.n)
    is_mutual = has_choice & (choice[choice] == number)
    into = np.where(is_mutual, np.minimum(number, choice), number)
    if is_mutual.sum() < _ENOUGH * has_choice.sum():
        # Many want one, as in a star: all join it.
        joins = has_choice & ~is_mutual & is_mutual[choice]
        into = np.where(joins, into[choice], into)
    is_first = into == number
    renumbered = (np.cumsum(is_first) - 1)[into]
    degree = np.asarray(np.bincount(renumbered, weights=graph.degree), np.float64)
    source, target = renumbered[graph.source], renumbered[graph.target]
    stays: Flags = source != target
    return renumbered, _summed(source[stays], target[stays], graph.weight[stays], degree)


def _choices(graph: _Graph, total: float) -> Longs:
    """Return the neighbour with which each node gains most, -1 where it would lose."""
    choice = np.full(graph.n, -1, dtype=np.int64)
    if not len(graph.source):
        return choice
    gain = graph.weight - graph.degree[graph.source] * graph.degree[graph.target] / total
    begins = np.flatnonzero(np.diff(graph.source, prepend=-1))
    most = float(gain.max())
    if most <= 0:
        return choice
    step = np.ceil(gain / most * _GAIN_STEPS).astype(np.int64)
    distance = np.minimum(np.abs(graph.source - graph.target), _DISTANCE_MOST)
    is_even = (np.minimum(graph.source, graph.target) % 2 == 0).astype(np.int64)
    score = (step << 21) | ((_DISTANCE_MOST - distance) << 1) | is_even
    best = np.maximum.reduceat(score, begins)
    counts = np.diff(begins, append=len(score))
    is_best = (score == np.repeat(best, counts)) & (gain > 0)
    # The first of equals: positions go down, so that the smallest stays.
    chosen = np.flatnonzero(is_best)[::-1]
    choice[graph.source[chosen]] = graph.target[chosen]
    return choice
