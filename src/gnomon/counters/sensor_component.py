"""A component whose events are sensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gnomon.counters.component import (
    Availability,
    Event,
    EventInfo,
    OpenResult,
    Overflow,
    Refusal,
    Target,
)
from gnomon.counters.sensor_counters import SensorSession
from gnomon.counters.sensors import Sensor, fields_of
from gnomon.counters.snapshot_component import PROC, SYSFS, Problem
from gnomon.model.value import Domain, How, Scope


class SensorComponent(ABC):
    """A component whose events are sensors: says which there are and reads their fields."""

    name: str
    description: str
    how_measured: str
    scope = Scope.NODE
    overflow = Overflow.IMPOSSIBLE

    def __init__(self, proc: Path | str = PROC, sys: Path | str = SYSFS) -> None:
        """Read from `proc` and `sys`, which are /proc and /sys but for recorded trees."""
        self.proc = Path(proc)
        self.sys = Path(sys)

    @abstractmethod
    def sensors(self) -> Iterator[Sensor]:
        """Yield every sensor here."""

    @abstractmethod
    def read(self, fields: Sequence[str]) -> Mapping[str, int]:
        """Return the present numbers of fields, without those that cannot be read now."""

    @abstractmethod
    def problem(self, field: str) -> Problem:
        """Return why a field cannot be read."""

    @abstractmethod
    def availability(self) -> Availability:
        """Return whether any sensor can be read here, else why none can."""

    def ranges(self, fields: Sequence[str]) -> Mapping[str, int]:  # noqa: ARG002
        """Return at which number each field that wraps around starts again at 0."""
        return {}

    def counters(self) -> int | None:
        """Return None: reading one sensor more takes none away from another."""
        return None

    def events(self) -> Iterator[EventInfo]:
        """Yield every event of this component here."""
        for sensor in self.sensors():
            yield sensor.info

    def open_sensors(self, events: Sequence[Event], target: Target) -> OpenResult:
        """Open events whose spec is a `Sensor`; those that cannot be read now are refused."""
        sensors = [event.spec for event in events]
        now = self.read(fields_of(sensors)) if sensors else {}
        missing = {
            event.name: next((f for f in event.spec.fields if f not in now), None)
            for event in events
        }
        refused = tuple(
            Refusal(event, *self.problem(field))
            for event in events
            if (field := missing[event.name]) is not None
        )
        opened = tuple(e for e in events if missing[e.name] is None)
        if not opened:
            return OpenResult(None, (), refused)
        kept = [event.spec for event in opened]
        counting = SensorSession(kept, self.read, self.ranges(fields_of(kept)), target.command)
        if target.command:
            opened = tuple(_as_sampled(event) for event in opened)
        return OpenResult(counting, opened, refused, _notes(opened))


def event_of(name: str, sensor: Sensor) -> Event:
    """Return the event of a sensor under the name that was typed."""
    return Event(name, sensor.info, Domain.ALL, sensor, sensor.factor)


def _as_sampled(event: Event) -> Event:
    if not event.info.gauge:
        return event
    return event._replace(info=event.info._replace(how=How.SAMPLED))


def _notes(events: Sequence[Event]) -> tuple[str, ...]:
    sampled = [event for event in events if event.info.how is How.SAMPLED]
    notes = []
    for peak, text in ((False, "the mean of"), (True, "the highest of")):
        names = ", ".join(event.name for event in sampled if event.spec.peak is peak)
        if names:
            notes.append(f"{names}: {text} samples taken while the program ran")
    return tuple(notes)
