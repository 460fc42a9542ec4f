"""Several countings as one, and a counting whose zero can be moved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gnomon.counters.component import CounterSession, RawCount, ResettableSession


class JoinedSession:
    """Countings that start, are read and stop together; meets `component.CounterSession`.

    `places[i]` says where the counts of `parts[i]` stand among all.
    """

    def __init__(self, parts: Sequence[CounterSession], places: Sequence[Sequence[int]]) -> None:
        self._parts = tuple(parts)
        self._places = tuple(tuple(place) for place in places)
        self._n = sum(len(place) for place in self._places)

    def start(self, pid: int | None = None) -> None:
        """Start every part."""
        for part in self._parts:
            part.start(pid)

    def read(self) -> tuple[RawCount, ...]:
        """Return the counts of all parts in their common order."""
        return self._order(part.read() for part in self._parts)

    def stop(self) -> tuple[RawCount, ...]:
        """Stop every part and return the final counts in their common order."""
        return self._order([part.stop() for part in self._parts])

    def close(self) -> None:
        """Close every part."""
        for part in self._parts:
            part.close()

    def _order(self, counts: Iterable[Sequence[RawCount]]) -> tuple[RawCount, ...]:
        ordered = [RawCount(0, 0, 0)] * self._n
        for place, part in zip(self._places, counts, strict=True):
            for at, count in zip(place, part, strict=True):
                ordered[at] = count
        return tuple(ordered)


class JoinedResettableSession(JoinedSession):
    """Countings that are reset together, too; meets `component.ResettableSession`."""

    def __init__(self, parts: Sequence[ResettableSession], places: Sequence[Sequence[int]]) -> None:
        super().__init__(parts, places)
        self._resettable = tuple(parts)

    def take(self) -> tuple[RawCount, ...]:
        """Return the counts of all parts, and go on from zero."""
        return self._order([part.take() for part in self._resettable])


class ResettingSession:
    """A counting whose zero can be moved while it counts; meets `component.ResettableSession`.

    A reset is a read: what was counted until then is subtracted from then on, so that nothing is
    lost between the two. Gauges have a present value and no zero: only their times begin anew.
    """

    def __init__(self, counting: CounterSession, gauges: Sequence[bool]) -> None:
        self._counting = counting
        self._gauges = tuple(gauges)
        self._zero: tuple[RawCount, ...] | None = None

    def start(self, pid: int | None = None) -> None:
        """Begin at zero."""
        self._zero = None
        self._counting.start(pid)

    def read(self) -> tuple[RawCount, ...]:
        """Return the counts since the start or the last reset."""
        return self._since(self._counting.read())

    def take(self) -> tuple[RawCount, ...]:
        """Return the same and go on from zero."""
        now = tuple(self._counting.read())
        counts = self._since(now)
        self._zero = now
        return counts

    def stop(self) -> tuple[RawCount, ...]:
        """Stop and return the final counts."""
        return self._since(self._counting.stop())

    def close(self) -> None:
        """Give back every descriptor."""
        self._counting.close()

    def _since(self, now: Sequence[RawCount]) -> tuple[RawCount, ...]:
        if self._zero is None:
            return tuple(now)
        return tuple(map(_difference, self._zero, now, self._gauges))


def _difference(zero: RawCount, now: RawCount, is_gauge: bool) -> RawCount:
    enabled = now.enabled_ns - zero.enabled_ns
    running = now.running_ns - zero.running_ns
    if now.running_ns == 0 or running < 0:
        # What is gone by now is not measured, however much of it there was before.
        return RawCount(0, max(enabled, 0), 0)
    raw = now.raw if is_gauge else now.raw - zero.raw
    return RawCount(raw, enabled, min(running, enabled))
