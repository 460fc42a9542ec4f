"""The events that tell where threads wait: the scheduler's switches, and who wakes threads.

Source: perf_event_open(2), `context_switch`; `PERF_COUNT_SW_CONTEXT_SWITCHES`.
"""

from __future__ import annotations

from gnomon.counters import event_resolver
from gnomon.errors import GnomonError
from gnomon.sampling import rights
from gnomon.sampling.sampled_events import (
    APART,
    IS_OF_WAITS,
    OF_KERNEL,
    OF_USER,
    ONE_IN_N,
    TELLS_SWITCHES,
    SampledEvent,
)

YES, NO, AUTO = "yes", "no", "auto"
"""Whether waits are recorded; AUTO: where stacks may be taken, and as long as it costs little."""
STACKS_HZ = 997
"""Of threads that switch often so many waits a second get their stacks, on each CPU."""
KERNEL_HZ = 199
"""As often the kernel's part of a stack is taken: it costs more than all the rest."""
SWITCHES_MOST = 5_000
"""A second, for AUTO: more would cost more than 2 % of a CPU."""
_SWITCHES = "context-switches"
_TYPE_SOFTWARE, _CONTEXT_SWITCHES = 1, 3
_WAKING = "sched:sched_waking"


def switches() -> tuple[SampledEvent, ...]:
    """Return the events that tell when threads leave a CPU and return, with their stacks.

    The first has the stack of every wait. Two take its place where there are many: of each wait the
    program's part, of some the kernel's. The last takes theirs where there are too many, with the
    whole stack of one in N.

    Raises:
        GnomonError: the kernel has no such event.
    """
    resolution = event_resolver.resolve([_SWITCHES])
    for missing in resolution.unavailable:
        raise GnomonError(f"waits: {missing.event}: {missing.reason}; {missing.remedy}")
    highest = rights.highest_rate() or STACKS_HZ
    does = TELLS_SWITCHES | IS_OF_WAITS
    event = SampledEvent(resolution.events[0], 1, False, 0, switches=does)
    some = event._replace(is_frequency=True)
    apart = IS_OF_WAITS | APART
    return (
        event,
        event._replace(switches=does | APART | OF_USER),
        some._replace(period=min(KERNEL_HZ, highest), switches=apart | OF_KERNEL),
        some._replace(period=min(STACKS_HZ, highest), switches=does | ONE_IN_N),
    )


def is_of_switches(event: SampledEvent) -> bool:
    """Whether an event is sampled that tells the same as those of waits."""
    encoding = event.event.spec.terms[0].encoding
    return (encoding.type, encoding.config) == (_TYPE_SOFTWARE, _CONTEXT_SWITCHES)


def telling(event: SampledEvent) -> SampledEvent:
    """Return an event that tells of switches, too: any event does, and none has rights to need."""
    return event._replace(switches=TELLS_SWITCHES)


def waking() -> int:
    """Return the number of the tracepoint of wake-ups; 0 where this user may not have it."""
    return event_resolver.tracepoint_number(_WAKING)
