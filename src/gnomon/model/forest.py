"""Forests as arrays of parents: levels, walks and sums, without recursion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnomon.model.array_types import Flags, Floats, Ints

# So many steps up cost less than a walk.
_STEPS = 24


def levels(parent: Ints, most: int | None = None) -> list[Ints]:
    """Return the positions of each depth, roots first, siblings together and in their order.

    A position whose ancestors go in circles is in none.

    Args:
        parent: position of each one's parent, -1 for roots.
        most: so many of the depths at most; None for all.
    """
    by_parent = np.argsort(parent, kind="stable").astype(np.int32)
    first = np.searchsorted(parent[by_parent], np.arange(-1, len(parent) + 1))
    level = by_parent[: first[1]]
    by_depth: list[Ints] = []
    while len(level) and len(by_depth) != most:
        by_depth.append(level)
        begins = first[level + 1]
        counts = first[level + 2] - begins
        starts = np.repeat(begins - (np.cumsum(counts) - counts), counts)
        level = by_parent[starts + np.arange(counts.sum())]
    return by_depth


def preorder(parent: Ints, by_level: Sequence[Ints] | None = None) -> tuple[Ints, Ints]:
    """Return each one's place in a walk that goes down first, and the place behind its last.

    Siblings stay in their order. There may be no circles.

    Args:
        parent: position of each one's parent, -1 for roots.
        by_level: what `levels` returns, if it is known.
    """
    by_level = levels(parent) if by_level is None else by_level
    size = np.ones(len(parent), dtype=np.int32)
    for level in reversed(by_level[1:]):
        np.add.at(size, parent[level], size[level])
    place = np.zeros(len(parent), dtype=np.int32)
    for level in by_level:
        before = np.cumsum(size[level]) - size[level]
        above = parent[level]
        is_first = np.ones(len(level), dtype=bool)
        is_first[1:] = above[1:] != above[:-1]
        of_family = before - np.maximum.accumulate(np.where(is_first, before, 0))
        if above[0] < 0:
            of_family = before
            place[level] = of_family
        else:
            place[level] = place[above] + 1 + of_family
    return place, (place + size).astype(np.int32)


def filled_from_children(values: Floats, parent: Ints) -> Floats:
    """Return values where each NaN is the sum of its children's, NaN where none of them has one.

    For places, which are the sum of what is in them; a section need not be that of its parts.

    Args:
        values: in an order in which parents stand before their children.
        parent: position of each one's parent, -1 for roots.
    """
    filled = values.copy()
    missing = np.isnan(values)
    if not missing.any():
        return filled
    for level in reversed(levels(parent)[1:]):
        children = level[~np.isnan(filled[level]) & missing[parent[level]]]
        above = parent[children]
        filled[above] = np.where(np.isnan(filled[above]), 0.0, filled[above])
        np.add.at(filled, above, filled[children])
    return filled


def first_of_their_kind(group: Ints, parent: Ints, walk: tuple[Ints, Ints] | None = None) -> Flags:
    """Return which positions have no ancestor in the same group.

    The inclusive value of a recursive function is that of its outermost calls.

    Args:
        group: number of each one's group, -1 for none.
        parent: position of each one's parent, -1 for roots.
        walk: what `preorder` returns for the forest, if the caller has it.
    """
    begin, end = walk or preorder(parent)
    members = np.flatnonzero(group >= 0)
    members = members[np.lexsort((begin[members], group[members]))]
    # Groups one behind the other on one line of numbers: within a group, who begins before the end
    # of an earlier one is below it.
    offset = group[members].astype(np.int64) * (len(parent) + 1)
    reached = np.maximum.accumulate(offset + end[members])
    is_first = np.ones(len(members), dtype=bool)
    is_first[1:] = (offset + begin[members])[1:] >= reached[:-1]
    flags = np.zeros(len(group), dtype=bool)
    flags[members[is_first]] = True
    return flags


def outermost_of_their_kind(group: Ints, parent: Ints) -> Ints:
    """Return the outermost ancestor of each position that is in the same group, or itself.

    Args:
        group: number of each one's group, -1 for none.
        parent: position of each one's parent, -1 for roots. There may be no circles.
    """
    return outermost_in_walk(group, *preorder(parent))


def outermost_in_walk(group: Ints, place: Ints, end: Ints) -> Ints:
    """Return what `outermost_of_their_kind` does, of positions whose `preorder` is known."""
    outermost = np.arange(len(group), dtype=np.int32)
    members = np.flatnonzero(group >= 0)
    if not len(members):
        return outermost
    # Each group in the order of the walk: below a member is who begins before that one ends, and
    # the outermost ones end one after the other.
    in_walk = np.argsort(place[members], kind="stable")
    members = members[in_walk]
    members = members[np.argsort(group[members], kind="stable")]
    own_group = group[members]
    is_first = np.ones(len(members), dtype=bool)
    is_first[1:] = own_group[1:] != own_group[:-1]
    # Places of a group are above all those of the groups before it.
    base = (np.cumsum(is_first) - 1).astype(np.int64) * (len(group) + 1)
    ends_until = np.maximum.accumulate(end[members] + base)
    is_first[1:] |= ends_until[:-1] <= place[members[1:]] + base[1:]
    nearest_first = np.maximum.accumulate(np.where(is_first, np.arange(len(members)), 0))
    outermost[members] = members[nearest_first]
    return outermost


def nearest_of_their_kind(group: Ints, parent: Ints) -> Ints:
    """Return the nearest ancestor of each position that is in the same group, -1 for none.

    Args:
        group: number of each one's group, -1 for none.
        parent: position of each one's parent, -1 for roots.
    """
    nearest = np.full(len(group), -1, dtype=np.int32)
    pending = np.flatnonzero((group >= 0) & (parent >= 0))
    above = parent[pending]
    for _ in range(_STEPS):
        is_same = group[above] == group[pending]
        nearest[pending[is_same]] = above[is_same]
        keep = ~is_same & (parent[above] >= 0)
        pending, above = pending[keep], parent[above[keep]]
        if not len(pending):
            return nearest
    # Deep ones: a walk meets each group's members in turn, whatever lies between them.
    place, end = preorder(parent)
    members = np.flatnonzero(np.isin(group, np.unique(group[pending])))
    members = members[np.lexsort((place[members], group[members]))]
    # In a group, in the order of the walk: whoever begins before the end of one above is below it.
    around: list[tuple[int, int, int]] = []
    for member, own_group, begins, ends in zip(
        members.tolist(), group[members].tolist(), place[members].tolist(), end[members].tolist(),
        strict=True,
    ):  # fmt: skip
        while around and (around[-1][0] != own_group or around[-1][1] <= begins):
            around.pop()
        if around:
            nearest[member] = around[-1][2]
        around.append((own_group, ends, member))
    return nearest
