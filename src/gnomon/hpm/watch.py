"""Counting what runs already: a process, the whole machine, or the processes of a cgroup."""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from gnomon.counters.resolve import Resolved
from gnomon.errors import GnomonError
from gnomon.hpm.measurement import Measurement, raw_clock_ns
from gnomon.hpm.modes import LiveCounts, Mode
from gnomon.hpm.program import Signals, release, spawn
from gnomon.hpm.schedule import Schedule

_PLAIN = Mode()


def watch(
    pid: int,
    wanted: Resolved,
    *,
    seconds: float | None = None,
    command: Sequence[str] = (),
    mode: Mode = _PLAIN,
) -> Measurement:
    """Return the measurement of a running process and all its threads, or of the machine.

    It ends when the process does, after `seconds`, when `command` has ended, or by Ctrl-C,
    whichever is first.

    Args:
        pid: the process; 0 where `mode` says what is counted.
        wanted: what to count.
        seconds: for how long at most; None for no limit.
        command: is run meanwhile, and not counted by itself.
        mode: how.

    Raises:
        GnomonError: there is no such process, or nothing may be counted so.
        ProgramError: the command cannot be executed.
    """
    if pid and not Path(f"/proc/{pid}").exists():
        raise GnomonError(f"process {pid}: it does not exist; see ps for those that do")
    timer = 0
    with (
        closing(LiveCounts(wanted, mode, pid)) as counts,
        closing(_Watch(pid)) as process,
        Signals() as signals,
    ):
        started = time.time()
        begin_ns = raw_clock_ns()
        if not mode.delay_ns:
            counts.begin(pid or None)
        if command:
            timer, gate = spawn(command, signals)
            release(command, timer, gate)
        process.wait(signals, seconds, counts.plan())
        values = counts.stop()
        end_ns = raw_clock_ns()
        if timer:
            _end(timer)
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
            values=values,
            unavailable=counts.unavailable,
            notes=counts.notes(),
            rusage=(),
            interrupted=signals.interrupted,
        )
        return counts.finished(measurement)


class _Watch:
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

    def wait(self, signals: Signals, seconds: float | None, schedule: Schedule) -> None:
        """Return when it has ended, after `seconds`, or when a signal comes (Ctrl-C, SIGCHLD)."""
        poll = select.poll()
        poll.register(signals.wakeup, select.POLLIN)
        if self._fd >= 0:
            poll.register(self._fd, select.POLLIN)
        deadline = float("inf") if seconds is None else time.monotonic() + seconds
        while time.monotonic() < deadline:
            dues = [schedule.due_ms(), 50 if self._looks else None]
            if seconds is not None:
                dues.append(1000 * (deadline - time.monotonic()) + 1)
            known = [due for due in dues if due is not None]
            if poll.poll(min(known) if known else None):
                return
            # Linux before 5.3 does not tell the end of another's process: look for it.
            if self._looks and not self._process.exists():
                return
            schedule.look()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)


def _end(pid: int) -> None:
    """End the command that timed a measurement, if it has not ended by itself."""
    with suppress(ChildProcessError):
        if os.waitpid(pid, os.WNOHANG)[0] == 0:
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)
