"""Tables that share a screen."""

from __future__ import annotations

import pytest

from gnomon.store.reports.screen_tables import ScreenTable, fitted


def table(name: str, rows: int, *, tail: int = 0, fewest: int = 3) -> ScreenTable:
    return ScreenTable(
        [f"{name}:"], [f"{name}{n}" for n in range(rows)], [f"({name})"] * tail, fewest
    )


@pytest.mark.parametrize(
    ("room", "rows"),
    [(0, (4, 3, 2)), (13, (4, 3, 2)), (14, (5, 3, 2)), (16, (5, 4, 3)), (19, (6, 5, 4)),
     (100, (10, 5, 6))],
)  # fmt: skip
def test_each_has_its_fewest_rows_and_more_in_turn(room: int, rows: tuple[int, ...]) -> None:
    lines = fitted(
        [table("a", 10, tail=1, fewest=4), table("none", 0), table("b", 5),
         table("c", 6, fewest=2)],
        room,
    )  # fmt: skip
    expected = []
    for name, n in zip("abc", rows, strict=True):
        expected += [f"{name}:", *(f"{name}{number}" for number in range(n))]
        expected += ["(a)"] if name == "a" else []
    assert lines == expected
    assert len(lines) <= max(room, 13)
