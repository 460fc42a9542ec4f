"""Components whose names C resolves, and opening what perf_event_open(2) counts.

Source: native/counters/event_sources.c for the names, perf_event_open(2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gnomon import _core
from gnomon.counters.component import (
    Availability,
    Event,
    EventInfo,
    OpenResult,
    Overflow,
    Sharing,
    Target,
)
from gnomon.counters.event_grammar import DOMAINS
from gnomon.counters.perf_counting import PerfSession
from gnomon.counters.perf_spec import COMPONENTS, PerfSpec, Term, flags_of
from gnomon.counters.sysfs_pmu import SYSFS, Encoding
from gnomon.model.value import Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from gnomon.counters.component import ExtendableSession

_NUMBERS = {name: number for number, name in COMPONENTS.items()}
# enum gn_overflow_kind
_OVERFLOWS = (Overflow.IMPOSSIBLE, Overflow.SLOW, Overflow.FAST)


class PerfComponent:
    """What `cpu`, `kernel` and `tsc` share: names are resolved in C, and the kernel counts."""

    name: str
    scope = Scope.THREAD

    def __init__(self, sysfs: Path | str = SYSFS, tracefs: Path | str | None = None) -> None:
        """Make the component of this machine, or of one whose sysfs or tracefs is recorded."""
        self._sysfs = sysfs
        self._tracefs = tracefs

    @property
    def overflow(self) -> Overflow:
        """How its counters can signal a threshold on this machine, found by trying."""
        return _OVERFLOWS[_core.component_overflow(_NUMBERS[self.name])]

    def events(self) -> Iterator[EventInfo]:
        """Yield every event."""
        rows = _core.list_events(_NUMBERS[self.name], self._sysfs, self._tracefs)
        for name, unit, description in rows:
            yield EventInfo(name, self.name, description, unit, self.scope)

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the events that a name means, () if it is none of this component's.

        Raises:
            EventNameError: it is plainly the component's, but wrong.
            EventUnavailableError: it exists, but not on this machine.
        """
        rows = _core.resolve_event(_NUMBERS[self.name], name, self._sysfs, self._tracefs, None)
        return tuple(map(self._event, rows))

    def _event(self, row: _core.EventRow) -> Event:
        name, native, description, unit, flags, domain, factor, encoding = row
        spec = PerfSpec((Term(1, Encoding(*encoding)),), *flags_of(flags))
        info = EventInfo(native, self.name, description, unit, self.scope)
        return Event(name, info, DOMAINS[domain], spec, factor)

    def open(self, events: Sequence[Event], target: Target) -> OpenResult:
        """Open events on a target."""
        return open_events(events, target)


def open_events(events: Sequence[Event], target: Target) -> OpenResult:
    """Open perf-backed events on a target, all at once or taking turns.

    Of each that would not open the result says why.
    """
    counting: ExtendableSession
    if target.sharing is Sharing.ROTATED:
        from gnomon.counters.multiplex import MultiplexSession

        counting = MultiplexSession(target)
    else:
        counting = PerfSession(target)
    added = counting.add(events)
    return OpenResult(counting if added.events else None, *added)


def availability(event: Event) -> Availability:
    """Return whether an event opens on the calling thread, found by trying."""
    opened = open_events([event], Target())
    if opened.counting is not None:
        opened.counting.close()
        return Availability(True)
    refused = opened.refused[0]
    return Availability(False, refused.reason, refused.remedy, refused.errno)
