"""The call tree bottom-up: each function once, below it those that called it, and so on.

Both values of a node are those of the function at the top of its branch, as called through the
branch: exclusive, its own; inclusive, with all that it calls, recursion counted once.

There may be far more nodes than paths, so callers are added when somebody looks at them. Numbers of
nodes never change: new ones come behind.
"""

from __future__ import annotations

import numpy as np

from gnomon.model import forest
from gnomon.model.array_types import Ints
from gnomon.named_tuple import NamedTuple
from gnomon.view.call_trees import hottest_paths
from gnomon.view.path_names import NamedPaths
from gnomon.view.tree import PathNodePairs, Tree, grouped

NODES_AT_FIRST = 50_000
"""So many nodes are there before anybody asks for callers, or the functions if these are more."""
NODES_MORE = 5_000
"""So many come at once when somebody does, or the callers asked for if these are more."""
_PAIRS_AT_ONCE = 3_000_000
# A function that calls itself ten thousand times deep has as many levels.
_LEVELS_AT_ONCE = 24


class _Members(NamedTuple):
    """Paths of the functions at the top of branches, by the node at the end of the branch.

    Attributes:
        path: position of each.
        caller: position of the path that called it through the branch, -1 for none.
        node: the end of the branch.
    """

    path: Ints
    caller: Ints
    node: Ints


class CallersTree:
    """A tree that grows. Not to be used from several threads at once.

    Args:
        named: the paths.
        nodes_at_first: see `NODES_AT_FIRST`.
    """

    def __init__(self, named: NamedPaths, nodes_at_first: int = NODES_AT_FIRST) -> None:
        self._named = named
        self._function = named.functions()
        is_root = named.parent < 0
        # The program calls all that has no other caller: to say so everywhere says nothing.
        is_function = named.is_code | ~is_root
        parent = np.where(is_root, 0, named.parent)
        self._caller_of = np.where(~is_root & is_function[parent], named.parent, -1)
        self._inclusive = [PathNodePairs.of(named.roots, 0)]
        self._exclusive = [PathNodePairs.of(named.roots, 0)]
        functions = np.flatnonzero(is_function).astype(np.int32)
        self._members = [_Members(functions, functions, np.zeros(len(functions), dtype=np.int32))]
        self._is_pending = np.full(1, len(functions) > 0)
        self._tree: Tree | None = None
        self.grow(0, nodes_at_first)

    def tree(self) -> Tree:
        """Return all nodes that there are; they stand in the order in which they came."""
        if self._tree is None:
            self._tree = self._named.builder.as_added(
                PathNodePairs.joined(*self._inclusive),
                PathNodePairs.joined(*self._exclusive),
                self._is_pending,
            )
        return self._tree

    def grow(self, node: int, most: int = NODES_MORE) -> None:
        """Add the callers of a node, and theirs, while they are few; a node that has them stays.

        Args:
            node: a number of the tree.
            most: how many nodes are added at most, beside the first callers.
        """
        if not self._is_pending[node]:
            return
        members = self._of(node)
        n, n_pairs = 0, 0
        for _ in range(_LEVELS_AT_ONCE):
            if not len(members.path):
                break
            group, first = grouped(members.node, self._function[members.caller])
            if n and (n + len(first) > most or n_pairs + len(group) > _PAIRS_AT_ONCE):
                break
            n, n_pairs = n + len(first), n_pairs + len(group)
            members = self._add(members, group.astype(np.int32), first.astype(np.int32))
            has_caller = members.caller >= 0
            members = _Members(*(column[has_caller] for column in members))
        self._tree = None

    def _of(self, node: int) -> _Members:
        """Return the members of a node that have callers."""
        for members in self._members:
            if members.node[0] <= node <= members.node[-1]:
                wanted = (members.node == node) & (members.caller >= 0)
                return _Members(*(column[wanted] for column in members))
        raise AssertionError(f"node {node} has no members")

    def _add(self, members: _Members, group: Ints, first: Ints) -> _Members:
        """Add a node for each group and return its members, in the order of the nodes."""
        named = self._named
        row = members.caller[first]
        hottest = hottest_paths(named, members.caller, group, members.path)
        columns = named.about(row)
        is_code = named.is_code[row]
        is_home = named.file[hottest] == named.home[hottest]
        columns.update(
            region=-1,
            file=np.where(is_code, named.home[row], named.file[row]),
            line=np.where(is_code & ~is_home, 0, named.line[hottest]),
        )
        numbers = named.builder.add(members.node[first], **columns)
        self._is_pending[members.node] = False
        order = np.argsort(group, kind="stable")
        path = members.path[order]
        above = self._caller_of[members.caller[order]]
        added = _Members(path, above, numbers[group[order]])
        node_of = np.full(len(named.parent), -1, dtype=np.int32)
        node_of[path] = added.node
        outermost = forest.first_of_their_kind(node_of, named.parent, named.data.walk)[path]
        self._inclusive.append(PathNodePairs.of(path[outermost], added.node[outermost]))
        self._exclusive.append(PathNodePairs.of(path, added.node))
        self._members.append(added)
        callers_of = np.bincount(added.node[above >= 0] - numbers[0], minlength=len(numbers))
        self._is_pending = np.concatenate([self._is_pending, callers_of > 0])
        return added
