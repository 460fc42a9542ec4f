"""Where measurements lie: moments, percentiles, histograms, and their text."""

from __future__ import annotations

import statistics
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.cli.terminal.histogram_text import bars
from gnomon.counters.sample_statistics import histogram, percentile, spread
from gnomon.errors import UsageError

VALUES = st.lists(
    st.integers(0, 10**12) | st.floats(0, 1e12, allow_nan=False), min_size=1, max_size=300
)


@given(VALUES)
def test_moments_and_percentiles_are_in_order(values: list[float]) -> None:
    one = spread(values)
    assert one.n == len(values)
    assert one.minimum <= one.p25 <= one.p75 <= one.p95 <= one.p99 <= one.maximum
    assert one.minimum <= one.median <= one.maximum
    assert one.median == statistics.median(map(float, values))
    assert (one.deviation is None) == (len(values) == 1)
    for share, value in ((25, one.p25), (95, one.p95), (99, one.p99)):
        assert value in values
        assert sum(v <= value for v in values) >= len(values) * share / 100


def test_percentiles_of_known_values() -> None:
    ordered = list(range(1, 101))
    assert [percentile(ordered, p) for p in (0, 1, 25, 50, 99, 100)] == [1, 1, 25, 50, 99, 100]


@given(VALUES, st.integers(1, 20))
def test_every_value_is_in_one_bin(values: list[float], most: int) -> None:
    bins = histogram(values, most)
    assert sum(one.n for one in bins) == len(values)
    assert len(bins) <= most + 1
    assert (bins[0].low, bins[-1].high) == (min(values), max(values))
    for one, after in pairwise(bins):
        assert one.low < one.high == after.low
    for one in bins[:-1]:
        assert one.n == sum(one.low <= value < one.high for value in values)
    assert len(bars(bins)) == len(bins)


def test_whole_numbers_get_bins_of_whole_width() -> None:
    bins = histogram([0] * 50 + [1] * 40 + [2] * 9 + [1000])
    assert [(one.low, one.n) for one in bins] == [(0, 50), (1, 40), (2, 9), (1000, 1)]
    text = bars(bins)
    assert text[0].split() == ["0", "#" * 40, "50"]
    assert text[-1].endswith("(up to 1,000)")
    assert "#" in text[-1]


def test_nothing_is_not_spread() -> None:
    with pytest.raises(UsageError):
        spread([])
    with pytest.raises(UsageError):
        histogram([])
