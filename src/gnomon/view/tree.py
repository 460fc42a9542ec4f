"""A tree of what a run's values are of, in one of several groupings, as arrays.

Nodes stand in the order of a walk that goes down first, those of a tree that grows in the order in
which they came. Which paths a node's values come from is kept as pairs of path and node, so that
the values of any metric are a sum over pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gnomon.model import forest, location_kinds
from gnomon.model.array_types import Cells, Ints, Longs
from gnomon.named_tuple import NamedTuple

GROUPINGS = ("region", "lines", "callers", "capability", "module", "file", "routine", "rank")
CALLERS = "callers"
"""The grouping whose tree grows: `callers_tree.py`."""
KINDS = (
    *("run", "capability", "class", "routine"),
    *("module", "file", "function", "line", "section", "call"),
    *(kind for kind in location_kinds.KINDS if kind != "run"),
)
_KINDS_LIMIT = 255
_COLUMNS = ("kind", "name", "region", "location", "file", "module", "line")
_ARRAYS = ("parent", "end", *_COLUMNS, "pending")
_KEYS_LIMIT = 1 << 62


class PathNodePairs(NamedTuple):
    """Which paths are in which nodes, one pair at each position."""

    path: Ints
    node: Ints

    @staticmethod
    def of(path: Cells, node: Cells | int) -> PathNodePairs:
        """Return pairs of paths and their nodes, or of paths that are all in one."""
        nodes = np.full(len(path), node) if isinstance(node, int) else node
        return PathNodePairs(path.astype(np.int32), nodes.astype(np.int32))

    def of_nodes(self, begin: int, end: int) -> PathNodePairs:
        """Return the pairs of some nodes, which begin at 0."""
        wanted = (self.node >= begin) & (self.node < end)
        return PathNodePairs(self.path[wanted], self.node[wanted] - np.int32(begin))

    @staticmethod
    def joined(*parts: PathNodePairs) -> PathNodePairs:
        """Return the pairs of all parts."""
        return PathNodePairs(
            np.concatenate([part.path for part in parts]),
            np.concatenate([part.node for part in parts]),
        )


class Tree(NamedTuple):
    """Nodes in the order of a walk.

    Attributes:
        by: the grouping.
        parent: -1 for the root.
        end: behind the last descendant.
        name, file, module: numbers of `strings`.
        kind: numbers of `kinds`.
        region: position in the dataset, -1 where a node is more than one.
        location: position in the dataset, -1 but for a grouping by rank.
        line: 0 where not known.
        strings: texts, each once, "" the first.
        kinds: names of kinds.
        notes: what was left out, and why.
        inclusive: paths whose inclusive values add up to a node's.
        exclusive: paths whose exclusive values add up to a node's.
        pending: 1 where nodes below it have yet to be asked for.
    """

    by: str
    parent: Ints
    end: Ints
    name: npt.NDArray[np.uint32]
    kind: npt.NDArray[np.uint8]
    region: Ints
    location: Ints
    file: npt.NDArray[np.uint32]
    module: npt.NDArray[np.uint32]
    line: Ints
    strings: list[str]
    kinds: list[str]
    notes: tuple[str, ...]
    inclusive: PathNodePairs
    exclusive: PathNodePairs
    pending: npt.NDArray[np.uint8]

    @property
    def n(self) -> int:
        """How many nodes there are."""
        return len(self.parent)

    def text(self, numbers: npt.NDArray[np.uint32], node: int) -> str:
        """Return a node's text of `name`, `file` or `module`."""
        return self.strings[int(numbers[node])]

    def arrays(self) -> dict[str, Cells]:
        """Return the arrays of the page, by name."""
        return {name: getattr(self, name) for name in _ARRAYS}

    def part(self, begin: int, end: int) -> Tree:
        """Return some of the nodes, which `parent` numbers as in the tree; they begin at 0."""
        arrays: dict[str, Any] = {name: array[begin:end] for name, array in self.arrays().items()}
        return self._replace(
            **arrays,
            inclusive=self.inclusive.of_nodes(begin, end),
            exclusive=self.exclusive.of_nodes(begin, end),
        )


class TextTable:
    """Texts, each once, by number; "" is 0."""

    def __init__(self, known: dict[str, int] | None = None) -> None:
        self._known = {"": 0} if known is None else dict(known)
        self._listed: list[str] = []

    def copy(self) -> TextTable:
        """Return the same, to which others can be added."""
        return TextTable(self._known)

    def number(self, text: str) -> int:
        """Return the number of a text, a new one for a new text."""
        return self._known.setdefault(text, len(self._known))

    def numbers(self, texts: list[str]) -> Ints:
        """Return the numbers of texts."""
        known = self._known
        return np.array([known.setdefault(one, len(known)) for one in texts], dtype=np.int32)

    def text(self, number: int) -> str:
        """Return the text of a number."""
        return self.texts()[number]

    def texts(self) -> list[str]:
        """Return all of them, in the order of their numbers."""
        if len(self._listed) < len(self._known):
            self._listed = list(self._known)
        return self._listed


class TreeBuilder:
    """Nodes as they are found, many at once: the root is node 0, the others follow in order.

    Args:
        by: the grouping.
        strings: texts that nodes have; it may have others too.
    """

    def __init__(self, by: str, strings: TextTable) -> None:
        self._by = by
        self.strings = strings
        self._kinds = {kind: at for at, kind in enumerate(KINDS)}
        self._parents: list[Cells] = []
        self._columns: dict[str, list[Cells]] = {name: [] for name in _COLUMNS}
        self._n = 0
        self.notes: list[str] = []

    def kind(self, name: str) -> int:
        """Return the number of a kind of nodes."""
        if name not in self._kinds and len(self._kinds) >= _KINDS_LIMIT:
            return self._kinds["section"]
        return self._kinds.setdefault(name, len(self._kinds))

    def add(self, parent: Cells, **columns: Cells | int) -> Ints:
        """Add a node for each parent and return their numbers; columns not given are of none."""
        n = len(parent)
        self._parents.append(parent)
        for name in _COLUMNS:
            none = -1 if name in ("region", "location") else 0
            values = columns.get(name, none)
            self._columns[name].append(
                np.full(n, values, dtype=np.int32) if isinstance(values, int) else values
            )
        numbers = np.arange(self._n, self._n + n, dtype=np.int32)
        self._n += n
        return numbers

    def tree(self, inclusive: PathNodePairs, exclusive: PathNodePairs) -> Tree:
        """Return the nodes in the order of a walk; pairs have the numbers that `add` gave."""
        parent = np.concatenate(self._parents).astype(np.int32)
        place, end = forest.preorder(parent)
        order = np.empty(len(parent), dtype=np.int32)
        order[place] = np.arange(len(parent), dtype=np.int32)
        moved = np.where(parent >= 0, place[parent], -1)
        return self._tree(
            moved[order], end[order], order, np.zeros(len(order)),
            PathNodePairs(inclusive.path, place[inclusive.node]),
            PathNodePairs(exclusive.path, place[exclusive.node]),
        )  # fmt: skip

    def as_added(self, inclusive: PathNodePairs, exclusive: PathNodePairs, pending: Cells) -> Tree:
        """Return the nodes with the numbers that `add` gave; more can be added afterwards.

        What is below a node does not stand behind it: `end` says that nothing does.
        """
        parent = np.concatenate(self._parents)
        numbers = np.arange(len(parent), dtype=np.int32)
        return self._tree(parent, numbers + 1, numbers, pending, inclusive, exclusive)

    def _tree(
        self, parent: Cells, end: Cells, order: Ints, pending: Cells,
        inclusive: PathNodePairs, exclusive: PathNodePairs,
    ) -> Tree:  # fmt: skip
        columns = {name: np.concatenate(parts)[order] for name, parts in self._columns.items()}
        return Tree(
            by=self._by,
            parent=parent.astype(np.int32),
            end=end.astype(np.int32),
            name=columns["name"].astype(np.uint32),
            kind=columns["kind"].astype(np.uint8),
            region=columns["region"].astype(np.int32),
            location=columns["location"].astype(np.int32),
            file=columns["file"].astype(np.uint32),
            module=columns["module"].astype(np.uint32),
            line=columns["line"].astype(np.int32),
            strings=self.strings.texts(),
            kinds=list(self._kinds),
            notes=tuple(self.notes),
            inclusive=inclusive,
            exclusive=exclusive,
            pending=pending.astype(np.uint8),
        )


def is_place(tree: Tree, node: int) -> bool:
    """Return whether a node is a run, rank, process, thread, core ... and no section in one."""
    return tree.kinds[int(tree.kind[node])] in location_kinds.KINDS


def grouped(*keys: Cells) -> tuple[Longs, Longs]:
    """Return each item's group, numbered as they first appear, and each group's first item.

    Args:
        keys: whole numbers; items are of one group where all of them are equal.
    """
    code = np.zeros(len(keys[0]), dtype=np.int64)
    span = 1
    for key in keys:
        low = int(key.min()) if len(key) else 0
        width = (int(key.max()) if len(key) else 0) - low + 1
        if span * width >= _KEYS_LIMIT:
            unique, code = np.unique(code, return_inverse=True)
            span = len(unique)
        code = code * width + (key - low)
        span *= width
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    return number[inverse], first[order]
