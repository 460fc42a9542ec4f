"""Counting of sensors: past the ends of counters, means and peaks of gauges, threads and forks."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.counters.component import EventInfo, RawCount
from gnomon.counters.sensor_counters import (
    FOLLOW_NS,
    MOST_PER_NS,
    Mean,
    SensorSession,
    Totals,
    Watch,
)
from gnomon.counters.sensors import Sensor
from gnomon.errors import ForkedError, NotRunningError
from gnomon.model.value import Scope

SECOND_NS = 1_000_000_000
# Of a package in steps of 61 µJ, and of AMD's and memory's in steps of 15.3 µJ.
RANGES = (262143328851, 65712999614)


def sensor(field: str, *, gauge: bool = False, peak: bool = False) -> Sensor:
    info = EventInfo(f"x:::{field}", "x", "", "", Scope.NODE, gauge=gauge)
    return Sensor(info, tuple(field.split("+")), 1, peak)


class Numbers:
    """A source of numbers that a test sets."""

    def __init__(self, **numbers: int) -> None:
        self.now = numbers
        self.reads = 0

    def read(self, fields: Sequence[str]) -> Mapping[str, int]:
        self.reads += 1
        return {field: self.now[field] for field in fields if field in self.now}


def values(counts: Sequence[RawCount]) -> list[int | None]:
    assert all(count.running_ns in (0, count.enabled_ns) for count in counts)
    return [count.raw if count.running_ns else None for count in counts]


# --- counters that go round -----------------------------------------------------------------------


def test_counters_are_looked_at_often_enough() -> None:
    """At 4 kW the smallest range is gone through in 16 s."""
    assert min(RANGES) / MOST_PER_NS > 2 * FOLLOW_NS


@given(
    st.sampled_from(RANGES),
    st.integers(0, 10**12),
    st.lists(st.tuples(st.floats(0, 4000), st.floats(0.001, 4)), max_size=200),
)
def test_energy_of_any_length_is_exact(
    modulus: int, first: int, spans: list[tuple[float, float]]
) -> None:
    """Of any power up to 4 kW, however often the counter goes round, if it is followed."""
    totals = Totals({"e": modulus})
    energy, at_ns = first, 0
    totals.begin({"e": energy % modulus}, at_ns)
    for watts, seconds in spans:
        energy += int(watts * seconds * 1e6)
        at_ns += int(seconds * SECOND_NS)
        totals.add({"e": energy % modulus}, at_ns)
    assert totals.grown == {"e": energy - first}


@pytest.mark.parametrize("modulus", RANGES)
def test_a_counter_left_alone_for_long_is_not_measured(modulus: int) -> None:
    """It may have gone round unseen, whatever it shows."""
    for after in (5, 15, modulus - 1):
        totals = Totals({"e": modulus, "f": 0})
        totals.begin({"e": 10, "f": 10}, 0)
        totals.add({"e": after, "f": 11}, int(modulus / MOST_PER_NS) + 1)
        assert totals.grown == {"f": 1}


def test_a_counter_that_was_set_back_is_not_measured() -> None:
    totals = Totals({"e": RANGES[0], "f": 0})
    totals.begin({"e": 10**10, "f": 5}, 0)
    totals.add({"e": 0, "f": 4}, SECOND_NS)
    assert totals.grown == {}
    # Nor is it ever again: what it lost is not known.
    totals.add({"e": 50, "f": 50}, 2 * SECOND_NS)
    assert totals.grown == {}


def test_a_counter_that_cannot_be_read_for_a_moment_is_not_measured() -> None:
    totals = Totals({"e": 0})
    totals.begin({"e": 1}, 0)
    totals.add({}, 1)
    totals.add({"e": 9}, 2)
    assert totals.grown == {}


@given(st.integers(0, 2**63), st.integers(0, 2**63), st.integers(0, 2**63), st.integers(0, 2**63))
def test_nothing_ever_grows_by_less_than_nothing(
    modulus: int, before: int, after: int, gap_ns: int
) -> None:
    totals = Totals({"e": modulus})
    totals.begin({"e": before}, 0)
    totals.add({"e": after}, gap_ns)
    assert totals.grown.get("e", 0) >= 0


# --- gauges ---------------------------------------------------------------------------------------


def test_a_mean_is_over_time() -> None:
    mean = Mean()
    assert mean.value() is None
    mean.add(100, 0)
    assert mean.value() == 100
    mean.add(100, 10)
    mean.add(300, 20)  # between two samples, the mean of both
    assert mean.value() == 150
    mean.add(None, 30)
    mean.add(900, 1000)  # what was while nothing could be read is left out
    assert mean.value() == 150
    mean.add(900, 1010)
    assert mean.value() == 400


@given(st.lists(st.tuples(st.none() | st.integers(-(10**9), 10**9), st.integers(1, 10**9))))
def test_a_mean_lies_between_its_samples(rows: list[tuple[int | None, int]]) -> None:
    mean = Mean()
    at_ns = 0
    for value, gap_ns in rows:
        at_ns += gap_ns
        mean.add(value, at_ns)
    known = [value for value, _ in rows if value is not None]
    found = mean.value()
    if not known:
        assert found is None
    else:
        assert found is not None
        assert min(known) <= found <= max(known)


# --- the life of a counting -----------------------------------------------------------------------


def test_difference_sum_and_present_value() -> None:
    source = Numbers(a=10, b=20, g=7)
    sensors = [sensor("a"), sensor("a+b"), sensor("g", gauge=True)]
    counting = SensorSession(sensors, source.read, {}, False)
    with pytest.raises(NotRunningError):
        counting.read()
    counting.start()
    source.now = {"a": 15, "b": 21, "g": 3}
    assert values(counting.read()) == [5, 6, 3]
    del source.now["b"]
    final = counting.stop()
    assert values(final) == [5, None, 3]
    assert counting.read() == final
    with pytest.raises(NotRunningError):
        counting.stop()
    counting.start()
    assert values(counting.stop()) == [0, None, 3]


def test_a_command_counts_from_before_its_start() -> None:
    """The program may run already when `start` is called; a second start is a second program."""
    source = Numbers(a=10)
    counting = SensorSession([sensor("a")], source.read, {}, True)
    source.now = {"a": 12}
    counting.start(1)
    source.now = {"a": 13}
    assert values(counting.stop()) == [3]
    source.now = {"a": 100}
    counting.start(1)
    assert values(counting.stop()) == [0]


def test_gauges_of_a_command_are_watched() -> None:
    source = Numbers(p=100, t=40)
    sensors = [sensor("p", gauge=True), sensor("t", gauge=True, peak=True)]
    counting = SensorSession(sensors, source.read, {}, True)
    counting.start(1)
    deadline = time.monotonic() + 10
    source.now = {"p": 100, "t": 90}
    seen = source.reads
    while source.reads < seen + 3 and time.monotonic() < deadline:
        time.sleep(0.001)
    source.now = {"p": 100, "t": 30}
    assert values(counting.stop()) == [100, 90]
    assert not [t for t in threading.enumerate() if t.name == "gnomon-sensors"]


def test_numbers_beyond_64_bits_are_not_measured() -> None:
    source = Numbers(a=0, g=2**70)
    counting = SensorSession([sensor("a"), sensor("g", gauge=True)], source.read, {}, False)
    counting.start()
    source.now = {"a": 2**63, "g": -(2**70)}
    assert values(counting.stop()) == [None, None]


def test_the_watch_takes_no_signal_and_ends() -> None:
    blocked: list[bool] = []

    def look() -> None:
        blocked.append(signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, []))

    watch = Watch(look, 1_000_000)
    deadline = time.monotonic() + 10
    while not blocked and time.monotonic() < deadline:
        time.sleep(0.001)
    watch.stop()
    assert blocked
    assert all(blocked)
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    n = len(blocked)
    time.sleep(0.01)
    assert len(blocked) == n


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_is_refused_and_leaves_the_parents_counting_alone() -> None:
    source = Numbers(e=1)
    counting = SensorSession([sensor("e")], source.read, {"e": RANGES[0]}, False)
    counting.start()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            counting.read()
        except ForkedError:
            counting.close()
            status = 0
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    source.now = {"e": 4}
    assert values(counting.stop()) == [3]
