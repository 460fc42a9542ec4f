"""Differences of sampled values: never beyond what the number of samples tells."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from gnomon.errors import UsageError
from gnomon.metrics.significance import difference, sampled_difference

WEIGHTS = (0.004, 0.004)


def test_one_value_on_each_side_has_the_error_of_its_samples() -> None:
    found = sampled_difference([0.4], [0.48], WEIGHTS)
    assert found.is_ratio
    assert found.shift == pytest.approx(log(1.2))
    assert found.error == pytest.approx(sqrt(1 / 100 + 1 / 120))
    assert found.p_beyond(0) == pytest.approx(0.1783, abs=1e-3)
    assert sampled_difference([4.0], [4.8], WEIGHTS).p_beyond(0) < 1e-4


def test_few_samples_are_compared_as_values() -> None:
    found = sampled_difference([0.0], [0.02], WEIGHTS)
    assert not found.is_ratio
    assert (found.before, found.after) == (0, 0.02)
    assert found.error == pytest.approx(0.004 * sqrt(1 + 5))
    assert found.change is None
    assert sampled_difference([0.0], [0.2], WEIGHTS).p_beyond(0) < 1e-6


def test_sides_may_be_sampled_at_different_rates() -> None:
    found = sampled_difference([1.0], [1.0], (0.001, 0.01))
    assert found.error == pytest.approx(sqrt(1 / 1000 + 1 / 100))


def test_repetitions_that_agree_by_chance_keep_the_error_of_their_samples() -> None:
    before, after = [0.4, 0.4, 0.4], [0.44, 0.44, 0.44]
    assert difference(before, after).p_beyond(0) == 0
    found = sampled_difference(before, after, WEIGHTS)
    assert found.error == pytest.approx(sqrt(1 / 300 + 1 / 330))
    assert found.p_beyond(0) > 0.2


def test_repetitions_that_differ_by_more_have_that_error() -> None:
    before, after = [4.0, 6.0, 5.0, 7.0], [5.0, 8.0, 4.0, 6.0]
    assert sampled_difference(before, after, WEIGHTS) == difference(before, after)


@pytest.mark.parametrize("rate", [0.5, 3, 20, 35, 200, 5000])
@pytest.mark.parametrize("repetitions", [1, 4])
def test_false_alarms_are_rare(rate: float, repetitions: int) -> None:
    """Equal programs: at most 5 % of the differences are taken for likely, 1 % for sure."""
    chance = np.random.default_rng(17)
    tries = 4000
    samples = chance.poisson(rate, (tries, 2, repetitions)) * WEIGHTS[0]
    p = np.array([
        sampled_difference(list(before), list(after), WEIGHTS).p_beyond(0)
        for before, after in samples
    ])  # fmt: skip
    # Within three standard errors of the level.
    for level in (0.05, 0.01):
        assert (p < level).mean() <= level + 3 * sqrt(level / tries)


def test_a_planted_difference_is_detected() -> None:
    chance = np.random.default_rng(18)
    pairs = zip(chance.poisson(2000, 500), chance.poisson(2400, 500), strict=True)
    p = [sampled_difference([a * 0.004], [b * 0.004], WEIGHTS).p_beyond(0.02) for a, b in pairs]
    assert np.mean(np.array(p) < 0.05) > 0.95


@pytest.mark.parametrize(
    ("before", "after", "weights"),
    [([], [1.0], WEIGHTS), ([1.0], [-1.0], WEIGHTS), ([1.0], [float("nan")], WEIGHTS),
     ([1.0], [1.0], (0.0, 1.0)), ([1.0], [1.0], (1.0, float("inf")))],
)  # fmt: skip
def test_what_is_no_sampled_value_is_refused(
    before: list[float], after: list[float], weights: tuple[float, float]
) -> None:
    with pytest.raises(UsageError):
        sampled_difference(before, after, weights)
