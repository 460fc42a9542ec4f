"""A measured number that never travels without where it came from."""

from __future__ import annotations

from enum import StrEnum

from gnomon.named_tuple import NamedTuple


class How(StrEnum):
    """How a number was obtained; shown beside it on every screen."""

    COUNTED = "counted"
    SCALED = "scaled"
    SAMPLED = "sampled"
    EMULATED = "emulated"
    MODELLED = "modelled"
    ESTIMATED = "estimated"


class Scope(StrEnum):
    """What a number covers."""

    THREAD = "thread"
    PROCESS = "process"
    CPU = "cpu"
    NODE = "node"


class Domain(StrEnum):
    """The privilege levels that a counter counts in."""

    ALL = "all"
    USER = "user"
    KERNEL = "kernel"
    HYPERVISOR = "hypervisor"
    USER_KERNEL = "user+kernel"


class Value(NamedTuple):
    """One event's count.

    Attributes:
        event: the event's name as the user gave it.
        component: the component that counted it.
        raw: what the counter read, unscaled.
        enabled_ns: nanoseconds for which the event was meant to count.
        running_ns: nanoseconds for which it really did (less under multiplexing).
        unit: unit of `value`.
        unit_factor: multiplies a raw count into `unit` (1 for plain counts).
        domain: privilege levels counted.
        scope: what the count covers.
        how: how the number was obtained.
        derived: the result of the event's formula, for events that are not one count or a sum of
            counts; None where it has no value, as after a division by zero.
        is_derived: the value is that of a formula; `raw` then is 0 and says nothing.
        is_missing: nothing was there to count it: it was added since the last run, or what it
            counts had ended before.

    `value` is None where the event was enabled but never got a counter, and where it is missing:
    nothing is invented.
    Source: perf_event_open(2), PERF_FORMAT_TOTAL_TIME_RUNNING.
    """

    event: str
    component: str
    raw: int
    enabled_ns: int
    running_ns: int
    unit: str
    unit_factor: float
    domain: Domain
    scope: Scope
    how: How
    derived: float | None = None
    is_derived: bool = False
    is_missing: bool = False

    def __str__(self) -> str:
        """Return the event, its value with the unit, and how it was obtained, for display."""
        value = self.value
        if value is None:
            return f"{self.event} not measured"
        number = str(value) if isinstance(value, int) else f"{value:.10g}"
        return " ".join(word for word in (self.event, number, self.unit, self.how.value) if word)

    @property
    def scale(self) -> float | None:
        """Factor that multiplexing asks for (enabled / running); None if it never ran."""
        if self.is_missing:
            return None
        if self.running_ns == self.enabled_ns:
            return 1.0
        return self.enabled_ns / self.running_ns if self.running_ns else None

    @property
    def fraction(self) -> float | None:
        """Share of the time for which it counted, 1 unless multiplexed; None if never enabled."""
        return self.running_ns / self.enabled_ns if self.enabled_ns else None

    @property
    def value(self) -> int | float | None:
        """The count in `unit`, scaled for multiplexing; None where nothing was measured.

        That of a formula is its exact result: neither rounded nor cut off at zero.
        """
        if self.is_missing:
            return None
        if self.is_derived:
            return None if self.derived is None else self.derived * self.unit_factor
        scale = self.scale
        if scale is None:
            return None
        if scale == 1.0 and self.unit_factor == 1:
            return self.raw
        return self.raw * scale * self.unit_factor

    @property
    def is_negative(self) -> bool:
        """Whether the value is below zero, as a difference of counts can be."""
        value = self.value
        return value is not None and value < 0

    @property
    def is_watch(self) -> bool:
        """Whether it is a clock of whole CPUs: the time they were watched, busy or idle.

        The kernel's clocks run as long as their event is on a CPU. With the event of a thread or of
        a cgroup that is CPU time; an event of whatever runs is never off.
        Source: kernel/events/core.c, task_clock_event_update and cpu_clock_event_update.
        """
        return self.scope is Scope.NODE and self.component == "kernel" and self.unit == "ns"


class Unavailable(NamedTuple):
    """An event that was asked for and could not be counted, why, and what to do."""

    event: str
    reason: str
    remedy: str
    errno: int = 0
