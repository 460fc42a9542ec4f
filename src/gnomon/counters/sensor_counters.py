"""Counting of sensors: differences of counters, also past their ends, and samples of gauges."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence

from gnomon.counters.component import RawCount
from gnomon.counters.sensors import Read, Sensor, fields_of
from gnomon.errors import ForkedError, NotRunningError

FOLLOW_NS = 4_000_000_000
"""Pause between looks at counters that wrap around."""

MOST_PER_NS = 4.0
"""What one wrapping counter may grow by in a nanosecond: microjoules at 4 kW."""

# A counter is read a moment before or after its time, and moves in steps.
_LATE_NS = 1_000_000_000

_FIRST_PAUSE_NS = 1_000_000
_GAUGE_PAUSE_NS = 20_000_000
# A look that took long is followed by a pause of at least so many times its duration.
_DUTY = 100
_MOST = 1 << 63


class SensorSession:
    """Sensors that are read, followed and sampled; meets `component.CounterSession`.

    For a command the counters are first read at construction, because the program may run already
    when `start` is called.
    """

    def __init__(
        self, sensors: Sequence[Sensor], read: Read, ranges: Mapping[str, int], command: bool
    ) -> None:
        self._sensors = tuple(sensors)
        self._counters = fields_of([s for s in sensors if not s.info.gauge])
        self._gauges = fields_of([s for s in sensors if s.info.gauge])
        self._ask = read
        self._totals = Totals({f: ranges.get(f, 0) for f in self._counters})
        self._is_sampled = command and bool(self._gauges)
        self._means = [Mean() for _ in sensors]
        self._peaks: list[int | None] = [None] * len(sensors)
        self._watch: Watch | None = None
        self._final: tuple[RawCount, ...] | None = None
        self._is_running = False
        self._is_begun = False
        self._started_ns = self._counters_ns = self._pid = 0
        self._command = command
        if command:
            self._begin()

    def start(self, pid: int | None = None) -> None:  # noqa: ARG002
        """Begin at zero."""
        self.close()
        self._final = None
        if not self._command or not self._is_begun:
            self._begin()
        self._pid = os.getpid()
        self._started_ns = time.monotonic_ns()
        self._is_running = True
        if self._is_sampled or self._totals.wraps:
            self._look()
            self._watch = Watch(self._look, _GAUGE_PAUSE_NS if self._is_sampled else FOLLOW_NS)

    def read(self) -> tuple[RawCount, ...]:
        """Return the counts since `start`; after `stop`, its result.

        Raises:
            NotRunningError: `start` was never called.
            ForkedError: another process started it.
        """
        if self._final is not None:
            return self._final
        if not self._is_running:
            raise NotRunningError("counting has not begun: start it before reading")
        self._refuse_child()
        if self._watch is None:
            return self._count()
        with self._watch.lock:
            return self._count()

    def stop(self) -> tuple[RawCount, ...]:
        """Stop counting and return the final counts.

        Raises:
            NotRunningError: it is not counting.
            ForkedError: another process started it.
        """
        if not self._is_running:
            raise NotRunningError("counting has not begun or has been stopped")
        self._refuse_child()
        self.close()
        self._final = self._count()
        self._is_running = self._is_begun = False
        return self._final

    def close(self) -> None:
        """End the watch; nothing else is held."""
        # After a fork the thread lives in the parent, and its locks are as they were.
        if self._watch is not None and self._pid == os.getpid():
            self._watch.stop()
        self._watch = None

    def _refuse_child(self) -> None:
        if self._pid != os.getpid():
            raise ForkedError("another process opened this event set: open one of your own")

    def _begin(self) -> None:
        self._is_begun = True
        self._counters_ns = time.monotonic_ns()
        self._totals.begin(self._numbers(self._counters), self._counters_ns)
        self._means = [Mean() for _ in self._sensors]
        self._peaks = [None] * len(self._sensors)

    def _numbers(self, fields: Sequence[str]) -> Mapping[str, int]:
        if not fields:
            return {}
        return {f: n for f, n in self._ask(fields).items() if -_MOST <= n < _MOST}

    def _look(self) -> None:
        now_ns = time.monotonic_ns()
        if self._totals.wraps and now_ns - self._totals.seen_ns >= FOLLOW_NS // 2:
            self._totals.add(self._numbers(self._counters), now_ns)
        if self._is_sampled:
            now = self._numbers(self._gauges)
            now_ns = time.monotonic_ns()
            for index, sensor in enumerate(self._sensors):
                if sensor.info.gauge:
                    value = _sum(sensor, now)
                    self._means[index].add(value, now_ns)
                    peak = self._peaks[index]
                    if value is not None and (peak is None or value > peak):
                        self._peaks[index] = value

    def _count(self) -> tuple[RawCount, ...]:
        self._look()
        now = self._numbers([] if self._is_sampled else self._gauges)
        self._totals.add(self._numbers(self._counters), time.monotonic_ns())
        now_ns = time.monotonic_ns()
        counts = []
        for index, sensor in enumerate(self._sensors):
            since_ns = self._counters_ns
            if not sensor.info.gauge:
                raw = _sum(sensor, self._totals.grown)
            elif self._is_sampled:
                since_ns = self._started_ns
                raw = self._peaks[index] if sensor.peak else self._means[index].value()
            else:
                raw = _sum(sensor, now)
            elapsed_ns = max(now_ns - since_ns, 1)
            known = raw is not None and -_MOST <= raw < _MOST
            counts.append(RawCount(raw or 0, elapsed_ns, elapsed_ns) if known
                          else RawCount(0, elapsed_ns, 0))  # fmt: skip
        return tuple(counts)


class Totals:
    """What counters have grown by since the beginning, also past the ends of their ranges.

    `ranges` says of each field at which number it starts again at 0; 0 is never. `grown` holds the
    sums, without the fields of which they are no longer certain.
    """

    def __init__(self, ranges: Mapping[str, int]) -> None:
        self._ranges = dict(ranges)
        self.wraps = any(ranges.values())
        self.seen_ns = 0
        self.grown: dict[str, int] = {}
        self._last: Mapping[str, int] = {}

    def begin(self, now: Mapping[str, int], now_ns: int) -> None:
        """Begin at zero, with the fields that can be read now."""
        self._last = now
        self.seen_ns = now_ns
        self.grown = dict.fromkeys(now, 0)

    def add(self, now: Mapping[str, int], now_ns: int) -> None:
        """Add the steps since the last look; a field with an uncertain one is given up."""
        gap_ns = now_ns - self.seen_ns
        for field in tuple(self.grown):
            after = now.get(field)
            grown = None
            if after is not None:
                grown = _step(self._last[field], after, self._ranges.get(field, 0), gap_ns)
            if grown is None:
                del self.grown[field]
            else:
                self.grown[field] += grown
        self._last = now
        self.seen_ns = now_ns


def _step(before: int, after: int, modulus: int, gap_ns: int) -> int | None:
    """Return a counter's increase; None if it was set back or may have wrapped unseen."""
    if not modulus:
        return after - before if after >= before else None
    if gap_ns * MOST_PER_NS >= modulus:
        return None
    if after >= before:
        return after - before
    grown = after - before + modulus
    is_plausible = grown <= (gap_ns + _LATE_NS) * MOST_PER_NS
    return grown if before < modulus and is_plausible else None


class Mean:
    """The mean over time of a gauge that is sampled; spans without a value are left out."""

    def __init__(self) -> None:
        self._area = 0.0
        self._covered_ns = 0
        self._first: int | None = None
        self._last: int | None = None
        self._last_ns = 0

    def add(self, value: int | None, now_ns: int) -> None:
        """Take a sample, None where the gauge could not be read."""
        if value is not None and self._last is not None:
            self._area += (value + self._last) / 2 * (now_ns - self._last_ns)
            self._covered_ns += now_ns - self._last_ns
        if self._first is None:
            self._first = value
        self._last = value
        self._last_ns = now_ns

    def value(self) -> int | None:
        """Return the mean so far, None if there was no value at all."""
        return round(self._area / self._covered_ns) if self._covered_ns else self._first


class Watch:
    """Calls a function again and again in a thread that no signal is delivered to."""

    def __init__(self, look: Callable[[], None], pause_ns: int) -> None:
        import signal
        from threading import Event, Lock, Thread

        self.lock = Lock()
        self._look = look
        self._pause_ns = pause_ns
        self._ended = Event()
        self._thread = Thread(target=self._run, name="gnomon-sensors", daemon=True)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self._thread.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def stop(self) -> None:
        """End the thread and wait for it."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        pause_ns = min(_FIRST_PAUSE_NS, self._pause_ns)
        took_ns = 0
        while not self._ended.wait(max(pause_ns, _DUTY * took_ns) / 1e9):
            began_ns = time.monotonic_ns()
            with self.lock:
                self._look()
            took_ns = time.monotonic_ns() - began_ns
            pause_ns = min(2 * pause_ns, self._pause_ns)


def _sum(sensor: Sensor, numbers: Mapping[str, int]) -> int | None:
    found = [numbers[field] for field in sensor.fields if field in numbers]
    return sum(found) if found and len(found) == len(sensor.fields) else None
