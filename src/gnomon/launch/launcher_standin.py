"""What stands in for us before the launcher of a job.

A launcher ends a job by killing the process group of each task: Hydra with SIGKILL at once, Open
MPI with SIGTERM and a second later SIGKILL. What had been counted would go with us. So the process
that the launcher knows makes a child which does all our work in a group of its own, stands in for
it, passes on signals and ends as it does. The program is in the launcher's group as before.

A launcher also ends a job where one of its processes ends without MPI_Finalize, for which the other
tasks wait for ever. We outlive the program, and wait for the other tasks, too: so the stand-in can
depart as the program ended, and the launcher does what it does without us.

Source: tried with Open MPI 4.1 and MPICH 4.0; setpgid(2), pidfd_open(2).
"""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress

from gnomon.errors import ProgramError
from gnomon.named_tuple import NamedTuple

_PASSED_ON = (
    signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
)  # fmt: skip
# Format of a word to the stand-in: what is wanted, and with DEPART the fields of a ProgramEnd.
_WORD = "3i"
_ANSWER, _DEPART = 0, 1
# The processes of a group are killed at once, but do not end at once.
_KILLED_MS = 500
# Launchers that wait until a task's output is closed, and not for its process alone.
_WAITS_FOR_OUTPUT = ("OMPI_COMM_WORLD_RANK", "HYDI_CONTROL_FD")


class ProgramEnd(NamedTuple):
    """How a program ended: its exit status, and the signal that killed it or 0."""

    exit_status: int
    killed_by: int


class StandIn:
    """The process that stands in for this one.

    Attributes:
        pid: its number.
        is_known: the launcher started it, and no script in between that did.
    """

    def __init__(
        self, pid: int, pidfd: int, group: int, pipes: tuple[int, int], *, is_known: bool
    ) -> None:
        self.pid = pid
        self.is_known = is_known
        self._pidfd = pidfd
        self._group = group
        self._answers, self._words = pipes

    def take(self, pid: int) -> None:
        """Put a child that has not executed its program yet into the launcher's group.

        Raises:
            ProgramError: the group is gone: the launcher has ended the job.
        """
        try:
            os.setpgid(pid, self._group)
        except OSError:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise ProgramError("the launcher ended the job before the program began", 143) from None

    def hear(self) -> None:
        """Return when we have got what it had got when the program ended.

        A launcher's signal comes to both at once, and to us a moment later.
        """
        self._say(_ANSWER, ProgramEnd(0, 0))
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        poll.register(self._pidfd, select.POLLIN)
        poll.poll(_KILLED_MS)
        with suppress(BlockingIOError):
            os.read(self._answers, 1)

    def was_killed(self) -> bool:
        """Return whether the launcher has killed it, asked when the program was killed."""
        return self._has_ended(_KILLED_MS)

    def hang_up(self) -> None:
        """Close what the launcher has given to the program, which has ended.

        Hydra sees that a rank has ended when no process holds the other end of its socket any more.
        """
        number = os.environ.get("PMI_FD", "")
        with suppress(OSError):
            if number.isdecimal():
                os.close(int(number))

    def can_depart(self) -> bool:
        """Return whether its launcher waits for what we print when the stand-in has ended."""
        return any(name in os.environ for name in _WAITS_FOR_OUTPUT)

    def depart(self, end: ProgramEnd) -> None:
        """Have it end as the program did, while this process goes on."""
        self._say(_DEPART, end)

    def _say(self, wanted: int, end: ProgramEnd) -> None:
        import struct

        # Nothing is said to one that has gone.
        with suppress(ProcessLookupError, BrokenPipeError):
            os.write(self._words, struct.pack(_WORD, wanted, *end))
            signal.pidfd_send_signal(self._pidfd, signal.SIGCHLD)

    def _has_ended(self, wait_ms: int) -> bool:
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return bool(poll.poll(wait_ms))


_current: StandIn | None = None


def current() -> StandIn | None:
    """Return the process that stands in for this one; None without a launcher."""
    return _current


def split() -> ProgramEnd | None:
    """Have this process stand in for a child, if a launcher started it as a task.

    Returns None in the process that is to do the work, and in the stand-in how that ended.
    """
    global _current
    # Every launcher's variable of a rank ends so; to import what knows them takes a millisecond.
    if not any(name.endswith(("RANK", "PROCID")) for name in os.environ):
        return None
    from gnomon.launch.job import job, job_of

    if job() is None:
        return None
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {*_PASSED_ON, signal.SIGCHLD})
    words, say = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    answers, answer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    pid, group, is_known = os.getpid(), os.getpgid(0), job_of(os.getppid()) is None
    pidfd = os.pidfd_open(pid)  # later its number may be another process's
    child = os.fork()
    if child:
        for unused in (say, answers, pidfd):
            os.close(unused)
        end = _stand_in(child, words, answer)
        for number in _PASSED_ON:  # one that came last ends nobody any more
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return end
    os.close(words)
    os.close(answer)
    os.setpgid(0, 0)
    _current = StandIn(pid, pidfd, group, (answers, say), is_known=is_known)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return None


def _stand_in(child: int, words: int, answer: int) -> ProgramEnd:
    import struct

    # Where it was ignored, children leave no status.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    while True:
        # Of those that have come the one with the lowest number, and SIGCHLD has the highest.
        number = signal.sigwait({*_PASSED_ON, signal.SIGCHLD})
        if number != signal.SIGCHLD:
            os.kill(child, number)
            continue
        # Signals that come together are one; a child that has gone takes no answer.
        with suppress(BlockingIOError, BrokenPipeError):
            while said := os.read(words, struct.calcsize(_WORD)):
                wanted, *end = struct.unpack(_WORD, said)
                if wanted == _DEPART:
                    return ProgramEnd(*end)
                os.write(answer, b".")
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            return ProgramEnd(max(code, 0), max(-code, 0))
