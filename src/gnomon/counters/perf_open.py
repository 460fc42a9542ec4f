"""Opening perf-backed events on a target: all at once, or taking turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gnomon.counters.component import Availability, Event, OpenResult, Sharing, Target
from gnomon.counters.perf_counting import PerfCounting

if TYPE_CHECKING:
    from gnomon.counters.component import ExtendableSession


def open_events(events: Sequence[Event], target: Target) -> OpenResult:
    """Open perf-backed events on a target and say of each that would not open why."""
    counting: ExtendableSession
    if target.sharing is Sharing.ROTATED:
        from gnomon.counters.multiplex import MultiplexCounting

        counting = MultiplexCounting(target)
    else:
        counting = PerfCounting(target)
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
