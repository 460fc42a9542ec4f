"""Counting what runs already: a process, the whole machine, or the processes of a cgroup."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from gnomon.count.count_modes import LiveCounts, Mode
from gnomon.counters.event_resolver import EventResolution
from gnomon.launch.attach import check_running, observe_running
from gnomon.measurement.measurement import Measurement

_PLAIN = Mode()


def attach(
    pid: int,
    wanted: EventResolution,
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
    if pid:
        check_running(pid)
    with closing(LiveCounts(wanted, mode, pid)) as counters:
        attached = observe_running(pid, counters, seconds=seconds, command=command)
        measurement = Measurement(
            command=(),
            pid=pid,
            attached=True,
            exit_status=None,
            signal=0,
            started=attached.started,
            wall_ns=attached.wall_ns,
            user_ns=None,
            system_ns=None,
            values=counters.values,
            unavailable=counters.unavailable,
            notes=counters.notes(),
            rusage=(),
            interrupted=attached.interrupted,
        )
        return counters.completed(measurement)
