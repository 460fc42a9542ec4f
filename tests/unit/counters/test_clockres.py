"""What the timers resolve and cost here, as far as that is no wall-clock time."""

from __future__ import annotations

import os

import pytest

from gnomon.counters import timers
from gnomon.counters.clockres import python_cost_ns, readings, resolutions, steadiness
from gnomon.errors import UsageError


def test_every_timer_is_measured() -> None:
    found = {one.name: one for one in resolutions(1000)}
    assert {"real_cycles", "real_ns", "real_us", "virtual_cycles", "virtual_ns", "virtual_us",
            "monotonic_raw"} < set(found)  # fmt: skip
    for one in found.values():
        if one.unavailable:
            assert one.unit == "cycles"
            assert timers.cycles_per_second() is None
            continue
        assert one.steps is not None
        assert one.cost_ns is not None
        assert one.steps.n == 999
        assert one.backward == 0
        assert 0 <= (one.still or 0) <= 1
        assert 0 < one.cost_ns.minimum <= one.cost_ns.median <= one.cost_ns.maximum
        assert one.resolution is None or one.resolution >= 1
    assert found["real_us"].still or found["real_us"].resolution
    # One tick of the kernel: 1 to 10 ms.
    assert 1e6 <= (found["monotonic_coarse"].claimed_ns or 0) <= 1e7


def test_microseconds_are_thousands_of_nanoseconds() -> None:
    before = timers.real_ns()
    (us, *_), after = readings("real_us", 3), timers.real_ns()
    assert before // 1000 <= us <= after // 1000


def test_the_clock_is_steady_where_the_kernel_trusts_it() -> None:
    before = os.sched_getaffinity(0)
    found = steadiness()
    assert os.sched_getaffinity(0) == before
    assert found.cpus == min(len(before), 64)
    assert found.backward == 0
    assert found.system_call_ns > 0
    assert (found.hertz is None) == (found.apart_ppm is None) == (found.source == "vdso")


@pytest.mark.parametrize("samples", [99, 0, -1, 10_000_001])
def test_numbers_of_samples_that_make_no_sense(samples: int) -> None:
    with pytest.raises(UsageError, match="100 to 10000000"):
        resolutions(samples)


def test_a_call_that_does_more_costs_more() -> None:
    assert python_cost_ns(lambda: sum(range(2000)), 50) > python_cost_ns(int, 50) >= 0
