"""The four groupings: how a run's paths become a tree's nodes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnomon.model.functions import Part, homes
from gnomon.view import forest
from gnomon.view.columns import Floats, Ints
from gnomon.view.dataset import Dataset, positions
from gnomon.view.tree import NO_LINE, NO_SOURCE, UNKNOWN, Builder, Pairs, Tree

_TITLES = {
    "hpm": "program and sections", "cpu": "functions and lines", "mpi": "MPI calls", "io": "I/O",
    "memory": "memory", "thread": "threads",
}  # fmt: skip
_NODE_KINDS = {"hpm": "section", "cpu": "function", "mpi": "call", "io": "call"}
# More than this and a tree by rank has the ranks, processes and threads alone.
_BY_RANK_LIMIT = 400_000


def title_of(kind: str) -> str:
    """Return what people call the regions of a kind, or the kind as its capability calls it."""
    return _TITLES.get(kind, kind or UNKNOWN)


def build(data: Dataset, by: str, weights: Floats) -> Tree:
    """Return the tree of a run in one grouping.

    Args:
        data: the run.
        by: one of `GROUPINGS`.
        weights: a value for each path, NaN for none: of a function in several files, the one that
            has most is where it stands.

    Raises:
        RunDirectoryError: its tables cannot be read.
    """
    if by == "rank":
        return _ByRank(data, weights).tree()
    return {"region": _by_region, "capability": _by_capability, "file": _by_file}[by](
        _Named(data, weights)
    )


class _Named:
    """The paths of a run with the names of their regions, and which of them are lines."""

    def __init__(self, data: Dataset, weights: Floats) -> None:
        regions, paths = data.regions, data.paths
        self.paths = paths
        self.region: list[int] = paths.region.tolist()
        self.parent: list[int] = paths.parent.tolist()
        self.kind: list[str] = regions.kind[paths.region].tolist()
        self.name: list[str] = regions.name[paths.region].tolist()
        self.module: list[str] = regions.module[paths.region].tolist()
        self.file: list[str] = regions.file[paths.region].tolist()
        self.line: list[int] = regions.line[paths.region].tolist()
        has_children = np.zeros(len(paths.number), dtype=bool)
        has_children[paths.parent[paths.parent >= 0]] = True
        self.is_part = [
            kind == "cpu" and above >= 0 and not inner
            for kind, above, inner in zip(
                self.kind, self.parent, has_children.tolist(), strict=True
            )
        ]
        self.home = self._homes(weights)
        self.alone = self._alone()

    def _homes(self, weights: Floats) -> list[str]:
        by_part: dict[tuple[str, str, str], float] = {}
        known = np.nan_to_num(weights).tolist()
        keys = list(zip(self.module, self.name, self.file, strict=True))
        for key, is_part, weight in zip(keys, self.is_part, known, strict=True):
            if is_part:
                by_part[key] = by_part.get(key, 0.0) + weight
        found = homes({Part(*key): weight for key, weight in by_part.items()})
        return [found.get(Part(*key), key[2]) for key in keys]

    def _alone(self) -> set[tuple[int, str, str, str]]:
        """Return the functions that are one part without a line: they have no node for it."""
        count: dict[tuple[int, str, str, str], int] = {}
        for path, is_part in enumerate(self.is_part):
            if is_part:
                key = self.function(path)
                count[key] = count.get(key, 0) + (2 if self.line[path] else 1)
        return {key for key, parts in count.items() if parts == 1}

    def function(self, path: int) -> tuple[int, str, str, str]:
        """Return what the parts of one function below one path have in common."""
        return self.parent[path], self.module[path], self.name[path], self.home[path]

    def modules_below(self) -> dict[int, set[str]]:
        """Return the programs of the parts below each path."""
        found: dict[int, set[str]] = {}
        for path, is_part in enumerate(self.is_part):
            if is_part:
                found.setdefault(self.parent[path], set()).add(self.module[path])
        return found

    def root(self, builder: Builder) -> int:
        roots = [path for path, above in enumerate(self.parent) if above < 0]
        name = self.name[roots[0]] if len(roots) == 1 else "everything"
        region = self.region[roots[0]] if len(roots) == 1 else -1
        return builder.add(-1, "run", name or UNKNOWN, region=region)


def _line_name(file: str, line: int) -> str:
    return f"{file.rpartition('/')[2]}:{line}" if line else NO_LINE


def _below(
    named: _Named, builder: Builder, path: int, above: int, modules: Mapping[int, set[str]],
    over: list[list[int]], under: list[int],
) -> int:  # fmt: skip
    """Add the nodes of one path below a node; note what sums go over it; return its node."""
    kind, name = named.kind[path], named.name[path] or UNKNOWN
    file, line, module = named.file[path], named.line[path], named.module[path]
    region = named.region[path]
    if not named.is_part[path]:
        node = builder.add(
            above, _NODE_KINDS.get(kind, kind or "section"), name, region=region, file=file,
            module=module, line=line,
        )  # fmt: skip
        under.append(node)
        return node
    if len(modules[named.parent[path]]) > 1:
        above = builder.once(("module", module), above, "module", module or UNKNOWN, module=module)
        over[0].append(path)
        over[1].append(above)
    key = named.function(path)
    home = named.home[path]
    if key in named.alone:
        node = builder.once(
            ("function", *key), above, "function", name, file=home, module=module, region=region
        )
        under.append(node)
        return node
    function = builder.once(("function", *key), above, "function", name, file=home, module=module)
    over[0].append(path)
    over[1].append(function)
    node = builder.add(
        function, "line", _line_name(file, line), region=region, file=file, module=module, line=line
    )
    under.append(node)
    return node


def _pairs(paths: list[int], nodes: list[int]) -> Pairs:
    return Pairs(np.array(paths, dtype=np.int32), np.array(nodes, dtype=np.int32))


def _by_region(named: _Named) -> Tree:
    builder = Builder("region")
    root = named.root(builder)
    is_single = sum(above < 0 for above in named.parent) == 1
    modules = named.modules_below()
    node_of = [root] * len(named.parent)
    over: list[list[int]] = [[], []]
    under: list[int] = []
    seen: list[int] = []
    for path in named.paths.order.tolist():
        above = named.parent[path]
        seen.append(path)
        if above < 0 and is_single:
            under.append(root)
            continue
        at = root if above < 0 else node_of[above]
        node_of[path] = _below(named, builder, path, at, modules, over, under)
        if above < 0:
            over[0].append(path)
            over[1].append(root)
    inclusive = _pairs(seen + over[0], under + over[1])
    # A root above several has nothing of its own.
    mine = [at for at, node in enumerate(over[1]) if node != root]
    exclusive = _pairs(seen + [over[0][at] for at in mine], under + [over[1][at] for at in mine])
    return builder.tree(inclusive, exclusive)


def _by_capability(named: _Named) -> Tree:
    builder = Builder("capability")
    root = named.root(builder)
    modules = named.modules_below()
    node_of = [root] * len(named.parent)
    over: list[list[int]] = [[], []]
    under: list[int] = []
    seen: list[int] = []
    of_kind: list[int] = [-1] * len(named.parent)
    for path in named.paths.order.tolist():
        kind = named.kind[path]
        top = builder.once(("kind", kind), root, "capability", title_of(kind))
        of_kind[path] = top
        above = named.parent[path]
        while above >= 0 and named.kind[above] != kind:
            above = named.parent[above]
        at = top if above < 0 else node_of[above]
        node_of[path] = _below(named, builder, path, at, modules, over, under)
        seen.append(path)
    group = np.array(of_kind, dtype=np.int32)
    outermost = np.flatnonzero(forest.first_of_their_kind(group, named.paths.parent))
    roots = np.flatnonzero(named.paths.parent < 0)
    every = np.arange(len(group), dtype=np.int32)
    low = _pairs(seen + over[0], under + over[1])
    inclusive = Pairs(
        np.concatenate([low.path, outermost, roots]).astype(np.int32),
        np.concatenate([low.node, group[outermost], np.full(len(roots), root)]).astype(np.int32),
    )
    exclusive = Pairs(
        np.concatenate([low.path, every, roots]).astype(np.int32),
        np.concatenate([low.node, group, np.full(len(roots), root)]).astype(np.int32),
    )
    return builder.tree(inclusive, exclusive)


def _by_file(named: _Named) -> Tree:
    builder = Builder("file")
    root = named.root(builder)
    levels: list[list[int]] = [[], [], []]
    for path, above in enumerate(named.parent):
        kind, file = named.kind[path], named.file[path]
        if above < 0 and not file:
            for level in levels:
                level.append(-1)
            continue
        of_file = builder.once(("file", file), root, "file", file or NO_SOURCE, file=file)
        name, module = named.name[path] or UNKNOWN, named.module[path]
        node_kind = _NODE_KINDS.get(kind, kind or "section")
        line, region = named.line[path], named.region[path]
        key = (kind, module, name)
        if kind == "cpu":
            inner = builder.once(key, of_file, node_kind, name, file=file, module=module)
            last = builder.once(
                ("line", line), inner, "line", _line_name(file, line), file=file, module=module,
                line=line, region=region,
            )  # fmt: skip
        else:
            inner = builder.once(
                (*key, line), of_file, node_kind, name, file=file, module=module, line=line,
                region=region,
            )  # fmt: skip
            last = -1
        for level, node in zip(levels, (of_file, inner, last), strict=True):
            level.append(node)
    roots = np.flatnonzero(named.paths.parent < 0)
    top = Pairs(roots.astype(np.int32), np.full(len(roots), root, dtype=np.int32))
    inclusive, exclusive = [top], []
    for nodes in levels:
        group = np.array(nodes, dtype=np.int32)
        outermost = np.flatnonzero(forest.first_of_their_kind(group, named.paths.parent))
        inclusive.append(Pairs(outermost.astype(np.int32), group[outermost]))
        members = np.flatnonzero(group >= 0)
        exclusive.append(Pairs(members.astype(np.int32), group[members]))
    rootless = roots[np.array(levels[0], dtype=np.int32)[roots] < 0]
    exclusive.append(Pairs(rootless.astype(np.int32), np.full(len(rootless), root, np.int32)))
    return builder.tree(_joined(inclusive), _joined(exclusive))


def _joined(parts: list[Pairs]) -> Pairs:
    return Pairs(
        np.concatenate([part.path for part in parts]),
        np.concatenate([part.node for part in parts]).astype(np.int32),
    )


class _ByRank:
    """Locations, and below each the functions and sections that have values there."""

    def __init__(self, data: Dataset, weights: Floats) -> None:
        self._data = data
        self._named = _Named(data, weights)

    def tree(self) -> Tree:
        data, named = self._data, self._named
        builder = Builder("rank")
        root = named.root(builder)
        nodes: list[int] = []
        for at, one in enumerate(data.locations):
            above = int(data.location_parents[at])
            nodes.append(
                builder.add(
                    root if above < 0 else nodes[above], one.kind or "process", one.title,
                    location=at,
                )
            )  # fmt: skip
        found = data.tables.arrays(
            "SELECT DISTINCT location, path FROM {s}.profile JOIN {s}.paths USING (path) "
            "WHERE paths.parent <> -1 AND location IS NOT NULL "
            f"LIMIT {_BY_RANK_LIMIT + 1}"
        )
        if len(found["path"]) > _BY_RANK_LIMIT:
            builder.notes.append(
                f"functions and sections of each rank and thread are left out: there are more than "
                f"{_BY_RANK_LIMIT}; choose a rank or thread in a tree by region"
            )
            found = {name: array[:0] for name, array in found.items()}
        inclusive, exclusive = self._functions(builder, nodes, found["location"], found["path"])
        return builder.tree(inclusive, exclusive)

    def _functions(
        self, builder: Builder, nodes: list[int], location: Ints, path: Ints
    ) -> tuple[Pairs, Pairs]:
        data, named = self._data, self._named
        known = np.array([one.location for one in data.locations], dtype=np.int32)
        where = positions(known, location)
        which = positions(data.paths.number, path)
        fits = (where >= 0) & (which >= 0)
        numbers: dict[tuple[str, str, str, str, int], int] = {}
        keys = [self._key(one) for one in range(len(named.parent))]
        group = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int32)
        outermost = forest.first_of_their_kind(group, data.paths.parent)
        at_path: list[int] = []
        at_node: list[int] = []
        for place, one in zip(where[fits].tolist(), which[fits].tolist(), strict=True):
            kind, module, name, home, line = keys[one]
            node = builder.once(
                keys[one], nodes[place], _NODE_KINDS.get(kind, kind or "section"), name or UNKNOWN,
                file=home, module=module, line=line, location=place,
            )  # fmt: skip
            at_path.append(one)
            at_node.append(node)
        every = _pairs(at_path, at_node)
        first = outermost[every.path]
        return Pairs(every.path[first], every.node[first]), every

    def _key(self, path: int) -> tuple[str, str, str, str, int]:
        """Return what the paths of one function or section have in common."""
        named = self._named
        kind = named.kind[path]
        line = 0 if kind == "cpu" else named.line[path]
        return kind, named.module[path], named.name[path], named.home[path], line
