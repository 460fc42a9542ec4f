"""Event sets: add events of any component, start, read, stop."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType

from gnomon import _core
from gnomon.counters import active_sets
from gnomon.counters.component import NO_COUNT, Event, RawCount
from gnomon.counters.event_set_overflow import EventSetOverflow
from gnomon.counters.event_set_state import Reading
from gnomon.errors import EventSetError, NotRunningError, RunningError, WriteError
from gnomon.model.value import How, Value

__all__ = ["EventSet", "Reading"]


class EventSet(EventSetOverflow):
    """Events that are counted together.

        with EventSet("task-clock,page-faults") as events:
            work()
            print(events.read()[0].value)

    A set that was closed is dead; one that its `with` block has ended can be started again. At any
    time one set at most counts events of one component on one thread, or on one CPU.

    Args:
        names: an event list, or several.
        target: what to count; by default the calling thread. The options below come on top.
        strict: raise EventUnavailableError for an event that cannot be counted here; otherwise
            it is left out and listed in `unavailable`.
        domain: privilege levels (`user`, `kernel`, `hypervisor`, `user+kernel`, `all`) for events
            whose name does not say; `all` by default.
        granularity: `thread` (the default), `process` (all its threads), `process-group`, `cpu`
            (all that runs on the CPU of the target) or `system`.
        inherit: threads and processes created later are counted too.
        pinned: the events are on the counters always, or reading raises CountersLostError.
        exclusive: no other events are on the PMU meanwhile.
        multiplex: True lets events that do not all fit take turns; "kernel" leaves that to the
            kernel, at its own interval; False, the default, refuses what does not fit.
        slice_ms: how long a turn is, 10 to 30000 ms.
        limit: at most so many native events a turn.

    Raises:
        EventNameError: a name that nothing here answers to.
        EventUnavailableError: with `strict`, an event that cannot be counted here; its subclasses
            say why.
        OptionError, DomainError, FeatureError: an option makes no sense, or not for that event.
    """

    def start(self, pid: int | None = None) -> None:
        """Begin counting at zero.

        Args:
            pid: the process just spawned, where the target is a command.

        Raises:
            RunningError: it counts already, or another set of this thread, or of a process or
                CPUs that overlap with what this set counts, counts events of one of its components.
            EmptySetError, EventUnavailableError: as `open`.
            KernelError: the kernel refuses to start, or the thread or process that it counts has
                ended.
        """
        if self._running:
            raise RunningError(f"{self} is counting already: stop it before it is started")
        self.open()
        if self._place is not None:
            components = {event.info.component for event in self._events}
            self._claimed = active_sets.claim(self, components, self._place)
        try:
            if self._counting is not None:
                self._counting.start(pid)
            if self._overflows is not None:
                self._start_overflows()
        except BaseException:
            active_sets.release(self._claimed)
            raise
        self._running = True
        self._final = None
        self._remarks = ()
        if self._parts is not None:
            self._group = self._parts.group()
        if self._group is not None:
            # The hot path: the C method itself.
            self.__dict__["read"] = self._group.read

    def read(self) -> Reading:
        """Return the counts since the start as a Reading: `reading[i]` is the Value of `events[i]`.

        One system call at most where all events are in one kernel group (those of one perf-backed
        component on one thread). After a stop: the final counts.

        Raises:
            NotRunningError: it was never started.
            CountersLostError: it is pinned, and others have its counters.
        """
        if self._running:
            self._refuse_child()
            return self._reading(self._counting.read() if self._counting is not None else ())
        if self._final is None:
            if self._closed:
                self._refuse_dead()
            raise NotRunningError(f"{self} was never started: call start() before read()")
        return self._final

    def read_at(self) -> tuple[Reading, int]:
        """Return what `read` does, and when that was: nanoseconds of `gnomon._core.clock_ns`.

        Raises:
            NotRunningError, CountersLostError: as `read`.
        """
        if self._running and self._group is not None:
            return self._group.read_at()
        return self.read(), _core.clock_ns()

    def accumulate(self, into: Sequence[Value] | None = None) -> tuple[Value, ...]:
        """Return the counts added to those of `into`, and go on from zero.

        Nothing is lost between the two, and sums do not overflow: they are Python's integers. Of a
        gauge its present value is kept, of a formula the sum of its values.

        Args:
            into: what an earlier call returned; None begins at zero.

        Raises:
            EventSetError: `into` is of other events.
            NotRunningError, CountersLostError: as `read`.
        """
        if into is not None and [v.event for v in into] != [e.name for e in self._events]:
            raise EventSetError(
                f"accumulate: it holds {', '.join(v.event for v in into)}, not the events of {self}"
            )
        taken = self._take()
        values = tuple(taken)
        return values if into is None else tuple(map(_sum, self._events, into, values))

    def reset(self) -> None:
        """Go on from zero: with one system call for a kernel group.

        Raises:
            ClosedError, ForkedError: not now.
            CountersLostError: as `read`.
        """
        self._refuse_dead()
        if self._running or self._final is not None:
            self._take()

    def write(self, counts: Sequence[int]) -> None:
        """Refuse to set the counters to numbers.

        Raises:
            WriteError: always.
            ClosedError, ForkedError: not even that.
        """
        self._refuse_dead()
        raise WriteError(
            f"{self} cannot be set to {list(counts)}: the kernel has no call that writes its "
            "counters; reset() sets them to 0, and accumulate() adds to what you have"
        )

    def stop(self) -> Reading:
        """Stop counting and return the final counts.

        Raises:
            NotRunningError: it is not counting.
            CountersLostError: as `read`.
        """
        if not self._running:
            self._refuse_dead()
            raise NotRunningError(f"{self} is not counting: start it first")
        self._refuse_child()
        if self._overflows is not None:
            self._overflows.stop()
        self._running = False
        self.__dict__.pop("read", None)
        active_sets.release(self._claimed)
        if self._group is not None:
            final = self._group.stop()
        else:
            final = self._reading(self._counting.stop() if self._counting is not None else ())
        self._final = final
        self._remarks = self._parts.remarks() if self._parts is not None else ()
        if self._overflows is not None:
            self._overflows.deliver()
        return final

    def close(self) -> None:
        """Give back every descriptor; the set is dead then. A running set counts no more."""
        self._release()
        self._close_overflows()
        self._closed = True
        self._final = None

    def __enter__(self) -> EventSet:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A child may leave the block in which its parent still counts.
        if self._running and os.getpid() == self._pid:
            self.stop()
        self._release()

    def _take(self) -> Reading:
        if not self._running:
            final = self.read()
            counts = [NO_COUNT if value.is_missing else RawCount(0, 0, 0) for value in final]
            self._final = self._reading(counts)
            return final
        self._refuse_child()
        if self._group is not None:
            return self._group.take()
        return self._reading(self._counting.take() if self._counting is not None else ())


def _sum(event: Event, before: Value, now: Value) -> Value:
    if event.info.gauge:
        return now
    derived = None
    if before.derived is not None and now.derived is not None:
        derived = before.derived + now.derived
    return now._replace(
        raw=before.raw + now.raw,
        enabled_ns=before.enabled_ns + now.enabled_ns,
        running_ns=before.running_ns + now.running_ns,
        derived=derived,
        is_missing=before.is_missing or now.is_missing,
        how=How.SCALED if How.SCALED in (before.how, now.how) else now.how,
    )
