"""Run a program, or watch one that runs, and count.

The program must not notice: it gets the environment, signals, descriptors, limits and terminal
that it would have got without us, and what it does to itself (exec, fork, daemonise, die) is
followed by the kernel's own inheritance of counters, not by us.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from gnomon import _core
from gnomon.counters.component import Event, Target, make_value
from gnomon.counters.eventset import EventSet
from gnomon.counters.perf import PerfSpec
from gnomon.counters.resolve import Resolved
from gnomon.errors import EventSetError, GnomonError, ProgramError
from gnomon.hpm.measurement import Measurement, raw_clock_ns, usage_rows
from gnomon.model.value import Unavailable, Value

if TYPE_CHECKING:
    from gnomon.counters.tasks import TaskCounting, TaskRow

_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
# What Python may set LC_CTYPE to at its start. Source: PEP 538.
_COERCED_LOCALES = (b"C.UTF-8", b"C.utf8", b"UTF-8")
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
_DRAIN_SECONDS = 0.05


def run(command: Sequence[str], wanted: Resolved, *, by_task: bool = False) -> Measurement:
    """Return the measurement of one execution of a command.

    Args:
        command: program and arguments; the program is found through PATH.
        wanted: what to count.
        by_task: also keep the counts of every thread apart.

    Raises:
        ProgramError: the program cannot be executed; has the shell's status for that.
    """
    counts = _CommandCounts(wanted, by_task)
    environment = _program_environment()
    with _Signals() as signals:
        started = time.time()
        own_rss_kib = _resident_kib()
        try:
            pid, gate = _core.spawn(
                [os.fsencode(word) for word in command],
                environment,
                signals.defaults,
                counts.nofile,
            )
            signals.forward_to(pid)
            counts.start(pid)
            start_ns = _core.release(pid, gate)
        except OSError as error:
            counts.close()
            raise _not_started(command[0], error) from None
        counts.wait(pid)
        end_ns = raw_clock_ns()
        # The process is a zombie: its own files in /proc can still be read.
        values = counts.stop()
        signals.forward_to(None)
        _, status, usage = os.wait4(pid, 0)
    killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    measurement = Measurement(
        command=tuple(command),
        pid=pid,
        attached=False,
        exit_status=128 + killed if killed else os.WEXITSTATUS(status),
        signal=killed,
        started=started,
        wall_ns=end_ns - start_ns,
        user_ns=round(usage.ru_utime * 1e9),
        system_ns=round(usage.ru_stime * 1e9),
        values=values,
        unavailable=wanted.unavailable + counts.unavailable,
        notes=counts.notes(),
        rusage=usage_rows(usage, own_rss_kib),
        tasks=counts.rows(),
        task_values=counts.task_values,
        interrupted=signals.interrupted,
    )
    counts.close()
    return measurement


def attach(
    pid: int, wanted: Resolved, *, seconds: float | None = None, command: Sequence[str] = ()
) -> Measurement:
    """Return the measurement of a running process and all its threads.

    It ends when the process does, after `seconds`, when `command` has ended, or by Ctrl-C,
    whichever is first.

    Raises:
        GnomonError: there is no such process.
        ProgramError: the command cannot be executed.
    """
    if not Path(f"/proc/{pid}").exists():
        raise GnomonError(f"process {pid}: it does not exist; see ps for those that do")
    events = EventSet(target=Target(pid=pid, inherit=True), strict=False)
    events.add_events(wanted.events)
    try:
        watched = os.pidfd_open(pid)
    except OSError as error:
        raise GnomonError(f"process {pid}: it cannot be watched: {error.strerror}") from None
    timer = 0
    with _Signals() as signals:
        started = time.time()
        begin_ns = raw_clock_ns()
        if wanted.events:
            events.start(pid)
        awaited = [watched, signals.wakeup]
        if command:
            try:
                timer, gate = _core.spawn(
                    [os.fsencode(word) for word in command],
                    _program_environment(),
                    signals.defaults,
                    -1,
                )
                _core.release(timer, gate)
            except OSError as error:
                raise _not_started(command[0], error) from None
            awaited.append(os.pidfd_open(timer))
        _wait_for_any(awaited, seconds)
        final = events.stop() if wanted.events else ()
        end_ns = raw_clock_ns()
    if timer:
        _end(timer)
    for fd in (watched, *awaited[2:]):
        os.close(fd)
    measurement = Measurement(
        command=(),
        pid=pid,
        attached=True,
        exit_status=None,
        signal=0,
        started=started,
        wall_ns=end_ns - begin_ns,
        user_ns=None,
        system_ns=None,
        values=tuple(final[i] for i in range(len(final))),
        unavailable=wanted.unavailable + events.unavailable,
        notes=events.notes,
        rusage=(),
        interrupted=signals.interrupted,
    )
    events.close()
    return measurement


class _CommandCounts:
    """The counters of one command: an event set, and one that tells threads apart."""

    def __init__(self, wanted: Resolved, by_task: bool) -> None:
        self._order = [event.name for event in wanted.events]
        self._tasks: TaskCounting | None = None
        self._task_events: tuple[Event, ...] = ()
        self._notes: list[str] = []
        self.unavailable: tuple[Unavailable, ...] = ()
        self.nofile = -1
        rest = wanted.events
        if by_task:
            perf = [event for event in wanted.events if isinstance(event.spec, PerfSpec)]
            rest = tuple(event for event in wanted.events if event not in perf)
            self._open_tasks(perf)
        self._set = EventSet(target=Target(inherit=True, command=True), strict=False)
        self._set.add_events(rest)
        if rest:
            self._set.open()
        self.unavailable += self._set.unavailable

    def start(self, pid: int) -> None:
        if self._set.events:
            self._set.start(pid)

    def wait(self, pid: int) -> None:
        """Return when the process has ended, leaving it to be waited for."""
        if self._tasks is None:
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            return
        poll = select.poll()
        for fd in self._tasks.fds():
            poll.register(fd, select.POLLIN)
        try:
            watched = os.pidfd_open(pid)
            poll.register(watched, select.POLLIN)
        except OSError:
            watched = -1
        while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            ready = poll.poll(1000 * _DRAIN_SECONDS)
            self._tasks.drain()
            # A ring whose last event is gone stays readable for ever.
            for fd, seen in ready:
                if seen & (select.POLLHUP | select.POLLERR) and fd != watched:
                    poll.unregister(fd)
        if watched >= 0:
            os.close(watched)

    def stop(self) -> tuple[Value, ...]:
        values: dict[str, Value] = {}
        if self._set.events:
            final = self._set.stop()
            values = {final[i].event: final[i] for i in range(len(final))}
        if self._tasks is not None:
            for event, count in zip(self._task_events, self._tasks.stop(), strict=True):
                values[event.name] = make_value(
                    event, count.raw, count.enabled_ns, count.running_ns
                )
        return tuple(values[name] for name in self._order if name in values)

    def rows(self) -> tuple[TaskRow, ...] | None:
        return None if self._tasks is None else self._tasks.rows()

    @property
    def task_values(self) -> tuple[str, ...]:
        return tuple(event.name for event in self._task_events)

    def notes(self) -> tuple[str, ...]:
        notes = [*self._notes, *self._set.notes]
        if self._tasks is not None and self._tasks.lost:
            notes.append(
                f"{self._tasks.lost} records of exiting threads were lost: the rows below are "
                "incomplete, the totals are not (raise kernel.perf_event_mlock_kb)"
            )
        return tuple(notes)

    def close(self) -> None:
        self._set.close()
        if self._tasks is not None:
            self._tasks.close()

    def _open_tasks(self, events: list[Event]) -> None:
        if not events:
            return
        from gnomon.counters.refusal import explain
        from gnomon.counters.tasks import TaskCounting, open_tasks

        self.nofile = _raise_nofile((len(events) * 4 + 1) * (os.cpu_count() or 1) + 64)
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
        if isinstance(opened.counting, TaskCounting):
            self._tasks = opened.counting
            self._task_events = opened.events


class _Signals:
    """While a program runs: Ctrl-C is its business, and what is sent to us goes on to it."""

    def __init__(self) -> None:
        self.interrupted = False
        self.defaults: tuple[int, ...] = ()
        self._pid: int | None = None
        self._pending: list[int] = []
        self._before: dict[int, Callable[[int, FrameType | None], object] | int | None] = {}
        self.wakeup = -1
        self._wakeup_write = -1

    def __enter__(self) -> _Signals:
        self.wakeup, self._wakeup_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        for number in (signal.SIGINT, signal.SIGQUIT, *_FORWARDED):
            # A signal that was ignored when we were started stays so, for the program too.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._handle)
        self.defaults = (*self._before, *_IGNORED_BY_PYTHON)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self.wakeup)
        os.close(self._wakeup_write)

    def forward_to(self, pid: int | None) -> None:
        """Name the process that gets our signals; those that came too early go to it now."""
        self._pid = pid
        if pid is not None:
            for number in self._pending:
                os.kill(pid, number)
            self._pending.clear()

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if number in (signal.SIGINT, signal.SIGQUIT):
            # The terminal has sent it to the whole process group, the program included.
            self.interrupted = True
        elif self._pid is not None:
            os.kill(self._pid, number)
        else:
            self._pending.append(number)
        os.write(self._wakeup_write, b"!")


def _program_environment() -> list[bytes]:
    """Return our environment without what Python added to it by itself (LC_CTYPE, PEP 538)."""
    ours = dict(os.environb)
    try:
        entries = Path("/proc/self/environ").read_bytes().split(b"\0")[:-1]
    except OSError:
        entries = []
    first: dict[bytes, bytes] = {}
    for key, equals, value in (entry.partition(b"=") for entry in entries):
        if equals:
            first.setdefault(key, value)
    if ours.get(b"LC_CTYPE") in _COERCED_LOCALES and b"LC_CTYPE" in first:
        ours[b"LC_CTYPE"] = first[b"LC_CTYPE"]
    elif ours.get(b"LC_CTYPE") in _COERCED_LOCALES:
        del ours[b"LC_CTYPE"]
    # An unchanged environment is passed on as it is, with whatever oddities it has.
    if ours == first:
        return entries
    return [key + b"=" + value for key, value in ours.items()]


def _resident_kib() -> int:
    """Return our resident memory: a process we make has as much until it executes its program."""
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


def _not_started(program: str, error: OSError) -> ProgramError:
    if error.errno == errno.ENOENT:
        if "/" in program and Path(program).exists():
            return ProgramError(f"{program}: its interpreter (first line) does not exist", 127)
        return ProgramError(f"{program}: command not found", 127)
    if Path(program).is_dir():
        return ProgramError(f"{program}: is a directory", 126)
    if error.errno == errno.EACCES:
        return ProgramError(
            f"{program}: permission denied; to make it executable: chmod +x {program}", 126
        )
    return ProgramError(f"{program}: cannot be executed: {error.strerror}", 126)


def _raise_nofile(needed: int) -> int:
    """Raise our limit of open files if needed; return the limit the program must get, or -1."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or needed <= soft:
        return -1
    wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return soft


def _wait_for_any(fds: Sequence[int], seconds: float | None) -> None:
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    poll.poll(None if seconds is None else 1000 * seconds)


def _end(pid: int) -> None:
    """End the command that timed an attachment, if it has not ended by itself."""
    if os.waitpid(pid, os.WNOHANG)[0] == 0:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
