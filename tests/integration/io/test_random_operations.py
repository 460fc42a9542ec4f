"""Random operations on files: what comes of them is the same with the I/O library and without."""

from __future__ import annotations

from pathlib import Path

import pytest
from module_stacks import STACKS
from random_io import NO_MODULES, build_players, check, first_difference, loads_of, play

STACK = pytest.mark.parametrize(
    "stack", [NO_MODULES, *STACKS], ids=lambda stack: stack or "no modules"
)


@pytest.fixture(scope="module")
def players(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the programs that play."""
    return build_players(tmp_path_factory.mktemp("player"))


@STACK
def test_ten_thousand_operations(tmp_path: Path, players: tuple[Path, Path], stack: str) -> None:
    check(tmp_path, players, range(1, 7), 1700, **loads_of(stack))


@pytest.mark.long
@STACK
def test_a_million_operations(tmp_path: Path, players: tuple[Path, Path], stack: str) -> None:
    check(tmp_path, players, range(1000, 1200), 5000, **loads_of(stack))


def test_a_difference_is_found(tmp_path: Path, players: tuple[Path, Path]) -> None:
    """Two sequences that are not the same one, as if the library had made the other of it."""
    play(tmp_path, "plain", players[0], "1", "300")
    play(tmp_path, "under", players[0], "2", "300")
    assert "without: " in first_difference(tmp_path)
