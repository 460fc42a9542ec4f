"""The `kernel` component: software events and tracepoints.

Source: native/counters/software_events.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gnomon.counters.component import Availability, Event, EventInfo, OpenResult, Overflow, Target
from gnomon.counters.perf_open import availability, open_events
from gnomon.counters.perf_spec import list_by_core, resolve_by_core
from gnomon.model.value import Scope

if TYPE_CHECKING:
    from pathlib import Path


class KernelComponent:
    """Software events and tracepoints of the running kernel."""

    name = "kernel"
    description = "software events and tracepoints of the Linux kernel"
    how_measured = "counted by the kernel at the place where it happens (perf_event_open)"
    scope = Scope.THREAD
    overflow = Overflow.TIMER

    def __init__(self, tracefs: Path | str | None = None) -> None:
        """Make the component; `tracefs` is where that is, by default where it is mounted."""
        self._tracefs = tracefs

    def availability(self) -> Availability:
        """Return whether a software event opens here."""
        return availability(self.resolve("task-clock")[0])

    def counters(self) -> int | None:
        """Return None: the kernel counts as many as are asked for."""
        return None

    def events(self) -> Iterator[EventInfo]:
        """Yield the software events, then every tracepoint."""
        return list_by_core(self.name, tracefs=self._tracefs)

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the event of a software name, or those of a tracepoint name or pattern.

        Raises:
            EventNameError: the tracepoint's subsystem exists and the tracepoint does not.
            EventUnavailableError: a tracepoint, and tracefs cannot be read.
        """
        return resolve_by_core(self.name, name, tracefs=self._tracefs)

    def open(self, events: Sequence[Event], target: Target) -> OpenResult:
        """Open events on a target."""
        return open_events(events, target)


COMPONENT = KernelComponent()
