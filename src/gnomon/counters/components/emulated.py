"""The `emulated` component: counts of a program that runs on a simulated processor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gnomon.counters.component import (
    Availability,
    Event,
    EventInfo,
    OpenResult,
    Overflow,
    Refusal,
    Target,
)
from gnomon.model.value import Scope


class EmulatedComponent:
    """The emulated PMU, for machines that have none; it counts whole programs only."""

    name = "emulated"
    description = "counters of a simulated CPU, for gnomon count --pmu emulated"
    how_measured = "the program runs on a simulated CPU: slow, exact, caches and branches modelled"
    scope = Scope.PROCESS
    overflow = Overflow.IMPOSSIBLE

    def availability(self) -> Availability:
        """Return whether an engine is installed."""
        from gnomon.counters.emulation.engines import engine

        return engine().availability()

    def counters(self) -> int | None:
        """Return None: everything is counted at once."""
        return None

    def events(self) -> Iterator[EventInfo]:
        """Yield its events; with --pmu emulated they need no prefix."""
        from gnomon.counters.emulation.events import EVENTS, info

        for event in EVENTS:
            yield info(event, f"{self.name}:::{event.name}")

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the event of that name, () if it does not begin with `emulated:::`.

        Raises:
            EventNameError: it does, and there is no such event.
            EventUnavailableError: it does, and emulation cannot count it.
        """
        if not name.startswith(f"{self.name}:::"):
            return ()
        from gnomon.counters.emulation.events import event_of

        return (event_of(name),)

    def open(self, events: Sequence[Event], target: Target) -> OpenResult:
        """Refuse every event: a program must be started on the emulated PMU to be counted."""
        del target
        reason = "only a program that is run on the emulated PMU can be counted there"
        remedy = "gnomon count --pmu emulated -- program"
        return OpenResult(None, (), tuple(Refusal(event, reason, remedy) for event in events))


COMPONENT = EmulatedComponent()
