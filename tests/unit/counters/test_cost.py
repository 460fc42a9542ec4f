"""What event sets cost: that everything is measured, what is comparable, what is not to be had."""

from __future__ import annotations

import gc

import pytest

from gnomon.counters.overhead import COUNTS, KINDS, Cost, EventKind, costs, kinds, timer_ns
from gnomon.errors import EventNameError, UsageError

RUNNING = ["read", "read, values", "read with time", "accumulate", "reset", "start", "stop"]


def measured(kind: EventKind, numbers: tuple[int, ...] = ()) -> dict[tuple[str, int], Cost]:
    return {(one.operation, one.events): one for one in costs([kind], 20, numbers)}


def test_software_events_are_measured_beside_the_bare_calls() -> None:
    (software,) = kinds(wanted=["software"])
    assert (software.name, software.numbers) == ("software", COUNTS)
    found = measured(software, (1, 4))
    assert [operation for operation, n in found if n == 1] == [*RUNNING, "open and close"]
    assert [operation for operation, n in found if n == 4] == [
        *RUNNING,
        "remove",
        "add",
        "open and close",
    ]
    for (operation, _), one in found.items():
        assert one.ns.n == 20
        assert sum(b.n for b in one.bins) == 20
        assert one.ns.median > 0
        assert (one.raw_ns is None) == (operation in ("read, values", "remove", "add"))
        if one.raw_ns is not None:
            assert one.times == one.ns.median / one.raw_ns.median


def test_events_that_take_turns_have_nothing_to_compare_with() -> None:
    (turns,) = kinds(wanted=["multiplexed"])
    assert turns.turns == 2
    assert min(turns.numbers) == 2
    assert measured(turns, (1,)) == {}
    found = measured(turns, (2,))
    assert {one.raw_ns for one in found.values()} == {None}


def test_kinds_that_are_not_here_say_why() -> None:
    assert tuple(kind.name for kind in kinds()) == KINDS
    for kind in kinds():
        assert bool(kind.events) != bool(kind.reason and kind.remedy), kind
        if not kind.events:
            assert measured(kind) == {}


def test_events_of_ones_own() -> None:
    (given,) = kinds(["page-faults,io:::rchar"])
    assert (given.events, given.numbers) == (("page-faults", "io:::rchar"), (2,))
    found = measured(given)
    assert found["read", 2].raw_ns is None
    with pytest.raises(EventNameError):
        kinds(["page-fualts"])


@pytest.mark.parametrize("iterations", [9, 0, -1, 10_000_001])
def test_iterations_that_make_no_sense(iterations: int) -> None:
    with pytest.raises(UsageError, match="10 to 10000000"):
        list(costs([], iterations))


def test_garbage_is_collected_again_afterwards() -> None:
    assert gc.isenabled()
    measured(kinds(wanted=["software"])[0], (1,))
    assert gc.isenabled()
    gc.disable()
    try:
        assert timer_ns(100) > 0
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_is_measured_is_told() -> None:
    said: list[str] = []
    list(costs(kinds(wanted=["software"]), 10, (2,), said.append))
    assert said[0] == "software, 2: read"
    assert "software, 2: add" in said
