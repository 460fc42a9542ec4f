"""Names of a run's paths as numbers of texts: what nodes of a tree are called, and what one is."""

from __future__ import annotations

import numpy as np

from gnomon.model.array_types import Cells, Flags, Ints, Longs, Texts
from gnomon.model.inlining import FunctionFragment, defining_files, has_unique_names
from gnomon.view.node_kinds import OF_THREAD
from gnomon.view.node_values import NodeValues
from gnomon.view.run_metadata import Dataset, Regions
from gnomon.view.tree import TextTable, TreeBuilder, grouped

UNKNOWN = "(unknown)"
NO_LINE = "(line not known)"


class Names:
    """Names of a run's paths as numbers of texts, and which of them are lines: for all groupings.

    Args:
        data: the run.
        weights: values of each path, NaN for none: of a function in several files, the one that
            has most is where it stands.

    Attributes:
        weights: as given.
        kind: numbers of the regions' kinds; `kinds` has their names.
        name, module, file: numbers of `strings`; a name is never "".
        line_name: likewise, of functions' lines.
        home: the file in which a function stands.
        is_code: the path is a function, or of one.
        is_part: the path is a line, or another leaf, of a function: it has no children.
    """

    def __init__(self, data: Dataset, weights: NodeValues) -> None:
        regions, paths = data.regions, data.paths
        self.weights = weights
        self.strings = TextTable()
        self._region = paths.region
        self.kinds, kind = numbered(regions.kind)
        self.kind = kind[paths.region]
        self.name = self._texts(regions.name, UNKNOWN)
        self.module = self._texts(regions.module)
        self.file = self._texts(regions.file)
        self.line = regions.line[paths.region]
        is_leaf = np.ones(len(paths.parent), dtype=bool)
        is_leaf[paths.parent[paths.parent >= 0]] = False
        self.is_code = data.is_code
        is_part: Flags = self.is_code & is_leaf & (paths.parent >= 0)
        if data.has_call_paths:
            # A leaf is a function as any other, which calls nothing where it was sampled.
            is_part = np.zeros(len(is_leaf), dtype=bool)
        self.is_part = is_part
        parts = np.flatnonzero(self.is_code if data.has_call_paths else is_part)
        self.home = self._homes(parts, regions, unique=has_unique_names(data.head))
        self.line_name = self._line_names()

    def _texts(self, texts: Texts, none: str = "") -> Ints:
        numbers = self.strings.numbers([one or none for one in texts.tolist()])
        return numbers[self._region] if len(self._region) else numbers[:0]

    def _homes(self, parts: Longs, regions: Regions, *, unique: bool) -> Ints:
        if not len(parts):
            return self.file
        group, first = grouped(self.module[parts], self.name[parts], self.file[parts])
        of_group = np.bincount(group, weights=np.nan_to_num(self.weights.exclusive[parts]))
        keys = [
            FunctionFragment(regions.module[at], regions.name[at], regions.file[at])
            for at in self._region[parts[first]].tolist()
        ]
        weights = dict(zip(keys, of_group.tolist(), strict=True))
        found = defining_files(weights, has_unique_names=unique)
        numbers = self.strings.numbers([found[key] for key in keys])
        home = self.file.copy()
        home[parts] = numbers[group]
        return home

    def _line_names(self) -> Ints:
        paths = np.flatnonzero(self.is_code)
        _, first, inverse = np.unique(self._region[paths], return_index=True, return_inverse=True)
        rows = paths[first]
        files, lines = self.file[rows].tolist(), self.line[rows].tolist()
        ends = {file: self.strings.text(file).rpartition("/")[2] for file in set(files)}
        numbers = self.strings.numbers(
            [
                f"{ends[file]}:{line}" if line else NO_LINE
                for file, line in zip(files, lines, strict=True)
            ]
        )
        names = np.zeros(len(self.file), dtype=np.int32)
        names[paths] = numbers[inverse]
        return names


class NamedPaths:
    """The paths of a run with their names, for one tree whose root is there already.

    Attributes:
        node_kind: what a node of each path is.
        is_single: the program is one root, which is the tree's.
    """

    def __init__(self, data: Dataset, names: Names, builder: TreeBuilder) -> None:
        self.data = data
        self.builder = builder
        self.weights = names.weights
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

    def functions(self) -> Ints:
        """Return a number for each path, the same for all paths of one function.

        Of what is no function, each region has its own.
        """
        own = np.where(self.is_code, -1, self.region)
        group, _ = grouped(
            own, np.where(self.is_code, self.kind, 0), np.where(self.is_code, self.module, 0),
            np.where(self.is_code, self.name, 0), np.where(self.is_code, self.home, 0),
        )  # fmt: skip
        return group.astype(np.int32)

    def lines(self, above: Cells, paths: Cells) -> Ints:
        """Add a node for the line of each path below a function's; return their numbers."""
        columns = self.about(paths)
        columns.update(kind=self.builder.kind("line"), name=self.line_name[paths])
        return self.builder.add(above, **columns)


def numbered(texts: Texts) -> tuple[list[str], Ints]:
    """Return the different texts, and the number of each one among them."""
    number_of: dict[str, int] = {}
    numbers = np.array(
        [number_of.setdefault(one, len(number_of)) for one in texts.tolist()], dtype=np.int32
    )
    return list(number_of), numbers
