"""The kernel's verdict: whether events count together, found by opening them.

That a group opens is not enough. The kernel checks a group while its leader is off and leaves what
is off out of its sum, so that it takes one event too many, which then never counts (Linux
kernel/events/core.c, validate_group of each PMU's driver). What counts is time: a group that is on
and whose time running stays at nought does not fit.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence

from gnomon import _core
from gnomon.counters import perf_errors
from gnomon.counters.component import Event
from gnomon.counters.perf_spec import narrowed, native_specs
from gnomon.named_tuple import NamedTuple

_HARDWARE = 0
_INSTRUCTIONS = 1
# Branches, branch misses, cache misses and references have no counter of their own anywhere.
_ANYWHERE = (4, 5, 3, 2)
_COUNTERS_MAX = 32
_TURNS = 1000


class Verdict(NamedTuple):
    """What the kernel made of events in one group.

    Attributes:
        fits: they counted at once; None where the kernel refused for another reason.
        why: in words, "" where they fit.
        errno: the kernel's error number, 0 where it took the group.
    """

    fits: bool | None
    why: str = ""
    errno: int = 0


def verdict(events: Sequence[Event]) -> Verdict:
    """Return whether the kernel counts perf-backed events at once, on the calling thread.

    Opens them as one group, lets it count for some microseconds and closes it. Other users of the
    PMU take counters away: the verdict is that of now.
    """
    if not events:
        return Verdict(True)
    specs, owners = native_specs(events, together=True)
    if len(specs) > _core.EVENTS_MAX:
        return Verdict(False, f"{len(specs)} events: one group holds {_core.EVENTS_MAX} at most")
    running, number, refused_native = _try(specs)
    if number in (errno.EACCES, errno.EPERM):
        in_user_mode = tuple(narrowed(event) or event for event in events)
        if in_user_mode != tuple(events):
            return verdict(in_user_mode)
    if number == 0:
        return (
            Verdict(True)
            if running
            else Verdict(
                False, "the kernel takes the group and never counts it: its counters do not suffice"
            )
        )
    event = events[owners[refused_native]]
    if number == errno.EINVAL and len(events) > 1 and alone(event).fits:
        return Verdict(False, f"the kernel refuses {event.name} beside the others", number)
    reason, _ = perf_errors.explain(
        number, hardware=event.spec.hardware, tracepoint=event.spec.tracepoint
    )
    return Verdict(None, f"{event.name}: {reason}", number)


def alone(event: Event) -> Verdict:
    """Return whether the kernel counts an event that has the PMU to itself."""
    return verdict((event,))


def free_counters() -> int | None:
    """Return how many counters that any event can use are free here, found by trying.

    Where only instructions can be tried, one less than there may be: they may have a counter of
    their own. None where nothing counts, for want of a PMU or of rights.
    """
    for config in _ANYWHERE:
        number = _at_once(config)
        if number:
            return number
    number = _at_once(_INSTRUCTIONS)
    return max(1, number - 1) if number else None


def _at_once(config: int) -> int:
    """Return how many of one generic event the kernel counts at once."""
    one = (_HARDWARE, config, 0, 0, 0, _core.EXCLUDE_KERNEL | _core.EXCLUDE_HYPERVISOR, 0)
    for number in range(1, _COUNTERS_MAX + 1):
        running, refused, _ = _try([one] * number)
        if refused or not running:
            return number - 1
    return _COUNTERS_MAX


def _try(specs: list[tuple[int, int, int, int, int, int, int]]) -> tuple[bool, int, int]:
    """Return whether a group counted, else the error number and the event that was refused."""
    try:
        group = _core.Group(specs, 0, -1, 0, (None,) * len(specs), _no_value)
    except _core.OpenError as error:
        return False, error.errno or errno.EINVAL, error.index
    try:
        group.start()
        for _ in range(_TURNS):
            pass
        return all(running > 0 for _, _, running in group.stop().counts()), 0, -1
    finally:
        group.close()


def _no_value(*_: object) -> None:
    """Stand in for typed values, which are not used here."""
