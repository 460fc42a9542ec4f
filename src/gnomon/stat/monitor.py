"""Watching in intervals: open counters, their turns, and the results of each interval."""

from __future__ import annotations

import time

from gnomon.counters.component import Event, EventInfo
from gnomon.counters.perf_spec import PerfSpec
from gnomon.counters.perf_targets import threads
from gnomon.counters.sysfs_pmu import online_cpus
from gnomon.launch.clock import raw_clock_ns
from gnomon.launch.process import raise_nofile
from gnomon.launch.timer_queue import TimerQueue
from gnomon.model.value import Unavailable
from gnomon.named_tuple import NamedTuple
from gnomon.stat.interval_rows import Derivation, IntervalRow, Sample
from gnomon.stat.proc_metrics import PROC_METRICS
from gnomon.stat.targets import (
    CgroupSubject,
    MachineSubject,
    ProcessSubject,
    Subject,
    check_rights,
)
from gnomon.stat.totals import Totals
from gnomon.stat.watched_events import WatchedEvents
from gnomon.units import duration

# Clocks that stand still in suspension and those that do not never agree to the nanosecond.
_SLEPT_NS = 50_000_000


class MonitorConfig(NamedTuple):
    """What is watched: the machine, unless cgroups or processes are named.

    Attributes:
        per: "cpu", "core", "node" for rows of the machine's parts; "" for none.
        cgroups: names.
        pids: numbers of processes.
    """

    per: str = ""
    cgroups: tuple[str, ...] = ()
    pids: tuple[int, ...] = ()


class Monitor:
    """Counters that are read again and again.

    Attributes:
        events: what is counted, by name.
        infos: what each event and each vital is.
        number: of the last interval, 0 before the first.
        unavailable: requested events that cannot be counted.
        notes: sentences on the whole.
        totals: the totals of all intervals.
    """

    def __init__(self, choice: WatchedEvents, watched: MonitorConfig, turn_ns: int) -> None:
        """Open everything.

        Args:
            choice: what to count.
            watched: of whom.
            turn_ns: how long a turn is, where groups take turns.

        Raises:
            GnomonError: something that is to be watched is not there, or nothing of what was
                asked for may be counted.
        """
        self._subjects: list[Subject] = []
        self._timers = TimerQueue()
        self._turn = 0
        self._turn_ns = turn_ns
        chosen = choice.chosen
        self._turns = len(chosen.turns)
        natives = sum(
            len(event.spec.terms) for event in chosen.on_cpus if isinstance(event.spec, PerfSpec)
        )
        places = len(online_cpus()) * max(len(watched.cgroups), 1)
        places += sum(len(threads(pid)) for pid in watched.pids)
        raise_nofile((natives + 1) * places + 256)
        try:
            for name in watched.cgroups:
                self._subjects.append(CgroupSubject(chosen, name))
            for pid in watched.pids:
                self._subjects.append(ProcessSubject(chosen, pid))
            if not self._subjects:
                self._subjects.append(MachineSubject(chosen, watched.per))
            if not choice.is_default:
                what = "-G" if watched.cgroups else "-p" if watched.pids else ""
                check_rights(self._subjects, chosen, what)
        except BaseException:
            self.close()
            raise
        self.events: dict[str, Event] = {}
        self.infos: dict[str, EventInfo] = {
            name: vital.info for name, vital in PROC_METRICS.items()
        }
        refused: dict[str, Unavailable] = {}
        for subject in self._subjects:
            self.events.update(subject.events)
            refused.update(subject.refused)
        self.infos.update((name, event.info) for name, event in self.events.items())
        self.unavailable = (
            *choice.unavailable,
            *(one for name, one in refused.items() if name not in self.events),
        )
        self.notes: list[str] = []
        if self._turns > 1:
            self.notes.append(
                f"{self._turns} groups take turns of {duration(turn_ns)}: their counts are "
                "extrapolated to the interval"
            )
        formulas = [event.name for event in self.events.values() if event.is_derived]
        if formulas and not watched.pids and len(online_cpus()) > 1:
            self.notes.append(
                f"{', '.join(formulas)}: comes from a formula, which has a value for each CPU and "
                "none for several: see --per cpu"
            )
        said = (note for subject in self._subjects for note in subject.notes)
        self.notes += dict.fromkeys(said)
        self._derive = Derivation(self.unavailable)
        self._begun_ns = self._last_ns = self._slept_ns = 0
        self.number = 0
        self.totals = Totals(self._derive)
        self.totals.gauges |= {name for name, event in self.events.items() if event.info.gauge}

    def warm_up(self) -> None:
        """Do once what an interval costs only the first time, so that the first is not late."""
        for subject in self._subjects:
            subject.start()
            subject.take(1, self._derive, [])

    def start(self) -> None:
        """Begin at zero."""
        for subject in self._subjects:
            subject.start()
        self._begun_ns = self._last_ns = raw_clock_ns()
        self._slept_ns = _suspended_ns()
        if self._turns > 1:
            self._timers.every(self._turn_ns, self._next)

    def due_ms(self) -> float | None:
        """Return in how many milliseconds a turn ends; None if there are no turns."""
        return self._timers.due_ms()

    def look(self) -> None:
        """Begin the next turn if it is due."""
        self._timers.run_due()

    def take(self, *, is_whole: bool = True) -> Sample:
        """Return the counts since the last call; `is_whole`: the interval has its full length."""
        now_ns = raw_clock_ns()
        span_ns = max(now_ns - self._last_ns, 1)
        notes: list[str] = []
        rows: list[IntervalRow] = []
        for subject in self._subjects:
            rows += subject.take(span_ns, self._derive, notes)
        slept_ns = _suspended_ns()
        if slept_ns - self._slept_ns > _SLEPT_NS:
            notes.append(
                f"the machine was suspended for {duration(slept_ns - self._slept_ns)}: rates "
                f"refer to the {duration(span_ns)} that it ran"
            )
        self._slept_ns = slept_ns
        self._last_ns = now_ns
        self.number += is_whole
        sample = Sample(
            self.number, now_ns - self._begun_ns, span_ns, time.time(), tuple(rows), tuple(notes)
        )
        self.totals.add(sample)
        return sample

    def waited_ns(self) -> int:
        """Return how long the interval has lasted that goes on."""
        return raw_clock_ns() - self._last_ns

    @property
    def is_over(self) -> bool:
        """Whether all that was watched has gone."""
        return all(subject.is_gone for subject in self._subjects)

    def close(self) -> None:
        """Give back every descriptor."""
        for subject in self._subjects:
            subject.close()

    def _next(self) -> bool:
        self._turn = (self._turn + 1) % self._turns
        for subject in self._subjects:
            subject.turn(self._turn)
        return True


def _suspended_ns() -> int:
    """Return for how long the machine has been suspended since it was started."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
