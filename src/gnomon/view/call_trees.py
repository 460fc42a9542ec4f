"""Call trees, top-down: functions below those that called them, siblings of one function merged.

A path of a sampled stack is a function at one line: of that which ran, or of a call. A function
that calls from two lines is two paths, and one node; lines get nodes of their own where asked for,
and what is called from a line is below it.
"""

from __future__ import annotations

import numpy as np

from gnomon.model import forest
from gnomon.model.array_types import Cells, Ints, Longs
from gnomon.named_tuple import NamedTuple
from gnomon.view.path_names import NamedPaths
from gnomon.view.tree import PathNodePairs, Tree, grouped


class CallItems(NamedTuple):
    """What nodes are made for: paths, or paths at places.

    Attributes:
        path: position of each one's path.
        up: position of its caller among the items, -1 for none.
        top: the node that it is below if it has no caller.
        location: position of its location, None where all of them are meant.
    """

    path: Ints
    up: Ints
    top: Ints
    location: Ints | None = None


def top_down(named: NamedPaths, *, with_lines: bool) -> Tree:
    """Return the tree of all call paths.

    Args:
        named: the paths.
        with_lines: nodes of functions have nodes of their lines, and what these call, below them.
    """
    parent = named.parent
    below = np.flatnonzero(parent >= 0) if named.is_single else np.arange(len(parent))
    # The last one is what a parent of -1 reads: a root has no caller.
    place = np.full(len(parent) + 1, -1, dtype=np.int32)
    place[below] = np.arange(len(below), dtype=np.int32)
    items = CallItems(
        below.astype(np.int32), place[parent[below]], np.zeros(len(below), dtype=np.int32)
    )
    top = PathNodePairs.of(named.roots, 0)
    pairs = add_calls(named, items, with_lines=with_lines)
    whole = PathNodePairs.joined(top, pairs)
    return named.builder.tree(whole, whole if named.is_single else pairs)


def add_calls_of_places(named: NamedPaths, nodes: Ints, where: Ints, which: Ints) -> PathNodePairs:
    """Add a call tree below the node of each place; return pairs of its paths and nodes.

    Args:
        named: the paths.
        nodes: the node of each location.
        where: positions of locations.
        which: position of a path that has values at each.
    """
    n = len(named.parent)
    key = where.astype(np.int64) * n + which
    order = np.argsort(key)
    where, which, key = where[order], which[order], key[order]
    up = np.full(len(key), -1, dtype=np.int32)
    # The caller, or where that has no value at the place, the nearest above it that has one.
    pending = np.arange(len(key))
    above = named.parent[which]
    while True:
        pending, above = pending[above >= 0], above[above >= 0]
        if not len(pending):
            break
        wanted = where[pending].astype(np.int64) * n + above
        at = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        fits = key[at] == wanted
        up[pending[fits]] = at[fits]
        pending, above = pending[~fits], named.parent[above[~fits]]
    items = CallItems(which.astype(np.int32), up, nodes[where], where.astype(np.int32))
    return add_calls(named, items, with_lines=False)


def add_calls(named: NamedPaths, items: CallItems, *, with_lines: bool) -> PathNodePairs:
    """Add nodes for functions and all that they call; return pairs of paths and nodes.

    Args:
        named: the paths.
        items: what there are nodes for.
        with_lines: see `top_down`.
    """
    function = named.functions()
    node_of = np.zeros(len(items.path), dtype=np.int32)
    pairs = [PathNodePairs.of(items.path[:0], 0)]
    for level in forest.levels(items.up):
        path = items.path[level]
        up = items.up[level]
        over = np.where(up >= 0, node_of[up], items.top[level])
        group, first = grouped(over, function[path])
        columns = _columns(named, path, group, first, with_lines=with_lines)
        if items.location is not None:
            columns["location"] = items.location[level[first]]
        node = named.builder.add(over[first], **columns)[group]
        pairs.append(PathNodePairs.of(path, node))
        if with_lines:
            has_line = np.flatnonzero(named.is_code[path] & (named.line[path] > 0))
            lined = path[has_line]
            group, first = grouped(node[has_line], named.file[lined], named.line[lined])
            node[has_line] = named.lines(node[has_line[first]], lined[first])[group]
            pairs.append(PathNodePairs.of(lined, node[has_line]))
        node_of[level] = node
    return PathNodePairs.joined(*pairs)


def _columns(
    named: NamedPaths, path: Ints, group: Longs, first: Longs, *, with_lines: bool
) -> dict[str, Cells | int]:
    """Return the columns of nodes that are groups of paths.

    The line of a function without nodes for lines is that which has most of it.
    """
    row = path[first]
    columns = named.about(row)
    is_code = named.is_code[row]
    is_alone = np.bincount(group, minlength=len(first)) == 1
    columns["region"] = np.where(is_alone, named.region[row], -1)
    columns["file"] = np.where(is_code, named.home[row], named.file[row])
    if with_lines:
        columns["line"] = np.where(is_code, 0, named.line[row])
        return columns
    hottest = hottest_paths(named, path, group, path)
    is_home = named.file[hottest] == named.home[hottest]
    columns["line"] = np.where(is_code & ~is_home, 0, named.line[hottest])
    return columns


def hottest_paths(named: NamedPaths, path: Ints, group: Cells, valued: Ints) -> Ints:
    """Return for each group of a function's paths the one that has most, in its own file if any.

    Args:
        named: the paths.
        path: positions of paths.
        group: the number of each one's group; each number has one.
        valued: for each of them, the path whose values decide.
    """
    whole = np.nan_to_num(named.weights.inclusive[valued])
    own = np.nan_to_num(named.weights.exclusive[valued])
    is_home = named.file[path] == named.home[path]
    order = np.lexsort((whole, own, is_home, group))
    is_last = np.ones(len(order), dtype=bool)
    is_last[:-1] = group[order[1:]] != group[order[:-1]]
    return path[order[is_last]]
