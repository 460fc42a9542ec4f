"""The events that tell where threads wait: the scheduler's switches, and who wakes threads.

Source: perf_event_open(2), `context_switch`; `PERF_COUNT_SW_CONTEXT_SWITCHES`.
"""

from __future__ import annotations

from gnomon import _core
from gnomon.counters import event_resolver
from gnomon.errors import GnomonError
from gnomon.sampling import rights
from gnomon.sampling.sampled_events import SampledEvent

YES, NO, AUTO = "yes", "no", "auto"
"""Whether waits are recorded; AUTO: where stacks may be taken, and as long as it costs little."""
STACKS_HZ = 997
"""Of threads that switch often so many waits a second get their stacks, on each CPU."""
SWITCHES_MOST = 8_000
"""A second, for AUTO: more would cost more than 2 % of a CPU."""
_SWITCHES = "context-switches"
_WAKING = "sched:sched_waking"


def switches() -> tuple[SampledEvent, SampledEvent]:
    """Return the events that tell when threads leave a CPU and return, with their stacks.

    The first has the stack of every wait, the other, which takes its place where there are too
    many, of one in N.

    Raises:
        GnomonError: the kernel has no such event.
    """
    resolution = event_resolver.resolve([_SWITCHES])
    for missing in resolution.unavailable:
        raise GnomonError(f"waits: {missing.event}: {missing.reason}; {missing.remedy}")
    rate = min(STACKS_HZ, rights.highest_rate() or STACKS_HZ)
    event = SampledEvent(resolution.events[0], 1, False, 0, tells_switches=True)
    return event, event._replace(period=rate, is_frequency=True, is_spare=True)


def without_stacks(event: SampledEvent) -> SampledEvent:
    """Return the event for users without rights: it tells of switches, and takes no samples.

    The kernel opens it for samples of user code as well, and then takes none: switches happen in
    the kernel.
    """
    (term,) = event.event.spec.terms
    bits = _core.EXCLUDE_KERNEL | _core.EXCLUDE_HYPERVISOR
    encoding = term.encoding._replace(exclude=term.encoding.exclude | bits)
    spec = event.event.spec._replace(terms=(term._replace(encoding=encoding),))
    return event._replace(event=event.event._replace(spec=spec), period=0, is_frequency=False)


def waking() -> int:
    """Return the number of the tracepoint of wake-ups; 0 where this user may not have it."""
    resolution = event_resolver.resolve([_WAKING])
    if resolution.unavailable:
        return 0
    (term,) = resolution.events[0].spec.terms
    return int(term.encoding.config)
