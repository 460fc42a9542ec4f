"""The table of `gnomon stat`: numbers in six characters, and columns that fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.hpm.stat.columns import Column, fitting, shown


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (None, "", "-"),
        (float("nan"), "", "-"),
        (0, "", "0"),
        (0.25, "", "0.25"),
        (7, "", "7"),
        (9.999, "", "10"),
        (1234.4, "", "1234"),
        (9999.4, "", "9999"),
        (10000, "", "10.0k"),
        (12345, "", "12.3k"),
        (999_600, "", "1.00M"),
        (4_560_000, "", "4.56M"),
        (-12345, "", "-12.3k"),
        (0, "bytes", "0"),
        (1023, "bytes", "1023"),
        (1023.9, "bytes", "1.00Ki"),
        (1536, "bytes", "1.50Ki"),
        (123 * 1024, "bytes", "123Ki"),
        (99.6, "%", "100"),
    ],
)
def test_numbers_as_they_are_shown(number: float | None, unit: str, text: str) -> None:
    assert shown(number, unit) == text


@given(st.floats(min_value=0, max_value=9e18), st.sampled_from(["", "bytes"]))
def test_every_number_has_room_and_means_itself(number: float, unit: str) -> None:
    text = shown(number, unit)
    assert len(text) <= 6
    step = 1024 if unit == "bytes" else 1000
    digits = text.rstrip("kMGTPEi")
    letter = text[len(digits) :].removesuffix("i").replace("K", "k")
    back = float(digits) * step ** ("", "k", "M", "G", "T", "P", "E").index(letter)
    assert back == pytest.approx(number, rel=0.006, abs=0.5 if unit or number >= 9.995 else 0.006)


COLUMNS = st.lists(
    st.builds(
        lambda head, rank: Column((head,), lambda *_: None, "", rank),
        st.text("abc", min_size=1, max_size=12),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=20,
)


@given(COLUMNS, st.integers(0, 200))
def test_what_fits_keeps_its_order_and_the_rest_is_named(found: list[Column], room: int) -> None:
    kept, left = fitting(found, room)
    assert kept
    assert sorted(map(id, [*kept, *left])) == sorted(map(id, found))
    assert [one for one in found if any(one is k for k in kept)] == kept
    assert len(kept) == 1 or sum(one.width + 1 for one in kept) <= room
    # What stays is not ranked behind what went.
    assert not left or max(k.rank for k in kept) <= max(one.rank for one in left)
