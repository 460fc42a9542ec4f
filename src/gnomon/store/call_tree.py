"""Trees of calls: siblings of one function are one node, from the program down or back up to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.named_tuple import NamedTuple
from gnomon.store import path_values

if TYPE_CHECKING:
    from gnomon.model.array_types import Floats, Ints, Longs
    from gnomon.store.call_paths import CallGroups, CallPaths
    from gnomon.store.path_values import PathValues


class CallTree(NamedTuple):
    """Nodes of a tree in the order of a walk that goes down first, largest siblings first.

    Attributes:
        parent: position of each one's parent, -1 for those at the top.
        depth: 0 of those at the top.
        group: what each is: see `call_paths.CallGroups`.
        own, inclusive, samples: its values. Going up, a caller has what its callees have through
            it, both own and inclusive, and the samples are those behind `own`.
        n_cut: how many of its children are left out.
        cut: what these have, of `inclusive`; going up, of `own`.
    """

    parent: Ints
    depth: Ints
    group: Ints
    own: Floats
    inclusive: Floats
    samples: Floats
    n_cut: Ints
    cut: Floats


class _Level(NamedTuple):
    """Nodes of one depth: position of each one's parent in the level above, and its values."""

    parent: Ints
    group: Ints
    values: Floats
    n_cut: Ints
    cut: Floats


def top_down(
    paths: CallPaths, groups: CallGroups, values: PathValues, *, least: float = 0.0, depth: int = 0
) -> CallTree:
    """Return the tree of what calls what, from the program down.

    Args:
        paths: the call paths.
        groups: those that are one node where they are siblings.
        values: of each path.
        least: only nodes with so much of the inclusive value, and all above 0.
        depth: only so many levels; 0 for all.
    """
    import numpy as np

    columns = np.array([values.own, values.inclusive, values.samples])
    in_order = np.argsort(paths.parent, kind="stable").astype(np.int32)
    first = np.searchsorted(paths.parent[in_order], np.arange(-1, len(paths.parent) + 1))
    here = in_order[: first[1]]
    above = np.full(len(here), -1, dtype=np.int32)
    levels: list[_Level] = []
    while len(here) and (not depth or len(levels) < depth):
        level, keep, node = _level(above, groups.group[here], columns[:, here], 1, least)
        levels.append(level)
        here, above = here[keep], node[keep]
        counts = first[here + 2] - first[here + 1]
        starts = np.repeat(first[here + 1] - (np.cumsum(counts) - counts), counts)
        above = np.repeat(above, counts).astype(np.int32)
        here = in_order[starts + np.arange(counts.sum())]
    return _in_walk(levels)


def bottom_up(
    paths: CallPaths,
    groups: CallGroups,
    values: PathValues,
    leaves: Ints,
    *,
    least: float = 0.0,
    depth: int = 0,
    by_inclusive: bool = False,
) -> CallTree:
    """Return the tree of who calls some functions, from these up to the program.

    Args:
        paths: the call paths.
        groups: those that are one node where they are siblings; of what is no code -1, at which
            the way up ends.
        values: of each path.
        leaves: positions of the paths to begin with.
        least: only nodes with so much, and all above 0.
        depth: only so many levels; 0 for all.
        by_inclusive: what counts is the inclusive value, not the own one.
    """
    import numpy as np

    columns = np.array([values.own, values.inclusive, values.own_samples])[:, leaves]
    here = leaves
    above = np.full(len(here), -1, dtype=np.int32)
    levels: list[_Level] = []
    while len(here) and (not depth or len(levels) < depth):
        level, keep, node = _level(above, groups.group[here], columns, int(by_inclusive), least)
        levels.append(level)
        here, above, columns = paths.parent[here[keep]], node[keep], columns[:, keep]
        is_called = (here >= 0) & (groups.group[np.maximum(here, 0)] >= 0)
        here, above, columns = here[is_called], above[is_called], columns[:, is_called]
    return _in_walk(levels)


def _level(
    above: Ints, group: Ints, columns: Floats, order: int, least: float
) -> tuple[_Level, Longs, Ints]:
    """Return the nodes of a level, which items go on below, and the node of each item."""
    import numpy as np

    key = above.astype(np.int64) * (int(group.max()) + 2) + group + 1
    _, first, item_node = np.unique(key, return_index=True, return_inverse=True)
    n = len(first)
    values = np.array([np.bincount(item_node, column, minlength=n) for column in columns])
    weight = values[order]
    is_kept = (weight >= least) & (weight > 0)
    parent = above[first]
    n_above = int(above.max()) + 1
    is_cut = ~is_kept & (weight > 0) & (parent >= 0)
    n_cut = np.bincount(parent[is_cut], minlength=n_above).astype(np.int32)
    cut = path_values.added(parent[is_cut], weight[is_cut], n_above)
    kept = np.flatnonzero(is_kept)
    # Largest first; siblings are put together by the walk.
    kept = kept[np.argsort(-weight[kept], kind="stable")]
    number = np.full(n, -1, dtype=np.int32)
    number[kept] = np.arange(len(kept))
    level = _Level(parent[kept], group[first[kept]], values[:, kept], n_cut, cut)
    return level, np.flatnonzero(is_kept[item_node]), number[item_node]


def _in_walk(levels: list[_Level]) -> CallTree:
    import numpy as np

    from gnomon.model import forest

    sizes = [len(level.parent) for level in levels]
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int32)
    n = int(starts[-1])
    parent = np.full(n, -1, dtype=np.int32)
    depth = np.zeros(n, dtype=np.int32)
    n_cut, cut = np.zeros(n, dtype=np.int32), np.zeros(n)
    for deep, level in enumerate(levels):
        here = slice(starts[deep], starts[deep + 1])
        depth[here] = deep
        if deep:
            parent[here] = level.parent + starts[deep - 1]
            above = slice(starts[deep - 1], starts[deep - 1] + len(level.n_cut))
            n_cut[above], cut[above] = level.n_cut, level.cut
    group = np.concatenate([level.group for level in levels] or [np.zeros(0, dtype=np.int32)])
    values = np.concatenate([level.values for level in levels] or [np.zeros((3, 0))], axis=1)
    place, _ = forest.preorder(parent)
    in_walk = np.argsort(place, kind="stable")
    of_parent = np.where(parent >= 0, place[np.maximum(parent, 0)], -1).astype(np.int32)
    own, inclusive, samples = values[:, in_walk]
    return CallTree(
        of_parent[in_walk], depth[in_walk], group[in_walk], own, inclusive, samples,
        n_cut[in_walk], cut[in_walk],
    )  # fmt: skip
