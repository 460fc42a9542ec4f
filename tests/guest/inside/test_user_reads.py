"""Reads without a system call where kernel.perf_user_access allows them, with one elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gnomon.counters import EventSet
from guest.inside.conftest import FigureOf
from guest.inside.machine import user_access
from guest.inside.work import OF_THE_INTERPRETER, PER_ROUND, differences, least, shown, spin

ROUNDS = (100_000, 200_000, 400_000)


@pytest.fixture(params=[True, False], ids=["allowed", "forbidden"])
def allowed(request: pytest.FixtureRequest) -> Iterator[bool]:
    user_access(request.param)
    yield request.param
    user_access(True)


def instructions_of_a_read(events: EventSet, at: int) -> int:
    """Return the fewest of an event between two reads that follow each other."""
    pairs = [(events.read(), events.read()) for _ in range(50)]
    return min(second.raw(at) - first.raw(at) for first, second in pairs)


def test_kernel_decides(allowed: bool) -> None:
    with EventSet("instructions:u,cycles:u") as events:
        assert events.group is not None
        assert events.group.user_readable is allowed


def test_both_ways_count_the_same_work(allowed: bool, figure: FigureOf) -> None:
    events = EventSet("instructions:u,cycles:u")

    def between_reads(rounds: int) -> int:
        before = events.read()
        spin(rounds)
        return events.read().raw(0) - before.raw(0)

    events.start()
    counts = least(between_reads, ROUNDS)
    events.stop()
    events.close()
    found = differences(counts)
    off = [count - PER_ROUND * more for count, more in zip(found, differences(ROUNDS), strict=True)]
    assert max(map(abs, off)) <= OF_THE_INTERPRETER
    way = "user-space reads" if allowed else "reads by system call (perf_user_access = 0)"
    figure(f"{way}: differences of N, 2 N and 4 N", f"{shown(found)}; off by {shown(off)}")


def test_user_read_stays_out_of_the_kernel(allowed: bool, figure: FigureOf) -> None:
    with EventSet("instructions:u,instructions:k") as events:
        assert events.group is not None
        assert events.group.user_readable is allowed
        user, kernel = (instructions_of_a_read(events, at) for at in range(2))
    way = "user-space read" if allowed else "read by system call"
    figure(
        f"one {way} of two events from Python", f"{user:,} instructions, {kernel:,} in the kernel"
    )
    assert (kernel == 0) is allowed


def test_user_reads_end_with_the_final_count() -> None:
    """The last user-space read and the kernel's own final count agree to what lies between."""
    user_access(True)
    events = EventSet("instructions:u")
    events.start()
    spin(ROUNDS[0])
    last = events.read().raw(0)
    final = events.stop().raw(0)
    events.close()
    assert 0 < final - last < 20_000


def test_reads_while_multiplexed() -> None:
    """A counter that is not on the PMU cannot be read from user space: the kernel is asked."""
    user_access(True)
    names = ",".join(f"r{'0' * zeros}8:u" for zeros in range(9))
    events = EventSet(names, multiplex=True, slice_ms=10)
    events.start()
    for _ in range(40):
        spin(ROUNDS[2])
        values = [events.read()[at] for at in range(9)]
        assert all(value.running_ns <= value.enabled_ns for value in values)
    final = events.stop()
    values = [final[at] for at in range(9)]
    events.close()
    assert {value.how.value for value in values} == {"scaled"}
    known = [value.value for value in values if value.value is not None]
    assert len(known) == len(values)
    assert max(known) < 1.3 * min(known)
