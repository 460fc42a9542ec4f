"""Event sets: add events of any component, start, read, stop."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from types import TracebackType

from gnomon import _core
from gnomon.counters.component import Counting, Event, RawCount, Refusal, Target, make_reading
from gnomon.counters.join import JoinedCounting
from gnomon.counters.perf import PerfCounting
from gnomon.counters.resolve import owner, resolve
from gnomon.errors import EventSetError, EventUnavailableError, NotRunningError, RunningError
from gnomon.model.value import Unavailable, Value

Reading = _core.Reading[Value]


class EventSet:
    """Events that are counted together.

        with EventSet("task-clock,page-faults") as events:
            work()
            print(events.read()[0].value)

    Args:
        names: an event list, or several.
        target: what to count; by default the calling thread.
        strict: raise EventUnavailableError for an event that cannot be counted here; otherwise
            it is left out and listed in `unavailable`.

    Attributes:
        read: returns the counts since the start as a Reading: `reading[i]` is the Value of
            `events[i]`. One system call at most when all events are in one kernel group (those
            of one perf-backed component on one thread); after a stop it returns the final counts.
    """

    read: Callable[[], Reading]

    def __init__(
        self,
        names: str | Iterable[str] = (),
        *,
        target: Target | None = None,
        strict: bool = True,
    ) -> None:
        self._target = target or Target()
        self._strict = strict
        self._events: tuple[Event, ...] = ()
        self._unavailable: tuple[Unavailable, ...] = ()
        self._notes: tuple[str, ...] = ()
        self._counting: Counting | None = None
        self._group: _core.Group[Value] | None = None
        self._running = False
        self._pid = 0
        self.read = self._never_started
        if names:
            self.add(names)

    @property
    def events(self) -> tuple[Event, ...]:
        """The events, in the order of a reading."""
        return self._events

    @property
    def unavailable(self) -> tuple[Unavailable, ...]:
        """Events that were asked for and cannot be counted, with reason and remedy."""
        return self._unavailable

    @property
    def group(self) -> _core.Group[Value] | None:
        """The one kernel group that all events are in, None while closed or if they need more."""
        return self._group

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that belong beside the counts."""
        return self._notes

    def add(self, names: str | Iterable[str]) -> None:
        """Add the events of a list (or several); one that is there already stays as it is.

        Raises:
            EventNameError: a name that nothing here answers to.
            EventUnavailableError: with `strict`, an event that this machine cannot count.
            RunningError: the set is counting.
        """
        if self._running:
            raise RunningError("the event set is counting: stop it before adding events")
        found = resolve(names)
        if self._strict and found.unavailable:
            first = found.unavailable[0]
            raise EventUnavailableError(first.event, first.reason, first.remedy, first.errno)
        self.add_events(found.events)
        self._unavailable += found.unavailable

    def add_events(self, events: Iterable[Event]) -> None:
        """Add events that are resolved already (`gnomon.counters.resolve`).

        Raises:
            RunningError: the set is counting.
        """
        if self._running:
            raise RunningError("the event set is counting: stop it before adding events")
        known = {event.name for event in self._events}
        self.close()
        self._events += tuple(event for event in events if event.name not in known)

    def open(self) -> None:
        """Open the events without starting them; `start` does it by itself.

        Raises:
            EventSetError: the set has no events.
            EventUnavailableError: with `strict`, an event that the kernel refuses.
        """
        if self._counting is not None:
            return
        if not self._events and not self._unavailable:
            raise EventSetError("the event set is empty: add events before it is started")
        by_component: dict[str, list[int]] = {}
        for at, event in enumerate(self._events):
            by_component.setdefault(event.info.component, []).append(at)
        parts: list[Counting] = []
        kept: list[tuple[int, Event]] = []
        sizes: list[list[int]] = []
        for places in by_component.values():
            events = [self._events[at] for at in places]
            opened = owner(events[0]).open(events, self._target)
            self._notes += opened.notes
            if opened.counting is not None:
                parts.append(opened.counting)
            self._refuse(opened.refused, parts)
            if opened.counting is None:
                continue
            place = {self._events[at].name: at for at in places}
            sizes.append([place[event.name] for event in opened.events])
            kept.extend((place[event.name], event) for event in opened.events)
        if not parts:
            self._events = ()
            return
        order = {at: rank for rank, at in enumerate(sorted(at for at, _ in kept))}
        self._events = tuple(event for _, event in sorted(kept, key=lambda pair: pair[0]))
        self._counting = JoinedCounting(parts, [[order[at] for at in size] for size in sizes])
        if len(parts) == 1 and isinstance(parts[0], PerfCounting):
            self._counting = parts[0]
            self._group = parts[0].group()

    def start(self, pid: int | None = None) -> None:
        """Begin counting at zero.

        Args:
            pid: the process just spawned, where the target is a command.

        Raises:
            RunningError: it is counting already.
            EventSetError, EventUnavailableError: as `open`.
        """
        if self._running:
            raise RunningError("the event set is counting already")
        self.open()
        self._pid = os.getpid()
        self._running = True
        if self._counting is not None:
            self._counting.start(pid)
        self.read = self._group.read if self._group is not None else self._read_joined

    def stop(self) -> Reading:
        """Stop counting and return the final counts.

        Raises:
            NotRunningError: it is not counting.
        """
        if not self._running:
            raise NotRunningError("the event set is not counting: start it first")
        self._running = False
        if self._group is not None:
            final = self._group.stop()
        else:
            final = self._reading(self._counting.stop() if self._counting is not None else ())
        self.read = lambda: final
        return final

    def close(self) -> None:
        """Give back every descriptor; the set can be started anew."""
        if self._counting is not None:
            self._counting.close()
        self._counting = None
        self._group = None
        self._running = False
        self.read = self._never_started

    def __enter__(self) -> EventSet:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._running and os.getpid() != self._pid:
            # A child leaves the block in which its parent still counts.
            self.close()
            return
        if self._running:
            self.stop()
        final = self.read
        self.close()
        self.read = final

    def __len__(self) -> int:
        return len(self._events)

    def _refuse(self, refused: Iterable[Refusal], opened: list[Counting]) -> None:
        for one in refused:
            if self._strict:
                for part in opened:
                    part.close()
                raise EventUnavailableError(one.event.name, one.reason, one.remedy, one.errno)
            self._unavailable += (Unavailable(one.event.name, one.reason, one.remedy, one.errno),)

    def _never_started(self) -> Reading:
        raise NotRunningError("the event set was never started: call start() before read()")

    def _read_joined(self) -> Reading:
        return self._reading(self._counting.read() if self._counting is not None else ())

    def _reading(self, counts: Iterable[RawCount]) -> Reading:
        return make_reading(self._events, counts)
