"""More events than counters: each counts part of the time, and what is scaled is right."""

from __future__ import annotations

import pytest

from guest.inside.conftest import FigureOf
from guest.inside.work import LOOP, counted, loop_instructions

COUNTERS = 6
ROUNDS = 20_000_000
# The kernel rotates every 4 ms; of what the program does, so much may happen unevenly.
TOLERANCE = 0.02


@pytest.mark.parametrize("events", [10, 14])
def test_fractions_and_scaled_values(events: int, figure: FigureOf) -> None:
    names = [f"r{'0' * zeros}8:u" for zeros in range(events)]
    found = counted(",".join(names), LOOP, ROUNDS)["counters"]
    assert [one["event"] for one in found] == names
    fractions = [one["running_ns"] / one["enabled_ns"] for one in found]
    errors = [one["value"] / loop_instructions(ROUNDS) - 1 for one in found]
    figure(
        f"{events} events on {COUNTERS} counters: share of the time that each counted",
        f"{min(fractions):.3f} to {max(fractions):.3f}, mean {sum(fractions) / events:.3f} "
        f"({COUNTERS}/{events} = {COUNTERS / events:.3f})",
    )
    figure(
        f"{events} events on {COUNTERS} counters: scaled values against the true count",
        f"{100 * min(errors):+.2f} % to {100 * max(errors):+.2f} %",
    )
    assert {one["how"] for one in found} == {"scaled"}
    for one, fraction in zip(found, fractions, strict=True):
        assert one["raw"] < loop_instructions(ROUNDS)
        assert 0.5 * COUNTERS / events < fraction < 1
    assert sum(fractions) / events == pytest.approx(COUNTERS / events, rel=0.1)
    assert max(map(abs, errors)) < TOLERANCE


def test_as_many_as_fit_are_not_scaled() -> None:
    names = [f"r{'0' * zeros}8:u" for zeros in range(COUNTERS)]
    found = counted(",".join([*names, "cycles:u"]), LOOP, 4_000_000)["counters"]
    assert {one["how"] for one in found} == {"counted"}
    assert {one["value"] for one in found[:-1]} == {loop_instructions(4_000_000)}
