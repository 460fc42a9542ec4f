"""The events that are sampled: their names as the user gave them, as the kernel opens them."""

from __future__ import annotations

from collections.abc import Iterable

from gnomon import _core
from gnomon.counters import event_resolver
from gnomon.counters.component import Event
from gnomon.counters.perf_spec import PerfSpec, narrowed
from gnomon.errors import GnomonError, UsageError
from gnomon.named_tuple import NamedTuple
from gnomon.sampling import rights

CLOCK = "cpu-clock"
UNSEEN_KERNEL = "[kernel] (not sampled)"
"""The region that stands for CPU time in the kernel where no samples may be taken of it."""
_MOST = 64
_TYPE_SOFTWARE = 1
# PERF_COUNT_SW_CPU_CLOCK and TASK_CLOCK.
_CLOCKS = (0, 1)
_PERIOD_NS_LEAST = 10_000


class SampledEvent(NamedTuple):
    """An event that is sampled.

    Attributes:
        event: as resolved.
        period: a sample every so many; with `is_frequency` samples per second.
        is_frequency: whether it is.
        counts_more: it is a clock that counts the kernel's time, too, and is not sampled there.
    """

    event: Event
    period: int
    is_frequency: bool
    counts_more: bool = False

    @property
    def is_clock(self) -> bool:
        """Whether it is a clock of CPU time, in nanoseconds."""
        encoding = self.event.spec.terms[0].encoding
        return encoding.type == _TYPE_SOFTWARE and encoding.config in _CLOCKS

    @property
    def is_user_only(self) -> bool:
        """Whether it leaves the kernel out."""
        return self.event.domain == "user"

    def narrowed(self) -> SampledEvent | None:
        """Return the event of user mode alone, None where that would not be it."""
        event = narrowed(self.event)
        if event is None:
            return None
        narrower = self._replace(event=event, counts_more=self.is_clock)
        return narrower.of_user_code()

    def of_user_code(self) -> SampledEvent:
        """Return it with its domain: a clock counts every mode, and is not sampled in each."""
        return self._replace(event=self.event._replace(domain=type(self.event.domain).USER))


class SampledEvents(NamedTuple):
    """What is sampled, and sentences that belong beside it."""

    events: tuple[SampledEvent, ...]
    notes: tuple[str, ...] = ()


def choose(lists: Iterable[str], rate_hz: int, period: int | None) -> SampledEvents:
    """Return the events of event lists, by frequency or, if one is given, by period.

    Tracepoints are sampled each time, unless there is a period.

    Raises:
        UsageError: a name or list is malformed, or nothing that can be sampled.
        GnomonError: an event is not available here.
    """
    names = list(lists) or [CLOCK]
    resolution = event_resolver.resolve(names)
    for missing in resolution.unavailable:
        raise GnomonError(f"{missing.event}: {missing.reason}; {missing.remedy}")
    if len(resolution.events) > _MOST:
        raise UsageError(f"{len(resolution.events)} events: {_MOST} can be sampled at once")
    notes = list(resolution.notes)
    rate = _granted(rate_hz, notes) if period is None else rate_hz
    events = []
    for event in resolution.events:
        spec = _spec(event)
        if period is not None:
            sampled = SampledEvent(event, period, False)
        else:
            sampled = SampledEvent(event, 1 if spec.tracepoint else rate, not spec.tracepoint)
        if sampled.is_clock and spec.terms[0].encoding.exclude & _core.EXCLUDE_KERNEL:
            sampled = sampled.of_user_code()
        if sampled.is_clock and not sampled.is_frequency and period < _PERIOD_NS_LEAST:  # type: ignore[operator]
            raise UsageError(
                f"a period of {period} ns of {event.name}: the kernel takes no sample more often "
                f"than every {_PERIOD_NS_LEAST} ns"
            )
        events.append(sampled)
    return SampledEvents(tuple(events), tuple(notes))


def _granted(rate_hz: int, notes: list[str]) -> int:
    """Return a rate, or the highest that the kernel takes."""
    highest = rights.highest_rate()
    if highest is None or rate_hz <= highest:
        return rate_hz
    notes.append(
        f"samples: {highest} a second instead of {rate_hz}: kernel.perf_event_max_sample_rate"
    )
    return highest


def _spec(event: Event) -> PerfSpec:
    spec = event.spec
    if not isinstance(spec, PerfSpec):
        raise UsageError(f"{event.name}: it is read and never overflows, so it cannot be sampled")
    if not spec.is_native:
        raise UsageError(
            f"{event.name}: it is made of several counters; sample one of these (see gnomon "
            f"events {event.name})"
        )
    return spec
