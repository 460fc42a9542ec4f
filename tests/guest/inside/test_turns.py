"""Behaviours 19 to 21 on hardware counters: events that do not fit take turns.

Those that HPM's commands leave to the kernel are in test_multiplexing.py.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest

from gnomon.counters import EventSet
from gnomon.counters.sysfs_pmu import core_pmus
from gnomon.model.value import How
from guest.inside.conftest import FigureOf
from guest.inside.work import PER_ROUND, spin

COUNTERS = 6
ROUNDS = 200_000
# Instructions of a slice of multiplexing: these machines take 64 ns for each.
PER_SLICE = 160_000
# One event under as many names as are needed: its raw code with ever more zeros.
NAMES = tuple(f"r{'0' * zeros}8:u" for zeros in range(1, 15))
SLICE_MS = 10
# 256 are tried where opening them takes less than a minute.
MANY = 64


def tasks(expected: int | None = None) -> int:
    """Return how many threads there are; one that was joined may be seen for a moment more."""
    for _ in range(1000):
        found = len(list(Path("/proc/self/task").iterdir()))
        if expected in (None, found):
            break
        time.sleep(0.001)
    return found


def run_slices(slices: int) -> int:
    """Spin for about so many slices; return how many instructions that is."""
    rounds = slices * PER_SLICE // PER_ROUND
    spin(rounds)
    return PER_ROUND * rounds


@pytest.mark.parametrize(
    ("n", "inherit", "tolerated"),
    # Enabling and disabling a group takes instructions of the kernel, in that group's time: where
    # one group is larger, it sees less of the user's.
    [(12, False, 0.01), (12, True, 0.01), (10, False, 0.025), (10, True, 0.025)],
    ids=["even", "even, inherited", "uneven", "uneven, inherited"],
)
def test_19_multiplexed_equals_unmultiplexed(
    n: int, inherit: bool, tolerated: float, figure: FigureOf
) -> None:
    events = EventSet(",".join(NAMES[:n]), multiplex=True, slice_ms=SLICE_MS, inherit=inherit)
    before = tasks()
    events.start()
    threads = tasks()
    events.stop()
    events.start()
    instructions = run_slices(100)
    final = events.stop()
    values = [final[at] for at in range(n)]
    errors = [(value.value or 0) / instructions - 1 for value in values]
    fractions = [value.fraction or 0 for value in values]
    notes = events.notes
    events.close()
    figure(
        f"{n} events on {COUNTERS} counters in turns of {SLICE_MS} ms"
        f"{', inherited' if inherit else ''}: scaled values against the true count",
        f"{100 * min(errors):+.2f} % to {100 * max(errors):+.2f} %; "
        f"counted {min(fractions):.3f} to {max(fractions):.3f} of the time",
    )
    assert notes == ()
    assert threads == before + 1
    assert {value.how for value in values} == {How.SCALED}
    assert len({value.enabled_ns for value in values}) == 1
    assert max(map(abs, errors)) < tolerated
    # The fewest groups: two, of which one counts at a time.
    assert sorted(round(10 * fraction) for fraction in fractions) == [5] * n
    groups = {value.running_ns for value in values}
    assert len(groups) == 2
    assert 0.99 < sum(groups) / values[0].enabled_ns <= 1


def test_19_what_fits_is_not_rotated() -> None:
    events = EventSet(",".join((*NAMES[:COUNTERS], "cycles:u")), multiplex=True)
    before = tasks()
    events.start()
    assert tasks(before) == before
    spin(ROUNDS)
    final = events.stop()
    assert {final[at].how for at in range(COUNTERS + 1)} == {How.COUNTED}
    assert events.group is not None
    events.close()


def test_19_later_turns_of_a_short_run_are_not_measured() -> None:
    events = EventSet(",".join(NAMES[:10]), multiplex=True, slice_ms=30_000)
    events.start()
    spin(ROUNDS)
    final = events.stop()
    values = [final[at] for at in range(10)]
    measured = [value for value in values if value.value is not None]
    assert len(measured) in range(4, COUNTERS + 1)
    for value in measured:
        assert value.raw >= PER_ROUND * ROUNDS
        assert 0.5 < (value.fraction or 0) <= 1
    assert "not measured" in events.notes[0]
    assert "too short" in events.notes[1]
    for value in values:
        if value.value is None:
            assert (value.raw, value.running_ns) == (0, 0)
            assert value.event in events.notes[0]
    events.close()


def test_19_braces_stay_together() -> None:
    names = f"{NAMES[0]},{{{','.join(NAMES[1:6])}}},{NAMES[6]},{{{','.join(NAMES[7:11])}}}"
    events = EventSet(names, multiplex=True, slice_ms=SLICE_MS)
    events.start()
    run_slices(12)
    final = events.stop()
    for first, last in ((1, 6), (7, 11)):
        assert len({final[at].running_ns for at in range(first, last)}) == 1
        assert len({final.raw(at) for at in range(first, last)}) == 1
    events.close()


def test_19_the_kernel_rotates_where_its_interval_serves(figure: FigureOf) -> None:
    (pmu,) = core_pmus()
    interval = pmu.path / "perf_event_mux_interval_ms"
    before = interval.read_text()
    interval.write_text("15\n")
    try:
        events = EventSet(",".join(NAMES[:10]), multiplex=True, slice_ms=SLICE_MS)
        threads = tasks()
        events.start()
        assert tasks(threads) == threads
        instructions = run_slices(100)
        final = events.stop()
        events.close()
    finally:
        interval.write_text(before)
    errors = [(final[at].value or 0) / instructions - 1 for at in range(10)]
    figure(
        f"10 events on {COUNTERS} counters, rotated by the kernel every 15 ms",
        f"{100 * min(errors):+.2f} % to {100 * max(errors):+.2f} %",
    )
    assert max(map(abs, errors)) < 0.05
    assert all(0 < (final[at].fraction or 0) < 1 for at in range(10))


def test_19_events_that_the_kernel_rotates_are_independent() -> None:
    """Asked for by name it rotates them whatever its interval is."""
    events = EventSet(",".join(NAMES[:10]), multiplex="kernel")
    before = tasks()
    events.start()
    assert tasks(before) == before
    instructions = run_slices(100)
    final = events.stop()
    events.close()
    for at in range(10):
        assert final[at].how is How.SCALED
        assert final[at].value == pytest.approx(instructions, rel=0.1)


def test_20_spread_under_multiplexing(figure: FigureOf) -> None:
    events = EventSet(",".join(NAMES[:12]), multiplex=True, slice_ms=SLICE_MS)
    rates: list[float] = []
    for _ in range(8):
        events.start()
        instructions = run_slices(40)
        final = events.stop()
        rates.extend((final[at].value or 0) / instructions for at in range(12))
    events.close()
    spread = statistics.pstdev(rates) / statistics.mean(rates)
    figure("12 events in turns, 8 times 40 slices: spread of the values", f"{100 * spread:.2f} %")
    assert spread < 0.02


def test_21_as_many_events_as_there_may_be() -> None:
    names = [f"r{'0' * (at % 14)}8:{'u' * (1 + at // 14)}" for at in range(MANY)]
    events = EventSet(",".join(names), multiplex=True, slice_ms=SLICE_MS)
    events.start()
    spin(ROUNDS)
    final = events.stop()
    events.close()
    assert len(final) == MANY
    assert sum(final[at].value is not None for at in range(MANY)) >= COUNTERS
