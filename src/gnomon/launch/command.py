"""Execute a command under the eyes of any number of observers.

The program must not notice: it gets the environment, signals, descriptors, limits and terminal
that it would have got without us, and what it does to itself (exec, fork, daemonise, die) is
followed by the kernel's own inheritance of counters, not by us.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing

from gnomon.errors import ObserverError
from gnomon.launch import launcher_standin
from gnomon.launch.clock import raw_clock_ns
from gnomon.launch.contention import Neighbours
from gnomon.launch.orphans import OrphanWatch
from gnomon.launch.process import exec_target, invocation, spawn
from gnomon.launch.process_result import ProcessResult
from gnomon.launch.resource_usage import own_usage, usage_rows
from gnomon.launch.signals import SignalForwarder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from gnomon.launch.observer import Observer
    from gnomon.launch.process import Invocation

    _T = TypeVar("_T")


def execute(command: Sequence[str], observers: Sequence[Observer]) -> ProcessResult:
    """Execute a command, observe it and return how it went; the observers stay open.

    Raises:
        ProgramError: the program cannot be executed; has the shell's status for that.
        GnomonError: an observer cannot observe it; it was not executed then.
    """
    with SignalForwarder() as signals, closing(OrphanWatch()) as orphans:
        started = time.time()
        target = observed(command, observers)
        pid, gate = spawn(target, signals)
        signals.forward_to(pid)
        may_inherit = all(observer.watches_orphans for observer in observers)
        if may_inherit:
            orphans.watch(pid)
        try:
            for observer in observers:
                observer.may_inherit = may_inherit
                _attach(observer, pid)
        except BaseException:
            signals.forward_to(None)
            os.close(gate)  # it ends without having executed the program
            os.waitpid(pid, 0)
            raise
        neighbours = Neighbours(pid)
        before = exec_target(target.command, pid, gate)
        careful = [_Careful(observer) for observer in observers]
        for each in careful:
            each.begin()
        signals.await_child(pid, careful)
        end_ns = raw_clock_ns()
        neighbours.end()
        stand_in = launcher_standin.current()
        if stand_in is not None:
            stand_in.hear()
        # The process is a zombie: its own files in /proc can still be read.
        for each in careful:
            each.finish()
        has_orphans = orphans.has_any()
        signals.forward_to(None)
        _, status, usage = os.wait4(pid, 0)
    killed_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    user_ns = round(1e9 * own_usage(usage, "ru_utime", before.used))
    system_ns = round(1e9 * own_usage(usage, "ru_stime", before.used))
    return ProcessResult(
        command=tuple(command),
        pid=pid,
        exit_status=128 + killed_by if killed_by else os.WEXITSTATUS(status),
        signal=killed_by,
        started=started,
        wall_ns=end_ns - before.at_ns,
        user_ns=user_ns,
        system_ns=system_ns,
        faults=usage.ru_minflt + usage.ru_majflt,
        rusage=usage_rows(usage, before.used, before.peak_kib),
        has_orphans=has_orphans,
        interrupted=signals.interrupted,
        terminated=signals.terminated,
        contention=neighbours.contention(user_ns + system_ns, before.schedule),
    )


def _attach(observer: Observer, pid: int) -> None:
    try:
        observer.attach(pid)
    except OSError as error:
        if not observer.name:
            raise
        raise ObserverError(
            f"{observer.name}: cannot observe the program: {error.strerror or error}; omit it: "
            f"--without {observer.name}"
        ) from None


class _Careful:
    """Calls an observer while a program runs; one that failed is left alone from then on.

    The program goes on, and so do the other observers.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def begin(self) -> None:
        self._call(self._observer.begin)

    def descriptors(self) -> Sequence[int]:
        return self._call(self._observer.descriptors) or ()

    def due_ms(self) -> float | None:
        return self._call(self._observer.due_ms)

    def drain(self) -> None:
        self._call(self._observer.drain)

    def finish(self) -> None:
        self._call(self._observer.finish)

    def _call(self, method: Callable[[], _T]) -> _T | None:
        if self._observer.failure is None:
            try:
                return method()
            except Exception as error:
                self._observer.failure = error
        return None


def observed(command: Sequence[str], observers: Sequence[Observer]) -> Invocation:
    """Return the invocation of an observed command.

    Raises:
        ObserverError: the observers cannot share an execution.
    """
    target = invocation(command)
    added = [(one.name, one.environment(), one.preloads(), one.preloads_first) for one in observers]
    if any(variables or libraries for _, variables, libraries, _ in added):
        from gnomon.launch import preloads

        if preloads.is_for_other_machine(command[0]):
            added = [(name, variables, (), first) for name, variables, _, first in added]
        additions = [preloads.EnvironmentAdditions(*one) for one in added]
        target = target.with_variables(preloads.variables(additions, target.environment))
    for observer in observers:
        target = observer.wrap(target)
    return target
