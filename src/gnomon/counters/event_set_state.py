"""What an event set is made of: its events, its options, and what is open of it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from itertools import count

from gnomon import _core
from gnomon.counters import active_sets
from gnomon.counters.component import (
    NO_COUNT,
    Event,
    Granularity,
    RawCount,
    ResettableSession,
    Sharing,
    Target,
    make_reading,
)
from gnomon.counters.event_resolver import by_another_name, resolve, twin
from gnomon.counters.event_set_options import (
    SLICE_MS,
    EventSetOptions,
    SetState,
    adapted,
    checked,
    chosen_target,
    domain_of,
)
from gnomon.counters.open_components import OpenComponents
from gnomon.errors import (
    AttachedError,
    ClosedError,
    ConflictError,
    DomainError,
    EmptySetError,
    EventUnavailableError,
    ForkedError,
    NotInSetError,
    OptionError,
    RunningError,
)
from gnomon.model.value import Domain, Unavailable, Value

Reading = _core.Reading[Value]

_numbers = count(1)


class EventSetState:
    """The events and options of an event set; `EventSet` counts with it."""

    def __init__(
        self,
        names: str | Iterable[str] = (),
        *,
        target: Target | None = None,
        strict: bool = True,
        domain: Domain | str = Domain.ALL,
        granularity: Granularity | str | None = None,
        inherit: bool | None = None,
        pinned: bool | None = None,
        exclusive: bool | None = None,
        multiplex: bool | Sharing | str | None = None,
        slice_ms: float = SLICE_MS,
        limit: int | None = None,
    ) -> None:
        self._slice_ms = slice_ms
        self._limit = limit
        chosen = chosen_target(
            target or Target(), granularity, inherit, pinned, exclusive, multiplex
        )
        self._target = checked(chosen, slice_ms, limit)
        self._domain = domain_of(domain)
        self._strict = strict
        self._number = next(_numbers)
        self._asked: tuple[Event, ...] = ()
        self._events: tuple[Event, ...] = ()
        self._unavailable: tuple[Unavailable, ...] = ()
        self._had_events = False
        self._braces = 0
        self._parts: OpenComponents | None = None
        self._counting: ResettableSession | None = None
        self._group: _core.Group[Value] | None = None
        self._notes: tuple[str, ...] = ()
        self._remarks: tuple[str, ...] = ()
        self._final: Reading | None = None
        self._running = False
        self._closed = False
        self._pid = os.getpid()
        self._place = active_sets.place(self._target)
        self._claimed: tuple[active_sets.Key, ...] = ()
        if names:
            self.add(names)

    # --- what it is ---------------------------------------------------------------------------

    @property
    def events(self) -> tuple[Event, ...]:
        """The events, in the order of a reading."""
        return self._events

    @property
    def unavailable(self) -> tuple[Unavailable, ...]:
        """Events that were asked for and cannot be counted, with reason and remedy."""
        return self._unavailable

    @property
    def options(self) -> EventSetOptions:
        """How the set counts, defaults included."""
        t = self._target
        return EventSetOptions(
            t.pid or 0, t.cpu, t.granularity, self._domain, t.inherit, t.pinned, t.exclusive,
            t.sharing, self._slice_ms, self._limit,
        )  # fmt: skip

    @property
    def state(self) -> frozenset[SetState]:
        """What the set is doing: STOPPED, RUNNING or CLOSED, and MULTIPLEXED, ATTACHED."""
        if self._closed:
            return frozenset({SetState.CLOSED})
        states = {SetState.RUNNING if self._running else SetState.STOPPED}
        if self._target.sharing is not Sharing.NONE:
            states.add(SetState.MULTIPLEXED)
        if self._is_attached:
            states.add(SetState.ATTACHED)
        return frozenset(states)

    @property
    def group(self) -> _core.Group[Value] | None:
        """The one kernel group that all events are in, None while closed or if they need more."""
        return self._group

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that belong beside the counts."""
        live = self._parts.remarks() if self._running and self._parts is not None else None
        return self._notes + (self._remarks if live is None else live)

    def index(self, name: str) -> int:
        """Return the place of an event in a reading.

        Raises:
            NotInSetError: the set has no event of that name.
        """
        return self._index(name, "PAPI_ENOEVNT")

    def __len__(self) -> int:
        return len(self._events)

    def __repr__(self) -> str:
        defaults = EventSetOptions()
        chosen = [
            f"{field}={value}"
            for field, value in zip(EventSetOptions._fields, self.options, strict=True)
            if value != getattr(defaults, field)
        ]
        how = ", ".join(chosen) or "this thread, all domains, nothing inherited"
        return f"<{self}; {', '.join(sorted(self.state))}; {how}>"

    def __str__(self) -> str:
        named = ", ".join(event.name for event in self._events) or "no events"
        return f"event set {self._number} ({named})"

    # --- its events ---------------------------------------------------------------------------

    def add(self, names: str | Iterable[str]) -> None:
        """Add the events of a list (or several) and open them; a failure leaves the set as it was.

        Raises:
            EventNameError: a name that nothing here answers to.
            EventUnavailableError: with `strict`, an event that cannot be counted here;
                ConflictError where it is in the set already, or would open without the others.
            RunningError, ClosedError, ForkedError: not now.
            DomainError, FeatureError: not with the options of this set.
        """
        self._refuse_change("events are added")
        resolved = resolve(names)
        if self._strict and resolved.unavailable:
            first = resolved.unavailable[0]
            raise EventUnavailableError(first.event, first.reason, first.remedy, first.errno)
        self.add_events(resolved.events)
        self._unavailable += resolved.unavailable

    def add_events(self, events: Iterable[Event]) -> None:
        """Add events that are resolved already (`gnomon.counters.event_resolver`).

        Raises:
            EventUnavailableError, RunningError, ClosedError, ForkedError, DomainError,
            FeatureError: as `add`.
        """
        self._refuse_change("events are added")
        asked = self._renumbered(tuple(events))
        for event in asked:
            known = twin(event, (*self._events, *self._asked))
            if known is not None:
                by = "" if known.name == event.name else f", by the name '{known.name}'"
                raise ConflictError(
                    event.name,
                    f"it is in the event set already{by}",
                    "add it once, or to another set",
                )
        if self._target.command:
            # The events of a command are opened together, shortly before it begins.
            self._events += tuple(adapted(e, self._target, self._domain) for e in asked)
            self._asked += asked
        elif asked:
            if self._parts is None and self._asked:
                self.open()
            counts = self._counts()
            n = len(self._events)
            self._open_beside(self._parts or OpenComponents(self._target), asked, self._target)
            self._keep_counts([*counts, *[NO_COUNT] * (len(self._events) - n)])
        self._had_events = self._had_events or bool(self._events)

    def remove(self, name: str) -> None:
        """Take an event out; the others keep their order.

        Raises:
            NotInSetError: the set has no event of that name.
            RunningError, ClosedError, ForkedError: not now.
        """
        self._refuse_change(f"event '{name}' is removed")
        index = self._index(name, "PAPI_EINVAL")
        counts = self._counts()
        if self._parts is not None:
            self._parts.remove(index)
        else:
            self._events = self._events[:index] + self._events[index + 1 :]
        self._asked = self._asked[:index] + self._asked[index + 1 :]
        self._renew()
        self._keep_counts(counts[:index] + counts[index + 1 :])

    def clear(self) -> None:
        """Take all events out.

        Raises:
            RunningError, ClosedError, ForkedError: not now.
        """
        self._refuse_change("its events are removed")
        self._release()
        self._asked = self._events = ()
        self._unavailable = ()
        self._notes = self._remarks = ()
        self._final = None

    def open(self) -> None:
        """Open events that are not open yet (those of a command); `start` does it by itself.

        Raises:
            EmptySetError: the set has no events.
            EventUnavailableError: with `strict`, an event that the kernel refuses.
        """
        self._refuse_dead()
        if not self._events and not self._unavailable:
            raise EmptySetError(
                f"event set {self._number} is empty: add events before it is started",
                never_had_any=not self._had_events,
            )
        if self._parts is None and self._asked:
            asked, self._asked = self._asked, ()
            try:
                self._open_beside(OpenComponents(self._target), asked, self._target)
            except BaseException:
                self._asked = asked
                raise
            if len(self._events) != len(asked):
                self._final = None

    # --- its options --------------------------------------------------------------------------

    def attach(self, pid: int | None = None, *, cpu: int = -1) -> None:
        """Count another thread or process, or all that runs on a CPU; events there are reopened.

        Args:
            pid: a thread or process; None is whatever runs on `cpu`.
            cpu: count on this CPU only.

        Raises:
            AttachedError: it is attached already.
            OptionError: neither a thread nor a CPU.
            EventUnavailableError: with `strict`, an event that cannot be counted there.
            RunningError, ClosedError, ForkedError: not now.
        """
        self._refuse_change("it is attached")
        if self._is_attached:
            raise AttachedError(f"{self} is attached already: detach it first")
        if pid is not None and pid < 1:
            raise OptionError(f"attach to pid={pid}: name a process or thread that runs")
        if pid is None and cpu < 0:
            raise OptionError("attach to what? name a pid, or a CPU from 0 on")
        there = self._target._replace(pid=-1 if pid is None else pid, cpu=cpu)
        self._retarget(there, self._slice_ms, self._limit)

    def detach(self) -> None:
        """Count the calling thread again.

        Raises:
            AttachedError: it is not attached.
            RunningError, ClosedError, ForkedError: not now.
        """
        self._refuse_change("it is detached")
        if not self._is_attached:
            raise AttachedError(f"{self} is not attached: there is nothing to detach it from")
        self._retarget(self._target._replace(pid=0, cpu=-1), self._slice_ms, self._limit)

    def multiplex(self, slice_ms: float = SLICE_MS, limit: int | None = None) -> None:
        """Let events that do not all fit take turns.

        Args:
            slice_ms: how long a turn is, 10 to 30000 ms.
            limit: at most so many native events a turn; None is as many as fit.

        Raises:
            OptionError: a slice or limit out of range, or the set is pinned or exclusive.
            RunningError, ClosedError, ForkedError: not now.
        """
        self._refuse_change("it is multiplexed")
        self._retarget(self._target._replace(sharing=Sharing.ROTATED), slice_ms, limit)

    # --- within -------------------------------------------------------------------------------

    @property
    def _is_attached(self) -> bool:
        return self._target.pid not in (0, None) or self._target.cpu >= 0

    def _index(self, name: str, papi_name: str) -> int:
        for at, event in enumerate(self._events):
            if event.name == name:
                return at
        known = by_another_name(name, self._asked)
        for at, event in enumerate(self._events):
            if known is not None and event.name == known.name:
                return at
        raise NotInSetError(f"event '{name}' is not in {self}: see its `events`", papi_name)

    def _refuse_dead(self) -> None:
        if self._closed:
            raise ClosedError(f"event set {self._number} was closed: make a new one")
        if self._parts is not None:
            self._refuse_child()

    def _refuse_child(self) -> None:
        if os.getpid() != self._pid:
            raise ForkedError(
                f"event set {self._number} was opened before a fork and belongs to the parent "
                "process: open one of its own in the child"
            )

    def _refuse_change(self, what: str) -> None:
        self._refuse_dead()
        if self._running:
            raise RunningError(f"{self} is counting: stop it before {what}")

    def _renumbered(self, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """Return events whose braces are not those of events that are there already."""
        first = self._braces
        self._braces += 1 + max((event.group or 0 for event in events), default=0)
        return tuple(
            event if event.group is None else event._replace(group=first + event.group)
            for event in events
        )

    def _open_beside(self, parts: OpenComponents, asked: Sequence[Event], target: Target) -> None:
        """Open events behind those of `parts`, and take over what is open then."""
        n = len(parts.events)
        fitted = [adapted(event, target, self._domain) for event in asked]
        try:
            refused = parts.add(fitted, strict=self._strict)
        except EventUnavailableError as error:
            self._refuse_domain(error, asked, target)
            raise
        opened = {event.name for event in parts.events[n:]}
        self._unavailable += tuple(
            Unavailable(r.event.name, r.reason, r.remedy, r.errno) for r in refused
        )
        self._asked = (*self._asked[:n], *(event for event in asked if event.name in opened))
        self._parts = parts
        self._pid = os.getpid()
        self._renew()

    def _refuse_domain(
        self, error: EventUnavailableError, asked: Sequence[Event], target: Target
    ) -> None:
        """Raise DomainError where an event was refused for the domain of the set alone."""
        event = next((e for e in asked if e.name == error.name), None)
        unfit = error.errno in (errno.EINVAL, errno.EOPNOTSUPP) and event is not None
        if self._domain is Domain.ALL or not unfit or event is None:
            return
        trial = OpenComponents(target)
        if not trial.add([event], strict=False):
            trial.close()
            raise DomainError(
                f"event '{error.name}' on PMU '{error.pmu}': it cannot be counted in domain "
                f"{self._domain} alone ({errno.errorcode[error.errno]}); leave domain= out"
            ) from None

    def _retarget(self, target: Target, slice_ms: float, limit: int | None) -> None:
        """Open the events on another target; where that fails everything stays as it was."""
        checked_target = checked(target, slice_ms, limit)
        before = self._parts
        if before is not None:
            parts = OpenComponents(checked_target)
            try:
                self._open_beside(parts, self._asked, checked_target)
            except BaseException:
                parts.close()
                raise
            before.close()
            self._final = None
        self._target, self._slice_ms, self._limit = checked_target, slice_ms, limit
        self._place = active_sets.place(checked_target)

    def _renew(self) -> None:
        if self._parts is not None:
            self._events = tuple(self._parts.events)
            self._notes = tuple(self._parts.notes)
            self._counting = self._parts.counting() if self._events else None
        self._group = None

    def _keep_counts(self, counts: Iterable[RawCount]) -> None:
        """Make the final counts of an earlier run those of the events that there are now."""
        if self._final is not None:
            self._final = self._reading(counts)

    def _counts(self) -> list[RawCount]:
        if self._final is None:
            return []
        values = (self._final[at] for at in range(len(self._final)))
        return [
            RawCount(v.raw, v.enabled_ns, v.running_ns, v.derived, v.is_missing) for v in values
        ]

    def _release(self) -> None:
        self.__dict__.pop("read", None)
        active_sets.release(self._claimed)
        self._claimed = ()
        if self._parts is not None:
            self._parts.close()
        self._parts = None
        self._counting = None
        self._group = None
        self._running = False

    def _reading(self, counts: Iterable[RawCount]) -> Reading:
        return make_reading(self._events, counts)
