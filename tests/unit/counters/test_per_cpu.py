"""Counts of several CPUs as one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gnomon.counters.component import RawCount
from gnomon.counters.per_cpu import total

COUNTS = st.integers(0, 2**53)
TIMES = st.integers(1, 2**40)


@given(st.lists(st.tuples(COUNTS, TIMES), min_size=1, max_size=8))
def test_whole_counts_add_up(counts: list[tuple[int, int]]) -> None:
    found = total([RawCount(raw, ns, ns) for raw, ns in counts])
    assert found.raw == sum(raw for raw, _ in counts)
    assert found.enabled_ns == found.running_ns == sum(ns for _, ns in counts)


def test_a_cpu_where_nothing_ran_adds_nothing() -> None:
    assert total([RawCount(0, 0, 0), RawCount(5, 9, 9)]) == RawCount(5, 9, 9)
    assert total([RawCount(0, 0, 0)] * 3) == RawCount(0, 0, 0)


def test_each_cpu_is_scaled_by_its_own_times() -> None:
    """Half the time on one CPU, all of it on the other: 2 x 100 + 40."""
    found = total([RawCount(100, 1000, 500), RawCount(40, 1000, 1000)])
    assert found.running_ns == 1500 < found.enabled_ns == 2000
    assert found.raw * found.enabled_ns / found.running_ns == 240


def test_never_on_the_pmu_of_one_cpu_is_not_measured() -> None:
    assert total([RawCount(100, 1000, 0), RawCount(10, 1000, 1000)]).running_ns == 0
