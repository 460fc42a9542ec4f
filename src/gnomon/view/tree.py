"""A tree of what a run's values are of, in one of four groupings, as arrays.

Nodes stand in the order of a walk that goes down first. Which paths a node's values come from is
kept as pairs of path and node, so that the values of any metric are a sum over pairs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gnomon.view import forest
from gnomon.view.columns import Flags, Floats, Ints

GROUPINGS = {
    "region": "by region: as they were called",
    "capability": "by capability",
    "file": "by file and function",
    "rank": "by rank, process and thread",
}
KINDS = (
    "run", "capability", "module", "file", "function", "line", "section", "call", "host", "rank",
    "command", "process", "thread", "core", "cpu",
)  # fmt: skip
UNKNOWN = "(unknown)"
NO_SOURCE = "(source not known)"
NO_LINE = "(line not known)"


class Pairs(NamedTuple):
    """Which paths are in which nodes, one pair at each position."""

    path: Ints
    node: Ints


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
        function: by rank, the function of each path; -1 for none.
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
    inclusive: Pairs
    exclusive: Pairs

    @property
    def n(self) -> int:
        """How many nodes there are."""
        return len(self.parent)

    def text(self, numbers: npt.NDArray[np.uint32], node: int) -> str:
        """Return a node's text of `name`, `file` or `module`."""
        return self.strings[int(numbers[node])]

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what the page gets, by name."""
        names = ("parent", "end", "name", "kind", "region", "location", "file", "module", "line")
        return {name: getattr(self, name) for name in names}


class Builder:
    """Nodes as they are found, in any order in which parents come first."""

    def __init__(self, by: str) -> None:
        self._by = by
        self._strings: dict[str, int] = {"": 0}
        self._kinds = {kind: at for at, kind in enumerate(KINDS)}
        self._parent: list[int] = []
        self._columns: list[tuple[int, int, int, int, int, int, int]] = []
        self._keys: dict[tuple[Any, ...], int] = {}
        self.notes: list[str] = []

    def add(
        self, parent: int, kind: str, name: str, *, region: int = -1, location: int = -1,
        file: str = "", module: str = "", line: int = 0,
    ) -> int:  # fmt: skip
        """Add a node and return its number."""
        self._parent.append(parent)
        kinds, strings = self._kinds, self._strings
        self._columns.append(
            (
                strings.setdefault(name, len(strings)),
                kinds.setdefault(kind, len(kinds)) if len(kinds) < 255 else kinds["section"],
                region,
                location,
                strings.setdefault(file, len(strings)),
                strings.setdefault(module, len(strings)),
                line,
            )
        )
        return len(self._parent) - 1

    def once(self, key: tuple[Any, ...], parent: int, kind: str, name: str, **more: Any) -> int:  # noqa: ANN401
        """Return the node of a key below a parent, adding it at the first call."""
        known = self._keys.get((parent, *key))
        if known is None:
            known = self._keys[parent, *key] = self.add(parent, kind, name, **more)
        return known

    def tree(self, inclusive: Pairs, exclusive: Pairs) -> Tree:
        """Return the nodes in the order of a walk; pairs have the numbers that `add` gave."""
        parent = np.array(self._parent, dtype=np.int32)
        place, end = forest.preorder(parent)
        order = np.argsort(place)
        columns = np.array(self._columns, dtype=np.int64).reshape(-1, 7)[order]
        moved = np.where(parent >= 0, place[parent], -1)
        return Tree(
            by=self._by,
            parent=moved[order].astype(np.int32),
            end=end[order],
            name=columns[:, 0].astype(np.uint32),
            kind=columns[:, 1].astype(np.uint8),
            region=columns[:, 2].astype(np.int32),
            location=columns[:, 3].astype(np.int32),
            file=columns[:, 4].astype(np.uint32),
            module=columns[:, 5].astype(np.uint32),
            line=columns[:, 6].astype(np.int32),
            strings=list(self._strings),
            kinds=list(self._kinds),
            notes=tuple(self.notes),
            inclusive=Pairs(inclusive.path, place[inclusive.node]),
            exclusive=Pairs(exclusive.path, place[exclusive.node]),
        )


def added(values: Floats, has: Flags, pairs: Pairs, n: int) -> Floats:
    """Return each node's sum over its paths that have a value; NaN where none has.

    A path that has a value which is NaN (an exclusive one that nobody knows) makes the sum NaN.
    """
    chosen = has[pairs.path]
    nodes = pairs.node[chosen]
    sums = np.bincount(nodes, weights=values[pairs.path[chosen]], minlength=n)
    counted = np.bincount(nodes, minlength=n)
    return np.where(counted > 0, sums, np.nan)
