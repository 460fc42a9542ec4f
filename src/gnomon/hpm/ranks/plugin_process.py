"""A plug-in's process: what it is given, what it says, and its end in time.

A plug-in may crash, hang, print and call exit(3); in a process of its own that costs nothing but
what it would have made. What goes in and comes out are files in memory: no pipe can fill.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError
from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from gnomon.launch.signals import SignalForwarder

ABOVE = 16
"""Descriptors from here on a child may have by the same number."""

_MOST_SAID = 1 << 16
CHANGES_FD = 3
"""A child's descriptor for changes of the environment."""


class PluginResult(NamedTuple):
    """How a child ended, and what it left.

    Attributes:
        status: its exit status; negative for the signal that killed it.
        output: what it wrote on standard output.
        changes: what it wrote to descriptor 3.
        said: what it wrote on standard error.
        is_late: it was killed because its time was up.
    """

    status: int
    output: bytes
    changes: bytes
    said: str
    is_late: bool


class TimeLimit:
    """How long a child may take.

    Args:
        seconds: that long from the beginning, or from its last sign of life.
        hurried: that long from when SIGTERM came, if that is sooner.
        beats: returns something that changes with each sign of life: it waits for others, which
            is not its fault.
        then: after so many seconds, what to do; from then on signs of life count no more.
        aside: after so many seconds, what to do, which changes nothing else.
    """

    def __init__(
        self,
        seconds: float,
        hurried: float,
        beats: Callable[[], object] | None = None,
        then: tuple[float, Callable[[], None]] | None = None,
        aside: tuple[float, Callable[[], None]] | None = None,
    ) -> None:
        self._seconds = seconds
        self._then, self._aside = then, aside
        self._then_at = time.monotonic() + then[0] if then else inf
        self._aside_at = time.monotonic() + aside[0] if aside else inf
        self._end = time.monotonic() + seconds
        self._hurried = hurried
        self._is_hurried = False
        self._beats = beats
        self._beat = beats() if beats else None

    def hurry(self) -> None:
        """Tell it that SIGTERM came."""
        if not self._is_hurried:
            self._is_hurried = True
            self._end = min(self._end, time.monotonic() + self._hurried)

    def left(self) -> float:
        """Return the seconds that are left, 0 for none."""
        if self._then is not None and time.monotonic() >= self._then_at:
            act, self._then, self._then_at, self._beats = self._then[1], None, inf, None
            self._end = time.monotonic() + self._seconds
            act()
        if self._aside is not None and time.monotonic() >= self._aside_at:
            act, self._aside, self._aside_at = self._aside[1], None, inf
            act()
        if not self._is_hurried and self._beats and time.monotonic() > self._end:
            beat = self._beats()
            if beat != self._beat:
                self._beat = beat
                self._end = time.monotonic() + self._seconds
        return max(min(self._end, self._then_at, self._aside_at) - time.monotonic(), 0.0)

    @property
    def is_hurried(self) -> bool:
        """Whether SIGTERM came."""
        return self._is_hurried

    @property
    def is_up(self) -> bool:
        """Whether its time is up."""
        return self.left() <= 0 and time.monotonic() >= self._end


def run(
    words: Sequence[str],
    environment: Mapping[str, str],
    given: bytes,
    clock: TimeLimit,
    *,
    blocked: Sequence[signal.Signals] = (),
    kept: Sequence[int] = (),
    signals: SignalForwarder | None = None,
) -> PluginResult:
    """Run a child to its end, or to the end of its time.

    Args:
        words: program and arguments.
        environment: its variables.
        given: its standard input.
        clock: when it is killed.
        blocked: signals that wait until it is ready for them.
        kept: descriptors from `ABOVE` on that it gets by the same number.
        signals: ours, which are passed on to it; SIGTERM makes it hurry.

    Raises:
        GnomonError: it cannot be started.
    """
    files: list[int] = []
    try:
        for name in ("in", "out", "err", "changes"):
            made = os.memfd_create(f"gnomon-plugin-{name}", os.MFD_CLOEXEC)
            files.append(fcntl.fcntl(made, fcntl.F_DUPFD_CLOEXEC, ABOVE))
            os.close(made)
        _write(files[0], given)
        os.lseek(files[0], 0, os.SEEK_SET)
        pid = _spawned(words, environment, files, kept, blocked)
        status, is_late = _awaited(pid, clock, signals)
        said = _content(files[2])[:_MOST_SAID].decode(errors="replace")
        return PluginResult(status, _content(files[1]), _content(files[3]), said, is_late)
    except OSError as error:
        raise GnomonError(f"{words[0]}: cannot be started: {error.strerror}") from None
    finally:
        for fd in files:
            os.close(fd)


def _spawned(
    words: Sequence[str],
    environment: Mapping[str, str],
    files: Sequence[int],
    kept: Sequence[int],
    blocked: Sequence[signal.Signals],
) -> int:
    targets = zip(files, (0, 1, 2, CHANGES_FD), strict=True)
    actions: list[tuple[int, int, int]] = [(os.POSIX_SPAWN_DUP2, fd, to) for fd, to in targets]
    for fd in kept:
        os.set_inheritable(fd, True)
    try:
        return os.posix_spawn(
            words[0],
            list(words),
            dict(environment),
            file_actions=actions,
            # Python ignores some, and a child of hpmcount must not.
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
            setsigmask=blocked,
        )
    finally:
        for fd in kept:
            os.set_inheritable(fd, False)


def _awaited(pid: int, clock: TimeLimit, signals: SignalForwarder | None) -> tuple[int, bool]:
    """Return the child's status, negative for a signal, and whether its time was up."""
    poll = select.poll()
    pidfd = os.pidfd_open(pid)
    poll.register(pidfd, select.POLLIN)
    if signals is not None:
        poll.register(signals.wakeup, select.POLLIN)
        signals.forward_to(pid)
    is_late = False
    try:
        while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            if signals is not None and signals.terminated:
                clock.hurry()
            left = clock.left()
            if clock.is_up:
                is_late = True
                os.kill(pid, signal.SIGKILL)
                break
            for fd, _ in poll.poll(left * 1000 + 1):
                if fd != pidfd:
                    with suppress(BlockingIOError):
                        os.read(fd, 4096)
    finally:
        os.close(pidfd)
        if signals is not None:
            signals.forward_to(None)
        _, ended = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(ended), is_late


def _write(fd: int, content: bytes) -> None:
    at = 0
    while at < len(content):
        at += os.write(fd, content[at : at + (1 << 30)])


def _content(fd: int) -> bytes:
    size = os.fstat(fd).st_size
    parts = []
    offset = 0
    while offset < size:
        part = os.pread(fd, size - offset, offset)
        if not part:
            break
        parts.append(part)
        offset += len(part)
    return b"".join(parts)
