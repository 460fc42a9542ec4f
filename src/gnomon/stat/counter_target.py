"""What is open on one place: a CPU, a CPU for a cgroup, a process.

Source: perf_event_open(2).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gnomon.counters.component import Event, RawCount, Sharing, Target
from gnomon.counters.multiplex import ALWAYS_ENABLED
from gnomon.counters.perf_counting import PerfSession
from gnomon.counters.perf_spec import join
from gnomon.model.value import Unavailable


class CounterTarget:
    """Perf-backed events that are open on one target, and what they counted since the last look.

    Attributes:
        events: those that opened, in the order of the counts that `take` returns.
        names: theirs.
        refused: those that did not.
        errno: of the first refusal, 0 if there was none.
        notes: what is to be said of the counts, such as that they are of user mode only.
    """

    def __init__(
        self, target: Target, always: Sequence[Event], turns: Sequence[Sequence[Event]] = ()
    ) -> None:
        """Open events that count all the time, and sets of which one counts at a time.

        Args:
            target: whatever runs on a CPU, perhaps of one cgroup; or a process.
            always: count all the time.
            turns: sets that take turns; the first has the first.
        """
        self.refused: list[Unavailable] = []
        self.errno = 0
        self.notes: list[str] = []
        self._countings: list[PerfSession] = []
        self._turns: list[_Turn] = []
        events: list[Event] = []
        has_turns = any(turns)
        clock = [ALWAYS_ENABLED] if has_turns else []
        if (target.pid or 0) > 0:
            # What a process's threads inherit can be in no group.
            events += self._open(target._replace(sharing=Sharing.KERNEL), [*clock, *always])
        else:
            # One system call, and one call to another CPU, reads a group, however many are in it;
            # the PMU's are apart, because it may have too few counters for all of them.
            kernels = [event for event in always if not event.spec.hardware]
            hardware = [event for event in always if event.spec.hardware]
            events += self._open(target._replace(sharing=Sharing.NONE), [*clock, *kernels])
            events += self._open(target._replace(sharing=Sharing.KERNEL), hardware)
        if has_turns and events[:1] != [ALWAYS_ENABLED]:
            turns = ()
        self._has_clock = has_turns and bool(turns)
        for one in turns:
            turn = _Turn(target._replace(sharing=Sharing.KERNEL), one)
            self._refuse(turn.refused)
            self.notes += turn.notes
            self._turns.append(turn)
            events += turn.events
        self.events = tuple(events[self._has_clock :])
        self.names = tuple(event.name for event in self.events)
        self._at = 0

    def start(self) -> None:
        """Begin at zero."""
        for counting in self._countings:
            counting.start()
        if self._turns:
            self._turns[0].start()

    def turn(self, set_index: int) -> None:
        """End the turn of one set and begin that of the one with this number."""
        if self._turns and set_index != self._at:
            self._turns[self._at].stop()
            self._at = set_index
            self._turns[set_index].start()

    def take(self) -> list[RawCount]:
        """Return the counts since the last call, or the start, in the order of the events."""
        counts: list[RawCount] = []
        for counting in self._countings:
            counts += counting.take()
        if self._has_clock:
            on_ns = counts.pop(0).enabled_ns
            for at, turn in enumerate(self._turns):
                counts += turn.take(on_ns, is_on=at == self._at)
        return counts

    def close(self) -> None:
        """Give back every descriptor."""
        for counting in self._countings:
            counting.close()
        for turn in self._turns:
            turn.close()
        self._countings, self._turns = [], []

    def _open(self, target: Target, events: Sequence[Event]) -> tuple[Event, ...]:
        if not events:
            return ()
        counting = PerfSession(target)
        added = counting.add(events)
        self.notes += added.notes
        self._refuse(
            Unavailable(one.event.name, one.reason, one.remedy, one.errno) for one in added.refused
        )
        if added.events:
            self._countings.append(counting)
        return added.events

    def _refuse(self, refused: Iterable[Unavailable]) -> None:
        for one in refused:
            self.refused.append(one)
            self.errno = self.errno or one.errno


class _Turn:
    """One set of events, on and off, and what it has counted in its turns since the last look."""

    def __init__(self, target: Target, events: Sequence[Event]) -> None:
        self._counting = PerfSession(target)
        added = self._counting.add(events)
        self.events = added.events
        self.notes = added.notes
        self.refused = [
            Unavailable(one.event.name, one.reason, one.remedy, one.errno) for one in added.refused
        ]
        self._specs = [event.spec for event in self.events]
        self._clear()

    def start(self) -> None:
        for group in self._counting.groups():
            group.start()

    def stop(self) -> None:
        if self.events:
            self._add(self._counting.stop_natives())

    def take(self, on_ns: int, *, is_on: bool) -> tuple[RawCount, ...]:
        """Return the counts since the last call, as of a whole of `on_ns` nanoseconds."""
        if is_on and self.events:
            self._add(self._counting.take_natives())
        natives = tuple((raw, max(on_ns, ran), ran) for raw, ran in self._natives)
        self._clear()
        return join(self._specs, natives)

    def close(self) -> None:
        self._counting.close()

    def _add(self, natives: Sequence[tuple[int, int, int]]) -> None:
        for own, (raw, _, running_ns) in zip(self._natives, natives, strict=True):
            own[0] += raw
            own[1] += running_ns

    def _clear(self) -> None:
        self._natives = [[0, 0] for spec in self._specs for _ in spec.terms]
