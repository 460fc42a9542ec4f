"""What is to be done at set times while a program runs: turns, intervals, the end of a delay.

All of it happens in the loop that waits for the program, so that there is no thread that would be
counted or would have to be kept out of the counts.
"""

from __future__ import annotations

from collections.abc import Callable

from gnomon.launch.clock import raw_clock_ns


class _Timer:
    __slots__ = ("action", "at_ns", "period_ns")

    def __init__(self, at_ns: int, period_ns: int, action: Callable[[], bool]) -> None:
        self.at_ns = at_ns
        self.period_ns = period_ns
        self.action = action


class TimerQueue:
    """Actions and when each is due, on CLOCK_MONOTONIC_RAW."""

    def __init__(self, clock: Callable[[], int] = raw_clock_ns) -> None:
        """Begin empty; `clock` tells the time in nanoseconds."""
        self._clock = clock
        self._timers: list[_Timer] = []

    def once(self, after_ns: int, action: Callable[[], object]) -> None:
        """Do something once, in so many nanoseconds."""

        def do_once() -> bool:
            action()
            return False

        self._timers.append(_Timer(self._clock() + after_ns, 0, do_once))

    def every(self, period_ns: int, action: Callable[[], bool]) -> None:
        """Do something again and again, first in one period, for as long as it returns True.

        What comes late is done once, and the next time is the one that it would have been: times
        do not drift, and nothing is made up for in a hurry.
        """
        self._timers.append(_Timer(self._clock() + period_ns, period_ns, action))

    def due_ms(self) -> float | None:
        """Return in how many milliseconds something is due; None if nothing ever is."""
        if not self._timers:
            return None
        # poll(2) takes whole milliseconds: rounded up, or it would come back too early and spin.
        ahead_ns = min(timer.at_ns for timer in self._timers) - self._clock()
        return max(-(-ahead_ns // 1_000_000), 0)

    def run_due(self) -> None:
        """Do what is due."""
        for timer in list(self._timers):
            now = self._clock()
            if timer.at_ns > now:
                continue
            if timer.action():
                timer.at_ns += timer.period_ns * (1 + (now - timer.at_ns) // timer.period_ns)
            else:
                self._timers.remove(timer)
