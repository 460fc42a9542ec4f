"""Counters on every CPU that is online, as CPUs come and go.

Source: perf_event_open(2); Documentation/core-api/cpu_hotplug.rst.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gnomon.counters.component import Event, RawCount
from gnomon.counters.procfs import read_text
from gnomon.counters.sysfs_pmu import SYSFS, cpu_list
from gnomon.errors import CountersLostError
from gnomon.model.value import Unavailable
from gnomon.stat.counter_target import CounterTarget

NOTHING: dict[str, RawCount] = {}


class OnlineCpus:
    """Which CPUs are online, looked at anew for every interval."""

    def __init__(self, sysfs: str = SYSFS) -> None:
        self._path = f"{sysfs}/devices/system/cpu/online"
        self._text = ""
        self.cpus: tuple[int, ...] = ()
        self.look()

    def look(self) -> bool:
        """Look; return whether there are others than before."""
        text = read_text(self._path) or ""
        if text == self._text:
            return False
        self._text = text
        before, self.cpus = self.cpus, cpu_list(text.strip()) or (0,)
        return before != self.cpus


class PerCpuCounters:
    """A `CounterTarget` on each CPU.

    The kernel takes the events off a CPU that goes offline and does not put them back: they are
    opened anew when it returns. What was counted up to its end is not lost.
    """

    def __init__(self, open_on: Callable[[int], CounterTarget]) -> None:
        """Prepare; `open_on` opens a place on a CPU."""
        self._open_on = open_on
        self._places: dict[int, CounterTarget] = {}
        self._turn = 0
        self.events: dict[str, Event] = {}
        self.refused: dict[str, Unavailable] = {}
        self.errno = 0
        self.notes: dict[str, None] = {}

    def follow(self, cpus: Sequence[int], *, starts: bool = False) -> None:
        """Open on CPUs that came, and give up those that went; `starts` begins to count there."""
        for cpu in [one for one in self._places if one not in cpus]:
            self._places.pop(cpu).close()
        for cpu in cpus:
            if cpu in self._places:
                continue
            place = self._open_on(cpu)
            self.errno = self.errno or place.errno
            self.notes.update(dict.fromkeys(place.notes))
            for event in place.events:
                self.events.setdefault(event.name, event)
            for one in place.refused:
                self.refused.setdefault(one.event, one)
            self._places[cpu] = place
            if starts:
                place.start()
                place.turn(self._turn)

    def start(self) -> None:
        """Begin at zero everywhere."""
        for place in self._places.values():
            place.start()

    def turn(self, set_index: int) -> None:
        """Begin the turn of a set of events everywhere."""
        self._turn = set_index
        for place in self._places.values():
            place.turn(set_index)

    def take(self) -> dict[int, dict[str, RawCount]]:
        """Return the counts of each CPU since the last call, by event."""
        by_cpu: dict[int, dict[str, RawCount]] = {}
        for cpu, place in self._places.items():
            try:
                counts = place.take()
            except (OSError, CountersLostError):
                # It has just gone: the next look at which are online finds that out.
                by_cpu[cpu] = NOTHING
                continue
            by_cpu[cpu] = dict(zip(place.names, counts, strict=True))
        return by_cpu

    def close(self) -> None:
        """Give back every descriptor."""
        for place in self._places.values():
            place.close()
        self._places = {}
