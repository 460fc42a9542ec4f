"""Sampling of gauges, for processes whose end takes the numbers with it.

A zombie has no resident memory and no high-water mark any more, so the gauges of a command are read
every now and then while it lives. The sampling thread runs in Gnomon's own process with all signals
blocked; it does nothing to the measured one but read its /proc files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

FIRST_PERIOD_NS = 1_000_000
"""Pause after the first sample; it doubles up to `PERIOD_NS`, so that short programs are seen."""

PERIOD_NS = 20_000_000
"""Pause between samples of a program that runs longer."""

DUTY = 100
"""A sample that took long is followed by a pause of at least so many times its duration."""

Gauges = tuple[int | None, ...]


class GaugeSampler:
    """Calls a function again and again and keeps the last or the highest value of each gauge."""

    def __init__(self, sample: Callable[[], Gauges], highest: Sequence[bool]) -> None:
        """Prepare to call `sample`; gauges marked in `highest` keep their highest value."""
        from threading import Event, Lock, Thread

        self._sample = sample
        self._highest = tuple(highest)
        self._kept: list[int | None] = [None] * len(self._highest)
        self._lock = Lock()
        self._ended = Event()
        self._thread = Thread(target=self._run, name="gnomon-gauges", daemon=True)
        self.samples = 0

    def start(self) -> None:
        """Take the first sample, then go on in a thread that no signal is delivered to."""
        import signal

        self.look()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self._thread.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def look(self) -> Gauges:
        """Take a sample now and return the kept value of each gauge, None if it was never there."""
        with self._lock:
            found = self._sample()
            self.samples += any(value is not None for value in found)
            for index, value in enumerate(found):
                kept = self._kept[index]
                if value is not None and not (
                    self._highest[index] and kept is not None and kept > value
                ):
                    self._kept[index] = value
            return tuple(self._kept)

    def stop(self) -> None:
        """End the thread and wait for it; `look` still works."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        pause_ns = FIRST_PERIOD_NS
        took_ns = 0
        while not self._ended.wait(max(pause_ns, DUTY * took_ns) / 1e9):
            began_ns = time.monotonic_ns()
            self.look()
            took_ns = time.monotonic_ns() - began_ns
            pause_ns = min(2 * pause_ns, PERIOD_NS)
