"""Intervals one after the other, until their number is reached, a signal comes or all is over."""

from __future__ import annotations

import gc
import signal
import time
from collections.abc import Callable
from functools import partial
from types import FrameType, TracebackType

from gnomon.launch.clock import raw_clock_ns
from gnomon.stat.interval_rows import Sample
from gnomon.stat.monitor import Monitor

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class EndedError(Exception):
    """A signal asked for the end; raised only where nothing is half done by it."""


class Ending:
    """Turns Ctrl-C and its kin into `EndedError` while waiting and writing, not while counting."""

    def __init__(self) -> None:
        self.has_come = False
        self._raises = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> Ending:
        for number in _ENDINGS:
            # What was ignored when we were started (nohup, a shell's background) stays so.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._raises = False
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def during(self, do: Callable[[], object]) -> None:
        """Do what a signal may interrupt.

        Raises:
            EndedError: one came, now or before.
        """
        self._raises = True
        try:
            if self.has_come:
                raise EndedError
            do()
        finally:
            self._raises = False

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self.has_come = True
        if self._raises:
            raise EndedError


def rounds(
    monitor: Monitor, period_ns: int, count: int, tell: Callable[[Sample], object], ending: Ending
) -> bool:
    """Count in intervals and tell each; return whether it ended before their number was reached.

    An interval that comes late is as long as it was; the next one ends when it would have anyway,
    so that times do not drift and nothing is made up for in a hurry.

    Args:
        monitor: what counts; it is started.
        period_ns: how long an interval is.
        count: how many; 0 for no limit.
        tell: is given each interval.
        ending: signals.
    """
    # The command line starts without garbage collection, for it is short: this one is not.
    gc.freeze()
    gc.enable()
    monitor.warm_up()
    monitor.start()
    due_ns = raw_clock_ns() + period_ns
    told = 0
    try:
        while not count or told < count:
            ending.during(partial(_wait, monitor, due_ns))
            sample = monitor.take()
            due_ns += period_ns * (1 + max(raw_clock_ns() - due_ns, 0) // period_ns)
            ending.during(partial(tell, sample))
            told += 1
            if monitor.is_over:
                return True
    except EndedError:
        return True
    return False


def _wait(monitor: Monitor, due_ns: int) -> None:
    while (ahead_ns := due_ns - raw_clock_ns()) > 0:
        turn_ms = monitor.due_ms()
        if turn_ms is None or turn_ms * 1_000_000 > ahead_ns:
            time.sleep(ahead_ns / 1e9)
        else:
            time.sleep(turn_ms / 1e3)
            monitor.look()
