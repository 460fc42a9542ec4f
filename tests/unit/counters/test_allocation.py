"""What fits, what is to blame where it does not, and the fewest groups: against a brute force."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_pmus import Invented, Kind, does_fit, drawn_events, event, invent, invented
from property_tests import examples

from gnomon.counters.allocation import CorePmu, addable, fits, groups, named
from gnomon.counters.allocation.target_pmus import plain
from gnomon.counters.component import Event
from gnomon.counters.event_resolver import resolve


@examples(300)
@given(invented, st.data())
def test_fits_is_what_trying_everything_says(machine: Invented, data: st.DataObject) -> None:
    events = drawn_events(data, machine, 4)
    fit = fits(events, (machine.pmu,))
    assert fit.fits == does_fit(machine, events)
    if fit.fits:
        assert (fit.conflict, fit.why) == ((), "")
        natives = [(at, n) for at, e in enumerate(events) for n in range(len(e.spec.terms))]
        assert [(place.event, place.native) for place in fit.placed] == natives
        used = [counter for place in fit.placed for counter in place.counters]
        assert len(set(used)) == len(used)
        for place in fit.placed:
            code = events[place.event].spec.terms[place.native].encoding.config
            taken = tuple(int(counter[1:]) for counter in place.counters)
            assert any(taken in machine.kinds[one].places for one in machine.codes(code))


def test_a_register_is_free_again_once_another_way_is_tried() -> None:
    kinds = [
        Kind(((0,),), True, 1), Kind(((2,),), False, 0),
        Kind(((1,),), True, 1), Kind(((0,),), False, 0),
    ]  # fmt: skip
    machine = invent(3, kinds, 1)
    events = [event("first", (0, 1)), event("second", (2, 2))]
    assert does_fit(machine, events)
    fit = fits(events, (machine.pmu,))
    assert [place.counters for place in fit.placed] == [("C2",), ("C1",)]


@given(invented, st.data())
def test_a_conflict_is_as_small_as_can_be(machine: Invented, data: st.DataObject) -> None:
    events = drawn_events(data, machine, 5)
    fit = fits(events, (machine.pmu,))
    if fit.fits:
        return
    blamed = [events[at] for at in fit.conflict]
    assert not does_fit(machine, blamed)
    for without in range(len(blamed)):
        assert does_fit(machine, blamed[:without] + blamed[without + 1 :])
    for one in blamed:
        assert one.name in fit.why
    assert fit.remedy


@given(invented, st.data())
def test_what_fits_fits_without_any_of_its_events(machine: Invented, data: st.DataObject) -> None:
    events = drawn_events(data, machine, 4)
    if fits(events, (machine.pmu,)).fits:
        for size in range(len(events)):
            for some in combinations(events, size):
                assert fits(some, (machine.pmu,)).fits


@given(invented, st.data())
def test_addable_is_what_still_fits(machine: Invented, data: st.DataObject) -> None:
    chosen = drawn_events(data, machine, 2)
    candidates = drawn_events(data, machine, 4)
    found = addable(chosen, candidates, (machine.pmu,))
    for at, candidate in enumerate(candidates):
        assert (at in found) == does_fit(machine, [*chosen, candidate])


# --- groups ---------------------------------------------------------------------------------------


def units_of(events: Sequence[Event]) -> list[tuple[int, ...]]:
    units: dict[object, list[int]] = {}
    for at, one in enumerate(events):
        units.setdefault((at,) if one.group is None else one.group, []).append(at)
    return [tuple(unit) for unit in units.values()]


def partitions(units: list[tuple[int, ...]]) -> list[list[list[tuple[int, ...]]]]:
    if not units:
        return [[]]
    found = []
    for rest in partitions(units[1:]):
        found.append([[units[0]], *rest])
        for at in range(len(rest)):
            found.append([*rest[:at], [units[0], *rest[at]], *rest[at + 1 :]])
    return found


def natives_of(events: Sequence[Event]) -> int:
    return sum(len(event.spec.terms) for event in events)


def fewest_groups(machine: Invented, events: Sequence[Event], limit: int | None) -> int:
    def is_good(part: list[tuple[int, ...]]) -> bool:
        size = natives_of([events[at] for unit in part for at in unit])
        within = limit is None or len(part) == 1 or size <= limit
        return within and does_fit(machine, [events[at] for unit in part for at in unit])

    units = units_of(events)
    possible = [u for u in units if does_fit(machine, [events[at] for at in u])]
    best = min(len(p) for p in partitions(possible) if all(is_good(part) for part in p))
    return best + len(units) - len(possible)


@examples(200)
@given(invented, st.data(), st.none() | st.integers(1, 3))
def test_groups_are_valid_and_the_fewest(
    machine: Invented, data: st.DataObject, limit: int | None
) -> None:
    events = drawn_events(data, machine, 6, braces=True)
    found = groups(events, limit, (machine.pmu,))
    assert sorted(at for group in found for at in group) == list(range(len(events)))
    assert [group[0] for group in found] == sorted(group[0] for group in found)
    for group in found:
        assert list(group) == sorted(group)
        units = [unit for unit in units_of(events) if set(unit) & set(group)]
        assert all(set(unit) <= set(group) for unit in units)  # braces stay together
        if len(units) > 1:
            assert does_fit(machine, [events[at] for at in group])
            assert limit is None or natives_of([events[at] for at in group]) <= limit
    assert len(found) == fewest_groups(machine, events, limit)
    assert found == groups(events, limit, (machine.pmu,))


def test_groups_keep_the_order_where_they_can() -> None:
    pmu = named("arm_n1")
    events = [event(f"e{at}", (at + 1, 0)) for at in range(13)]
    assert groups(events, pmus=(pmu,)) == (tuple(range(6)), tuple(range(6, 12)), (12,))
    assert groups(events, 4, (pmu,)) == ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11), (12,))
    with pytest.raises(ValueError, match="limit"):
        groups(events, 0, (pmu,))


def test_many_events_are_grouped_as_few_as_their_counters_allow() -> None:
    """64 events of which a quarter can be on one counter only: 16 groups, and no fewer."""
    pmu = named("skx")
    tied = [event(f"tied{at}", (0x1C0 | at << 24, 0)) for at in range(16)]
    free = [event(f"free{at}", (at + 0x10, 0)) for at in range(48)]
    mixed = [one for four in zip(tied, *[iter(free)] * 3, strict=True) for one in four]
    for given_events in ([*tied, *free], [*free, *tied], mixed):
        found = groups(given_events, pmus=(pmu,))
        assert len(found) == 16
        for group in found:
            assert fits([given_events[at] for at in group], (pmu,)).fits


@pytest.mark.parametrize("sizes", [(4, 4, 3, 3, 3, 3), (3, 4, 3, 3, 4, 3), (5, 3, 2, 4, 4, 2)])
def test_brace_groups_are_packed_where_first_fit_would_waste(sizes: tuple[int, ...]) -> None:
    family = plain("ten", "ten counters", 10, "this test")
    pmu = CorePmu("ten", "", family, frozenset(range(10)))
    events = [
        event(f"{unit}.{at}", (at, 0), group=unit)
        for unit, size in enumerate(sizes)
        for at in range(size)
    ]
    found = groups(events, pmus=(pmu,))
    assert [len(group) for group in found] == [10, 10]


def test_what_never_fits_is_a_group_of_its_own() -> None:
    pmu = named("slm")
    events = [
        event("a", (0x2E, 0), group=0), event("b", (0x2F, 0), group=0),
        event("c", (0x3A, 0), group=0), event("d", (0x3B, 0)),
    ]  # fmt: skip
    assert groups(events, pmus=(pmu,)) == ((0, 1, 2), (3,))


def test_software_events_have_no_limit_and_stay_where_they_are_bound() -> None:
    software = resolve("page-faults,context-switches,{task-clock,minor-faults}").events
    assert fits(software, ()).fits
    assert fits(software, ()).unlimited == (0, 1, 2, 3)
    assert groups(software, pmus=()) == ((0, 1, 2, 3),)
    many = [software[0]] * 500
    assert fits(many, (named("skx"),)).fits
    # Bound by braces to an event of the second group, a software event goes there.
    pmu = named("slm")
    hardware = [event("a", (1, 0)), event("b", (2, 0)), event("c", (3, 0), group=7)]
    bound = [*hardware, software[0]._replace(group=7), software[1]]
    assert groups(bound, pmus=(pmu,)) == ((0, 1, 4), (2, 3))


def test_nothing_asked_is_nothing_refused() -> None:
    assert fits((), (named("skx"),)).fits
    assert groups((), pmus=(named("skx"),)) == ()
    assert addable((), (), (named("skx"),)) == ()
