"""Numbers as people read them."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon import units

PRINTERS: tuple[Callable[..., str], ...] = (
    units.number,
    units.count,
    units.duration,
    units.size,
    units.byte_rate,
    units.rate,
    units.percent,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (7, "7"),
        (999, "999"),
        (1000, "1 000"),
        (3203120, "3 203 120"),
        (3203120.0, "3 203 120"),
        (-3203120, "-3 203 120"),
        (2**53 - 1, "9 007 199 254 740 991"),
        (2**64, "18 446 744 073 709 551 616"),
        (3203120.4, "3 203 120"),
        (3203119.6, "3 203 120"),
        (12.6, "13"),
        (0.25, "0.25"),
        (9.87654, "9.877"),
        (-0.5, "-0.5"),
    ],
)
def test_counts(value: float, text: str) -> None:
    assert units.count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1 / 3, "0.3333"),
        (2.0, "2"),
        (1.5, "1.5"),
        (1.23456, "1.235"),
        (9.9996, "10"),
        (12.3, "12.3"),
        (99.999, "100"),
        (123.456, "123.5"),
        (999.96, "1 000"),
        (12345.678, "12 346"),
        (0.00012345, "0.0001234"),
        (0.000099999, "0.0001"),
        (0.00001234, "1.234e-05"),
        (-1.23456, "-1.235"),
        (1e300, "1.000e+300"),
        (123456789012.5, "123 456 789 012"),
    ],
)
def test_numbers_have_four_significant_digits(value: float, text: str) -> None:
    assert units.number(value) == text


@pytest.mark.parametrize(
    ("value_ns", "text"),
    [
        (0, "0 ns"),
        (840, "840 ns"),
        (12.34567, "12.35 ns"),
        (999, "999 ns"),
        (999.96, "1 µs"),
        (1000, "1 µs"),
        (12_345, "12.35 µs"),
        (999_949, "999.9 µs"),
        (999_950, "1 ms"),
        (12_300_000, "12.3 ms"),
        (999_950_000, "1 s"),
        (3_214_000_000, "3.214 s"),
        (3_214_159_265, "3.214 s"),
        (59_994_000_000, "59.99 s"),
        (59_995_000_000, "1 min 0 s"),
        (75_250_000_000, "1 min 15.2 s"),
        (753_500_000_000, "12 min 33.5 s"),
        (3_599_940_000_000, "59 min 59.9 s"),
        (3_599_950_000_000, "1 h 0 min 0 s"),
        (12_304_000_000_000, "3 h 25 min 4 s"),
        (3600 * 10**9 * 2000, "2 000 h 0 min 0 s"),
        (-12_300_000, "-12.3 ms"),
    ],
)
def test_durations(value_ns: float, text: str) -> None:
    assert units.duration(value_ns) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (840, "840 B"),
        (1023, "1 023 B"),
        (1024, "1 KiB"),
        (3291, "3.214 KiB"),
        (1023.4 * 1024, "1 023 KiB"),
        (1023.6 * 1024, "0.9996 MiB"),
        (12.3 * 2**20, "12.3 MiB"),
        (2**30, "1 GiB"),
        (5 * 2**40, "5 TiB"),
        (2**80, "1 YiB"),
        (2**92, "4 096 YiB"),
        (-2048, "-2 KiB"),
    ],
)
def test_bytes(value: float, text: str) -> None:
    assert units.size(value) == text
    assert units.byte_rate(value) == f"{text}/s"


def test_rates_and_percentages() -> None:
    assert units.rate(12.34) == "12.34 /s"
    assert units.rate(1_250_000) == "1 250 000 /s"
    assert units.percent(12.3) == "12.3 %"
    assert units.percent(0) == "0 %"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (12_300_000, "ns", "12.3 ms"),
        (3.214, "s", "3.214 s"),
        (2048, "bytes", "2 KiB"),
        (2048, "bytes/s", "2 KiB/s"),
        (2.5, "", "2.5"),
        (2.5, "%", "2.5 %"),
        (3.2, "GHz", "3.2 GHz"),
        (1.875, "instructions/cycle", "1.875 instructions/cycle"),
        (None, "s", "n/a"),
        (None, "bytes", "n/a"),
        (None, "GHz", "n/a"),
    ],
)
def test_the_unit_chooses_the_form(value: float | None, unit: str, text: str) -> None:
    assert units.quantity(value, unit) == text


@pytest.mark.parametrize("printer", PRINTERS)
@pytest.mark.parametrize("value", [None, nan, inf, -inf])
def test_what_is_not_there_is_a_word(printer: Callable[..., str], value: float | None) -> None:
    assert printer(value) == "n/a"
    assert printer(value, units.NOT_MEASURED) == "not measured"
    assert units.quantity(value, "ns", "-") == "-"


@given(st.integers(-(2**70), 2**70))
def test_whole_numbers_are_exact(value: int) -> None:
    assert int(units.count(value).replace(" ", "")) == value
    assert int(units.number(value).replace(" ", "")) == value
    if abs(value) < 2**53:
        assert units.count(float(value)) == units.count(value)
        assert units.number(float(value)) == units.number(value)


@given(st.integers(-(10**15), 10**15))
def test_groups_are_of_three_digits(value: int) -> None:
    assert re.fullmatch(r"-?\d{1,3}( \d{3})*", units.count(value))


@given(st.floats(-1e308, 1e308))
def test_numbers_are_right_to_four_digits(value: float) -> None:
    printed = float(units.number(value).replace(" ", ""))
    assert printed == pytest.approx(value, rel=5.0001e-4, abs=0)


UNITS_NS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}


@given(st.floats(0, 1e18) | st.integers(0, 10**18))
def test_durations_are_right_and_never_carry_over(value_ns: float) -> None:
    text = units.duration(value_ns)
    parts = re.findall(r"([0-9. e-]*[0-9]) (h|min|s|ms|µs|ns)\b", text)
    amounts = {unit: float(amount.replace(" ", "")) for amount, unit in parts}
    total_ns = sum(amount * UNITS_NS[unit] for unit, amount in amounts.items())
    assert total_ns == pytest.approx(value_ns, rel=1e-3)
    limits = {"ns": 1000, "µs": 1000, "ms": 1000, "s": 60, "min": 60}
    assert all(amounts[unit] < limit for unit, limit in limits.items() if unit in amounts)


@given(st.floats(0, 1e24) | st.integers(0, 2**80))
def test_bytes_are_right_and_never_carry_over(value: float) -> None:
    amount, _, unit = units.size(value).rpartition(" ")
    number = float(amount.replace(" ", ""))
    exponent = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"].index(unit)
    assert number < 1024
    assert number * 1024**exponent == pytest.approx(value, rel=5.0001e-4, abs=0)


@given(st.floats(min_value=1e-300, max_value=1e300), st.sampled_from(PRINTERS))
def test_a_sign_changes_nothing_else(value: float, printer: Callable[..., str]) -> None:
    assert printer(-value) == f"-{printer(value)}"


@given(st.text())
def test_printable_text_stays_on_its_line_and_says_what_it_hides(text: str) -> None:
    shown = units.printable(text)
    assert shown.isprintable()
    if text.isprintable():
        assert shown == text


def test_terminal_escapes_are_shown_not_sent() -> None:
    assert units.printable("\x1b[31mred\x1b[0m\n\tend") == "\\x1b[31mred\\x1b[0m\\n end"
