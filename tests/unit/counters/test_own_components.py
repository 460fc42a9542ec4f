"""Components that a program adds, as docs/counters/components.md says."""

from __future__ import annotations

from itertools import islice

import pytest

from gnomon.counters import EventSet, Target, add_component
from gnomon.counters.component import Availability, Event, EventInfo, OpenResult, Overflow, RawCount
from gnomon.counters.components import COMPONENTS, NAMES, component, may_own
from gnomon.errors import ComponentError, ComponentNameError
from gnomon.model.value import Domain, Scope

_FOREIGN = (
    "msr:read_msr", "power:cpu_idle", "skl::INST_RETIRED", "cpu/cycles/u", "perf::CYCLES:u=1",
    "io", "uncore", "gpu:x", "nosuch:::thing", "tsc",
)  # fmt: skip


class Ticks:
    """Counts its own reads."""

    name = "ticks"
    description = "how often it was read"
    how_measured = "counted"
    scope = Scope.PROCESS
    overflow = Overflow.IMPOSSIBLE

    def availability(self) -> Availability:
        return Availability(True)

    def counters(self) -> None:
        return None

    def events(self) -> list[EventInfo]:
        return [EventInfo("ticks:::reads", self.name, "reads", "", self.scope)]

    def resolve(self, name: str) -> tuple[Event, ...]:
        found = [info for info in self.events() if info.name == name]
        return tuple(Event(name, info, Domain.ALL, None) for info in found)

    def open(self, events: list[Event], target: Target) -> OpenResult:
        del target
        return OpenResult(_Reads(len(events)), tuple(events))


class _Reads:
    def __init__(self, n: int) -> None:
        self._n = n
        self._reads = 0

    def start(self, pid: int | None = None) -> None:
        del pid
        self._reads = 0

    def read(self) -> tuple[RawCount, ...]:
        self._reads += 1
        return (RawCount(self._reads, 1000 * self._reads, 1000 * self._reads),) * self._n

    def stop(self) -> tuple[RawCount, ...]:
        return self.read()

    def close(self) -> None:
        self._n = 0


def test_component_of_ones_own() -> None:
    from gnomon.counters import component_registry

    add_component(Ticks())  # type: ignore[arg-type]
    try:
        with EventSet("ticks:::reads,page-faults") as events:
            assert [events.read().raw(0) for _ in range(3)] == [1, 2, 3]
            events.reset()
            assert events.read().raw(0) == 1
        assert events.read()[0].component == "ticks"
        events.remove("page-faults")
        assert len(events.read()) == 1
        events.close()
        with pytest.raises(ComponentError, match="already"):
            add_component(Ticks())  # type: ignore[arg-type]
    finally:
        component_registry._added.clear()
    for name in ("kernel", "two words", ""):
        other = Ticks()
        other.name = name
        with pytest.raises(ComponentError):
            add_component(other)  # type: ignore[arg-type]


def test_component_that_lacks_a_part_is_refused() -> None:
    class Half:
        name = "half"

        def counters(self) -> None:
            return None

    with pytest.raises(ComponentError, match=r"it has no description, .*, open;") as caught:
        add_component(Half())  # type: ignore[arg-type]
    assert "counters, " not in str(caught.value)
    with pytest.raises(ComponentNameError, match="half"):
        EventSet("half:::events")


def test_counters_list_what_they_offer() -> None:
    import gnomon.counters

    assert set(dir(gnomon.counters)) == set(gnomon.counters.__all__)
    assert all(hasattr(gnomon.counters, name) for name in dir(gnomon.counters))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_looked_up_where_it_may_belong(name: str) -> None:
    """Components are imported for the names that may be theirs: none of theirs may be missed."""
    mine = [info.name for info in islice(component(name).events(), 2000)]
    assert [event for event in mine if not may_own(name, event)] == []
    for event in ("cycles", "page-faults", "PAPI_TOT_INS", "sched:sched_switch", "r1a8", *_FOREIGN):
        if not may_own(name, event):
            assert component(name).resolve(event) == ()


def test_components_are_all_there_in_order() -> None:
    assert tuple(one.name for one in COMPONENTS) == NAMES
