"""Real and virtual time, in cycles, nanoseconds and microseconds.

Real time passes always; virtual time passes while the calling thread is on a CPU. Each function
takes no argument and returns a whole number from an origin that stays the same while the machine
(real time) or the thread (virtual time) lives, so that two readings can be subtracted.

| function | unit | source |
|---|---|---|
| `real_ns`, `real_us` | nanoseconds, microseconds | time counter fitted to CLOCK_MONOTONIC_RAW |
| `real_cycles` | ticks of the time counter | TSC of x86-64, virtual counter of arm64 |
| `virtual_ns`, `virtual_us` | CPU time of the calling thread | CLOCK_THREAD_CPUTIME_ID |
| `virtual_cycles` | the same in ticks of the time counter | that times the counter's rate |
| `virtual_process_ns` | CPU time of all threads | CLOCK_PROCESS_CPUTIME_ID |

Cycles are those of the time counter, which runs at one rate whatever the core's frequency, as
PAPI has them; for the core's own cycles count the event `cycles`. Virtual cycles are computed:
no processor counts the time counter per thread. Where no counter of constant rate can be used (the
kernel distrusts the TSC, GNOMON_CLOCK=vdso, architectures other than x86-64 and arm64) neither
kind of cycles is available: `real_cycles` and `virtual_cycles` raise `gnomon.errors.TimerError`,
and `cycles_per_second` returns None.

Source: clock_gettime(2); Intel SDM vol. 3, 18.17 (invariant TSC); native/core/clock.c.
"""

from __future__ import annotations

from gnomon import _core
from gnomon._core import (
    real_cycles,
    real_us,
    virtual_cycles,
    virtual_ns,
    virtual_process_ns,
    virtual_us,
)

__all__ = [
    "cycles_per_second",
    "real_cycles",
    "real_ns",
    "real_us",
    "virtual_cycles",
    "virtual_ns",
    "virtual_process_ns",
    "virtual_us",
]

# Until its clock is calibrated the core takes time from the kernel and has no cycles.
_core.clock_info()

real_ns = _core.clock_ns


def cycles_per_second() -> float | None:
    """Return the rate of the time counter in hertz, None where there is none to use."""
    source, hertz = _core.clock_info()
    return None if source == "vdso" else hertz
