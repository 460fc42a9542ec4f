"""Whether events count at once: on which counters, or why not.

An event of several native ones (a preset) fits if all of them do. Events that take no counter of
a core (software events, tracepoints, /proc) always fit.
"""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.counters.allocation import constraint_graph
from gnomon.counters.allocation.constraint_graph import Demand
from gnomon.counters.allocation.target_pmus import CorePmu, at_hand
from gnomon.counters.component import Event
from gnomon.counters.perf_spec import PerfSpec
from gnomon.counters.sysfs_pmu import Encoding
from gnomon.errors import EventUnavailableError
from gnomon.named_tuple import NamedTuple


class CounterSlot(NamedTuple):
    """Where one native event of an event counts.

    Attributes:
        event: its place in the sequence that was asked about.
        native: its place among the event's native events.
        pmu: name of the PMU.
        counters: name of the counter, or of the two that it takes.
    """

    event: int
    native: int
    pmu: str
    counters: tuple[str, ...]


class Fit(NamedTuple):
    """Whether events count at once.

    Attributes:
        fits: they do.
        placed: where, by event; () if they do not fit.
        unlimited: the events that take no counter of a core.
        conflict: the smallest set of events that is to blame: without any one of them, the others
            of it fit. () if all fit.
        why: why these do not fit, in words.
        remedy: what can be done about it.
        notes: sentences about what the answer rests on.
    """

    fits: bool
    placed: tuple[CounterSlot, ...]
    unlimited: tuple[int, ...] = ()
    conflict: tuple[int, ...] = ()
    why: str = ""
    remedy: str = ""
    notes: tuple[str, ...] = ()


class PmuDemands(NamedTuple):
    """What events ask of one PMU: `demands[i]` is of native `owners[i]`, an (event, native)."""

    pmu: CorePmu
    demands: tuple[Demand, ...]
    owners: tuple[tuple[int, int], ...]

    def of(self, events: Sequence[int]) -> PmuDemands:
        """Return the demands of some of the events."""
        kept = [at for at, (event, _) in enumerate(self.owners) if event in events]
        return PmuDemands(
            self.pmu,
            tuple(self.demands[at] for at in kept),
            tuple(self.owners[at] for at in kept),
        )

    @property
    def events(self) -> tuple[int, ...]:
        """The events, in order."""
        return tuple(sorted({event for event, _ in self.owners}))

    @property
    def all(self) -> tuple[Demand, ...]:
        """The demands, and that of the NMI watchdog where it runs."""
        return (*_watchdog(self.pmu), *self.demands)

    def is_placed(self) -> bool:
        """Whether they count at once."""
        return (
            constraint_graph.place(self.pmu.family, self.all) is not None
            and constraint_graph.unmet(self.pmu.family, self.demands) is None
        )


def fits(events: Sequence[Event], pmus: Sequence[CorePmu] | None = None) -> Fit:
    """Return whether events count at once, on which counters, or which of them conflict and why.

    On hybrid CPUs the events of each PMU count on its own cores, whatever those of the other do.

    Args:
        events: resolved events of any component.
        pmus: the core PMUs to count on; by default those of this machine.

    Raises:
        EventUnavailableError: an event counts on a core PMU, and there is none.
    """
    on = at_hand() if pmus is None else tuple(pmus)
    asked = ask(events, on)
    if not on:
        for event in events:
            if is_hardware(event):
                raise no_pmu(event)
    placed: list[CounterSlot] = []
    notes = tuple(note for one in asked for note in one.pmu.notes)
    unlimited = tuple(at for at, event in enumerate(events) if not is_hardware(event))
    for pmu_events in asked:
        family = pmu_events.pmu.family
        lacking = constraint_graph.unmet(family, pmu_events.demands)
        if lacking is not None:
            at = pmu_events.owners[lacking[0]][0]
            why = f"{events[at].name}: {lacking[1]}"
            return Fit(False, (), unlimited, (at,), why, "count the other one with it", notes)
        places = constraint_graph.place(family, pmu_events.all)
        if places is None:
            conflict = blame(pmu_events)
            why, remedy = _explain(pmu_events.of(conflict), events)
            return Fit(False, (), unlimited, conflict, why, remedy, notes)
        own = places[len(pmu_events.all) - len(pmu_events.demands) :]
        placed.extend(
            CounterSlot(event, native, pmu_events.pmu.name, pmu_events.pmu.counter_names(place))
            for (event, native), place in zip(pmu_events.owners, own, strict=True)
        )
    return Fit(True, tuple(sorted(placed)), unlimited, notes=notes)


def addable(
    chosen: Sequence[Event], candidates: Sequence[Event], pmus: Sequence[CorePmu] | None = None
) -> tuple[int, ...]:
    """Return which of the candidates can be counted beside the chosen events, each by itself.

    Args:
        chosen: events that fit.
        candidates: events that may be added.
        pmus: the core PMUs to count on; by default those of this machine.
    """
    on = at_hand() if pmus is None else tuple(pmus)
    base = {one.pmu.name: one for one in ask(chosen, on)}
    answers: dict[tuple[str, tuple[Demand, ...]], bool] = {}

    def fits_beside(candidate: Event) -> bool:
        for new in ask((candidate,), on):
            key = (new.pmu.name, new.demands)
            if key not in answers:
                own = base.get(new.pmu.name)
                demands = (*(own.demands if own else ()), *new.demands)
                owners = ((0, 0),) * len(demands)
                answers[key] = PmuDemands(new.pmu, demands, owners).is_placed()
            if not answers[key]:
                return False
        return bool(on) or not is_hardware(candidate)

    return tuple(at for at, candidate in enumerate(candidates) if fits_beside(candidate))


def opening_order(
    events: Sequence[Event], pmus: Sequence[CorePmu] | None = None
) -> tuple[int, ...]:
    """Return the order in which the kernel takes events into one group, if they fit.

    It checks a group at each event that joins, so that what needs another one beside it comes
    after that one. Arm's driver gives counters out in this order and moves none, so that those with
    a counter of their own come first, then those that take two (Linux drivers/perf/arm_pmuv3.c,
    armv8pmu_get_event_idx). Else the order is the given one.

    Args:
        events: resolved events of any component.
        pmus: the core PMUs to count on; by default those of this machine.
    """
    on = at_hand() if pmus is None else tuple(pmus)
    rank = [3] * len(events)
    for pmu_events in ask(events, on):
        family = pmu_events.pmu.family
        placed = constraint_graph.place(family, pmu_events.all) or ((0,),) * len(pmu_events.all)
        own = placed[len(pmu_events.all) - len(pmu_events.demands) :]
        for (index, _), demand, place in zip(
            pmu_events.owners, pmu_events.demands, own, strict=True
        ):
            if any(need.beside.holds(*demand.code) for need in family.needs):
                rank[index] = 0
            elif place[0] >= family.general:
                rank[index] = min(rank[index], 1)
            elif len(place) > 1:
                rank[index] = min(rank[index], 2)
    return tuple(sorted(range(len(events)), key=lambda at: rank[at]))


def is_hardware(event: Event) -> bool:
    """Return whether an event takes a counter of a core."""
    spec = event.spec
    return isinstance(spec, PerfSpec) and spec.hardware and event.info.component == "cpu"


def ask(events: Sequence[Event], pmus: Sequence[CorePmu]) -> tuple[PmuDemands, ...]:
    """Return the demands of events on each PMU that counts any of them."""
    asked = []
    for pmu in pmus:
        demands: list[Demand] = []
        owners: list[tuple[int, int]] = []
        demand_of: dict[Encoding, Demand] = {}
        for index, event in enumerate(events):
            if not is_hardware(event):
                continue
            for native, term in enumerate(event.spec.terms):
                if not pmu.counts(term.encoding, is_only=len(pmus) == 1):
                    continue
                encoding = term.encoding
                if encoding not in demand_of:
                    demand_of[encoding] = constraint_graph.demand(
                        pmu.family, pmu.available, encoding
                    )
                demands.append(demand_of[encoding])
                owners.append((index, native))
        if demands:
            asked.append(PmuDemands(pmu, tuple(demands), tuple(owners)))
    return tuple(asked)


def blame(asked: PmuDemands) -> tuple[int, ...]:
    """Return the smallest conflict among events that do not fit: all but any one of them do."""
    kept = list(asked.events)
    # A maximal set that fits plus one that does not: what is left of it cannot be made smaller.
    for event in asked.events:
        rest = [one for one in kept if one != event]
        if rest and constraint_graph.place(asked.pmu.family, asked.of(rest).all) is None:
            kept = rest
    return tuple(kept)


def no_pmu(event: Event) -> EventUnavailableError:
    """Return the refusal of an event for want of any core PMU."""
    from gnomon.counters.perf_errors import no_pmu as explain

    reason, remedy = explain()
    return EventUnavailableError(
        event.name,
        reason,
        f"{remedy}; or ask about another CPU: gnomon events --fit ... --pmu NAME",
    )


def _watchdog(pmu: CorePmu) -> tuple[Demand, ...]:
    if not pmu.watchdog or pmu.family.watchdog is None:
        return ()
    encoding = Encoding(4, pmu.family.watchdog)
    return (constraint_graph.demand(pmu.family, pmu.available, encoding),)


def _explain(asked: PmuDemands, events: Sequence[Event]) -> tuple[str, str]:
    """Return why the events of a smallest conflict do not fit, and the remedy."""
    pmu, family = asked.pmu, asked.pmu.family
    names = [events[at].name for at in asked.events]
    turns = "count them in turns (multiplexing), or in separate runs"
    if len(names) == 1:
        return _explain_alone(asked, names[0])
    clash = constraint_graph.disagreement(family, asked.all)
    if clash is not None:
        return f"{_join(names)} want {_want(clash)}", turns
    counters = sorted({counter for one in asked.demands for counter in one.counters})
    natives = len(asked.demands)
    what = f"{natives} native events" if natives > len(names) else f"{natives} events"
    taken = sum(min(len(p) for c in one.choices for p in c.places) for one in asked.demands)
    if taken > natives:
        what += f", which take {taken},"
    # Only where it makes the difference.
    dog = pmu.watchdog and constraint_graph.place(family, asked.demands) is not None
    holds = ", one of which the kernel's NMI watchdog holds" if dog else ""
    why = (
        f"{_join(names)} can only use {_span(family.counters, counters)}: {what} for "
        f"{len(counters)} counter{'s' * (len(counters) != 1)}{holds}"
    )
    if dog:
        turns = "as root: sysctl kernel.nmi_watchdog=0; or " + turns
    return why, turns


def _explain_alone(asked: PmuDemands, name: str) -> tuple[str, str]:
    for one in asked.demands:
        if not one.choices:
            return (
                f"{name}: no counter of {asked.pmu.title} that is to be had counts it",
                "choose another event: `gnomon events` lists them",
            )
    clash = constraint_graph.disagreement(asked.pmu.family, asked.all)
    if clash is not None:
        return f"{name} is made of events that want {_want(clash)}", "choose another event"
    return (
        f"{name} is made of {len(asked.demands)} native events, more than count at once",
        "count its native events in turns",
    )


def _want(clash: constraint_graph.Disagreement) -> str:
    if clash.wanted > 1:
        room = f"has room for {clash.registers}" if clash.registers > 1 else "can have only one"
        return f"{clash.wanted} different settings of {clash.name}, of which the PMU {room}"
    return f"different settings of {clash.name}"


def _join(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _span(names: Sequence[str], counters: Sequence[int]) -> str:
    """Return counters as people write them: "FIXED0 and PMC0 to PMC3"."""
    parts = []
    start = 0
    for end in range(1, len(counters) + 1):
        goes_on = end < len(counters) and counters[end] == counters[end - 1] + 1
        if goes_on and _stem(names[counters[end]]) == _stem(names[counters[start]]):
            continue
        first, last = names[counters[start]], names[counters[end - 1]]
        parts.append(first if first == last else f"{first} to {last}")
        start = end
    return _join(parts)


def _stem(name: str) -> str:
    return name.rstrip("0123456789")
