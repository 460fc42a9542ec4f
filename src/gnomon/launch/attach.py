"""Observe what runs already: a process that is not ours, or the machine, until some end.

Source: pidfd_open(2), which Linux has since 5.3.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError
from gnomon.launch.clock import raw_clock_ns
from gnomon.launch.process import exec_target, invocation, spawn
from gnomon.launch.signals import SignalForwarder
from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from gnomon.launch.observer import Observer


class Attachment(NamedTuple):
    """How observing what runs already went.

    Attributes:
        started: when it began, seconds since the epoch.
        wall_ns: how long it took.
        interrupted: the user pressed Ctrl-C.
    """

    started: float
    wall_ns: int
    interrupted: bool


def check_running(pid: int) -> None:
    """Check that there is a process of that number.

    Raises:
        GnomonError: there is none.
    """
    if not Path(f"/proc/{pid}").exists():
        raise GnomonError(f"process {pid}: no such process; see ps")


def observe_running(
    pid: int, observer: Observer, *, seconds: float | None = None, command: Sequence[str] = ()
) -> Attachment:
    """Observe a process until it ends, `seconds` are over, a command has ended, or Ctrl-C comes.

    Args:
        pid: the process; 0 where the observer knows what it observes.
        observer: is attached to it, and finished at the end.
        seconds: for how long at most; None for no limit.
        command: is run meanwhile, and not observed by itself.

    Raises:
        GnomonError: the process cannot be watched.
        ProgramError: the command cannot be executed.
    """
    timer = 0
    with closing(_ForeignProcess(pid)) as process, SignalForwarder() as signals:
        started = time.time()
        begin_ns = raw_clock_ns()
        observer.attach(pid)
        if command:
            timer, gate = spawn(invocation(command), signals)
            exec_target(command, timer, gate)
        observer.begin()
        process.wait(signals, seconds, observer)
        observer.finish()
        end_ns = raw_clock_ns()
        if timer:
            _end(timer)
        return Attachment(started, end_ns - begin_ns, signals.interrupted)


class _ForeignProcess:
    """Waits for the end of a process that is not our child, or for a signal."""

    def __init__(self, pid: int) -> None:
        self._process = Path(f"/proc/{pid}")
        self._fd = -1
        self._looks = False
        try:
            if pid:
                self._fd = os.pidfd_open(pid)
        except OSError as error:
            if error.errno != errno.ENOSYS:
                raise GnomonError(
                    f"process {pid}: it cannot be watched: {error.strerror}"
                ) from None
            self._looks = True

    def wait(self, signals: SignalForwarder, seconds: float | None, observer: Observer) -> None:
        """Return when it has ended, after `seconds`, or when a signal comes (Ctrl-C, SIGCHLD)."""
        poll = select.poll()
        poll.register(signals.wakeup, select.POLLIN)
        if self._fd >= 0:
            poll.register(self._fd, select.POLLIN)
        for fd in observer.descriptors():
            poll.register(fd, select.POLLIN)
        deadline = float("inf") if seconds is None else time.monotonic() + seconds
        while time.monotonic() < deadline:
            dues = [observer.due_ms(), 50 if self._looks else None]
            if seconds is not None:
                dues.append(1000 * (deadline - time.monotonic()) + 1)
            known = [due for due in dues if due is not None]
            for fd, seen in poll.poll(min(known) if known else None):
                if fd in (signals.wakeup, self._fd):
                    return
                if seen & (select.POLLHUP | select.POLLERR):
                    poll.unregister(fd)
            # Linux before 5.3 does not tell the end of another's process: look for it.
            if self._looks and not self._process.exists():
                return
            observer.drain()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)


def _end(pid: int) -> None:
    """End the command that timed a measurement, if it has not ended by itself."""
    with suppress(ChildProcessError):
        if os.waitpid(pid, os.WNOHANG)[0] == 0:
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)
