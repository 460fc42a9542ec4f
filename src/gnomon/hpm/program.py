"""Starting a program so that it finds the world as if Gnomon were not there, and awaiting its end.

Source: execve(2), signal(7), PEP 538 (what Python adds to an environment).
"""

from __future__ import annotations

import errno
import os
import select
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import FrameType, MappingProxyType
from typing import NamedTuple

from gnomon import _core
from gnomon.errors import ProgramError
from gnomon.hpm import standin

_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
_AMOUNTS = ("ru_minflt", "ru_majflt", "ru_inblock", "ru_oublock", "ru_nvcsw", "ru_nivcsw")
_COERCED_LOCALES = (b"C.UTF-8", b"C.utf8", b"UTF-8")

Handler = Callable[[int, FrameType | None], object] | int | None


class Signals:
    """While a program runs: Ctrl-C is its business, and what is sent to us goes on to it.

    Within another one, those that came before there was a program go to this one's.

    Attributes:
        interrupted: SIGINT or SIGQUIT came; the terminal sends them to the program too.
        terminated: SIGTERM came, as from a launcher that ends a job.
        wakeup: a descriptor that becomes readable when any of our signals comes, so that a wait
            can be ended by one that comes just before it (signal.set_wakeup_fd).
    """

    def __init__(self) -> None:
        self.interrupted = self.terminated = False
        self.wakeup = self._wakeup_write = self._wakeup_before = -1
        self._pid: int | None = None
        self._pending: list[int] = []
        self._before: dict[int, Handler] = {}
        self._outer: Signals | None = None

    def __enter__(self) -> Signals:
        self.wakeup, self._wakeup_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._wakeup_before = signal.set_wakeup_fd(self._wakeup_write, warn_on_full_buffer=False)
        for number in (*_FROM_TERMINAL, *_FORWARDED):
            # A signal that was ignored when we were started stays so, for the program too.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._handle)
        # With a handler the end of a child wakes us up, also where it used to be ignored.
        self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, self._handle)
        outer = getattr(self._before[signal.SIGCHLD], "__self__", None)
        if isinstance(outer, Signals):
            self._outer = outer
            self._pending += outer._pending
            self.terminated |= signal.SIGTERM in outer._pending
            outer._pending.clear()
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self.wakeup)
        os.close(self._wakeup_write)

    def dispositions(self) -> tuple[int, ...]:
        """Return what the program must find otherwise than we have it, for `_core.spawn`."""
        first = self
        while first._outer is not None:
            first = first._outer
        ignored = first._before.get(signal.SIGCHLD) is signal.SIG_IGN
        ours = [n for n in self._before if n != signal.SIGCHLD or not ignored]
        return (*ours, *_IGNORED_BY_PYTHON, *((-signal.SIGCHLD,) if ignored else ()))

    def forward_to(self, pid: int | None) -> None:
        """Name the process that gets our signals; those that came too early go to it now."""
        self._pid = pid
        if pid is not None:
            for number in self._pending:
                os.kill(pid, number)
            self._pending.clear()

    def await_child(
        self,
        pid: int,
        fds: Sequence[int] = (),
        look: Callable[[], None] | None = None,
        due_ms: Callable[[], float | None] = lambda: 50,
    ) -> None:
        """Return when a child has ended, leaving it to be waited for.

        Args:
            pid: the child.
            fds: descriptors that call for a look when they are readable.
            look: called then, and when it is due.
            due_ms: in how many milliseconds a look is due, None for no time.
        """
        poll = select.poll()
        poll.register(self.wakeup, select.POLLIN)
        for fd in fds:
            poll.register(fd, select.POLLIN)
        while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            for fd, seen in poll.poll(None if look is None else due_ms()):
                if fd == self.wakeup:
                    with suppress(BlockingIOError):
                        os.read(self.wakeup, 4096)
                elif seen & (select.POLLHUP | select.POLLERR):
                    # A ring whose last event is gone stays readable for ever.
                    poll.unregister(fd)
            if look is not None:
                look()

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        self.terminated |= number == signal.SIGTERM
        if number in _FROM_TERMINAL:
            self.interrupted = True
        elif number in _FORWARDED and self._pid is not None:
            os.kill(self._pid, number)
        elif number in _FORWARDED:
            self._pending.append(number)


def spawn(
    command: Sequence[str],
    signals: Signals,
    nofile: int = -1,
    added: Mapping[str, str] = MappingProxyType({}),
) -> tuple[int, int]:
    """Return (pid, gate) of a process that will execute a command once `release` is called.

    Args:
        command: program and arguments; the program is found through PATH.
        signals: ours, whose traces are removed from the process.
        nofile: its soft limit of open files; ours if negative.
        added: variables that it gets beside ours.

    Raises:
        ProgramError: no process can be made, or the launcher has ended the job.
    """
    try:
        pid, gate = _core.spawn(
            [os.fsencode(word) for word in command],
            environment() + [os.fsencode(f"{key}={added[key]}") for key in added],
            signals.dispositions(),
            nofile,
        )
    except OSError as error:
        raise _not_started(command[0], error) from None
    stand_in = standin.current()
    if stand_in is not None:
        stand_in.take(pid)
    return pid, gate


def check(program: str) -> None:
    """Check that a program would be executed, where something else is to execute it for us.

    Raises:
        ProgramError: it would not; has the shell's status for that.
    """
    if "/" in program:
        places = [program]
    else:
        places = [f"{folder or '.'}/{program}" for folder in os.get_exec_path()]
    from pathlib import Path

    refused: int = errno.ENOENT
    for place in places:
        if Path(place).is_file() and os.access(place, os.X_OK):
            return
        if Path(place).exists():
            refused = errno.EACCES
    raise _not_started(program, OSError(refused, os.strerror(refused)))


class BeforeExec(NamedTuple):
    """What a process had used up when it executed its program, and when that was.

    Attributes:
        at_ns: CLOCK_MONOTONIC_RAW.
        used: amounts by field of getrusage(2), times in seconds; `ru_maxrss` is not among them,
            because a peak cannot be taken off another.
        peak_kib: its peak resident memory: a program's that is not above this is not known.
        schedule: what /proc/PID/schedstat said of it, b"" if that is not known.
    """

    at_ns: int
    used: dict[str, int | float]
    peak_kib: int
    schedule: bytes


def release(command: Sequence[str], pid: int, gate: int) -> BeforeExec:
    """Let a spawned process execute its command; return what there was just before.

    Raises:
        ProgramError: it cannot be executed; has the shell's status for that.
    """
    try:
        at_ns, (utime_us, stime_us, *amounts, peak_kib), schedule = _core.release(pid, gate)
    except OSError as error:
        raise _not_started(command[0], error) from None
    used: dict[str, int | float] = {"ru_utime": utime_us / 1e6, "ru_stime": stime_us / 1e6}
    used.update(zip(_AMOUNTS, amounts, strict=True))
    return BeforeExec(at_ns, used, peak_kib, schedule)


def environment() -> list[bytes]:
    """Return our environment without what Python added to it by itself (LC_CTYPE, PEP 538)."""
    ours = dict(os.environb)
    try:
        with open("/proc/self/environ", "rb") as file:
            entries = file.read().split(b"\0")[:-1]
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


def _not_started(program: str, error: OSError) -> ProgramError:
    from pathlib import Path

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
