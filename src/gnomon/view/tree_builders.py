"""The groupings: how a run's paths become a tree's nodes. Call trees stand in `call_trees.py`."""

from __future__ import annotations

from typing import Literal

import numpy as np

from gnomon.model import forest
from gnomon.model.array_types import Ints, Longs
from gnomon.named_tuple import NamedTuple
from gnomon.view import call_trees, routine_tree
from gnomon.view.path_names import NamedPaths, Names
from gnomon.view.run_metadata import Dataset, positions
from gnomon.view.tree import PathNodePairs, Tree, TreeBuilder, grouped

FUNCTION = "function"
"""A grouping for tables: each function once. Not among those of the page's trees."""

NO_SOURCE = "(source not known)"
NO_MODULE = "(program or library not known)"
# More than this and a tree by rank has the ranks, processes and threads alone.
_BY_RANK_LIMIT = 400_000


class GroupingLabel(NamedTuple):
    """A grouping that a run has a tree of.

    Attributes:
        by: one of `GROUPINGS`.
        label: a word or two for it.
        title: what it shows.
        sort: which values its nodes are sorted by at first.
    """

    by: str
    label: str
    title: str
    sort: Literal["inclusive", "exclusive"] = "inclusive"


def groupings(data: Dataset) -> list[GroupingLabel]:
    """Return the groupings of a run, that which is shown first at the beginning."""
    has_calls = data.has_call_paths
    titles = [
        GroupingLabel("region", "top-down", "functions below those that called them")
        if has_calls
        else GroupingLabel("region", "region", "by region: as they were called"),
        GroupingLabel("lines", "lines", "top-down, with the lines of functions")
        if has_calls
        else None,
        GroupingLabel("callers", "bottom-up", "functions, below them their callers", "exclusive")
        if has_calls
        else None,
        GroupingLabel("capability", "capability", "by capability")
        if not has_calls or len(set(data.regions.kind.tolist())) > 2
        else None,
        GroupingLabel("module", "module", "by program or library") if has_calls else None,
        GroupingLabel("file", "file", "by file and function"),
        GroupingLabel("routine", "MPI", "MPI by class of routine, routine and call site")
        if routine_tree.has_routines(data)
        else None,
        GroupingLabel("rank", "rank", "by rank, process and thread"),
    ]
    return [one for one in titles if one is not None]


def build(data: Dataset, by: str, names: Names) -> Tree:
    """Return the tree of a run in one grouping.

    Args:
        data: the run.
        by: one of `GROUPINGS` but `CALLERS`, or `FUNCTION`.
        names: those of the run.

    Raises:
        RunDirectoryError: its tables cannot be read.
    """
    named = named_paths(data, by, names)
    builders = {
        "region": _by_region, "capability": _by_capability, "file": _by_file, "rank": _by_rank,
        "lines": _by_lines, "module": _by_module, FUNCTION: _by_function,
        "routine": routine_tree.build,
    }  # fmt: skip
    return builders[by](named)


def named_paths(data: Dataset, by: str, names: Names) -> NamedPaths:
    """Return the paths of a run with their names, for a tree of their own."""
    return NamedPaths(data, names, TreeBuilder(by, names.strings.copy()))


def _parts_below(named: NamedPaths, above: Ints) -> tuple[PathNodePairs, PathNodePairs]:
    """Add the nodes of programs, functions and lines; return sums that go over the lines' nodes.

    Args:
        named: the paths.
        above: the node that each path is below.

    Returns:
        pairs of functions and programs, and pairs of lines.
    """
    builder = named.builder
    parts = np.flatnonzero(named.is_part)
    over = above[parts]
    pairs = []
    by_module, first = grouped(over, named.module[parts])
    modules_of = np.bincount(over[first], minlength=int(over.max(initial=0)) + 1)
    is_shared = modules_of[over] > 1
    wanted = np.flatnonzero(modules_of[over[first]] > 1)
    if len(wanted):
        node = np.full(len(first), -1, dtype=np.int32)
        row = parts[first[wanted]]
        node[wanted] = builder.add(
            over[first[wanted]], kind=builder.kind("module"), name=named.module[row],
            module=named.module[row],
        )  # fmt: skip
        over = np.where(is_shared, node[by_module], over)
        pairs.append(PathNodePairs.of(parts[is_shared], over[is_shared]))
    function, first = grouped(over, named.module[parts], named.name[parts], named.home[parts])
    count = np.bincount(function, minlength=len(first))
    row = parts[first]
    # A function that is one part without a line has no node for that.
    is_alone = (count == 1) & (named.line[row] == 0)
    node = builder.add(
        over[first], kind=named.node_kind[row], name=named.name[row], file=named.home[row],
        module=named.module[row], region=np.where(is_alone, named.region[row], -1),
    )  # fmt: skip
    has_line = ~is_alone[function]
    pairs.append(PathNodePairs.of(parts[has_line], node[function[has_line]]))
    lines = named.lines(node[function[has_line]], parts[has_line])
    low = PathNodePairs.joined(
        PathNodePairs.of(parts[has_line], lines),
        PathNodePairs.of(parts[~has_line], node[function[~has_line]]),
    )
    return PathNodePairs.joined(*pairs), low


def _by_region(named: NamedPaths) -> Tree:
    if named.data.has_call_paths:
        return call_trees.top_down(named, with_lines=False)
    inner = named.data.paths.order[~named.is_part[named.data.paths.order]]
    node_of = np.zeros(len(named.parent), dtype=np.int32)
    mine = inner
    if named.is_single:
        mine = inner[named.parent[inner] >= 0]
    node_of[mine] = 1 + np.arange(len(mine), dtype=np.int32)
    above = np.where(named.parent >= 0, node_of[named.parent], 0).astype(np.int32)
    named.builder.add(above[mine], **named.about(mine))
    over, low = _parts_below(named, above)
    own = PathNodePairs.of(inner, node_of[inner])
    exclusive = PathNodePairs.joined(own, over, low)
    if named.is_single:
        return named.builder.tree(exclusive, exclusive)
    # A root above several has nothing of its own.
    top = PathNodePairs.of(named.roots, 0)
    return named.builder.tree(PathNodePairs.joined(exclusive, top), exclusive)


def _by_lines(named: NamedPaths) -> Tree:
    return call_trees.top_down(named, with_lines=True)


def _by_capability(named: NamedPaths) -> Tree:
    builder = named.builder
    order = named.data.paths.order
    _, first = grouped(named.kind[order])
    tops = np.full(len(named.kinds), -1, dtype=np.int32)
    kinds = named.kind[order[first]]
    of = named.data.region_kinds.of
    tops[kinds] = builder.add(
        np.zeros(len(kinds)), kind=builder.kind("capability"),
        name=builder.strings.numbers([of(named.kinds[one]).title for one in kinds.tolist()]),
    )  # fmt: skip
    group = tops[named.kind]
    up = forest.nearest_of_their_kind(named.kind, named.parent)
    top = PathNodePairs.of(named.roots, 0)
    if named.data.has_call_paths:
        items = call_trees.CallItems(np.arange(len(up), dtype=np.int32), up, group)
        own = PathNodePairs.joined(call_trees.add_calls(named, items, with_lines=False), top)
    else:
        inner = order[~named.is_part[order]]
        node_of = np.zeros(len(named.parent), dtype=np.int32)
        node_of[inner] = 1 + len(kinds) + np.arange(len(inner), dtype=np.int32)
        above = np.where(up >= 0, node_of[up], group).astype(np.int32)
        builder.add(above[inner], **named.about(inner))
        over, low = _parts_below(named, above)
        own = PathNodePairs.joined(PathNodePairs.of(inner, node_of[inner]), over, low, top)
    outermost = np.flatnonzero(up < 0)
    every = np.arange(len(group))
    return builder.tree(
        PathNodePairs.joined(own, PathNodePairs.of(outermost, group[outermost])),
        PathNodePairs.joined(own, PathNodePairs.of(every, group)),
    )


def _by_file(named: NamedPaths) -> Tree:
    builder = named.builder
    members = np.flatnonzero((named.parent >= 0) | (named.file > 0))
    of_file, first = grouped(named.file[members])
    files = members[first]
    names = np.where(named.file[files] > 0, named.file[files], builder.strings.number(NO_SOURCE))
    file_node = builder.add(
        np.zeros(len(files)), kind=builder.kind("file"), name=names, file=named.file[files]
    )[of_file]
    return _functions_below(named, members, file_node, named.file)


def _by_module(named: NamedPaths) -> Tree:
    builder = named.builder
    members = np.flatnonzero((named.parent >= 0) | (named.module > 0) & named.is_code)
    of_module, first = grouped(named.module[members])
    modules = named.module[members[first]]
    module_node = builder.add(
        np.zeros(len(first)), kind=builder.kind("module"), module=modules,
        name=np.where(modules > 0, modules, builder.strings.number(NO_MODULE)),
    )[of_module]  # fmt: skip
    return _functions_below(named, members, module_node, named.home)


def _functions_below(named: NamedPaths, members: Longs, top: Ints, file: Ints) -> Tree:
    """Return the tree of functions below nodes for what they are in, and of lines below them.

    Args:
        named: the paths.
        members: the paths that are below those nodes.
        top: the node that each of them is below.
        file: where a function of each path is shown to be.
    """
    builder = named.builder
    # Lines of a function are below it; a section's line is its own.
    line = np.where(named.is_code[members], 0, named.line[members])
    of_function, first = grouped(
        top, named.kind[members], named.module[members], named.name[members], file[members], line
    )
    row = members[first]
    columns = named.about(row)
    is_one = ~named.is_code[row]
    columns["region"] = np.where(is_one, named.region[row], -1)
    columns["file"] = file[row]
    columns["line"] = line[first]
    function_node = builder.add(top[first], **columns)[of_function]
    has_lines = np.flatnonzero(named.is_code[members])
    of_line, first = grouped(
        function_node[has_lines], named.file[members[has_lines]], named.line[members[has_lines]]
    )
    line_node = named.lines(function_node[has_lines[first]], members[has_lines[first]])[of_line]
    inclusive = [PathNodePairs.of(named.roots, 0)]
    exclusive = [PathNodePairs.of(named.roots[~np.isin(named.roots, members)], 0)]
    for paths, nodes in (
        (members, top), (members, function_node), (members[has_lines], line_node),
    ):  # fmt: skip
        group = np.full(len(named.parent), -1, dtype=np.int32)
        group[paths] = nodes
        outermost = np.flatnonzero(forest.first_of_their_kind(group, named.parent, named.data.walk))
        inclusive.append(PathNodePairs.of(outermost, group[outermost]))
        exclusive.append(PathNodePairs.of(paths, nodes))
    return builder.tree(PathNodePairs.joined(*inclusive), PathNodePairs.joined(*exclusive))


def _by_function(named: NamedPaths) -> Tree:
    """Functions and sections, each once, whatever they are called from and inlined from."""
    members = np.flatnonzero((named.parent >= 0) | (named.file > 0))
    line = np.where(named.is_code, 0, named.line)
    group, first = grouped(
        named.kind[members], named.module[members], named.name[members], named.home[members],
        line[members],
    )  # fmt: skip
    row = members[first]
    columns = named.about(row)
    columns.update(file=named.home[row], line=line[row], region=-1)
    node = named.builder.add(np.zeros(len(row)), **columns)[group]
    of_path = np.full(len(named.parent), -1, dtype=np.int32)
    of_path[members] = node
    outermost = np.flatnonzero(forest.first_of_their_kind(of_path, named.parent, named.data.walk))
    top = PathNodePairs.of(named.roots, 0)
    return named.builder.tree(
        PathNodePairs.joined(top, PathNodePairs.of(outermost, of_path[outermost])),
        PathNodePairs.of(members, node),
    )


def _by_rank(named: NamedPaths) -> Tree:
    """Locations, and below each the functions and sections that have values there."""
    data, builder = named.data, named.builder
    arrays = data.tables.arrays(
        "SELECT DISTINCT location, path FROM profile JOIN paths USING (path) "
        "WHERE paths.parent <> -1 AND location IS NOT NULL "
        f"LIMIT {_BY_RANK_LIMIT + 1}"
    )
    location, path = arrays["location"], arrays["path"]
    if len(path) > _BY_RANK_LIMIT:
        builder.notes.append(
            f"functions and sections of each rank and thread are left out: there are more than "
            f"{_BY_RANK_LIMIT}; choose a rank or thread in a tree by region"
        )
        location, path = location[:0], path[:0]
    where = positions(np.array([one.location for one in data.locations], np.int32), location)
    which = positions(data.paths.number, path)
    fits = (where >= 0) & (which >= 0)
    nodes = _places(named, where[fits])
    if data.has_call_paths:
        own = call_trees.add_calls_of_places(named, nodes, where[fits], which[fits])
        return builder.tree(own, own)
    return builder.tree(*_below_places(named, nodes, where[fits], which[fits]))


def _places(named: NamedPaths, with_paths: Ints) -> Ints:
    """Add nodes for locations but those that say what the one above does; return each one's node.

    The others are a command that is the whole run, the only process of a rank, and the only thread
    of a process, unless it has functions or sections of its own.
    """
    builder, locations = named.builder, named.data.locations
    parents = named.data.location_parents
    is_alone = np.bincount(parents + 1, minlength=len(parents) + 1)[parents + 1] == 1
    kinds = np.array([one.kind for one in locations], dtype=object)
    above = np.where(parents >= 0, kinds[parents] if len(kinds) else kinds, "")
    is_plain = np.ones(len(locations), dtype=bool)
    is_plain[with_paths] = False
    is_same = is_alone & (
        ((kinds == "command") & (parents < 0) & named.is_single)
        | ((kinds == "process") & (above == "rank"))
        | ((kinds == "thread") & (above == "process") & is_plain)
    )
    number = np.cumsum(~is_same, dtype=np.int32)
    nodes = np.zeros(len(locations), dtype=np.int32)
    for at, parent in enumerate(parents.tolist()):
        over = int(nodes[parent]) if parent >= 0 else 0
        nodes[at] = over if is_same[at] else number[at]
    own = np.flatnonzero(~is_same)
    builder.add(
        np.where(parents[own] >= 0, nodes[parents[own]], 0),
        kind=np.array([builder.kind(locations[at].kind or "process") for at in own], np.int32),
        name=builder.strings.numbers([locations[at].title for at in own.tolist()]),
        location=own,
    )
    return nodes


def _below_places(
    named: NamedPaths, nodes: Ints, where: Ints, which: Ints
) -> tuple[PathNodePairs, PathNodePairs]:
    line = np.where(named.is_code, 0, named.line)
    same, _ = grouped(named.kind, named.module, named.name, named.home, line)
    outermost = forest.first_of_their_kind(same.astype(np.int32), named.parent)
    order = np.lexsort((which, where))
    where, which = where[order], which[order]
    group, first = grouped(where, same[which])
    at = which[first]
    columns = named.about(at)
    columns.update(file=named.home[at], line=line[at], region=-1, location=where[first])
    node = named.builder.add(nodes[where[first]], **columns)[group]
    wanted = outermost[which]
    return PathNodePairs.of(which[wanted], node[wanted]), PathNodePairs.of(which, node)
