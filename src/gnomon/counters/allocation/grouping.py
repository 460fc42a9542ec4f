"""Events in the fewest groups that take turns on the counters (multiplexing).

What has to count together is a unit: the events of a brace group, an event with the native events
that it is made of, an event with the one that it needs beside it. Units are packed into groups so
that each group fits. First-fit is tried first, in the order given, then by falling size; a lower
bound tells whether the result is the best there is. Where it may not be, few units are searched
through (branch and bound), and of many the best of what was seen is taken.

The lower bound: give every counter of the PMU k places. If more events need one than a matching
covers, k groups do not suffice, whatever else they have to share (J. Edmonds' theorem on partitions
of matroids: for events that are units by themselves, and share nothing but counters, the bound is
the answer).
"""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.counters.allocation import constraint_graph, matching
from gnomon.counters.allocation.constraint_graph import Demand
from gnomon.counters.allocation.fit import PmuDemands, ask, is_hardware
from gnomon.counters.allocation.target_pmus import CorePmu, at_hand
from gnomon.counters.component import Event
from gnomon.named_tuple import NamedTuple

_SEARCH_MAX = 20_000  # steps, of some 10 microseconds each


class _Unit(NamedTuple):
    """Events that stay together: their numbers, and how many native events take counters."""

    events: tuple[int, ...]
    size: int


def groups(
    events: Sequence[Event], limit: int | None = None, pmus: Sequence[CorePmu] | None = None
) -> tuple[tuple[int, ...], ...]:
    """Return the fewest groups of events such that each group counts at once.

    Every event that takes a counter of a core is in one group, and those of one brace group are in
    the same one, in the order given. Events that take no counter always count: they are in the
    first group, or with their brace group. What does not even fit by itself is a group of its own,
    for the kernel to refuse. A group never holds events of two core PMUs (hybrid CPUs), which one
    kernel group cannot hold either.

    Args:
        events: resolved events of any component.
        limit: at most so many native events with counters in a group; a brace group, or one event
            of more natives, may be larger.
        pmus: the core PMUs to count on; by default those of this machine.

    Raises:
        ValueError: the limit is not positive.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"a limit of {limit} events a group")
    on = at_hand() if pmus is None else tuple(pmus)
    packed: list[tuple[int, ...]] = []
    taken: set[int] = set()
    asked = ask(events, on)
    for pmu_events in asked:
        units = _units(events, pmu_events, taken)
        taken.update(at for unit in units for at in unit.events)
        packed.extend(_Packing(pmu_events, units, limit).pack())
    rest = [at for at in range(len(events)) if at not in taken]
    packed.sort(key=lambda group: group[0])
    if rest and packed:
        packed[0] = tuple(sorted((*packed[0], *rest)))
    elif rest:
        packed.append(tuple(rest))
    return tuple(packed)


def _units(events: Sequence[Event], asked: PmuDemands, taken: set[int]) -> list[_Unit]:
    together: dict[int, set[int]] = {at: {at} for at in asked.events if at not in taken}

    def unite(one: int, other: int) -> None:
        both = together[one] | together[other]
        for at in both:
            together[at] = both

    braces: dict[int, int] = {}
    for index, event in enumerate(events):
        if event.group is None or (index not in together and is_hardware(event)) or index in taken:
            continue
        if index not in together:
            together[index] = {index}
        unite(index, braces.setdefault(event.group, index))
    for index in asked.events:
        if index in together:
            for other in _beside(asked, tuple(sorted(together[index])), together):
                unite(index, other)
    hardware = set(asked.events)
    seen: set[int] = set()
    units = []
    for index in sorted(together):
        if index in seen or not together[index] & hardware:
            continue
        seen |= together[index]
        members = tuple(sorted(together[index]))
        natives = asked.of(tuple(sorted(hardware & together[index]))).demands
        units.append(_Unit(members, len(natives)))
    return units


def _beside(
    asked: PmuDemands, unit: tuple[int, ...], together: dict[int, set[int]]
) -> tuple[int, ...]:
    """Return the unit that has to be beside another one so that it counts, if there is one."""
    own = asked.of(unit)
    if constraint_graph.unmet(asked.pmu.family, own.demands) is None:
        return ()
    for other in asked.events:
        if other in together and other not in unit:
            both = asked.of(tuple(together[other] | set(unit)))
            if both.is_placed():
                return (other,)
    return ()


class _Packing:
    """Units of one PMU, to be packed into groups."""

    def __init__(self, asked: PmuDemands, units: Sequence[_Unit], limit: int | None) -> None:
        self._asked = asked
        self._limit = limit
        self._answers: dict[tuple[tuple[Demand, int], ...], bool] = {}
        self._units = [unit for unit in units if self._fits((unit,))]
        self._hopeless = [unit for unit in units if unit not in self._units]

    def pack(self) -> list[tuple[int, ...]]:
        """Return the groups, those that nothing can make fit included."""
        packed = self._fewest()
        packed.extend([unit] for unit in self._hopeless)
        return [tuple(sorted(at for unit in group for at in unit.events)) for group in packed]

    def _fewest(self) -> list[list[_Unit]]:
        if not self._units:
            return []
        best = self._first_fit(self._units)
        bound = self._bound(len(best))
        if len(best) > bound:
            # The hardest first: many counters, and few to choose from.
            falling = sorted(self._units, key=lambda unit: (-unit.size, self._choice(unit)))
            best = min(best, self._first_fit(falling), key=len)
        return self._search(best, bound) if len(best) > bound else best

    def _first_fit(self, units: Sequence[_Unit]) -> list[list[_Unit]]:
        bins: list[list[_Unit]] = []
        for unit in units:
            for group in bins:
                if self._fits((*group, unit)):
                    group.append(unit)
                    break
            else:
                bins.append([unit])
        return bins

    def _search(self, best: list[list[_Unit]], bound: int) -> list[list[_Unit]]:
        """Return the fewest groups: units one after another, into each group or a new one."""
        order = sorted(self._units, key=lambda unit: (-unit.size, self._choice(unit)))
        bins: list[list[_Unit]] = []
        steps = 0

        def walk(depth: int) -> None:
            nonlocal best, steps
            steps += 1
            if len(bins) >= len(best) or steps > _SEARCH_MAX:
                return
            if depth == len(order):
                best = [list(group) for group in bins]
                return
            for group in bins:
                if len(best) == bound:
                    return
                if self._fits((*group, order[depth])):
                    group.append(order[depth])
                    walk(depth + 1)
                    group.pop()
            bins.append([order[depth]])
            walk(depth + 1)
            bins.pop()

        walk(0)
        return best

    def _bound(self, most: int) -> int:
        """Return a number of groups below which it cannot be done, `most` at the utmost."""
        events = [at for unit in self._units for at in unit.events]
        asked = self._asked.of(events)
        dog = len(asked.all) - len(asked.demands)
        edges = [one.counters for one in asked.demands]
        free = len(self._asked.pmu.family.counters)
        for number in range(1, most):
            if (
                self._limit is not None
                and all(unit.size == 1 for unit in self._units)
                and (len(self._units) > number * self._limit)
            ):
                continue
            copies = [
                tuple(counter + free * copy for copy in range(number) for counter in own)
                for own in edges
            ]
            # The watchdog takes its place in every group.
            for copy in range(number if dog else 0):
                own = asked.all[0].counters
                copies.append(tuple(counter + free * copy for counter in own))
            if matching.largest(copies).is_complete:
                return number
        return most

    def _choice(self, unit: _Unit) -> int:
        return min(len(one.counters) for one in self._asked.of(unit.events).demands)

    def _fits(self, units: Sequence[_Unit]) -> bool:
        if (
            self._limit is not None
            and len(units) > 1
            and (sum(unit.size for unit in units) > self._limit)
        ):
            return False
        asked = self._asked.of([at for unit in units for at in unit.events])
        count: dict[Demand, int] = {}
        for one in asked.demands:
            count[one] = count.get(one, 0) + 1
        key = tuple(sorted(count.items()))
        if key not in self._answers:
            self._answers[key] = asked.is_placed()
        return self._answers[key]
