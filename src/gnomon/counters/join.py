"""Several countings as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gnomon.counters.component import Counting, RawCount


class JoinedCounting:
    """Countings that start, are read and stop together; meets `component.Counting`.

    `places[i]` says where the counts of `parts[i]` stand among all.
    """

    def __init__(self, parts: Sequence[Counting], places: Sequence[Sequence[int]]) -> None:
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
