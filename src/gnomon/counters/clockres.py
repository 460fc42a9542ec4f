"""What each timer resolves and costs, and how steadily the clock runs.

A timer's resolution is the smallest step that two readings one after the other ever differ by; its
cost is the time that calls of it take on average, over batches of them. Source: clock_gettime(2),
clock_getres(2).
"""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Callable, Sequence
from itertools import pairwise, repeat
from pathlib import Path

from gnomon import _core
from gnomon.counters import timers
from gnomon.counters.host_facts import Clock, clock
from gnomon.counters.sample_statistics import SampleStatistics, spread
from gnomon.counters.virtualization import first_cpu
from gnomon.errors import UsageError
from gnomon.named_tuple import NamedTuple

SAMPLES = 100_000
FEWEST, MOST = 100, 10_000_000
_BATCHES = 100
_MOST_CPUS = 64
_INTERVALS = 5
_INTERVAL_S = 0.02
_ROOT = Path("/")


class _Timer(NamedTuple):
    """A timer: its unit, what it is, how Python calls it, the kernel's clock behind it."""

    name: str
    unit: str
    description: str
    call: Callable[[], int] | None
    kernel: int | None


_TIMERS = (
    _Timer("real_cycles", "cycles", "the time counter", timers.real_cycles, None),
    _Timer("real_ns", "ns", "CLOCK_MONOTONIC_RAW by the time counter", timers.real_ns, None),
    _Timer("real_us", "us", "the same in microseconds", timers.real_us, None),
    _Timer("virtual_cycles", "cycles", "virtual_ns in ticks of the time counter",
           timers.virtual_cycles, time.CLOCK_THREAD_CPUTIME_ID),
    _Timer("virtual_ns", "ns", "CPU time of the thread", timers.virtual_ns,
           time.CLOCK_THREAD_CPUTIME_ID),
    _Timer("virtual_us", "us", "the same in microseconds", timers.virtual_us,
           time.CLOCK_THREAD_CPUTIME_ID),
    _Timer("virtual_process_ns", "ns", "CPU time of the process", timers.virtual_process_ns,
           time.CLOCK_PROCESS_CPUTIME_ID),
    _Timer("monotonic_raw", "ns", "clock_gettime(CLOCK_MONOTONIC_RAW)", None,
           time.CLOCK_MONOTONIC_RAW),
    _Timer("monotonic", "ns", "clock_gettime(CLOCK_MONOTONIC)", time.monotonic_ns,
           time.CLOCK_MONOTONIC),
    _Timer("realtime", "ns", "clock_gettime(CLOCK_REALTIME)", time.time_ns, time.CLOCK_REALTIME),
    _Timer("monotonic_coarse", "ns", "clock_gettime(CLOCK_MONOTONIC_COARSE)", None, 6),
)  # fmt: skip
_PER_SECOND = {"ns": 1e9, "us": 1e6}


class Resolution(NamedTuple):
    """What was found of one timer.

    Attributes:
        name: as in `gnomon.counters.timers`, or the kernel's clock.
        description: what it reads.
        unit: "cycles", "ns" or "us".
        resolution: smallest step seen, in the unit; None if it never moved.
        resolution_ns: the same in nanoseconds.
        claimed_ns: what clock_getres(2) says of the kernel's clock behind it, None without.
        steps: differences of readings one after the other, in the unit.
        still: share of readings, 0 to 1, that were equal to the one before.
        backward: how many were smaller than the one before.
        cost_ns: nanoseconds of a call from C, averages of batches.
        python_ns: the same of a call from Python (median), None where Python has no such call.
        unavailable: why the timer is not available; all else is then None, 0 or empty.
    """

    name: str
    description: str
    unit: str
    resolution: int | None = None
    resolution_ns: float | None = None
    claimed_ns: float | None = None
    steps: SampleStatistics | None = None
    still: float | None = None
    backward: int = 0
    cost_ns: SampleStatistics | None = None
    python_ns: float | None = None
    unavailable: str = ""


class Steadiness(NamedTuple):
    """How the clock runs.

    Attributes:
        source: what gnomon's clock reads ("tsc", "cntvct", "vdso").
        hertz: rate of the time counter, None without one.
        apart_ppm: how far the rates of some short intervals lie apart, in millionths; it holds the
            uncertainty of the measurement.
        offset_ns: the most that real_ns differed from CLOCK_MONOTONIC_RAW, up to the time that
            looking takes.
        cpus: how many CPUs the thread was moved over, reading real_ns on each.
        backward: how many of these readings were smaller than the one before.
        kernel: the kernel's clock.
        system_call_ns: what a system call costs: a clock that costs about as much makes one.
    """

    source: str
    hertz: float | None
    apart_ppm: float | None
    offset_ns: float
    cpus: int
    backward: int
    kernel: Clock
    system_call_ns: float


def resolutions(samples: int = SAMPLES) -> tuple[Resolution, ...]:
    """Return the resolution and cost of each timer.

    Raises:
        UsageError: the number of samples is not in 100 to 10 million.
    """
    if not FEWEST <= samples <= MOST:
        raise UsageError(f"{samples} readings of a timer: {FEWEST} to {MOST} make sense")
    return tuple(_resolution(timer, samples) for timer in _TIMERS)


def readings(name: str, samples: int) -> Sequence[int]:
    """Return so many readings of a timer, one after the other, taken in C."""
    return _words(_core.clock_samples(name, samples))


def steadiness(root: Path = _ROOT) -> Steadiness:
    """Return how the clock of this machine runs; takes about a tenth of a second."""
    source, _ = _core.clock_info()
    backward, cpus = _moved()
    calls = _words(_core.clock_costs("system_call", _BATCHES, 100))
    rate = timers.cycles_per_second()
    return Steadiness(
        source,
        rate,
        None if rate is None else _apart_ppm(),
        _offset_ns(),
        cpus,
        backward,
        clock(root, first_cpu(root).get("flags")),
        spread(calls).median / 100,
    )


def _resolution(timer: _Timer, samples: int) -> Resolution:
    rate = _PER_SECOND.get(timer.unit) or timers.cycles_per_second()
    resolution = Resolution(timer.name, timer.description, timer.unit)
    if rate is None:
        return resolution._replace(unavailable="no time counter of constant rate can be used here")
    values = readings(timer.name, samples)
    steps = [after - before for before, after in pairwise(values)]
    smallest = min((step for step in steps if step > 0), default=None)
    calls = max(samples // _BATCHES, 1)
    costs = [ns / calls for ns in _words(_core.clock_costs(timer.name, _BATCHES, calls))]
    return resolution._replace(
        resolution=smallest,
        resolution_ns=None if smallest is None else smallest / rate * 1e9,
        claimed_ns=None if timer.kernel is None else time.clock_getres(timer.kernel) * 1e9,
        steps=spread(steps),
        still=steps.count(0) / len(steps),
        backward=sum(step < 0 for step in steps),
        cost_ns=spread(costs),
        python_ns=None if timer.call is None else python_cost_ns(timer.call, calls),
    )


def python_cost_ns(call: Callable[[], object], calls: int) -> float:
    """Return the nanoseconds that a call from Python takes, without the loop around it."""
    costs = []
    for _ in range(20):
        begun = _core.clock_ns()
        for _ in repeat(None, calls):
            pass
        middle = _core.clock_ns()
        for _ in repeat(None, calls):
            call()
        costs.append((_core.clock_ns() - middle - (middle - begun)) / calls)
    return max(spread(costs).median, 0.0)


def _words(raw: bytes) -> Sequence[int]:
    words = array("Q")
    words.frombytes(raw)
    return words


def _apart_ppm() -> float:
    """Return how far the counter's rates in some intervals lie apart, by CLOCK_MONOTONIC_RAW."""
    marks = [_mark()]
    for _ in range(_INTERVALS):
        time.sleep(_INTERVAL_S)
        marks.append(_mark())
    rates = [(t2 - t1) / (n2 - n1) for (t1, n1), (t2, n2) in pairwise(marks)]
    return (max(rates) - min(rates)) / (sum(rates) / len(rates)) * 1e6


def _mark() -> tuple[float, int]:
    """Return the counter's and the kernel's time of one moment, by the tightest of some tries."""
    best: tuple[int, float, int] | None = None
    for _ in range(20):
        before = _core.clock_ticks()
        ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        after = _core.clock_ticks()
        if best is None or after - before < best[0]:
            best = (after - before, (before + after) / 2, ns)
    assert best is not None
    return best[1], best[2]


def _offset_ns() -> float:
    offsets = []
    for _ in range(200):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        ours = _core.clock_ns()
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        offsets.append((after - before, abs(ours - (before + after) / 2)))
    # An interrupted look tells nothing of the clock.
    return max(offset for width, offset in sorted(offsets)[: len(offsets) // 2])


def _moved() -> tuple[int, int]:
    """Return how often real_ns ran back while this thread moved over CPUs, and over how many."""
    before = os.sched_getaffinity(0)
    cpus = sorted(before)[:_MOST_CPUS]
    backward = 0
    last = _core.clock_ns()
    try:
        for _ in range(3):
            for cpu in cpus:
                os.sched_setaffinity(0, {cpu})
                now = _core.clock_ns()
                backward += now < last
                last = now
    finally:
        os.sched_setaffinity(0, before)
    return backward, len(cpus)
