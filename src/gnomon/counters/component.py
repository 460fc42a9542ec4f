"""What a counter component is: the Protocol that each file in `components/` meets.

A component owns a family of events that come from one source (core PMUs, the kernel, /proc, ...).
It says whether that source is usable here, lists its events, resolves a typed name to an event,
and opens events on a target. Everything above (event sets, `gnomon count`) works through this
Protocol only, so a new source is one file and one line in `components/__init__.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from gnomon import _core
from gnomon.model.value import Domain, How, Scope, Value
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol, TypeGuard
else:
    Protocol = object  # the classes below only describe, and `typing` is slow to import


class Overflow(StrEnum):
    """How a component can tell that a counter passed a threshold."""

    FAST = "fast"
    """When it happens: by an interrupt of the counter, or by the kernel that counts."""
    SLOW = "slow"
    """A timer looks at the count: up to 10 ms of CPU time later."""
    IMPOSSIBLE = "impossible"
    """Nothing tells."""


class Availability(NamedTuple):
    """Whether a component works here; if not: the errno, the cause and the remedy."""

    available: bool
    reason: str = ""
    remedy: str = ""
    errno: int = 0


class EventInfo(NamedTuple):
    """A row of `gnomon events`: one event that a component knows, available or not."""

    name: str
    component: str
    description: str
    unit: str
    scope: Scope
    how: How = How.COUNTED
    gauge: bool = False


class Event(NamedTuple):
    """A resolved event: what the user typed, and what its component needs to open it.

    Attributes:
        name: as the user typed it.
        info: the component's description of it.
        domain: privilege levels that will be counted.
        spec: the component's own encoding (`PerfSpec` for perf-backed ones, a key otherwise).
        unit_factor: multiplies a raw count into `info.unit`.
        group: number of the brace group `{a,b}` it was typed in; events of one group are
            always on the PMU together. None outside braces.
        is_derived: its value comes from a formula over several counts, not from one.
    """

    name: str
    info: EventInfo
    domain: Domain
    spec: Any
    unit_factor: float = 1
    group: int | None = None
    is_derived: bool = False


def make_value(
    event: Event,
    raw: int,
    enabled_ns: int,
    running_ns: int,
    derived: float | None = None,
    is_missing: bool = False,
) -> Value:
    """Return the typed value of an event's raw count, or of its formula's result."""
    how = event.info.how
    if how is How.COUNTED and running_ns != enabled_ns:
        how = How.SCALED
    return Value(
        event.name,
        event.info.component,
        raw,
        enabled_ns,
        running_ns,
        event.info.unit,
        event.unit_factor,
        event.domain,
        event.info.scope,
        how,
        derived,
        event.is_derived,
        is_missing,
    )


class Granularity(StrEnum):
    """What a count covers at its coarsest."""

    THREAD = "thread"
    PROCESS = "process"
    PROCESS_GROUP = "process-group"
    CPU = "cpu"
    SYSTEM = "system"


class Sharing(StrEnum):
    """What happens to events of which there are more than counters."""

    NONE = "none"
    """What does not fit is refused."""
    ROTATED = "rotated"
    """Groups of our own forming take turns of `Target.slice_ns`."""
    KERNEL = "kernel"
    """Events are independent, and the kernel rotates them at its own interval."""


class Target(NamedTuple):
    """What an event set counts, and how its events are opened there.

    Attributes:
        pid: process or thread to count; 0 is the calling thread; -1 is whatever runs on `cpu`; None
            while a command's process does not exist yet.
        cpu: count on this CPU only; -1 is wherever the target runs.
        inherit: threads and processes created later are counted too.
        command: counting begins when the next program is executed by a child of the calling
            thread (`gnomon count -- program`).
        cgroup: descriptor of the folder of a cgroup, whose processes are counted on `cpu` in place
            of `pid`; -1 for none.
        granularity: how much around `pid` is counted.
        pinned: the events are on the counters always, or counting ends with an error.
        exclusive: no other events are on the PMU while these are.
        sharing: what happens when they do not all fit.
        slice_ns: how long a turn is, in nanoseconds; 0 unless `sharing` is ROTATED.
        limit: at most so many events a turn; 0 is as many as fit.
    """

    pid: int | None = 0
    cpu: int = -1
    inherit: bool = False
    command: bool = False
    granularity: Granularity = Granularity.THREAD
    pinned: bool = False
    exclusive: bool = False
    sharing: Sharing = Sharing.NONE
    slice_ns: int = 0
    limit: int = 0
    cgroup: int = -1


class RawCount(NamedTuple):
    """What one event's counter read.

    Attributes:
        raw: the count; 0 where the event is derived.
        enabled_ns, running_ns: the two times of perf_event_open(2).
        derived: the formula's result of a derived event; None where it has no value.
        is_missing: nothing was there to count it (`Value.is_missing`).
    """

    raw: int
    enabled_ns: int
    running_ns: int
    derived: float | None = None
    is_missing: bool = False


NO_COUNT = RawCount(0, 0, 0, is_missing=True)
"""That of an event which nothing was there to count."""


def make_reading(events: Sequence[Event], counts: Iterable[RawCount]) -> _core.Reading[Value]:
    """Return a reading of counts that did not come from one kernel group as they are.

    Args:
        events: what was counted.
        counts: the count of each, in their order.
    """
    shown: list[tuple[Event, float | None, bool]] = []
    triples: list[tuple[int, int, int]] = []
    for event, count in zip(events, counts, strict=True):
        shown.append((event, count.derived, count.is_missing))
        triples.append(count[:3])
    return _core.reading(tuple(shown), _value_of, tuple(triples))


def _value_of(
    shown: tuple[Event, float | None, bool], raw: int, enabled_ns: int, running_ns: int
) -> Value:
    return make_value(shown[0], raw, enabled_ns, running_ns, shown[1], shown[2])


class CounterSession(Protocol):
    """Events of one component, opened on one target."""

    def start(self, pid: int | None = None) -> None:
        """Begin at zero. `pid` is the process just spawned when the target is a command."""

    def read(self) -> Sequence[RawCount]:
        """Return the counts since `start`, in the order of the events."""

    def stop(self) -> Sequence[RawCount]:
        """Stop counting and return the final counts, in the order of the events."""

    def close(self) -> None:
        """Give back every descriptor."""


class ResettableSession(CounterSession, Protocol):
    """A counting whose zero can be moved while it counts."""

    def take(self) -> Sequence[RawCount]:
        """Return the counts since the start, or the last of these calls, and go on from zero."""


class ExtendableSession(ResettableSession, Protocol):
    """A counting that takes further events, and gives some up, while it is stopped."""

    def add(self, events: Sequence[Event]) -> AddResult:
        """Open more events; none that is open already is touched."""

    def remove(self, at: int) -> None:
        """Close the event at that place; those behind it move up."""

    def group(self) -> _core.Group[Value] | None:
        """Return the one kernel group whose reading is this counting's, None if it takes more."""

    def notes(self) -> tuple[str, ...]:
        """Return notes on the counts so far."""


def is_extendable(session: CounterSession | None) -> TypeGuard[ExtendableSession]:
    """Return whether a session is an `ExtendableSession`: it has what that has."""
    return hasattr(session, "add") and hasattr(session, "remove")


class Refusal(NamedTuple):
    """Why one event of a set could not be opened.

    Attributes:
        event: the event.
        reason: why, in words.
        remedy: what to do about it.
        errno: the kernel's error number, 0 where none was involved.
        pmu: the kernel's name of the PMU that was asked, "" where none was.
        conflict: alone it would have opened.
    """

    event: Event
    reason: str
    remedy: str
    errno: int = 0
    pmu: str = ""
    conflict: bool = False


class AddResult(NamedTuple):
    """The result of adding events to an `ExtendableSession`; fields as in `OpenResult`."""

    events: tuple[Event, ...]
    refused: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()


class OpenResult(NamedTuple):
    """The result of opening events: a counting of those that opened, and the refusals.

    Attributes:
        counting: counts `events`, None if none opened.
        events: those that opened, as they opened (a domain may have become narrower than asked
            where the kernel allows no more; `notes` then says so).
        refused: the others.
        notes: sentences for the user.
    """

    counting: CounterSession | None
    events: tuple[Event, ...]
    refused: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()


class Component(Protocol):
    """A source of events.

    Attributes:
        name: one word; the prefix in `name:::event`.
        description: one line for `gnomon components`.
        how_measured: how its values are obtained, one line.
        scope: what a count of it covers at the finest.
        overflow: how its counters can signal a threshold.
    """

    name: str
    description: str
    how_measured: str
    scope: Scope
    overflow: Overflow

    def availability(self) -> Availability:
        """Return whether the component works here, found by trying, not by guessing."""

    def counters(self) -> int | None:
        """Return how many events count at once; None where there is no limit."""

    def events(self) -> Iterator[EventInfo]:
        """Yield every event of this component on this machine (may be long: be lazy)."""

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the event(s) that a typed name means here, () if it is not this component's.

        More than one where a logical event has one count per core PMU (hybrid CPUs).
        Raises EventNameError for a name that is plainly this component's, but wrong.
        """

    def open(self, events: Sequence[Event], target: Target) -> OpenResult:
        """Open events on a target; never raises for an event that the kernel refuses."""


# The names by which components outside of Gnomon import them.
Counting, Resettable, Growing = CounterSession, ResettableSession, ExtendableSession
Added, Opened = AddResult, OpenResult
