"""Differences of samples: against printed tables, invariants, and noise as measured."""

from __future__ import annotations

import random
from math import exp, inf, isclose, isfinite, log, nan

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from repeated_runs import NOISE, noisy

from gnomon.errors import UsageError
from gnomon.metrics.significance import (
    benjamini_hochberg,
    centre,
    difference,
    holm,
    student_tail,
)
from gnomon.metrics.statistics import student_t

positive = st.floats(min_value=1e-300, max_value=1e300)
anything = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("degrees", "t", "beyond"),
    [
        # As printed in the tables of any textbook.
        (1, 12.7062, 0.05), (1, 63.657, 0.01), (2, 9.925, 0.01), (5, 4.0321, 0.01),
        (10, 2.2281, 0.05), (10, 4.587, 0.001), (30, 2.75, 0.01), (120, 3.3735, 0.001),
        (inf, 1.959964, 0.05), (inf, 3.290527, 0.001),
    ],
)  # fmt: skip
def test_tails_are_those_of_the_tables(degrees: float, t: float, beyond: float) -> None:
    assert isclose(student_tail(t, degrees), beyond, rel_tol=2e-4)


@given(degrees=st.floats(min_value=1, max_value=500))
def test_tail_and_quantile_agree(degrees: float) -> None:
    assert isclose(student_tail(student_t(degrees), degrees), 0.05, rel_tol=1e-8)


def test_welch_of_a_textbook() -> None:
    """Welch's test by its own formulas, where nothing is trimmed."""
    one, other = [2.0, 4.0, 8.0, 4.0], [4.0, 8.0, 8.0, 16.0]
    found = difference(one, other)
    logs = [[log(v) for v in values] for values in (one, other)]
    means = [sum(v) / 4 for v in logs]
    variances = [
        sum((v - m) ** 2 for v in values) / 3 / 4 for values, m in zip(logs, means, strict=True)
    ]
    assert isclose(found.shift, means[1] - means[0])
    assert isclose(found.error**2, sum(variances))
    assert isclose(found.degrees, sum(variances) ** 2 / sum(v * v / 3 for v in variances))
    assert found.change is not None
    assert isclose(found.change, exp(means[1] - means[0]) - 1)


def test_an_outlier_at_either_end_does_not_decide() -> None:
    before = [100.0, 101, 99, 100, 102, 98, 100, 101, 99, 100]
    after = [value * 1.05 for value in before]
    clean = difference(before, after)
    spoilt = difference([*before[:-1], 140.0], [*after[:-1], 190.0])
    assert spoilt.change == pytest.approx(clean.change, abs=0.006)
    assert spoilt.p_beyond(0.01) < 0.001
    untrimmed = difference([*before[:-1], 140.0], [*after[:-1], 190.0], trim=0)
    assert untrimmed.p_beyond(0.01) > 0.2


def test_equal_small_counts_prove_little_and_emulated_ones_all() -> None:
    few = difference([2, 2, 2], [3, 3, 3])
    assert 0.001 < few.p_beyond(0) < 0.2
    assert difference([2, 2], [3, 3], exact=True).p_beyond(0) == 0
    assert difference([2, 2], [2, 2], exact=True).p_beyond(0) == 1
    many = difference([1_000_000] * 3, [1_010_000] * 3)
    assert many.p_beyond(0.001) < 1e-6


@pytest.mark.parametrize("often", [0.3, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("n", [3, 5, 10, 20])
def test_rare_events_raise_no_alarm(often: float, n: int) -> None:
    """Counts of what happens by chance, so often on average: about 1 % at most, as for times."""
    rng = random.Random(1)

    def count() -> float:
        found, chance = 0, rng.random()
        while chance > exp(-often):
            found += 1
            chance *= rng.random()
        return float(found)

    alarms = sum(
        difference([count() for _ in range(n)], [count() for _ in range(n)]).p_beyond(0.02) < 0.01
        for _ in range(500)
    )
    assert alarms <= 10


def test_zeros_are_compared_as_they_are() -> None:
    found = difference([0.0, 1.0, 2.0], [10.0, 11.0, 12.0])
    assert not found.is_ratio
    assert (found.before, found.after) == (1.0, 11.0)
    assert found.change == pytest.approx(10.0)
    assert difference([0.0, 0.0], [4.0, 4.0]).change is None
    assert difference([0.0, 0.0], [0.0, 0.0]).p_beyond(0) == 1
    assert difference([0.0, 9.0], [0.0, 1.0]).interval[0] == -1.0


def test_a_margin_is_held_in_both_directions() -> None:
    before = [100.0, 100.5, 99.5, 100.2, 99.8]
    slower = difference(before, [value * 1.04 for value in before])
    assert slower.p_beyond(0.0) < slower.p_beyond(0.02) < slower.p_beyond(0.05) == 1
    assert slower.p_above(0.02) < 0.01
    assert slower.p_above(0.06) > 0.99
    assert slower.p_above(0.02, downwards=True) > 0.99
    faster = difference([value * 1.04 for value in before], before)
    assert faster.p_above(0.02, downwards=True) < 0.01
    assert slower.p_beyond(0.01) == pytest.approx(faster.p_beyond(0.01))


def test_nothing_above_zero_falls_by_all_of_it() -> None:
    fallen = difference([100.0, 101.0, 99.0], [40.0, 41.0, 39.0])
    assert fallen.p_above(0.55, downwards=True) < 0.01
    assert fallen.p_above(1.0, downwards=True) == 1
    assert fallen.p_above(1.5, downwards=True) == 1
    assert difference([100.0, 100.0], [1.0, 1.0], exact=True).p_above(1.0, downwards=True) == 1


@pytest.mark.parametrize("bad", [[1.0], [], [1.0, nan], [1.0, inf]])
def test_what_cannot_be_compared_is_refused(bad: list[float]) -> None:
    with pytest.raises(UsageError):
        difference([1.0, 2.0], bad)


def test_centre_needs_values() -> None:
    assert centre([1.0, 100.0]) == pytest.approx(10.0)
    assert centre([0.0, 100.0]) == 50.0
    with pytest.raises(UsageError):
        centre([])


@given(
    one=st.lists(anything, min_size=2, max_size=12),
    other=st.lists(anything, min_size=2, max_size=12),
)
@example(one=[1e308] * 5, other=[-1e308] * 5)
@example(one=[5e-324] * 2, other=[1.7e308] * 2)
def test_any_numbers_give_a_difference(one: list[float], other: list[float]) -> None:
    found = difference(one, other)
    assert 0 <= found.p_beyond(0.01) <= 1
    assert 0 <= found.p_above(0.05) <= 1
    assert found.change is None or isfinite(found.change)
    low, high = found.interval
    assert low is None or high is None or low <= high


@given(values=st.lists(positive, min_size=2, max_size=12), factor=st.floats(0.01, 100))
def test_units_do_not_matter(values: list[float], factor: float) -> None:
    halves = values[: len(values) // 2] * 2, values[len(values) // 2 :] * 2
    plain = difference(*halves, exact=True)
    try:
        scaled = difference(*([v * factor for v in some] for some in halves), exact=True)
    except UsageError:
        return  # beyond a double
    if scaled.is_ratio and plain.error:
        assert scaled.shift == pytest.approx(plain.shift, rel=1e-6, abs=1e-9)


def test_adjusted_p_values_are_those_of_the_papers() -> None:
    # The example of Benjamini and Hochberg (1995), section 4.1.
    chances = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
        0.5719, 0.6528, 0.7590, 1.0,
    ]  # fmt: skip
    assert sum(p <= 0.05 for p in holm(chances)) == 3
    assert sum(p <= 0.05 for p in benjamini_hochberg(chances)) == 4
    shuffled = chances[::-1]
    assert holm(shuffled) == holm(chances)[::-1]
    assert holm([]) == benjamini_hochberg([]) == []
    assert holm([0.02, 0.02]) == [0.04, 0.04]


@given(chances=st.lists(st.floats(0, 1), max_size=30))
def test_adjusting_never_makes_surer(chances: list[float]) -> None:
    for adjust in (holm, benjamini_hochberg):
        assert all(p <= q + 1e-12 and q <= 1 for p, q in zip(chances, adjust(chances), strict=True))


def test_measured_noise_has_what_noise_has() -> None:
    """Long tails upwards, and sessions that differ by more than their repetitions explain."""
    assert set(NOISE) == {"loop", "python", "xz", "sort"}
    for sessions in NOISE.values():
        values = sorted(value for session in sessions for value in session)
        assert len(values) == 300
        assert values[-1] > 2 * -values[0]


@pytest.mark.parametrize("program", NOISE)
def test_five_percent_is_found_in_the_noise_of_each_program(program: str) -> None:
    rng = random.Random(7)
    found = sum(
        difference(noisy(rng, program, 30), noisy(rng, program, 30, 0.05)).p_beyond(0.0) < 0.01
        for _ in range(50)
    )
    alarms = sum(
        difference(noisy(rng, program, 30), noisy(rng, program, 30)).p_beyond(0.02) < 0.01
        for _ in range(200)
    )
    assert found >= 35
    assert alarms == 0
