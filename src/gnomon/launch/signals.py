"""Signals while a program runs: what is sent to us goes on to it, and its end wakes us up.

Source: signal(7), waitid(2).
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Polled(Protocol):
        """What has something to do while a program runs; an `Observer` is."""

        def descriptors(self) -> Sequence[int]:
            """Return descriptors that call for `drain` when they are readable."""

        def due_ms(self) -> float | None:
            """Return in how many milliseconds `drain` is due, None for no time."""

        def drain(self) -> None:
            """Take pending signals and run the actions that are due."""


_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)

_NEVER = float("inf")
_LOOK_S = 0.1

Handler = Callable[[int, FrameType | None], object] | int | None


class SignalForwarder:
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
        self._outer: SignalForwarder | None = None

    def __enter__(self) -> SignalForwarder:
        self.wakeup, self._wakeup_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._wakeup_before = signal.set_wakeup_fd(self._wakeup_write, warn_on_full_buffer=False)
        for number in (*_FROM_TERMINAL, *_FORWARDED):
            # A signal that was ignored when we were started stays so, for the program too.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._handle)
        # With a handler the end of a child wakes us up, also where it used to be ignored.
        self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, self._handle)
        outer = getattr(self._before[signal.SIGCHLD], "__self__", None)
        if isinstance(outer, SignalForwarder):
            self._outer = outer
            self._pending += outer._pending
            self.terminated |= signal.SIGTERM in outer._pending
            outer._pending.clear()
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            # One that is none of Python's, as of a library that was preloaded, cannot be put back.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self.wakeup)
        os.close(self._wakeup_write)

    def dispositions(self) -> tuple[int, ...]:
        """Return the signal settings that the program must start with, for `_core.spawn`."""
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

    def await_child(self, pid: int, polled: Sequence[Polled] = ()) -> None:
        """Return when a child has ended, leaving it to be waited for.

        Args:
            pid: the child.
            polled: what has something to do meanwhile.
        """
        with _end_of(pid) as end:
            self._await(pid, polled, end)

    def _await(self, pid: int, polled: Sequence[Polled], end: int) -> None:
        poll = select.poll()
        poll.register(self.wakeup, select.POLLIN)
        if end >= 0:
            poll.register(end, select.POLLIN)
        # SIGCHLD does not come where whoever started us has blocked it.
        is_unseen = end < 0 and signal.SIGCHLD in signal.pthread_sigmask(signal.SIG_BLOCK, ())
        whose: dict[int, int] = {}
        for number, each in enumerate(polled):
            for fd in each.descriptors():
                poll.register(fd, select.POLLIN)
                whose[fd] = number
        deadlines = [_deadline(each) for each in polled]
        while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            first = min(deadlines, default=_NEVER)
            if is_unseen:
                first = min(first, time.monotonic() + _LOOK_S)
            wait_ms = None if first == _NEVER else max(1000 * (first - time.monotonic()), 0)
            ready = set()
            for fd, seen in poll.poll(wait_ms):
                if fd == self.wakeup:
                    with suppress(BlockingIOError):
                        os.read(self.wakeup, 4096)
                    continue
                if fd == end:
                    continue
                ready.add(whose[fd])
                if seen & (select.POLLHUP | select.POLLERR):
                    # A ring whose last event is gone stays readable for ever.
                    poll.unregister(fd)
            now = time.monotonic()
            for number, each in enumerate(polled):
                if number in ready or deadlines[number] <= now:
                    each.drain()
                    deadlines[number] = _deadline(each)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        self.terminated |= number == signal.SIGTERM
        if number in _FROM_TERMINAL:
            self.interrupted = True
        elif number in _FORWARDED and self._pid is not None:
            os.kill(self._pid, number)
        elif number in _FORWARDED:
            self._pending.append(number)


@contextmanager
def _end_of(pid: int) -> Iterator[int]:
    """Give a descriptor that becomes readable when a child ends, -1 where there is none."""
    try:
        end = os.pidfd_open(pid)
    except OSError:  # before Linux 5.3, in some sandboxes, or with no descriptor left
        yield -1
        return
    try:
        yield end
    finally:
        os.close(end)


def _deadline(polled: Polled) -> float:
    """Return when `drain` is due, by time.monotonic."""
    due_ms = polled.due_ms()
    return _NEVER if due_ms is None else time.monotonic() + due_ms / 1000
