"""Paths of several sets are numbered all at once as one by one."""

from __future__ import annotations

from random import Random

import pytest

from gnomon.model.tables import PATHS, Table
from gnomon.store import path_numbers
from gnomon.store.path_numbers import PathNumbers

ROOT_REGION = 7
FEW, MANY = 20, 5000


def paths_of(random: Random, n: int, regions: int) -> tuple[Table, list[int]]:
    """Return paths that come of random stacks, each once, and their regions."""
    numbers = {(-1, ROOT_REGION): 0}
    while len(numbers) < n:
        at = random.randrange(len(numbers)) if random.random() < 0.1 else len(numbers) - 1
        numbers.setdefault((at, random.randrange(regions)), len(numbers))
    rows = [(number, *key) for key, number in numbers.items()]
    return Table(PATHS, rows), [region for _, _, region in rows]


@pytest.mark.parametrize("seed", range(6))
def test_numbers_of_many_are_those_of_each(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    sets = [paths_of(random, n, 3) for n in (FEW, MANY, FEW, MANY)]
    # The second set has paths of the first one, too: few regions, and all below the root.
    at_once = PathNumbers(ROOT_REGION)
    some = [list(at_once.add(paths, regions)) for paths, regions in sets]
    monkeypatch.setattr(path_numbers, "_MANY", 1 << 30)
    each = PathNumbers(ROOT_REGION)
    assert some == [list(each.add(paths, regions)) for paths, regions in sets]
    assert at_once.table() == each.table()
    assert len(at_once.table()) < sum(len(paths) for paths, _ in sets) - 3
    assert {tuple(key) for _, *key in at_once.table().rows} == set(
        zip(each.table().values("parent"), each.table().values("region"), strict=True)
    )


@pytest.mark.parametrize(
    "rows",
    [
        [(number, number - 1 if number else -1, 1) for number in range(MANY)][::-1],
        [(number, number + 1, 1) for number in range(MANY)],
        [(0, -1, 1), *((number, -2, 1) for number in range(1, MANY))],
    ],
)
def test_a_parent_stands_before_its_child(rows: list[tuple[int, int, int]]) -> None:
    with pytest.raises(KeyError):
        PathNumbers(1).add(Table(PATHS, rows), [1] * len(rows))


def test_paths_that_are_there_twice_have_one_number() -> None:
    rows = [(0, -1, 1), *((number, 0, number % 3) for number in range(1, MANY))]
    numbers = PathNumbers(1).add(Table(PATHS, rows), [region for _, _, region in rows])
    assert numbers[:8] == [0, 1, 2, 3, 1, 2, 3, 1]


@pytest.mark.parametrize("many", [path_numbers._MANY, 1])
def test_roots_of_divisions_are_their_own(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_numbers, "_MANY", many)
    numbers = PathNumbers(1)
    rows = [(0, -1, 1), (1, 0, 2), (2, -1, 5), (3, 2, 6), (4, -1, 7)]
    for _ in range(2):
        added = numbers.add(Table(PATHS, rows), [region for _, _, region in rows], {5})
        assert list(added) == [0, 1, 2, 3, 0]
    assert numbers.table().rows == [(0, -1, 1), (1, 0, 2), (2, -1, 5), (3, 2, 6)]
