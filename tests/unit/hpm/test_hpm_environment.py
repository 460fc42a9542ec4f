"""What the HPM_* variables say, by the rules of the HPM guide."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.counters.event_set_options import SLICE_MS
from gnomon.errors import UsageError
from gnomon.hpm.environment import read_settings

WORDS = st.text(alphabet="Yy10no-.e \t\x1bü", max_size=8) | st.sampled_from(
    ["Y", "yes", "1", "0", "no", "100", "30000", ""]
)
NAMES = ("HPM_OUTPUT_NAME", "HPM_ASC_OUTPUT", "HPM_VIZ_OUTPUT", "HPM_CSV_OUTPUT", "HPM_STDOUT",
         "HPM_UNIQUE_FILE_NAME", "HPM_PRINT_FORMULA", "HPM_EVENT_SET", "HPM_AGGREGATE",
         "HPM_SLICE_DURATION", "HPM_DIV_WEIGHT", "HPM_MEM_LATENCY")  # fmt: skip


def test_nothing_set() -> None:
    found = read_settings({})
    assert found.formats == ("hpm",)
    assert found.slice_ms == SLICE_MS
    assert SLICE_MS == 100
    assert {found.name, found.groups, found.aggregate, found.events} == {""}
    assert {found.unique, found.silent, found.formulas} == {False}


@pytest.mark.parametrize("value", ["Y", "y", "Yes", "yellow", "1"])
def test_words_that_begin_with_y_trigger_a_file(value: str) -> None:
    assert read_settings({"HPM_VIZ_OUTPUT": value}).formats == ("viz",)
    assert read_settings({"HPM_UNIQUE_FILE_NAME": value}).unique


@pytest.mark.parametrize("value", ["no", "N", "0", "11", "true", " yes"])
def test_other_words_do_not(value: str) -> None:
    assert read_settings({"HPM_VIZ_OUTPUT": value}).formats == ()
    assert not read_settings({"HPM_UNIQUE_FILE_NAME": value}).unique


@pytest.mark.parametrize(("value", "ms"), [("10", 10), ("30000", 30000), (" 100 ", 100)])
def test_slices_in_range(value: str, ms: int) -> None:
    assert read_settings({"HPM_SLICE_DURATION": value}).slice_ms == ms


@given(st.dictionaries(st.sampled_from(NAMES), WORDS))
def test_any_variables_are_taken_or_refused_by_name(environment: dict[str, str]) -> None:
    problem = ""
    try:
        found = read_settings(environment)
    except UsageError as error:
        problem = str(error)
    if problem:
        assert re.match(r"HPM_\w+: ", problem)
        assert problem.isprintable()
    else:
        assert 10 <= found.slice_ms <= 30000
        assert set(found.formats) <= {"hpm", "viz", "csv"}
