"""Text that fits its width."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon import terminal_text
from gnomon.model.percent_columns import share, shares
from gnomon.terminal_text import filled, grid, heading, short_path, shortened, suffixes, widths


@pytest.mark.parametrize(
    ("paths", "short"),
    [
        (["/a/x.h", "/b/x.h"], ["a/x.h", "b/x.h"]),
        (["/a/x.h", "/b/y.h"], ["x.h", "y.h"]),
        (["/p/a/x.h", "/q/a/x.h", "/c/x.h"], ["p/a/x.h", "q/a/x.h", "c/x.h"]),
        (["x.h", "/a/x.h"], ["x.h", "a/x.h"]),
        (["/x.h", "x.h"], ["/x.h", "x.h"]),
        (["", "x.h"], ["", "x.h"]),
    ],
)
def test_paths_have_the_shortest_end_that_is_theirs(paths: list[str], short: list[str]) -> None:
    assert suffixes(paths) == dict(zip(paths, short, strict=True))


@given(st.sets(st.text(alphabet="ab/.", max_size=9)))
def test_no_two_paths_look_alike(paths: set[str]) -> None:
    short = suffixes(paths)
    assert short.keys() == paths
    assert len(set(short.values())) == len(paths)
    assert all(path.endswith(end) for path, end in short.items())


@given(st.text(max_size=40), st.integers(1, 30))
def test_shortened_text_fits(text: str, width: int) -> None:
    assert len(shortened(text, width)) <= width
    assert len(short_path(text, width)) <= width


def test_a_path_keeps_its_end() -> None:
    assert short_path("/usr/include/c++/12/bits/stl_tree.h", 20) == "…/12/bits/stl_tree.h"


def test_headings_are_broken_where_words_join() -> None:
    assert heading("PAPI_L1_DCM") == ["L1_DCM"]
    assert heading("L1-dcache-load-misses") == ["L1-", "dcache-", "load-", "misses"]


def test_columns_share_what_room_there_is() -> None:
    assert widths([10, 20], [5, 5], 100) == [10, 20]
    assert widths([50, 20], [10, 12], 40) == [28, 12]
    assert widths([50, 50], [10, 12], 5) == [10, 12]


def test_grid_ends_headings_on_one_line() -> None:
    table = grid([("a", "count"), ("%",), ("name",)], [("1", "22.2", "x"), ("333", "4", "y")], 2)
    assert table.lines == (
        "      a",
        "  count     %  name",
        "      1  22.2  x",
        "    333     4  y",
    )


def test_events_without_room_are_named() -> None:
    totals = {"PAPI_TOT_INS": 1000, "PAPI_LD_INS": 10, "branch-misses": 0}
    found = shares(list(totals), totals, 30)
    assert found.events == ("PAPI_TOT_INS", "PAPI_LD_INS")
    assert found.left_out == ("branch-misses",)
    assert found.cells({"PAPI_TOT_INS": 500, "PAPI_LD_INS": 0}) == ("500", "50.0", ".")
    assert shares(list(totals), totals, 1).events == ("PAPI_TOT_INS",)
    every = shares(list(totals), totals, 1, counts=True, keep=True)
    assert every.events == tuple(totals)
    assert every.counted == set(totals)


def test_none_and_little_differ() -> None:
    assert (share(0, 10), share(1, 1e9), share(0, 0), share(1, 0)) == (".", "0.0", ".", ".")
    assert share(float("inf"), float("inf")) == "n/a"


def test_sentences_are_filled() -> None:
    lines = filled("word " * 40, 80, "note: ", "      ")
    assert all(len(line) <= 80 for line in lines)
    assert lines[1].startswith("      word")


@given(
    st.lists(st.text("ab-é,", min_size=1, max_size=70), max_size=30),
    st.lists(st.sampled_from([" ", "  ", "\n", "     "]), min_size=30, max_size=30),
    st.integers(0, 120),
)
def test_sentences_are_filled_as_textwrap_does(
    words: list[str], blanks: list[str], width: int
) -> None:
    text = "".join(map("".join, zip(words, blanks, strict=False)))
    assert filled(text, width, "  why ", "      ") == textwrap.wrap(
        text, max(width, 60), initial_indent="  why ", subsequent_indent="      ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def test_wrapped_texts_break_long_names_behind_their_joints() -> None:
    text = "of BR_INST_RETIRED:NEAR_CALL here"
    assert terminal_text.wrapped(text, 16) == ["of", "BR_INST_RETIRED:", "NEAR_CALL here"]
    assert terminal_text.wrapped(text, 12) == ["of BR_INST_", "RETIRED:", "NEAR_CALL", "here"]
    assert terminal_text.wrapped("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]
    path = "/a/path_that/is_long"
    assert terminal_text.wrapped(f"in {path}", 10) == ["in", path]
    assert terminal_text.wrapped("", 10) == [""]


def test_a_wrapped_table_has_its_width() -> None:
    rows = [("a", "word " * 30, "text " * 30), ("b", "", "short")]
    for width in (40, 60, 80):
        table = terminal_text.wrapped_table(("n", "one", "two"), rows, width, (1, 2))
        lines = [line for row in table for line in row]
        assert max(map(len, lines)) <= width
        assert " ".join(lines).split().count("word") == 30
        assert " ".join(lines).split().count("text") == 30


def test_a_remark_without_room_stands_below_its_fact() -> None:
    rows = [("name", "1", "short"), ("longer name", "12", "a remark that has no room " * 2)]
    lines = terminal_text.facts(rows, 60)
    assert lines[0] == "  name          1  short"
    assert lines[1] == "  longer name  12"
    assert all(line.startswith("      ") for line in lines[2:])
    assert max(map(len, lines)) <= 60
