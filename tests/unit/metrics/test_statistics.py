"""Repeated runs: mean, deviation and confidence against exact arithmetic and printed tables."""

from __future__ import annotations

import statistics
import subprocess
import sys
from fractions import Fraction
from math import exp, inf, isclose, isfinite, lgamma, log, log1p, nan, pi, sqrt

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnomon.errors import UsageError
from gnomon.metrics.statistics import student_t, summarise

# t(0.975), as printed in the tables of any textbook.
TABLE = {
    1: 12.7062,
    2: 4.3027,
    3: 3.1824,
    4: 2.7764,
    5: 2.5706,
    6: 2.4469,
    7: 2.3646,
    8: 2.3060,
    9: 2.2622,
    10: 2.2281,
    11: 2.2010,
    12: 2.1788,
    13: 2.1604,
    14: 2.1448,
    15: 2.1314,
    16: 2.1199,
    17: 2.1098,
    18: 2.1009,
    19: 2.0930,
    20: 2.0860,
    25: 2.0595,
    30: 2.0423,
    40: 2.0211,
    50: 2.0086,
    60: 2.0003,
    80: 1.9901,
    100: 1.9840,
    120: 1.9799,
    1000: 1.9623,
}


@pytest.mark.parametrize(("degrees", "t"), TABLE.items())
def test_quantiles_are_those_of_the_tables(degrees: int, t: float) -> None:
    assert round(student_t(degrees), 4) == t


def within(degrees: int, t: float) -> float:
    """Return the probability between -t and t, by Simpson's rule over the density."""
    log_scale = lgamma((degrees + 1) / 2) - lgamma(degrees / 2) - log(degrees * pi) / 2
    steps = 4000
    width = t / steps
    density = [
        exp(log_scale - (degrees + 1) / 2 * log1p((i * width) ** 2 / degrees))
        for i in range(steps + 1)
    ]
    inner = 4 * sum(density[1:-1:2]) + 2 * sum(density[2:-1:2])
    return 2 * width / 3 * (density[0] + inner + density[-1])


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 7, 19, 100, 999, 1999, 2000, 2001, 5000])
def test_quantiles_hold_95_percent(degrees: int) -> None:
    assert within(degrees, student_t(degrees)) == pytest.approx(0.95, abs=1e-9)


@pytest.mark.parametrize("degrees", [10**4, 10**6, 10**9, 10**15])
def test_quantiles_of_many_values_approach_the_normal_distribution(degrees: int) -> None:
    z = 1.959963984540054
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    expected = z + first / degrees + second / degrees**2  # Abramowitz and Stegun 26.7.5
    assert student_t(degrees) == pytest.approx(expected, abs=1e-10)


@given(st.integers(1, 10**7))
def test_quantiles_fall_as_values_are_added(degrees: int) -> None:
    assert student_t(degrees) > student_t(2 * degrees) > 1.9599


@pytest.mark.parametrize("degrees", [0, -1])
def test_quantile_needs_a_degree_of_freedom(degrees: int) -> None:
    with pytest.raises(UsageError, match="at least 1 degree of freedom"):
        student_t(degrees)


def test_a_summary_by_hand() -> None:
    # squares of the offsets from 5: 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32; 32 / 7 = 4.571428...
    summary = summarise([2, 4, 4, 4, 5, 5, 7, 9])
    assert (summary.n, summary.mean, summary.median) == (8, 5, 4.5)
    assert (summary.minimum, summary.maximum) == (2, 9)
    assert summary.deviation == pytest.approx(2.138089935)
    assert summary.half_width == pytest.approx(2.364624252 * 2.138089935 / sqrt(8))
    assert summary.relative_half_width == pytest.approx(20 * 1.787487793)


def test_one_value_has_no_spread() -> None:
    summary = summarise([3])
    assert (summary.n, summary.mean, summary.median) == (1, 3, 3)
    assert (summary.minimum, summary.maximum) == (3, 3)
    assert summary.deviation is None
    assert summary.half_width is None
    assert summary.relative_half_width is None


def test_a_mean_of_zero_has_no_relative_width() -> None:
    assert summarise([-1, 1]).relative_half_width is None
    assert summarise([-3, 1]).relative_half_width == pytest.approx(
        100 * 12.7062047 * sqrt(8) / sqrt(2)
    )


@pytest.mark.parametrize("values", [[], [nan], [1, inf], [-inf, 2]])
def test_what_cannot_be_summarised_is_refused(values: list[float]) -> None:
    with pytest.raises(UsageError, match="summarise"):
        summarise(values)


doubles = st.floats(allow_nan=False, allow_infinity=False)
# Counts with a large common offset and a small spread are what loses digits in naive sums.
offset = st.integers(0, 2**62).flatmap(
    lambda base: st.lists(st.integers(base, base + 2**12), min_size=2, max_size=30)
)


@given(st.lists(doubles, min_size=1, max_size=30) | offset)
@example([1e308, 1e308, -1e308])
@example([5e-324, 1e-323])
@example([5e-324, 1.7e308])
@example([4.2e93, 5.8e-230, 5.8e-230])
@example([1.7e308, 1.6e308])
@example([0.1] * 3)
def test_summary_is_that_of_exact_arithmetic(values: list[float]) -> None:
    summary = summarise(values)
    exact = [Fraction(float(value)) for value in values]
    mean = sum(exact) / len(exact)
    largest = float(max(map(abs, exact)))
    assert isclose(summary.mean, float(mean), rel_tol=1e-15, abs_tol=4e-16 * largest)
    assert summary.minimum <= summary.mean <= summary.maximum
    assert summary.minimum <= summary.median <= summary.maximum
    assert isclose(
        summary.median,
        float(statistics.median(exact)),
        rel_tol=1e-15,
        abs_tol=4e-16 * largest,
    )
    if len(values) == 1:
        return
    variance = sum((value - mean) ** 2 for value in exact) / (len(exact) - 1)
    # In units of the largest value, so that the square root stays within the doubles' range.
    spread = sqrt(variance / Fraction(largest) ** 2) if largest else 0.0
    if summary.deviation is None:
        assert spread * (largest / 2) > 8e307
        return
    tiny = 5e-324 if largest < 1e-300 else 0.0
    assert isclose(summary.deviation / 2, spread * (largest / 2), rel_tol=1e-9, abs_tol=2 * tiny)
    if summary.half_width is not None:
        expected = spread * (student_t(len(exact) - 1) / sqrt(len(exact))) * (largest / 16)
        assert isclose(summary.half_width / 16, expected, rel_tol=1e-9, abs_tol=2 * tiny)
    assert summary.relative_half_width is None or isfinite(summary.relative_half_width)


@given(st.lists(doubles, min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_order_does_not_matter(values: list[float], random: object) -> None:
    shuffled = sorted(values, key=lambda _: random.random())  # type: ignore[attr-defined]
    assert summarise(shuffled) == summarise(values)


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(2, 50))
def test_equal_values_have_no_deviation(value: float, n: int) -> None:
    summary = summarise([value] * n)
    assert summary.mean == value
    assert summary.deviation == 0
    assert summary.half_width == 0


def test_the_heavy_standard_module_stays_out() -> None:
    program = (
        "import sys, gnomon.metrics.statistics as s; s.summarise([1, 2]);"
        "sys.exit(bool({'statistics', 'decimal', 'fractions', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
