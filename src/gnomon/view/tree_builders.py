"""The four groupings: how a run's paths become a tree's nodes."""

from __future__ import annotations

import numpy as np

from gnomon.model import forest
from gnomon.model.array_types import Cells, Flags, Floats, Ints, Texts
from gnomon.model.inlining import FunctionFragment, defining_files
from gnomon.view.node_kinds import OF_THREAD
from gnomon.view.run_metadata import Dataset, positions
from gnomon.view.tree import PathNodePairs, TextTable, Tree, TreeBuilder, grouped

FUNCTION = "function"
"""A grouping for tables: each function once. Not among those of the page's trees."""

UNKNOWN = "(unknown)"
NO_SOURCE = "(source not known)"
NO_LINE = "(line not known)"
# More than this and a tree by rank has the ranks, processes and threads alone.
_BY_RANK_LIMIT = 400_000


def build(data: Dataset, by: str, names: Names) -> Tree:
    """Return the tree of a run in one grouping.

    Args:
        data: the run.
        by: one of `GROUPINGS`, or `FUNCTION`.
        names: those of the run.

    Raises:
        RunDirectoryError: its tables cannot be read.
    """
    named = _Named(data, names, TreeBuilder(by, names.strings.copy()))
    return {
        "region": _by_region, "capability": _by_capability, "file": _by_file, "rank": _by_rank,
        FUNCTION: _by_function,
    }[by](named)  # fmt: skip


class Names:
    """Names of a run's paths as numbers of texts, and which of them are lines: for all groupings.

    Args:
        data: the run.
        weights: a value for each path, NaN for none: of a function in several files, the one that
            has most is where it stands.

    Attributes:
        kind: numbers of the regions' kinds; `kinds` has their names.
        name, module, file: numbers of `strings`; a name is never "".
        line_name: likewise, of functions' lines.
        home: the file in which a function stands.
        is_code: the path is a function, or of one.
        is_part: the path is a line, or another leaf, of a function: it has no children.
    """

    def __init__(self, data: Dataset, weights: Floats) -> None:
        regions, paths = data.regions, data.paths
        self.strings = TextTable()
        self._region = paths.region
        self.kinds, kind = _numbered(regions.kind)
        self.kind = kind[paths.region]
        self.name = self._texts(regions.name, UNKNOWN)
        self.module = self._texts(regions.module)
        self.file = self._texts(regions.file)
        self.line = regions.line[paths.region]
        is_leaf = np.ones(len(paths.parent), dtype=bool)
        is_leaf[paths.parent[paths.parent >= 0]] = False
        self.is_code = data.is_code
        self.is_part: Flags = self.is_code & is_leaf & (paths.parent >= 0)
        self.home = self._homes(regions.name, regions.module, regions.file, weights)
        self.line_name = self._line_names()

    def _texts(self, texts: Texts, none: str = "") -> Ints:
        numbers = self.strings.numbers([one or none for one in texts.tolist()])
        return numbers[self._region] if len(self._region) else numbers[:0]

    def _homes(self, names: Texts, modules: Texts, files: Texts, weights: Floats) -> Ints:
        parts = np.flatnonzero(self.is_part)
        if not len(parts):
            return self.file
        group, first = grouped(self.module[parts], self.name[parts], self.file[parts])
        of_group = np.bincount(group, weights=np.nan_to_num(weights[parts]))
        regions = self._region[parts[first]].tolist()
        keys = [FunctionFragment(modules[at], names[at], files[at]) for at in regions]
        found = defining_files(dict(zip(keys, of_group.tolist(), strict=True)))
        numbers = self.strings.numbers([found[key] for key in keys])
        home = self.file.copy()
        home[parts] = numbers[group]
        return home

    def _line_names(self) -> Ints:
        paths = np.flatnonzero(self.is_code)
        files, lines = self.file[paths].tolist(), self.line[paths].tolist()
        ends = {file: self.strings.text(file).rpartition("/")[2] for file in set(files)}
        names = np.zeros(len(self.file), dtype=np.int32)
        names[paths] = self.strings.numbers(
            [
                f"{ends[file]}:{line}" if line else NO_LINE
                for file, line in zip(files, lines, strict=True)
            ]
        )
        return names


class _Named:
    """The paths of a run with their names, for one tree whose root is there already.

    Attributes:
        node_kind: what a node of each path is.
        is_single: the program is one root, which is the tree's.
    """

    def __init__(self, data: Dataset, names: Names, builder: TreeBuilder) -> None:
        self.data = data
        self.builder = builder
        self.region, self.parent = data.paths.region, data.paths.parent
        self.kinds, self.kind = names.kinds, names.kind
        self.name, self.module, self.file = names.name, names.module, names.file
        self.line, self.home, self.line_name = names.line, names.home, names.line_name
        self.is_code, self.is_part = names.is_code, names.is_part
        of_kinds = [builder.kind(data.region_kinds.of(one).node) for one in self.kinds]
        self.node_kind = np.array(of_kinds, dtype=np.int32)[self.kind]
        if data.is_of_threads.any():
            self.node_kind[data.is_of_threads] = builder.kind(OF_THREAD)
        self.roots = np.flatnonzero(self.parent < 0)
        self.is_single = len(self.roots) == 1
        root = int(self.roots[0]) if self.is_single else -1
        builder.add(
            np.array([-1]), kind=builder.kind("run"),
            name=int(self.name[root]) if self.is_single else builder.strings.number("everything"),
            region=int(self.region[root]) if self.is_single else -1,
        )  # fmt: skip

    def about(self, paths: Cells) -> dict[str, Cells | int]:
        """Return the columns of nodes that are one path each."""
        return {
            "kind": self.node_kind[paths], "name": self.name[paths], "region": self.region[paths],
            "file": self.file[paths], "module": self.module[paths], "line": self.line[paths],
        }  # fmt: skip

    def lines(self, above: Cells, paths: Cells) -> Ints:
        """Add a node for the line of each path below a function's; return their numbers."""
        columns = self.about(paths)
        columns.update(kind=self.builder.kind("line"), name=self.line_name[paths])
        return self.builder.add(above, **columns)


def _numbered(texts: Texts) -> tuple[list[str], Ints]:
    number_of: dict[str, int] = {}
    numbers = np.array(
        [number_of.setdefault(one, len(number_of)) for one in texts.tolist()], dtype=np.int32
    )
    return list(number_of), numbers


def _parts_below(named: _Named, above: Ints) -> tuple[PathNodePairs, PathNodePairs]:
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


def _by_region(named: _Named) -> Tree:
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


def _by_capability(named: _Named) -> Tree:
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
    inner = order[~named.is_part[order]]
    node_of = np.zeros(len(named.parent), dtype=np.int32)
    node_of[inner] = 1 + len(kinds) + np.arange(len(inner), dtype=np.int32)
    above = np.where(up >= 0, node_of[up], group).astype(np.int32)
    builder.add(above[inner], **named.about(inner))
    over, low = _parts_below(named, above)
    outermost = np.flatnonzero(up < 0)
    own = PathNodePairs.joined(
        PathNodePairs.of(inner, node_of[inner]), over, low, PathNodePairs.of(named.roots, 0)
    )
    every = np.arange(len(group))
    return builder.tree(
        PathNodePairs.joined(own, PathNodePairs.of(outermost, group[outermost])),
        PathNodePairs.joined(own, PathNodePairs.of(every, group)),
    )


def _by_file(named: _Named) -> Tree:
    builder = named.builder
    members = np.flatnonzero((named.parent >= 0) | (named.file > 0))
    of_file, first = grouped(named.file[members])
    files = members[first]
    names = np.where(named.file[files] > 0, named.file[files], builder.strings.number(NO_SOURCE))
    file_node = builder.add(
        np.zeros(len(files)), kind=builder.kind("file"), name=names, file=named.file[files]
    )[of_file]
    # Lines of a function are below it; a section's line is its own.
    line = np.where(named.is_code[members], 0, named.line[members])
    of_function, first = grouped(
        file_node, named.kind[members], named.module[members], named.name[members], line
    )
    row = members[first]
    columns = named.about(row)
    is_one = ~named.is_code[row]
    columns["region"] = np.where(is_one, named.region[row], -1)
    columns["line"] = line[first]
    function_node = builder.add(file_node[first], **columns)[of_function]
    has_lines = np.flatnonzero(named.is_code[members])
    of_line, first = grouped(function_node[has_lines], named.line[members[has_lines]])
    line_node = named.lines(function_node[has_lines[first]], members[has_lines[first]])[of_line]
    inclusive = [PathNodePairs.of(named.roots, 0)]
    exclusive = [PathNodePairs.of(named.roots[~np.isin(named.roots, members)], 0)]
    for paths, nodes in (
        (members, file_node), (members, function_node), (members[has_lines], line_node),
    ):  # fmt: skip
        group = np.full(len(named.parent), -1, dtype=np.int32)
        group[paths] = nodes
        outermost = np.flatnonzero(forest.first_of_their_kind(group, named.parent))
        inclusive.append(PathNodePairs.of(outermost, group[outermost]))
        exclusive.append(PathNodePairs.of(paths, nodes))
    return builder.tree(PathNodePairs.joined(*inclusive), PathNodePairs.joined(*exclusive))


def _by_function(named: _Named) -> Tree:
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
    outermost = np.flatnonzero(forest.first_of_their_kind(of_path, named.parent))
    top = PathNodePairs.of(named.roots, 0)
    return named.builder.tree(
        PathNodePairs.joined(top, PathNodePairs.of(outermost, of_path[outermost])),
        PathNodePairs.of(members, node),
    )


def _by_rank(named: _Named) -> Tree:
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
    pairs = _below_places(named, nodes, where[fits], which[fits])
    return builder.tree(*pairs)


def _places(named: _Named, with_paths: Ints) -> Ints:
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
    named: _Named, nodes: Ints, where: Ints, which: Ints
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
