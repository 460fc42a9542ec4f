"""Call paths by columns of NumPy against the same by dictionaries, on random trees."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest

from gnomon.measurement.call_paths import CallPaths, call_paths
from gnomon.sampling.sample_file import NONE
from gnomon.store.path_sums import sums_on_paths

ROOT = 7


def random_tree(seed: int) -> tuple[list[int], list[int], list[list[int]]]:
    """Return the places and parents of nodes, and the regions of places, some of them inlined."""
    random = Random(seed)
    regions = [
        [random.randrange(1, 6) for _ in range(random.choice((1, 1, 1, 2, 3)))] for _ in range(12)
    ]
    places, parents = [], []
    for node in range(random.randrange(1, 300)):
        places.append(random.randrange(len(regions)))
        near = random.random() < 0.7
        parents.append(node - 1 if node and near else random.choice((NONE, *range(node))))
    return places, parents, regions


def stacks_of(places: list[int], parents: list[int], regions: list[list[int]]) -> list[list[int]]:
    stacks: list[list[int]] = []
    for place, parent in zip(places, parents, strict=True):
        stacks.append((stacks[parent] if parent != NONE else []) + regions[place])
    return stacks


def stack_of(paths: CallPaths, path: int) -> list[int]:
    stack = []
    while paths.parents[path] >= 0:
        stack.append(int(paths.regions[path]))
        path = int(paths.parents[path])
    return stack[::-1]


@pytest.mark.parametrize("seed", range(40))
def test_equal_stacks_have_one_path_each(seed: int) -> None:
    places, parents, regions = random_tree(seed)
    paths = call_paths(np.array(places, np.uint32), np.array(parents, np.uint32), regions, ROOT)
    expected = stacks_of(places, parents, regions)
    assert [stack_of(paths, path) for path in paths.of_nodes.tolist()] == expected
    prefixes = {tuple(stack[:n]) for stack in expected for n in range(len(stack) + 1)}
    assert len(paths.parents) == len(prefixes)
    assert paths.regions[0] == ROOT
    assert paths.parents[0] == -1
    assert (paths.parents[1:] < np.arange(1, len(paths.parents))).all()
    assert [len(stack_of(paths, path)) for path in range(len(prefixes))] == paths.depths.tolist()


def test_without_nodes_there_is_the_program() -> None:
    nothing = np.empty(0, np.uint32)
    paths = call_paths(nothing, nothing, [], ROOT)
    assert paths.parents.tolist() == [-1]
    assert paths.of_nodes.tolist() == []


def test_a_recursion_of_thousands() -> None:
    n = 4000
    parents = np.arange(n, dtype=np.uint32) - np.uint32(1)
    paths = call_paths(np.zeros(n, np.uint32), parents, [[3]], ROOT)
    assert paths.depths.tolist() == list(range(n + 1))


@pytest.mark.parametrize("seed", range(40))
def test_sums_are_those_of_each_sample_on_each_path(seed: int) -> None:
    places, parents, regions = random_tree(seed)
    paths = call_paths(np.array(places, np.uint32), np.array(parents, np.uint32), regions, ROOT)
    random = Random(seed)
    n = random.randrange(200)
    keys = [random.randrange(4) for _ in range(n)]
    nodes = [random.randrange(len(places)) for _ in range(n)]
    weights = [random.randrange(1, 1000) for _ in range(n)]
    # What was not sampled counts for none.
    numbers = [random.randrange(2) for _ in range(n)]
    inclusive: Counter[tuple[int, int]] = Counter()
    exclusive: Counter[tuple[int, int]] = Counter()
    counts: Counter[tuple[int, int]] = Counter()
    of_samples = paths.of_nodes[np.array(nodes, np.int64)]
    for key, path, weight, number in zip(keys, of_samples.tolist(), weights, numbers, strict=True):
        exclusive[key, path] += weight
        while path >= 0:
            inclusive[key, path] += weight
            counts[key, path] += number
            path = int(paths.parents[path])
    sums = sums_on_paths(
        paths.parents,
        paths.depths,
        np.array(keys, np.int64),
        of_samples,
        np.array(weights, np.float64),
        np.array(numbers, np.int64),
    )
    places_of = list(zip(sums.keys.tolist(), sums.paths.tolist(), strict=True))
    assert len(set(places_of)) == len(places_of)
    assert dict(zip(places_of, sums.inclusive.tolist(), strict=True)) == inclusive
    assert dict(zip(places_of, sums.counts.tolist(), strict=True)) == counts
    assert {
        place: weight
        for place, weight in zip(places_of, sums.exclusive.tolist(), strict=True)
        if weight
    } == exclusive
