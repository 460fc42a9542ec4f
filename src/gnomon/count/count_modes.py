"""Counting by CPU, the whole machine, a cgroup, after a delay, and told in intervals.

Source: perf_event_open(2), the table of pid and cpu.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from gnomon.count.command_counters import CountingObserver, measure
from gnomon.counters import cgroups
from gnomon.counters.component import (
    Event,
    Granularity,
    RawCount,
    ResettableSession,
    Sharing,
    Target,
    make_value,
)
from gnomon.counters.event_resolver import EventResolution
from gnomon.counters.multiplex import ALWAYS_ENABLED
from gnomon.counters.open_components import OpenComponents
from gnomon.counters.per_cpu import core_of, total, why_forbidden
from gnomon.counters.perf_spec import PerfSpec
from gnomon.counters.sysfs_pmu import online_cpus
from gnomon.errors import GnomonError
from gnomon.launch.clock import raw_clock_ns
from gnomon.launch.process import raise_nofile
from gnomon.launch.timer_queue import TimerQueue
from gnomon.measurement.intervals import Interval, Intervals
from gnomon.measurement.measurement import WHOLE_MACHINE, Measurement, PlaceRow
from gnomon.model.value import Scope, Unavailable, Value
from gnomon.named_tuple import NamedTuple
from gnomon.units import duration, printable

if TYPE_CHECKING:
    from gnomon.launch.process_result import ProcessResult

_ANYWHERE = -1


class Mode(NamedTuple):
    """How a program, or what runs beside it, is counted.

    Attributes:
        machine: everything that runs on any CPU, and not only the program.
        cgroup: the processes of this cgroup, and not the program; "" for none.
        per: "cpu" or "core" for a row of each; "" for totals only.
        delay_ns: counting begins so long after the program was executed.
        intervals: the intervals to report meanwhile; None for none.
    """

    machine: bool = False
    cgroup: str = ""
    per: str = ""
    delay_ns: int = 0
    intervals: Intervals | None = None

    @property
    def covers(self) -> str:
        """What is counted, "" for the program."""
        if self.cgroup:
            return f"cgroup {self.cgroup}"
        return WHOLE_MACHINE if self.machine else ""


def run(command: Sequence[str], wanted: EventResolution, mode: Mode) -> Measurement:
    """Return the measurement of one execution of a command.

    Raises:
        ProgramError: the program cannot be executed; has the shell's status for that.
        GnomonError: none of the events can be counted this way.
    """
    with closing(LiveCounts(wanted, mode)) as counts:
        return measure(command, counts)


class LiveCounts(CountingObserver):
    """Counters that may be one of each CPU, begin late and are read meanwhile.

    Counters that belong to no CPU (of files, of units outside the cores) are open once.
    """

    def __init__(self, wanted: EventResolution, mode: Mode, pid: int = 0) -> None:
        """Open what can be before the program is there.

        Args:
            wanted: what to count.
            mode: how.
            pid: a process that is there already; 0 for a command, or none.

        Raises:
            GnomonError: none of the events can be counted this way.
        """
        self.watches_orphans = not mode.machine and not mode.cgroup
        self.is_whole = self.watches_orphans and not mode.delay_ns
        self.unavailable = wanted.unavailable
        self._wanted = wanted.events
        self._mode = mode
        self._pid = pid
        self._cgroup = cgroups.open_cgroup(mode.cgroup) if mode.cgroup else -1
        self._elsewhere = mode.machine or self._cgroup >= 0
        apart = self._elsewhere or bool(mode.per)
        self._cpus: tuple[int, ...] = online_cpus() if apart else (_ANYWHERE,)
        if apart:
            natives = sum(len(e.spec.terms) for e in wanted.events if isinstance(e.spec, PerfSpec))
            raise_nofile((natives + 1) * len(self._cpus) + 64)
        self._parts: list[OpenComponents] = []
        self._countings: list[ResettableSession] = []
        self._rest: OpenComponents | None = None
        self._events: tuple[Event, ...] = ()
        self._notes = [*wanted.notes]
        self._before: list[dict[str, RawCount]] = []
        self._final: list[dict[str, RawCount]] = []
        self._timers = TimerQueue()
        self._begun_ns = self._last_ns = self._ended_ns = 0
        self._told = 0
        self._runs = False
        if self._elsewhere or pid or not mode.delay_ns:
            self._open()

    # --- the life of a measurement ------------------------------------------------------------

    def attach(self, pid: int) -> None:
        """Begin at zero with a process, or get ready to begin late; with none for 0."""
        if not self._mode.delay_ns:
            self._start(pid)
        elif not self._elsewhere and not self._pid:
            self._pid = pid
            self._open()

    def begin(self) -> None:
        """Plan what is to be done from now on, which is when the program begins."""
        if self._mode.delay_ns and not self._runs:
            self._timers.once(self._mode.delay_ns, self._begin_late)
        else:
            self._begun_ns = self._last_ns = raw_clock_ns()
            self._plan_intervals()

    def due_ms(self) -> float | None:
        """Return when the delay or an interval ends."""
        return self._timers.due_ms()

    def drain(self) -> None:
        """Begin late, or tell an interval."""
        self._timers.run_due()

    def finish(self) -> None:
        """Read the counters of the process, which has ended."""
        if not self._runs:
            self._notes.append(
                "nothing was counted: the program ended within the delay of "
                f"{duration(self._mode.delay_ns)} (-D)"
            )
            return
        final = self._read(lambda counting: counting.stop())
        self._ended_ns = raw_clock_ns()
        self._runs = False
        if self._mode.intervals is not None and not self._told_all:
            self._tell(final)
        self._final = final
        self.values = self._totals(final)

    def notes(self) -> tuple[str, ...]:
        """Return sentences that belong beside the counts."""
        said = [
            note for parts in (*self._parts, *([self._rest] if self._rest else []))
            for note in (*parts.notes, *parts.remarks())
        ]  # fmt: skip
        if self._mode.covers:
            said.append(f"counted: {self._mode.covers}, on {len(self._cpus)} CPUs")
        return tuple(dict.fromkeys([*self._notes, *said]))

    def close(self) -> None:
        """Give back every descriptor."""
        for parts in (*self._parts, *([self._rest] if self._rest else [])):
            parts.close()
        if self._cgroup >= 0:
            os.close(self._cgroup)
            self._cgroup = -1

    def measurement(self, process: ProcessResult) -> Measurement:
        """Return the measurement of an execution by these counters."""
        return self.completed(super().measurement(process))

    def completed(self, measurement: Measurement) -> Measurement:
        """Return a measurement with what only this kind of counting knows."""
        begun = self._begun_ns
        delay_ns = self._mode.delay_ns if begun else 0
        notes = measurement.notes
        if self._mode.covers and measurement.command:
            notes += ("times and resource usage are the program's",)
        wall_ns = measurement.wall_ns
        if self._mode.delay_ns and begun:
            wall_ns = max(self._ended_ns - begun, 0)
            notes += (
                f"counting began {duration(delay_ns)} after the program: the wall time is that of "
                "the rest, and CPU time and resource usage are of the whole"
                if measurement.command
                else f"counting began {duration(delay_ns)} late: the wall time is that of the rest",
            )
        return measurement._replace(
            covers=self._mode.covers,
            delay_ns=delay_ns,
            wall_ns=wall_ns,
            notes=notes,
            places=self._rows() if self._mode.per else None,
            # It is of the whole, and the wall time of the rest.
            contention=None if delay_ns else measurement.contention,
        )

    def _start(self, pid: int) -> None:
        for counting in self._countings:
            counting.start(pid or None)
        self._runs = True
        self._begun_ns = self._last_ns = raw_clock_ns()
        self._before = [{}] * len(self._countings)

    # --- opening ------------------------------------------------------------------------------

    def _open(self) -> None:
        perf = [event for event in self._wanted if isinstance(event.spec, PerfSpec)]
        rest = [event for event in self._wanted if event not in perf]
        opened: dict[str, Event] = {}
        refused: dict[str, Unavailable] = {}
        for cpu in self._cpus if perf else ():
            target = self._target(cpu)
            parts = OpenComponents(target)
            clocked = cpu != _ANYWHERE and not self._elsewhere
            asked = [*([ALWAYS_ENABLED] if clocked else []), *map(self._scoped, perf)]
            for unavailable in parts.add(asked, strict=False):
                self._refuse_all(unavailable.errno)
                refused.setdefault(
                    unavailable.event.name,
                    Unavailable(
                        unavailable.event.name,
                        unavailable.reason,
                        unavailable.remedy,
                        unavailable.errno,
                    ),
                )
            opened.update((event.name, event) for event in parts.events)
            self._parts.append(parts)
        if perf and not opened and self._elsewhere:
            what = f"-G {printable(self._mode.cgroup)}" if self._mode.cgroup else "-a"
            self.close()
            raise GnomonError(f"{what}: {why_forbidden(next(iter(refused.values())))}")
        if rest:
            self._rest = OpenComponents(self._target(_ANYWHERE))
            for one in self._rest.add(rest, strict=False):
                refused[one.event.name] = Unavailable(
                    one.event.name, one.reason, one.remedy, one.errno
                )
            opened.update((event.name, event) for event in self._rest.events)
        self._events = tuple(opened[e.name] for e in self._wanted if e.name in opened)
        self.unavailable += tuple(one for name, one in refused.items() if name not in opened)
        self._countings = [parts.counting() for parts in self._parts]
        if self._rest is not None:
            self._countings.append(self._rest.counting())

    def _target(self, cpu: int) -> Target:
        """Return the target on a CPU; of what belongs to no CPU if that is -1."""
        if self._elsewhere and cpu == _ANYWHERE:
            return Target(pid=-1, granularity=Granularity.SYSTEM)
        if self._elsewhere:
            return Target(pid=-1, cpu=cpu, cgroup=self._cgroup, sharing=Sharing.KERNEL)
        begins = not self._pid
        return Target(pid=self._pid, cpu=cpu, inherit=True, command=begins, sharing=Sharing.KERNEL)

    def _scoped(self, event: Event) -> Event:
        if not self._elsewhere:
            return event
        scope = Scope.CPU if self._cgroup >= 0 else Scope.NODE
        return event._replace(info=event.info._replace(scope=scope))

    def _refuse_all(self, number: int) -> None:
        """Raise GnomonError where the cgroup is at fault, and not an event."""
        said = cgroups.problem(number, self._mode.cgroup) if self._cgroup >= 0 else ""
        if said:
            self.close()
            raise GnomonError(said)

    # --- reading ------------------------------------------------------------------------------

    def _read(
        self, reading: Callable[[ResettableSession], Sequence[RawCount]]
    ) -> list[dict[str, RawCount]]:
        """Return for each CPU, and then for what belongs to none, the counts by event."""
        by_place = []
        everything = [*self._parts, *([self._rest] if self._rest is not None else [])]
        for parts, counting in zip(everything, self._countings, strict=True):
            names = (event.name for event in parts.events)
            counts = dict(zip(names, reading(counting), strict=True))
            clock = counts.pop(ALWAYS_ENABLED.name, None)
            if clock is not None:
                # An event of one CPU is enabled also while the program runs on others.
                on_ns = clock.running_ns
                counts = {
                    name: count._replace(enabled_ns=max(on_ns, count.running_ns))
                    for name, count in counts.items()
                }
            by_place.append(counts)
        return by_place

    def _totals(self, counts: Sequence[Mapping[str, RawCount]]) -> tuple[Value, ...]:
        values = []
        for event in self._events:
            here = [place[event.name] for place in counts if event.name in place]
            if len(here) > 1 and event.is_derived:
                self._leave_out(event)
                continue
            values.append(make_value(event, *total(here)))
        return tuple(values)

    def _leave_out(self, event: Event) -> None:
        if all(one.event != event.name for one in self.unavailable):
            self.unavailable += (
                Unavailable(
                    event.name,
                    "computed by a formula for each CPU, without a value for all CPUs",
                    "see --per cpu, or count the program alone",
                ),
            )

    def _rows(self) -> tuple[PlaceRow, ...]:
        per_core = self._mode.per == "core"
        rows: dict[tuple[int, int, int], list[int]] = {}
        for place, cpu in enumerate(self._cpus):
            socket, core = core_of(cpu)
            key = (socket, core, -1 if per_core and core >= 0 else cpu)
            rows.setdefault(key, []).append(place)
        return tuple(
            PlaceRow(
                socket, core, tuple(self._cpus[at] for at in places), self._of(places), per_core
            )
            for (socket, core, _), places in rows.items()
        )

    def _of(self, places: Iterable[int]) -> dict[str, Value]:
        values: dict[str, Value] = {}
        for event in self._events:
            if not isinstance(event.spec, PerfSpec):
                continue
            here = [
                self._final[at][event.name]
                for at in places
                if at < len(self._final) and event.name in self._final[at]
            ]
            if here and not (event.is_derived and len(here) > 1):
                values[event.name] = make_value(event, *total(here))
        return values

    # --- while it runs ------------------------------------------------------------------------

    def _begin_late(self) -> None:
        self._start(self._pid)
        self._plan_intervals()

    def _plan_intervals(self) -> None:
        if self._mode.intervals is not None:
            self._timers.every(self._mode.intervals.period_ns, self._tick)

    def _tick(self) -> bool:
        self._tell(self._read(lambda counting: counting.read()))
        return not self._told_all

    @property
    def _told_all(self) -> bool:
        intervals = self._mode.intervals
        return intervals is not None and 0 < intervals.most <= self._told

    def _tell(self, now: list[dict[str, RawCount]]) -> None:
        intervals = self._mode.intervals
        if intervals is None:
            return
        at_ns = raw_clock_ns()
        gauges = {event.name for event in self._events if event.info.gauge}
        grown = [
            {
                name: count if name in gauges else _grown(before.get(name), count)
                for name, count in place.items()
            }
            for before, place in zip(self._before, now, strict=True)
        ]
        events = {event.name: event for event in self._events}
        cpus = {}
        if self._mode.per:
            cpus = {
                cpu: tuple(make_value(events[name], *count) for name, count in place.items())
                for cpu, place in zip(self._cpus, grown, strict=False)
            }
        self._told += 1
        intervals.tell(
            Interval(
                self._told, at_ns - self._begun_ns, at_ns - self._last_ns, self._totals(grown), cpus
            )
        )
        self._before = now
        self._last_ns = at_ns


def _grown(before: RawCount | None, now: RawCount) -> RawCount:
    if before is None:
        return now
    return RawCount(
        now.raw - before.raw,
        max(now.enabled_ns - before.enabled_ns, 0),
        max(now.running_ns - before.running_ns, 0),
        None,
    )
