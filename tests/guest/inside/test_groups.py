"""Groups that fit the PMU and groups that do not: six counters, and one more for cycles."""

from __future__ import annotations

import pytest

from gnomon.counters import EventSet
from gnomon.errors import ConflictError
from guest.inside.conftest import FigureOf
from guest.inside.work import LOOP, PER_ROUND, counted, loop_instructions, report, spin, values

ROUNDS = 1_000_000
COUNTERS = 6
# One event under as many names as are needed: its raw code with ever more zeros.
NAMES = tuple(f"r{'0' * zeros}8:u" for zeros in range(COUNTERS + 2))


def spin_counted(events: EventSet) -> None:
    with events:
        spin(ROUNDS)


def test_full_group_counts_all_the_time() -> None:
    events = EventSet(",".join((*NAMES[:COUNTERS], "cycles")))
    spin_counted(events)
    reading = events.read()
    assert events.group is None or len(events) == COUNTERS + 1
    for at in range(COUNTERS):
        assert reading[at].how.value == "counted"
        assert reading.raw(at) == reading.raw(0) >= PER_ROUND * ROUNDS


def test_event_beyond_what_fits_is_refused() -> None:
    with pytest.raises(ConflictError) as caught:
        EventSet(",".join(NAMES))
    assert caught.value.name == NAMES[COUNTERS]
    assert "does not fit" in caught.value.reason


@pytest.mark.parametrize("braces", ["{%s}", "%s"])
def test_what_fits_counts_without_the_rest(braces: str, figure: FigureOf) -> None:
    """The kernel leaves a leader that is off out of its sum, and would take one event too many."""
    events = EventSet(braces % ",".join(NAMES), strict=False)
    spin_counted(events)
    reading = events.read()
    assert [one.event for one in events.unavailable] == list(NAMES[COUNTERS:])
    assert len(reading) == COUNTERS
    assert {reading[at].how.value for at in range(COUNTERS)} == {"counted"}
    figure(
        f"event set '{braces % '...'}' of {len(NAMES)} on {COUNTERS} counters",
        f"{COUNTERS} counted all the time, {len(NAMES) - COUNTERS} refused",
    )


def test_command_in_a_group_that_does_not_fit(figure: FigureOf) -> None:
    """In braces: what fits is counted, all of it together; the rest says that it does not fit."""
    names = "{" + ",".join(NAMES) + "}"
    document = counted(f"{names},page-faults", LOOP, ROUNDS)
    found = values(document)
    assert found.pop("page-faults") > 0
    assert found == dict.fromkeys(NAMES[:COUNTERS], loop_instructions(ROUNDS))
    refused = {one["event"]: one for one in document["unavailable"]}
    assert set(refused) == set(NAMES[COUNTERS:])
    for one in refused.values():
        assert "does not fit" in one["reason"]
        assert one["remedy"]
    figure(
        f"`gnomon count` of a group of {len(NAMES)} on {COUNTERS} counters",
        f'{len(found)} counted exactly, {len(refused)} refused: "{refused[NAMES[-1]]["reason"]}"',
    )


def test_report_says_what_does_not_fit() -> None:
    names = "{" + ",".join(NAMES) + "}"
    said = report("-e", names, "--", LOOP, str(ROUNDS))
    refused = said.partition("not counted")[2]
    for name in NAMES[COUNTERS:]:
        assert name in refused
    assert "does not fit" in refused


def test_without_braces_they_take_turns() -> None:
    found = counted(",".join(NAMES), LOOP, 8 * ROUNDS)["counters"]
    assert len(found) == len(NAMES)
    assert {one["how"] for one in found} == {"scaled"}
    assert all(one["value"] for one in found)
