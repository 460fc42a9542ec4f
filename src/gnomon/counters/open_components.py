"""What is open of an event set: a counting for each component, and where its events stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gnomon.counters.component import Event, Refusal, ResettableSession, Target, is_extendable
from gnomon.counters.component_registry import note_use
from gnomon.counters.composite_counters import JoinedResettableSession, ResettingSession
from gnomon.counters.event_resolver import owner
from gnomon.counters.perf_counting import refused_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon import _core
    from gnomon.counters.component import ExtendableSession
    from gnomon.model.value import Value


class _Part:
    """One counting: the component, and at which places of the set its events are."""

    __slots__ = ("component", "counting", "grows", "places")

    def __init__(
        self, component: str, counting: ResettableSession, grows: ExtendableSession | None
    ) -> None:
        self.component = component
        self.counting = counting
        self.grows = grows
        self.places: list[int] = []


class OpenComponents:
    """The events of a set that are open on one target.

    Nothing that is open is opened again when more is added.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._parts: list[_Part] = []
        self.events: list[Event] = []
        self.notes: list[str] = []

    def add(self, events: Sequence[Event], *, strict: bool) -> tuple[Refusal, ...]:
        """Open events behind those there are; return those that would not open.

        Raises:
            EventUnavailableError: with `strict`, the first that would not; nothing was added then.
        """
        by_component: dict[str, list[Event]] = {}
        for event in events:
            by_component.setdefault(event.info.component, []).append(event)
        first = len(self.events)
        notes = len(self.notes)
        order = {event.name: at for at, event in enumerate(events)}
        opened_events: list[tuple[Event, _Part]] = []
        refused: list[Refusal] = []
        for component, asked in by_component.items():
            part, kept, not_opened = self._open(component, asked)
            refused.extend(not_opened)
            if part is not None:
                opened_events.extend((event, part) for event in kept)
        # A place of the set is found by name, so that within a part the order stays.
        for event, part in sorted(opened_events, key=lambda pair: order[pair[0].name]):
            part.places.append(len(self.events))
            self.events.append(event)
        if strict and refused:
            while len(self.events) > first:
                self.remove(len(self.events) - 1)
            del self.notes[notes:]
            raise refused_error(refused[0])
        return tuple(refused)

    def remove(self, place_index: int) -> None:
        """Close the event at that place; those behind it move up."""
        part = next(part for part in self._parts if place_index in part.places)
        if len(part.places) == 1:
            part.counting.close()
            self._parts.remove(part)
        elif part.grows is not None:
            part.grows.remove(part.places.index(place_index))
        else:
            self._reopen_without(part, place_index)
        part.places = [
            place - (place > place_index) for place in part.places if place != place_index
        ]
        for other in self._parts:
            if other is not part:
                other.places = [place - (place > place_index) for place in other.places]
        del self.events[place_index]

    def counting(self) -> ResettableSession:
        """Return all of it as one counting, in the order of the events."""
        if len(self._parts) == 1:
            return self._parts[0].counting
        return JoinedResettableSession(
            [part.counting for part in self._parts], [part.places for part in self._parts]
        )

    def group(self) -> _core.Group[Value] | None:
        """Return the one kernel group that all events are in, None if they need more."""
        if len(self._parts) != 1 or self._parts[0].grows is None:
            return None
        return self._parts[0].grows.group()

    def remarks(self) -> tuple[str, ...]:
        """Return notes on the counts so far."""
        return tuple(
            note for part in self._parts if part.grows is not None for note in part.grows.notes()
        )

    def close(self) -> None:
        """Give back every descriptor."""
        for part in self._parts:
            part.counting.close()
        self._parts = []

    def _open(
        self, component: str, events: Sequence[Event]
    ) -> tuple[_Part | None, Iterable[Event], Iterable[Refusal]]:
        for part in self._parts:
            if part.component == component and part.grows is not None:
                added = part.grows.add(events)
                self.notes.extend(added.notes)
                return part, added.events, added.refused
        note_use(component)
        opened = owner(events[0]).open(events, self._target)
        self.notes.extend(opened.notes)
        if opened.counting is None:
            return None, (), opened.refused
        grows = opened.counting if is_extendable(opened.counting) else None
        gauges = [event.info.gauge for event in opened.events]
        counting = grows or ResettingSession(opened.counting, gauges)
        part = _Part(component, counting, grows)
        self._parts.append(part)
        return part, opened.events, opened.refused

    def _reopen_without(self, part: _Part, at: int) -> None:
        rest = [self.events[place] for place in part.places if place != at]
        opened = owner(rest[0]).open(rest, self._target)
        if opened.counting is None or opened.refused:
            if opened.counting is not None:
                opened.counting.close()
            raise refused_error(opened.refused[0])
        part.counting.close()
        gauges = [event.info.gauge for event in opened.events]
        part.counting = ResettingSession(opened.counting, gauges)
