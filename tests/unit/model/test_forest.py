"""Forests as arrays: each function does what a plain recursion does, on any forest."""

from __future__ import annotations

import math
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gnomon.model import forest


@st.composite
def parents(draw: st.DrawFn) -> list[int]:
    """Return parents before or after their children, as files may have them."""
    n = draw(st.integers(0, 24))
    tree = [draw(st.integers(-1, at - 1)) for at in range(n)]
    order = draw(st.permutations(range(n)))
    moved = [0] * n
    for at, parent in enumerate(tree):
        moved[order[at]] = order[parent] if parent >= 0 else -1
    return moved


def walk(parent: list[int], root: int = -1) -> list[int]:
    found = []
    for at, above in enumerate(parent):
        if above == root:
            found += [at, *walk(parent, at)]
    return found


def as_array(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, dtype=np.int32)


@given(parents())
def test_a_walk_goes_down_first(parent: list[int]) -> None:
    place, end = forest.preorder(as_array(parent))
    order = walk(parent)
    assert np.argsort(place).tolist() == order
    assert [int(end[at] - place[at]) for at in range(len(parent))] == [
        1 + len(walk(parent, at)) for at in range(len(parent))
    ]


def depths(parent: list[int]) -> list[int]:
    """Return on which level each one is, -1 for none."""
    found = [-1] * len(parent)
    for depth, level in enumerate(forest.levels(as_array(parent))):
        for at in level.tolist():
            found[at] = depth
    return found


@given(parents())
def test_levels_are_depths(parent: list[int]) -> None:
    depth = depths(parent)
    for at, above in enumerate(parent):
        assert depth[at] == (0 if above < 0 else depth[above] + 1)


def test_circles_are_on_no_level() -> None:
    assert depths([-1, 2, 1, 3, 0]) == [0, -1, -1, -1, 1]


@given(parents(), st.randoms(use_true_random=False))
def test_of_a_recursion_the_outermost_counts(parent: list[int], random: Random) -> None:
    group = [random.choice((-1, 0, 1)) for _ in parent]
    found = forest.first_of_their_kind(as_array(group), as_array(parent)).tolist()
    for at, one in enumerate(group):
        above, nested = parent[at], False
        while above >= 0:
            nested |= group[above] == one
            above = parent[above]
        assert found[at] == (one >= 0 and not nested)


def test_deep_recursion_is_walked() -> None:
    n = 200
    parent = as_array(list(range(-1, n - 1)))
    group = as_array([at % 3 - 1 for at in range(n)])
    found = forest.first_of_their_kind(group, parent)
    assert np.flatnonzero(found).tolist() == [1, 2]


@given(st.lists(st.none() | st.integers(0, 9), max_size=20), st.randoms(use_true_random=False))
def test_what_is_missing_is_the_sum_of_its_parts(values: list[int | None], random: Random) -> None:
    parent = [random.randint(-1, at - 1) for at in range(len(values))]
    given_values = np.array([math.nan if one is None else one for one in values], dtype=float)

    def expected(at: int) -> float:
        value = values[at]
        if value is not None:
            return value
        inner = [expected(each) for each, above in enumerate(parent) if above == at]
        known = [one for one in inner if not math.isnan(one)]
        return sum(known) if known else math.nan

    found = forest.filled_from_children(given_values, as_array(parent))
    np.testing.assert_array_equal(found, [expected(at) for at in range(len(values))])


@given(parents(), st.randoms(use_true_random=False))
def test_nearest_of_their_kind(parent: list[int], chance: Random) -> None:
    group = [chance.randrange(-1, 3) for _ in parent]
    expected = []
    for at, mine in enumerate(group):
        above = parent[at] if mine >= 0 else -1
        while above >= 0 and group[above] != mine:
            above = parent[above]
        expected.append(above)
    assert forest.nearest_of_their_kind(as_array(group), as_array(parent)).tolist() == expected


def test_nearest_of_their_kind_in_deep_trees() -> None:
    """Farther up than steps are taken, and at any distance."""
    parent = list(range(-1, 5000))
    group = [at % 50 for at in range(5001)]
    nearest = forest.nearest_of_their_kind(as_array(group), as_array(parent))
    assert nearest.tolist() == [max(at - 50, -1) if at >= 50 else -1 for at in range(5001)]
