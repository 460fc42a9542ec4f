"""Call paths of regions, from nodes of addresses: equal ones become one, by columns of NumPy.

A node is an address, called from its parent. An address is one or several regions:
a function, and below it those that the compiler put into it. Addresses of one line of a function
are one region, so that nodes become fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

NONE = 0xFFFFFFFF
"""In the place of a number: a node has no parent, a sample no node."""


class CallPaths(NamedTuple):
    """A tree of regions; parents come before their children.

    Attributes:
        parents: of each path; that of the root, path 0, is -1.
        regions: of each path.
        depths: 0 for the root.
        of_nodes: the path of each node.
    """

    parents: NDArray[np.int64]
    regions: NDArray[np.int64]
    depths: NDArray[np.int64]
    of_nodes: NDArray[np.int64]

    def extended(self, region: int) -> CallPaths:
        """Return the tree with one path more, behind all others, from the root to a region."""
        return CallPaths(
            np.append(self.parents, 0),
            np.append(self.regions, region),
            np.append(self.depths, 1),
            self.of_nodes,
        )

    def with_leaves(
        self, parents: NDArray[np.int64], regions: NDArray[np.int64]
    ) -> tuple[CallPaths, NDArray[np.int64]]:
        """Return the tree with a path to each region below each parent, and the numbers of these.

        Args:
            parents: paths of the tree.
            regions: of each of them one, which need not be others than those before.
        """
        n_regions = int(regions.max(initial=0)) + 1
        keys, own = np.unique(parents * n_regions + regions, return_inverse=True)
        above = keys // n_regions
        tree = CallPaths(
            np.concatenate((self.parents, above)),
            np.concatenate((self.regions, keys % n_regions)),
            np.concatenate((self.depths, self.depths[above] + 1)),
            self.of_nodes,
        )
        return tree, len(self.parents) + own.reshape(-1).astype(np.int64)

    def with_roots(self, regions: NDArray[np.int64]) -> tuple[CallPaths, NDArray[np.int64]]:
        """Return the trees with one more for each region, and the numbers of their roots."""
        distinct, own = np.unique(regions, return_inverse=True)
        trees = CallPaths(
            np.concatenate((self.parents, np.full(len(distinct), -1))),
            np.concatenate((self.regions, distinct)),
            np.concatenate((self.depths, np.zeros(len(distinct), np.int64))),
            self.of_nodes,
        )
        return trees, len(self.parents) + own.reshape(-1).astype(np.int64)


def used_nodes(parents: NDArray[np.uint32], of_samples: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Return which nodes samples have, and those that these are called from."""
    is_used = np.zeros(len(parents), bool)
    nodes = np.unique(of_samples[of_samples != NONE])
    while len(nodes):
        is_used[nodes] = True
        above = np.unique(parents[nodes])
        above = above[above != NONE]
        nodes = above[~is_used[above]]
    return is_used


def call_paths(
    node_places: NDArray[np.uint32],
    node_parents: NDArray[np.uint32],
    regions_of_places: Sequence[Sequence[int]],
    root_region: int,
) -> CallPaths:
    """Return the call paths of nodes.

    Args:
        node_places: the place of each node.
        node_parents: its parent, which comes before it, or `NONE`.
        regions_of_places: the regions of each place, the outermost first; at least one.
        root_region: of the program, from which all paths come.
    """
    lengths = np.array([len(regions) for regions in regions_of_places], np.int64)
    starts = np.cumsum(lengths) - lengths
    flat = np.array([one for regions in regions_of_places for one in regions], np.int64)
    # A step for each region of each node: `last` is the one that is the node's own.
    n_steps = lengths[node_places]
    last = np.cumsum(n_steps) - 1
    first = last - n_steps + 1
    total = int(last[-1]) + 1 if len(last) else 0
    node_of = np.repeat(np.arange(len(n_steps)), n_steps)
    within = np.arange(total) - first[node_of]
    regions = flat[starts[node_places[node_of]] + within] if total else np.empty(0, np.int64)
    parents = np.arange(total, dtype=np.int64) - 1
    is_root = node_parents == NONE
    parents[first] = np.where(is_root, -1, last[np.where(is_root, 0, node_parents)])
    depths = _depths(parents)
    paths, of_steps = _merged(parents, regions, depths, root_region)
    return CallPaths(*paths, of_steps[last] if total else np.empty(0, np.int64))


def _depths(parents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many parents each has above it, by doubling the distance that is looked at."""
    above, depths = parents.copy(), (parents >= 0).astype(np.int64)
    rest = np.flatnonzero(above >= 0)
    while len(rest):
        jumps = above[rest]
        more, further = depths[jumps], above[jumps]
        depths[rest] += more
        above[rest] = further
        rest = rest[further >= 0]
    return depths


def _merged(
    parents: NDArray[np.int64],
    regions: NDArray[np.int64],
    depths: NDArray[np.int64],
    root_region: int,
) -> tuple[tuple[Any, Any, Any], NDArray[np.int64]]:
    """Return the paths (parents, regions, depths) and that of each step, level by level."""
    order = np.argsort(depths, kind="stable")
    deepest = int(depths.max(initial=-1))
    bounds = np.searchsorted(depths[order], np.arange(deepest + 2))
    n_regions = int(regions.max(initial=0)) + 1
    of_steps = np.zeros(len(parents), np.int64)
    columns = [(np.array([-1]), np.array([root_region]), np.array([0]))]
    n_paths = 1
    for depth in range(deepest + 1):
        steps = order[bounds[depth] : bounds[depth + 1]]
        above = np.where(parents[steps] >= 0, of_steps[parents[steps]], 0)
        keys, own = np.unique(above * n_regions + regions[steps], return_inverse=True)
        of_steps[steps] = n_paths + own.reshape(-1)
        columns.append((keys // n_regions, keys % n_regions, np.full(len(keys), depth + 1)))
        n_paths += len(keys)
    joined = [np.concatenate(parts).astype(np.int64) for parts in zip(*columns, strict=True)]
    return (joined[0], joined[1], joined[2]), of_steps
