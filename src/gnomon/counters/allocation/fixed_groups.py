"""Fixed groups of events: PMUs that count one of a few given groups, not any set of events.

A group (IBM's word on POWER4; "mode" on Blue Gene/P) says what each counter counts while it is
chosen. Events count at once if one group has them all, on different counters. Such a PMU's table is
a tuple of `FixedGroup`; nothing here knows any of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.counters.allocation.matching import Matching, heaviest, largest
from gnomon.named_tuple import NamedTuple

_SEARCH_MAX = 100_000


class FixedGroup(NamedTuple):
    """One of the fixed groups of a PMU.

    Attributes:
        name: of the group.
        slots: for each counter the events that it can count while the group is chosen: one, or
            several where it can still be told which; () for a counter that counts nothing then.
    """

    name: str
    slots: tuple[tuple[str, ...], ...]

    def edges(self, events: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """Return for each event the counters that can count it in this group."""
        return tuple(
            tuple(at for at, slot in enumerate(self.slots) if event in slot) for event in events
        )


class ChosenGroup(NamedTuple):
    """A fixed group that was chosen for events.

    Attributes:
        mode: its place among the groups.
        counters: for each event its counter, None where this group does not count it.
    """

    mode: int
    counters: tuple[int | None, ...]

    @property
    def is_complete(self) -> bool:
        """Whether it counts every event."""
        return None not in self.counters


def choose(
    modes: Sequence[FixedGroup], events: Sequence[str], weights: Sequence[float] | None = None
) -> ChosenGroup:
    """Return the group that counts the most events at once, or those of the largest total weight.

    Of equal ones it is the first.

    Args:
        modes: the groups of the PMU.
        events: names of events.
        weights: their priorities, not negative; by default each counts the same.

    Raises:
        ValueError: there are no groups, or the weights are no priorities.
    """
    if not modes:
        raise ValueError("a PMU with fixed groups has at least one")
    worth = [1.0] * len(events) if weights is None else list(weights)
    best: tuple[float, int] | None = None
    chosen = ChosenGroup(0, ())
    for index, mode in enumerate(modes):
        matched = heaviest(mode.edges(events), worth)
        value = (_weight(matched, worth), matched.size)
        if best is None or value > best:
            best = value
            chosen = ChosenGroup(index, matched.of_event)
    return chosen


def turns(
    modes: Sequence[FixedGroup], events: Sequence[str]
) -> tuple[tuple[ChosenGroup, ...], tuple[int, ...]]:
    """Return the fewest groups that count all events in turns, and the events that none counts.

    Exact while few combinations are to be tried, else each next group is the one that counts most
    of what is left. A group may be there twice, if its counters do not suffice for all its events.
    """
    left = [at for at, event in enumerate(events) if any(m.edges((event,))[0] for m in modes)]
    nowhere = tuple(at for at in range(len(events)) if at not in left)
    best = _greedily(modes, events, left)
    for number in range(1, len(best)):
        if len(modes) ** number > _SEARCH_MAX:
            break
        found = _with(modes, events, left, number)
        if found is not None:
            best = found
            break
    return tuple(_chosen(modes, events, part) for part in best), nowhere


def _greedily(
    modes: Sequence[FixedGroup], events: Sequence[str], wanted: Sequence[int]
) -> list[tuple[int, list[int]]]:
    left = list(wanted)
    parts = []
    while left:
        one = choose(modes, [events[at] for at in left])
        counted = [at for at, c in zip(left, one.counters, strict=True) if c is not None]
        parts.append((one.mode, counted))
        left = [at for at in left if at not in counted]
    return parts


def _with(
    modes: Sequence[FixedGroup], events: Sequence[str], wanted: Sequence[int], number: int
) -> list[tuple[int, list[int]]] | None:
    """Return the events over `number` groups, each chosen once or more; None if they do not fit."""
    from itertools import combinations_with_replacement

    names = [events[at] for at in wanted]
    width = max(len(mode.slots) for mode in modes)
    of_mode = [mode.edges(names) for mode in modes]
    for taken in combinations_with_replacement(range(len(modes)), number):
        # All turns side by side, as if they were one PMU with all their counters.
        edges = [
            [turn * width + counter for turn, at in enumerate(taken) for counter in of_mode[at][e]]
            for e in range(len(names))
        ]
        matched = largest(edges)
        if matched.is_complete:
            parts: list[tuple[int, list[int]]] = [(at, []) for at in taken]
            for event, counter in zip(wanted, matched.of_event, strict=True):
                if counter is not None:
                    parts[counter // width][1].append(event)
            return parts
    return None


def _chosen(
    modes: Sequence[FixedGroup], events: Sequence[str], part: tuple[int, list[int]]
) -> ChosenGroup:
    mode_index, own = part
    found = largest(modes[mode_index].edges([events[one] for one in own]))
    counters: list[int | None] = [None] * len(events)
    for event, counter in zip(own, found.of_event, strict=True):
        counters[event] = counter
    return ChosenGroup(mode_index, tuple(counters))


def _weight(found: Matching, weights: Sequence[float]) -> float:
    return sum(weights[event] for event in found.of_counter.values())
