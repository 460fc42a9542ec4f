"""The `tsc` component: the processor's time counter, and the kernel's `msr` PMU over it.

Source: Intel SDM vol. 3, 18.17 (invariant TSC); native/counters/tsc.c for the msr PMU.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from gnomon import _core
from gnomon.counters.component import (
    Availability,
    CounterSession,
    Event,
    EventInfo,
    OpenResult,
    RawCount,
    Target,
)
from gnomon.counters.composite_counters import JoinedSession
from gnomon.counters.perf_component import PerfComponent
from gnomon.counters.perf_spec import PerfSpec
from gnomon.counters.procfs import read_line
from gnomon.errors import EventNameError
from gnomon.model.value import Domain, Scope

_PREFIX = "tsc:::"
_REMEDY = "none is needed: times come from the kernel's clock instead"
_OWN = {
    "cycles": "ticks of the time counter, which runs at one rate always (real cycles)",
}


class TscComponent(PerfComponent):
    """The time counter as an event, and the model-specific registers that the kernel shows."""

    name = "tsc"
    description = "the processor's time counter and the kernel's msr PMU"
    how_measured = "read from the time counter (rdtsc, cntvct); msr events counted by the kernel"

    def availability(self) -> Availability:
        """Return whether the processor has a time counter of constant rate."""
        source, _ = _core.clock_info()
        if source != "vdso":
            return Availability(True)
        return Availability(False, self._why_not(), _REMEDY)

    def _why_not(self) -> str:
        if not _core.CLOCK_COUNTER:
            return "Gnomon reads no time counter on this architecture"
        if os.environ.get("GNOMON_CLOCK") == "vdso":
            return "GNOMON_CLOCK=vdso in the environment keeps the time counter out of use"
        folder = Path(self._sysfs) / "devices/system/clocksource/clocksource0"
        if _core.CLOCK_COUNTER == "tsc":
            sources = read_line(folder / "available_clocksource").split()
            if sources and "tsc" not in sources:
                return f"the kernel does not trust the TSC: it keeps time by {', '.join(sources)}"
        return "the processor's time counter does not run at one rate always"

    def counters(self) -> int | None:
        """Return None: there is no limit."""
        return None

    def events(self) -> Iterator[EventInfo]:
        """Yield the time counter, then the events of the msr PMU."""
        for key in _OWN:
            yield _own_info(key)
        yield from super().events()

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the event of `tsc:::cycles` or of `msr/.../`.

        Raises:
            EventNameError: another `tsc:::` name, or a parameter that the msr PMU lacks.
        """
        if name.startswith(_PREFIX):
            key = name.removeprefix(_PREFIX)
            if key not in _OWN:
                known = tuple(_PREFIX + k for k in _OWN)
                raise EventNameError(name, "component tsc has no such event", known)
            return (Event(name, _own_info(key), Domain.ALL, key),)
        return super().resolve(name)

    def open(self, events: Sequence[Event], target: Target) -> OpenResult:
        """Open events on a target."""
        own = [e for e in events if not isinstance(e.spec, PerfSpec)]
        perf = super().open([e for e in events if isinstance(e.spec, PerfSpec)], target)
        kept = [*own, *perf.events]
        parts: list[CounterSession] = []
        places: list[range] = []
        if own:
            parts.append(TickSession(len(own)))
            places.append(range(len(own)))
        if perf.counting is not None:
            parts.append(perf.counting)
            places.append(range(len(own), len(kept)))
        if not parts:
            return OpenResult(None, (), perf.refused, perf.notes)
        counting = parts[0] if len(parts) == 1 else JoinedSession(parts, places)
        return OpenResult(counting, tuple(kept), perf.refused, perf.notes)


COMPONENT = TscComponent()


class TickSession:
    """The time counter since the start; meets `component.CounterSession`."""

    def __init__(self, n: int) -> None:
        self._n = n
        # Until its clock is calibrated the core counts nanoseconds for ticks.
        _core.clock_info()
        self._ticks = self._ns = 0
        self._final: tuple[RawCount, ...] | None = None

    def start(self, pid: int | None = None) -> None:  # noqa: ARG002
        """Begin at zero."""
        self._final = None
        self._ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        self._ticks = _core.clock_ticks()

    def read(self) -> tuple[RawCount, ...]:
        """Return the ticks since the start, or until the stop."""
        if self._final is not None:
            return self._final
        ticks = _core.clock_ticks() - self._ticks
        ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - self._ns
        return (RawCount(ticks, ns, ns),) * self._n

    def stop(self) -> tuple[RawCount, ...]:
        """Return the ticks since the start."""
        self._final = self.read()
        return self._final

    def close(self) -> None:
        """Nothing is held."""


def _own_info(key: str) -> EventInfo:
    return EventInfo(_PREFIX + key, "tsc", _OWN[key], "", Scope.NODE)
