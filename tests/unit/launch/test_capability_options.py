"""Options of capabilities: converters, messages, names of capabilities that are none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gnomon.capabilities import CAPABILITIES, TIMES
from gnomon.errors import UsageError
from gnomon.launch.capability_selection import select
from gnomon.launch.options import Option, choice, number, option_values, share, whole_number


def value(convert: Callable[[str], object], word: str) -> object:
    return option_values("--toy-", [Option("x", "", "X", convert)], {"x": word})["x"]


@pytest.mark.parametrize(
    ("convert", "word", "expected"),
    [
        (whole_number(), "-3", -3),
        (whole_number(0), "0", 0),
        (number(), "2.5", 2.5),
        (number(0), "1e3", 1000.0),
        (share, "0.25", 0.25),
        (share, "25%", 0.25),
        (share, "100%", 1.0),
        (choice("all", "none"), "none", "none"),
    ],
)
def test_words_become_values(convert: Callable[[str], object], word: str, expected: object) -> None:
    assert value(convert, word) == expected


@pytest.mark.parametrize(
    ("convert", "word", "said"),
    [
        (int, "x", "--toy-x x: not a whole number"),
        (int, "", "--toy-x '': not a whole number"),
        (float, "x", "--toy-x x: not a number"),
        (lambda word: int(word) * 2, "1.5", "--toy-x 1.5: not a whole number"),
        (whole_number(1), "0", "--toy-x 0: must be at least 1"),
        (whole_number(1), "x", "--toy-x x: not a whole number"),
        (number(0.5), "0.25", "--toy-x 0.25: must be at least 0.5"),
        (number(), "nan", "--toy-x nan: not a number"),
        (share, "1.5", "--toy-x 1.5: must be from 0 to 1, or from 0% to 100%"),
        (share, "nan", "--toy-x nan: must be from 0 to 1, or from 0% to 100%"),
        (share, "half", "--toy-x half: not a number"),
        (choice("all", "none"), "some", "--toy-x some: must be one of all, none"),
    ],
)
def test_what_is_no_value_is_said(convert: Callable[[str], object], word: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        value(convert, word)
    assert str(raised.value) == said


@pytest.mark.parametrize("words", ["", ",", "sections,,counters", "sections, "])
@pytest.mark.parametrize("option", ["--with", "--without"])
def test_a_name_that_is_missing_is_refused(option: str, words: str) -> None:
    wanted, without = (words, None) if option == "--with" else (None, words)
    with pytest.raises(UsageError, match="a name is missing; known names: counters, ") as raised:
        select(CAPABILITIES, wanted, without, {}, TIMES)
    assert str(raised.value).startswith(f"{option} '{words}': ")
