"""The counters of a command: of all of it, and of each of its threads.

What counts a command is an observer of its execution (`CountingObserver`); `measure` makes a
`Measurement` of what it counted and how the program went.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing

from gnomon import _core
from gnomon.counters.component import Event, Sharing, Target, make_value
from gnomon.counters.event_resolver import EventResolution
from gnomon.counters.open_components import OpenComponents
from gnomon.counters.perf_spec import PerfSpec
from gnomon.errors import EventSetError, GnomonError
from gnomon.launch.command import execute
from gnomon.launch.observer import Observer
from gnomon.launch.orphans import NOTE
from gnomon.launch.process import raise_nofile
from gnomon.launch.process_result import ProcessResult
from gnomon.measurement.measurement import Measurement, split_cpu_time
from gnomon.model.value import How, Scope, Unavailable, Value
from gnomon.units import duration

# Below this the clock's own ticks may be most of the CPU time: no sign of a lost counter.
_CERTAIN_CPU_NS = 20_000_000
# No page fault takes less.
_FAULT_NS = 50
# More than execve takes on any machine; on an emulated one it takes tens of milliseconds.
_EXECVE_NS = 500_000_000

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.counters.thread_counters import TaskSession
    from gnomon.counters.thread_records import TaskRow
    from gnomon.model.capability_result import Collected


def run(command: Sequence[str], wanted: EventResolution, *, by_task: bool = False) -> Measurement:
    """Return the measurement of one execution of a command.

    Args:
        command: program and arguments; the program is found through PATH.
        wanted: what to count.
        by_task: also keep the counts of every thread apart.

    Raises:
        ProgramError: the program cannot be executed; has the shell's status for that.
    """
    with closing(CommandCounters(wanted, by_task)) as counters:
        return measure(command, counters)


class CountingObserver(Observer):
    """Counts while a command runs.

    Attributes:
        unavailable: what cannot be counted.
        is_whole: all of the command is counted, and nothing else.
        task_values: names of the values that `rows` has counts of.
        values: the counts, once the program has ended.
        remarks: sentences of the code that opened them, for `gnomon run`.
    """

    is_whole = True
    task_values: tuple[str, ...] = ()
    unavailable: tuple[Unavailable, ...] = ()
    values: tuple[Value, ...] = ()
    remarks: tuple[str, ...] = ()

    def rows(self) -> tuple[TaskRow, ...] | None:
        """Return the counts of each thread, None if they were not asked for."""
        return None

    def notes(self) -> tuple[str, ...]:
        """Return sentences that belong beside the counts."""
        return ()

    def measurement(self, process: ProcessResult) -> Measurement:
        """Return the measurement of an execution by these counters."""
        return _measurement(process, self)

    def result(self, process: ProcessResult) -> Collected:
        """Return the tables of an execution."""
        from gnomon.count.measurement_result import capability_result

        return capability_result(self.measurement(process), self.remarks)


def measure(command: Sequence[str], counters: CountingObserver) -> Measurement:
    """Return the measurement of one execution of a command by what was opened for it.

    Raises:
        ProgramError: the program cannot be executed; has the shell's status for that.
        GnomonError: it was executed, and counting failed.
    """
    process = execute(command, [counters])
    if counters.failure is not None:
        raise counters.failure
    return counters.measurement(process)


def _measurement(process: ProcessResult, counters: CountingObserver) -> Measurement:
    user_ns, system_ns = process.user_ns, process.system_ns
    values, detached = _without_detached(counters.values, user_ns, system_ns)
    rows, by_task = counters.rows(), counters.task_values
    if rows is not None and is_mixed_up(values, user_ns, system_ns, process.faults):
        values, mixed = _without_mixed_up(values, by_task)
        detached += mixed
        rows, by_task = tuple(row._replace(counts=()) for row in rows), ()
    user, system = split_cpu_time(
        user_ns, system_ns, _counted_cpu_ns(values) if counters.is_whole else None
    )
    return Measurement(
        command=process.command,
        pid=process.pid,
        attached=False,
        exit_status=process.exit_status,
        signal=process.signal,
        started=process.started,
        wall_ns=process.wall_ns,
        user_ns=user,
        system_ns=system,
        values=values,
        unavailable=counters.unavailable + detached,
        notes=(*counters.notes(), NOTE) if process.has_orphans else counters.notes(),
        rusage=process.rusage,
        tasks=rows,
        task_values=by_task,
        interrupted=process.interrupted,
        terminated=process.terminated,
        contention=process.contention,
    )


def _counted_cpu_ns(values: Sequence[Value]) -> int | None:
    """Return the CPU time of the whole command by its counter, None where none counted it."""
    for value in values:
        if value.event == "task-clock" and value.scope is Scope.THREAD and value.how is How.COUNTED:
            return value.raw
    return None


def _without_detached(
    values: tuple[Value, ...], user_ns: int, system_ns: int
) -> tuple[tuple[Value, ...], tuple[Unavailable, ...]]:
    """Return the values without those whose counters the kernel took away, and why they lack.

    An unprivileged user's counters are closed when the program is set-user-ID. They were enabled
    while the program was on a CPU, so their time then falls short of the CPU time it used. What
    execve itself took, before they were enabled, is system time: `_EXECVE_NS` of it prove nothing.
    """
    cpu_ns = user_ns + max(system_ns - _EXECVE_NS, 0)
    ours = [v for v in values if v.scope is Scope.THREAD]
    enabled = max((v.enabled_ns for v in ours), default=0)
    if not ours or cpu_ns < _CERTAIN_CPU_NS or enabled * 2 > cpu_ns:
        return values, ()
    reason = (
        f"the kernel took the counter away after {duration(enabled)} of {duration(cpu_ns)} CPU "
        "time, as it does when an unprivileged user's program is set-user-ID"
    )
    gone = tuple(Unavailable(v.event, reason, "run it as root, or count without it") for v in ours)
    return tuple(v for v in values if v not in ours), gone


def is_mixed_up(values: Sequence[Value], user_ns: int, system_ns: int, faults: int) -> bool:
    """Return whether counts that tell threads apart cannot be those of this command.

    A command that opens inherited events itself (perf does) has the kernel exchange counts of two
    threads in an order that is not the same for both, so that time is taken for page faults and
    what not. What the kernel says without counters is of the processes that were waited for: less
    time than that, or more page faults than there was time for, cannot be.

    Args:
        values: of the whole command.
        user_ns: user time by rusage.
        system_ns: system time by rusage.
        faults: page faults by rusage.
    """
    counted = {value.event: value.raw * (value.scale or 0) for value in values}
    clock = counted.get("task-clock")
    seen = counted.get("page-faults", 0)
    if clock is not None and clock + max(clock / 4, _CERTAIN_CPU_NS) < user_ns:
        return True
    return (seen - faults) * _FAULT_NS > max(clock or 0, user_ns + system_ns)


def _without_mixed_up(
    values: tuple[Value, ...], names: Sequence[str]
) -> tuple[tuple[Value, ...], tuple[Unavailable, ...]]:
    why = "the program uses inherited events itself, for which the kernel mixes up counts"
    gone = tuple(Unavailable(name, why, "count without --per") for name in names)
    return tuple(value for value in values if value.event not in names), gone


class _Opened:
    """The counters of a process: those of its events that open, on one target."""

    def __init__(self, events: Sequence[Event], target: Target) -> None:
        self._parts = OpenComponents(target)
        self.unavailable = tuple(
            Unavailable(one.event.name, one.reason, one.remedy, one.errno)
            for one in self._parts.add(events, strict=False)
        )
        self._counting = self._parts.counting()

    def start(self, pid: int) -> None:
        self._counting.start(pid)

    def stop(self) -> tuple[Value, ...]:
        counts = zip(self._parts.events, self._counting.stop(), strict=True)
        return tuple(make_value(event, *count) for event, count in counts)

    def notes(self) -> tuple[str, ...]:
        return tuple(self._parts.notes)

    def close(self) -> None:
        self._parts.close()


class CommandCounters(CountingObserver):
    """The counters of one command: those of the whole, and those that tell threads apart."""

    def __init__(self, wanted: EventResolution, by_task: bool) -> None:
        """Open them.

        Raises:
            GnomonError: threads cannot be told apart here.
        """
        self._order = [event.name for event in wanted.events]
        self._tasks: TaskSession | None = None
        self._task_events: tuple[Event, ...] = ()
        self._rows: tuple[TaskRow, ...] | None = None
        self._notes = [*wanted.notes]
        # With events of `inherit_stat` no other may be in the context: the kernel exchanges the
        # counts of two threads' events one by one in the order of their lists.
        self.watches_orphans = not by_task
        self.unavailable = wanted.unavailable
        self._by_task = by_task
        rest = wanted.events
        if by_task:
            perf = [event for event in wanted.events if isinstance(event.spec, PerfSpec)]
            rest = tuple(event for event in wanted.events if event not in perf)
            self._open_tasks(perf)
        target = Target(inherit=True, command=True, sharing=Sharing.KERNEL)
        self._whole = _Opened(rest, target)
        self.unavailable += self._whole.unavailable

    def environment(self) -> Mapping[str, str]:
        """Return what has events that the command opens itself keep the kernel from exchanges."""
        return {"GNOMON_PER_THREAD": "1"} if self._by_task else {}

    def attach(self, pid: int) -> None:
        """Begin with a process at its gate."""
        self._whole.start(pid)

    def descriptors(self) -> Sequence[int]:
        """Return those of rings that fill."""
        return () if self._tasks is None else self._tasks.fds()

    def due_ms(self) -> float | None:
        """Return when to look at the rings."""
        return None if self._tasks is None else self._tasks.due_ms()

    def drain(self) -> None:
        """Take what the rings have."""
        if self._tasks is not None:
            self._tasks.drain()

    def finish(self) -> None:
        """Read the counters of the process, which has ended."""
        values = {value.event: value for value in self._whole.stop()}
        if self._tasks is not None:
            for event, count in zip(self._task_events, self._tasks.stop(), strict=True):
                values[event.name] = make_value(event, *count)
        self.values = tuple(values[name] for name in self._order if name in values)

    def rows(self) -> tuple[TaskRow, ...] | None:
        """Return the counts of each thread, None if they were not asked for."""
        if self._rows is None and self._tasks is not None:
            self._rows = self._tasks.rows()
        return self._rows

    def notes(self) -> tuple[str, ...]:
        """Return sentences that belong beside the counts."""
        notes = [*self._notes, *self._whole.notes()]
        if self._tasks is not None and self._tasks.lost:
            notes.append(
                f"{self._tasks.lost} records of exiting threads were lost: the rows below are "
                "incomplete, the totals are not (raise kernel.perf_event_mlock_kb)"
            )
        elif any(row.counts is None and not row.running for row in self.rows() or ()):
            notes.append(
                "the kernel lost records of threads that exited at the same time on several CPUs: "
                "the rows below are incomplete, the totals are not (run it again)"
            )
        if any(row.running for row in self.rows() or ()):
            notes.append(NOTE)
        return tuple(notes)

    def close(self) -> None:
        """Give back every descriptor."""
        self._whole.close()
        if self._tasks is not None:
            self._tasks.close()

    def _open_tasks(self, events: list[Event]) -> None:
        if not events:
            return
        from gnomon.counters.perf_errors import explain
        from gnomon.counters.thread_counters import TaskSession, open_tasks

        raise_nofile((len(events) * 4 + 1) * (os.cpu_count() or 1) + 64)
        try:
            opened = open_tasks(events)
        except EventSetError as error:
            raise GnomonError(f"--per: {error}") from None
        except _core.OpenError as error:
            reason, remedy = explain(error.errno or 0, hardware=False, tracepoint=False)
            raise GnomonError(f"--per: {reason}; {remedy}, or leave --per out") from None
        except OSError as error:
            raise GnomonError(
                f"--per: the kernel refuses counters of single threads ({error.strerror}); "
                "leave --per out, or raise kernel.perf_event_mlock_kb and the limit of open "
                "files (ulimit -n)"
            ) from None
        self._notes.extend(opened.notes)
        self.unavailable += tuple(
            Unavailable(one.event.name, one.reason, one.remedy, one.errno) for one in opened.refused
        )
        if isinstance(opened.counting, TaskSession):
            self._tasks = opened.counting
            self._tasks.rank_of = _rank_asker()
            self._task_events = opened.events
            self.task_values = tuple(event.name for event in opened.events)


def _rank_asker() -> Callable[[int], int | None] | None:
    """Return the function that finds a process's rank in its environment; None inside a rank."""
    from gnomon.launch.job import job, job_of

    if job() is not None:
        return None

    def rank_of(pid: int) -> int | None:
        place = job_of(pid)
        return None if place is None else place.task

    return rank_of
