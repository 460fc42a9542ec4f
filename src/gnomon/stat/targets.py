"""What is watched: the machine, a cgroup, a process; each gives its rows for an interval."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from gnomon.counters import cgroups
from gnomon.counters.component import Event, Granularity, RawCount, Target
from gnomon.counters.open_components import OpenComponents
from gnomon.counters.per_cpu import why_forbidden
from gnomon.counters.procfs import read_text
from gnomon.errors import GnomonError
from gnomon.model.value import Scope, Unavailable
from gnomon.named_tuple import NamedTuple
from gnomon.stat.counter_target import CounterTarget
from gnomon.stat.cpu_groups import places
from gnomon.stat.interval_rows import (
    CGROUP,
    MACHINE,
    PROCESS,
    Derivation,
    IntervalRow,
    summed,
    vital_values,
)
from gnomon.stat.per_cpu_counters import OnlineCpus, PerCpuCounters
from gnomon.stat.proc_metrics import CgroupMetrics, MachineMetrics, Numbers, ProcessMetrics
from gnomon.units import printable


class TargetSelection(NamedTuple):
    """The events that are to be counted.

    Attributes:
        perf: perf-backed ones that count all the time.
        turns: sets of hardware events that take turns.
        rest: those of files, sensors and units outside the cores, which belong to no CPU.
        vitals: all that /proc tells is wanted, and not only the CPU times that metrics need.
    """

    perf: tuple[Event, ...]
    turns: tuple[tuple[Event, ...], ...] = ()
    rest: tuple[Event, ...] = ()
    vitals: bool = True

    @property
    def on_cpus(self) -> tuple[Event, ...]:
        """Every perf-backed event."""
        return (*self.perf, *(event for turn in self.turns for event in turn))


class Subject(Protocol):
    """Something that is watched."""

    events: dict[str, Event]
    refused: dict[str, Unavailable]
    notes: list[str]

    def start(self) -> None:
        """Begin at zero."""

    def turn(self, at: int) -> None:
        """Begin the turn of a set of events."""

    def take(self, span_ns: int, derive: Derivation, notes: list[str]) -> list[IntervalRow]:
        """Return the rows since the last call; append to `notes` what happened."""

    @property
    def is_gone(self) -> bool:
        """Whether there is nothing left to count."""

    def close(self) -> None:
        """Give back every descriptor."""


def _of_cpu(event: Event, scope: Scope) -> Event:
    return event._replace(info=event.info._replace(scope=scope))


class _Begins(ABC):
    """How a subject begins, and its turns.

    Attributes:
        _counters: those that take turns.
        _rest: events that belong to no CPU.
    """

    _counters: PerCpuCounters | CounterTarget
    _rest: OpenComponents

    def start(self) -> None:
        """Begin at zero."""
        self._counters.start()
        if self._rest.events:
            self._rest.counting().start()
        self._look()

    def turn(self, at: int) -> None:
        """Begin the turn of a set of events."""
        self._counters.turn(at)

    @abstractmethod
    def _look(self) -> None:
        """Keep what /proc tells now."""


class MachineSubject(_Begins):
    """All that runs on the machine, and its CPUs, cores or nodes."""

    is_gone = False

    def __init__(
        self, chosen: TargetSelection, per: str, *, online: OnlineCpus | None = None
    ) -> None:
        """Open everything.

        Args:
            chosen: what to count.
            per: "cpu", "core", "node", or "" for the machine alone.
            online: tells which CPUs are online.
        """
        always = [_of_cpu(event, Scope.NODE) for event in chosen.perf]
        turns = [[_of_cpu(event, Scope.NODE) for event in turn] for turn in chosen.turns]
        self._per = per
        self._online = online or OnlineCpus()
        self._counters = self._cpus = PerCpuCounters(
            lambda cpu: CounterTarget(Target(pid=-1, cpu=cpu), always, turns)
        )
        if chosen.on_cpus:
            self._cpus.follow(self._online.cpus)
        self._counts = bool(chosen.on_cpus)
        self._rows = places(per, self._online.cpus)
        self._rest = OpenComponents(Target(pid=-1, granularity=Granularity.SYSTEM))
        refused = self._rest.add(chosen.rest, strict=False) if chosen.rest else ()
        self.refused = {
            name: one for name, one in self._cpus.refused.items() if name not in self._cpus.events
        }
        for one in refused:
            self.refused[one.event.name] = Unavailable(
                one.event.name, one.reason, one.remedy, one.errno
            )
        self.notes = [*self._cpus.notes, *self._rest.notes]
        self._vitals = MachineMetrics(times_only=not chosen.vitals)
        self._before: tuple[Numbers, dict[int, Numbers]] = ({}, {})
        self.events = {**self._cpus.events, **{event.name: event for event in self._rest.events}}
        self._order = [
            self.events[event.name]
            for event in (*chosen.on_cpus, *chosen.rest)
            if event.name in self.events
        ]

    def _look(self) -> None:
        self._before = self._vitals.read()

    def take(self, span_ns: int, derive: Derivation, notes: list[str]) -> list[IntervalRow]:
        """Return a row of the machine and, where asked for, one of each of its parts."""
        counts = self._cpus.take()
        rest = self._take_rest()
        now = self._vitals.read()
        before, self._before = self._before, now
        online = self._online.cpus
        values = summed(self._order, [*counts.values(), rest])
        values += vital_values(before[0], now[0], span_ns)
        rows = [IntervalRow(MACHINE, "", tuple(values), derive.of(values, span_ns, len(online)))]
        for (kind, name), cpus in self._rows.items():
            own = [cpu for cpu in cpus if cpu in online]
            here = summed(self._order, [counts[cpu] for cpu in own if cpu in counts])
            here += vital_values(_sum(before[1], own), _sum(now[1], own), span_ns)
            gap = "" if own else "offline"
            metrics = derive.of(here, span_ns, len(own)) if own else ()
            rows.append(IntervalRow(kind, name, tuple(here) if own else (), metrics, gap=gap))
        self._follow(notes)
        return rows

    def close(self) -> None:
        """Give back every descriptor."""
        self._cpus.close()
        self._rest.close()
        self._vitals.close()

    def _follow(self, notes: list[str]) -> None:
        """Notice CPUs that went offline or came; they count from the next interval on."""
        before = set(self._online.cpus)
        if not self._online.look():
            return
        now = self._online.cpus
        for cpu in sorted(before - set(now)):
            notes.append(f"CPU {cpu} went offline and is not counted until it is back")
        for cpu in sorted(set(now) - before):
            notes.append(f"CPU {cpu} came online and is counted from now on")
        if self._counts:
            self._cpus.follow(now, starts=True)
        # Rows of CPUs that are offline stay, so that the gap is seen.
        for row, cpus in places(self._per, now).items():
            known = self._rows.get(row, ())
            self._rows[row] = (*known, *(cpu for cpu in cpus if cpu not in known))

    def _take_rest(self) -> dict[str, RawCount]:
        if not self._rest.events:
            return {}
        counting = self._rest.counting()
        counts = grown(self._rest.events, counting.take())
        if not all(count.running_ns for count in counts.values()):
            # A disk or link that has gone would have no difference to its beginning any more.
            counting.start()
        return counts


def grown(events: Sequence[Event], counts: Sequence[RawCount]) -> dict[str, RawCount]:
    """Return the counts of an interval by event; what went back was not measured.

    A disk or link that came after the beginning and went again takes what it had counted out of a
    sum over all of them.
    """
    by_event = {}
    for event, count in zip(events, counts, strict=True):
        went_back = count.raw < 0 and not event.info.gauge
        by_event[event.name] = RawCount(0, count.enabled_ns, 0) if went_back else count
    return by_event


def _sum(numbers: dict[int, Numbers], cpus: Sequence[int]) -> Numbers:
    """Return the CPU times of several CPUs, {} unless each of them is known."""
    own = [numbers[cpu] for cpu in cpus if cpu in numbers]
    if not own or len(own) < len(cpus):
        return {}
    if len(own) == 1:
        return own[0]
    return {name: sum(one[name] for one in own) for name in own[0]}


class CgroupSubject(_Begins):
    """The processes of a cgroup, on every CPU."""

    def __init__(
        self, chosen: TargetSelection, name: str, *, online: OnlineCpus | None = None
    ) -> None:
        """Open everything.

        Raises:
            UsageError: there is no such cgroup.
            GnomonError: it cannot be counted.
        """
        self._name = name
        self._fd = cgroups.open_cgroup(name)
        self._online = online or OnlineCpus()
        always = [_of_cpu(event, Scope.CPU) for event in chosen.perf]
        turns = [[_of_cpu(event, Scope.CPU) for event in turn] for turn in chosen.turns]
        self._cpus = PerCpuCounters(
            lambda cpu: CounterTarget(Target(pid=-1, cpu=cpu, cgroup=self._fd), always, turns)
        )
        self._counters = self._cpus
        self._rest = OpenComponents(Target(pid=-1, granularity=Granularity.SYSTEM))
        if chosen.on_cpus:
            self._cpus.follow(self._online.cpus)
        said = cgroups.problem(self._cpus.errno, name)
        if said:
            self.close()
            raise GnomonError(said)
        self._counts = bool(chosen.on_cpus)
        self.events = dict(self._cpus.events)
        self._order = [self.events[e.name] for e in chosen.on_cpus if e.name in self.events]
        self.refused = {n: one for n, one in self._cpus.refused.items() if n not in self.events}
        for event in chosen.rest:
            self.refused[event.name] = Unavailable(
                event.name,
                "the kernel does not tell it of a cgroup, only what happens on CPUs",
                "count it of the machine (without -G) or of a process (-p)",
            )
        self.notes = list(self._cpus.notes)
        self._vitals = CgroupMetrics(self._fd, times_only=not chosen.vitals)
        self._before: Numbers = {}
        self.is_gone = False

    def _look(self) -> None:
        self._before = self._vitals.read()

    def take(self, span_ns: int, derive: Derivation, notes: list[str]) -> list[IntervalRow]:
        """Return its row; after its end one that says so, once, and then none."""
        if self.is_gone:
            return []
        counts = self._cpus.take()
        now = self._vitals.read()
        values = summed(self._order, list(counts.values()))
        values += vital_values(self._before, now, span_ns, Scope.CPU)
        self._before = now
        gap = ""
        if not self._is_there():
            gap = "gone"
            notes.append(f"cgroup {printable(self._name)} was removed and is no longer counted")
            self.is_gone = True
            self._cpus.close()
        elif self._online.look() and self._counts:
            self._cpus.follow(self._online.cpus, starts=True)
        cpus = len(self._online.cpus)
        return [
            IntervalRow(
                CGROUP, self._name, tuple(values), derive.of(values, span_ns, cpus), gap=gap
            )
        ]

    def close(self) -> None:
        """Give back every descriptor."""
        self._cpus.close()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _is_there(self) -> bool:
        """Return whether the folder still is a cgroup; one that took its name is another."""
        try:
            os.close(os.open("cgroup.procs", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._fd))
        except PermissionError:
            return True
        except OSError:
            return False
        return True


class ProcessSubject(_Begins):
    """A process with its threads, and the processes that it creates."""

    def __init__(self, chosen: TargetSelection, pid: int) -> None:
        """Open everything.

        Raises:
            GnomonError: there is no such process, or it cannot be watched.
        """
        self._pid = pid
        self._name = str(pid)
        try:
            self._fd = os.pidfd_open(pid)
        except ProcessLookupError:
            raise GnomonError(f"process {pid}: no such process; see ps") from None
        except OSError as error:
            raise GnomonError(
                f"process {pid}: cannot be watched: {error.strerror}; name a process, not one "
                "of its threads"
            ) from None
        # A name may hold anything, also the end of a line.
        self._program = (read_text(f"/proc/{pid}/comm") or "").removesuffix("\n")
        self._counters = self._place = CounterTarget(
            Target(pid=pid, inherit=True), chosen.perf, chosen.turns
        )
        files = OpenComponents(Target(pid=pid, inherit=True))
        refused = files.add(chosen.rest, strict=False) if chosen.rest else ()
        self._rest = files
        self.events = {event.name: event for event in (*self._place.events, *files.events)}
        self._order = [
            self.events[e.name] for e in (*chosen.on_cpus, *chosen.rest) if e.name in self.events
        ]
        self.refused = {one.event: one for one in self._place.refused}
        for one in refused:
            self.refused[one.event.name] = Unavailable(
                one.event.name, one.reason, one.remedy, one.errno
            )
        self.notes = [*self._place.notes, *files.notes]
        self._vitals = ProcessMetrics(pid, times_only=not chosen.vitals)
        self._before: Numbers = {}
        self.is_gone = False

    def _look(self) -> None:
        self._before = self._vitals.read()

    def take(self, span_ns: int, derive: Derivation, notes: list[str]) -> list[IntervalRow]:
        """Return its row; after its end one that says so, once, and then none."""
        if self.is_gone:
            return []
        by_event = dict(zip(self._place.names, self._place.take(), strict=True))
        if self._rest.events:
            names = [event.name for event in self._rest.events]
            by_event.update(zip(names, self._rest.counting().take(), strict=True))
        now = self._vitals.read()
        values = summed(self._order, [by_event])
        values += vital_values(self._before, now, span_ns, Scope.PROCESS)
        self._before = now
        gap = ""
        if self._has_ended():
            gap = "ended"
            notes.append(
                f"process {self._pid} ({printable(self._program)}) has ended and is no longer "
                "counted"
            )
            self.is_gone = True
            self.close()
        metrics = derive.of(values, span_ns, None)
        return [IntervalRow(PROCESS, self._name, tuple(values), metrics, self._program, gap)]

    def close(self) -> None:
        """Give back every descriptor."""
        self._place.close()
        self._rest.close()
        self._vitals.close()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _has_ended(self) -> bool:
        import select

        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return bool(poll.poll(0))


def check_rights(subjects: Sequence[Subject], chosen: TargetSelection, what: str) -> None:
    """Check that something may be counted.

    Args:
        subjects: what is watched.
        chosen: what is to be counted.
        what: the option that is to be blamed, "" for the event.

    Raises:
        GnomonError: none of the events can be counted.
    """
    if not (chosen.on_cpus or chosen.rest) or any(subject.events for subject in subjects):
        return
    first = next((one for subject in subjects for one in subject.refused.values()), None)
    if first is not None:
        raise GnomonError(f"{what or first.event}: {why_forbidden(first)}")
