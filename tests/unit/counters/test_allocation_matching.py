"""Matchings against a brute force, and what they say of a failure."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.counters.allocation.fixed_groups import FixedGroup, choose, turns
from gnomon.counters.allocation.matching import Matching, competitors, heaviest, largest

Edges = list[tuple[int, ...]]

graphs = st.integers(1, 5).flatmap(
    lambda counters: st.lists(
        st.sets(st.integers(0, counters - 1)).map(lambda own: tuple(sorted(own))), max_size=6
    )
)


def can_all_be_matched(edges: Edges, events: tuple[int, ...]) -> bool:
    counters = sorted({counter for event in events for counter in edges[event]})
    return any(
        all(counter in edges[event] for event, counter in zip(events, chosen, strict=True))
        for chosen in permutations(counters, len(events))
    )


def matchable_sets(edges: Edges) -> list[tuple[int, ...]]:
    return [
        events
        for size in range(len(edges) + 1)
        for events in combinations(range(len(edges)), size)
        if can_all_be_matched(edges, events)
    ]


def check_is_matching(edges: Edges, found: Matching) -> None:
    used = [counter for counter in found.of_event if counter is not None]
    assert len(set(used)) == len(used) == found.size
    for event, counter in enumerate(found.of_event):
        if counter is not None:
            assert counter in edges[event]
            assert found.of_counter[counter] == event


@given(graphs)
def test_as_many_events_as_can_be_get_a_counter(edges: Edges) -> None:
    found = largest(edges)
    check_is_matching(edges, found)
    assert found.size == max(len(events) for events in matchable_sets(edges))
    assert found.is_complete == (found.size == len(edges))


@given(graphs, st.data())
def test_heaviest_has_the_largest_sum_of_weights(edges: Edges, data: st.DataObject) -> None:
    weights = data.draw(
        st.lists(st.integers(0, 9), min_size=len(edges), max_size=len(edges)), label="weights"
    )
    found = heaviest(edges, weights)
    check_is_matching(edges, found)
    best = max(sum(weights[event] for event in events) for events in matchable_sets(edges))
    assert sum(weights[event] for event in found.of_counter.values()) == best
    assert found.size == largest(edges).size


@given(graphs)
def test_competitors_are_one_more_than_their_counters(edges: Edges) -> None:
    found = largest(edges)
    for event, counter in enumerate(found.of_event):
        rivals = competitors(edges, found, event)
        if counter is not None:
            assert rivals == ()
            continue
        assert event in rivals
        assert len({c for rival in rivals for c in edges[rival]}) == len(rivals) - 1
        for without in rivals:
            assert can_all_be_matched(edges, tuple(r for r in rivals if r != without))


def test_priorities_decide_who_goes_without() -> None:
    edges = [(0,), (0, 1), (1,)]
    assert heaviest(edges, [1, 5, 3]).of_event == (None, 0, 1)
    assert heaviest(edges, [5, 1, 3]).of_event == (0, None, 1)
    assert heaviest(edges, [5, 3, 1]).of_event == (0, 1, None)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, float("nan")]])
def test_weights_that_are_no_priorities_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weight"):
        heaviest([(0,), (0,)], weights)


def test_matching_of_many_events_needs_no_recursion() -> None:
    """A chain in which the last event moves all others."""
    edges: Edges = [(at, at + 1) for at in range(3000)]
    edges.append((0,))
    assert largest(edges).is_complete


# --- fixed groups ---------------------------------------------------------------------------------

# Invented: three counters; "walk" and "talk" are in two groups, on different counters.
INVENTED = (
    FixedGroup("day", (("walk",), ("talk", "sing"), ())),
    FixedGroup("night", (("sleep",), ("dream", "snore"), ("talk",))),
    FixedGroup("noon", (("eat",), ("walk",), ("drink",))),
)


def test_a_fixed_group_is_chosen_by_what_it_counts() -> None:
    assert choose(INVENTED, ["walk", "sing"]).counters == (0, 1)
    assert choose(INVENTED, ["walk", "drink"]) == (2, (1, 2))
    # One counter cannot do two things, though the group names both.
    chosen = choose(INVENTED, ["dream", "snore", "sleep"])
    assert (chosen.mode, chosen.counters, chosen.is_complete) == (1, (1, None, 0), False)


def test_priorities_choose_the_group() -> None:
    events = ["eat", "drink", "sleep"]
    assert choose(INVENTED, events).mode == 2
    assert choose(INVENTED, events, [1, 1, 3]) == (1, (None, None, 0))


def test_groups_take_turns_where_one_does_not_do() -> None:
    found, nowhere = turns(INVENTED, ["eat", "sleep", "talk", "fly"])
    assert nowhere == (3,)
    assert [one.mode for one in found] == [1, 2]
    assert found[0].counters == (None, 0, 2, None)
    assert found[1].counters == (0, None, None, None)
    twice, _ = turns(INVENTED, ["dream", "snore"])
    assert [one.mode for one in twice] == [1, 1]


def test_a_pmu_with_fixed_groups_has_groups() -> None:
    with pytest.raises(ValueError, match="at least one"):
        choose((), ["walk"])


names = st.sampled_from("abcdef")
modes = st.lists(
    st.lists(st.lists(names, max_size=2, unique=True).map(tuple), min_size=2, max_size=3),
    min_size=1,
    max_size=3,
).map(lambda all_: tuple(FixedGroup(str(at), tuple(slots)) for at, slots in enumerate(all_)))


def fewest_turns(given_modes: tuple[FixedGroup, ...], events: tuple[str, ...]) -> int:
    """Return the fewest turns, by trying every set of events as the first one."""
    if not events:
        return 0
    return 1 + min(
        fewest_turns(given_modes, tuple(e for e in events if e not in taken))
        for size in range(1, len(events) + 1)
        for taken in combinations(events, size)
        if any(
            can_all_be_matched(list(mode.edges(taken)), tuple(range(size))) for mode in given_modes
        )
    )


@given(modes, st.lists(names, unique=True, max_size=5))
def test_turns_are_the_fewest(given_modes: tuple[FixedGroup, ...], events: list[str]) -> None:
    found, nowhere = turns(given_modes, events)
    countable = tuple(e for at, e in enumerate(events) if at not in nowhere)
    for event in (events[at] for at in nowhere):
        assert not any(event in slot for mode in given_modes for slot in mode.slots)
    assert len(found) == fewest_turns(given_modes, countable)
    counted = [at for one in found for at, c in enumerate(one.counters) if c is not None]
    assert sorted([*counted, *nowhere]) == list(range(len(events)))
    for one in found:
        for at, counter in enumerate(one.counters):
            assert counter is None or events[at] in given_modes[one.mode].slots[counter]
        used = [counter for counter in one.counters if counter is not None]
        assert len(set(used)) == len(used)
