"""Why a recording has no samples: what is sampled hardly happened while it lasted."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gnomon.sampling.sampled_events import SampledEvent
from gnomon.units import duration

# Source: include/linux/posix-timers_types.h: CPUCLOCK_SCHED, and the process's number inverted.
_CLOCK_OF_PROCESS, _PID_SHIFT = 2, 3


def cpu_time_ns(pid: int) -> int | None:
    """Return the CPU time of a process that was not waited for; None if it is not there."""
    try:
        return time.clock_gettime_ns(~pid << _PID_SHIFT | _CLOCK_OF_PROCESS)
    except OSError:
        return None


def note(events: Sequence[SampledEvent], pid: int, used_ns: int | None, *, has_waits: bool) -> str:
    """Return what there is to say of no samples.

    Args:
        events: what was sampled.
        pid: the process that was watched, 0 for a program and all it started.
        used_ns: the CPU time that it used meanwhile, None where that is not known.
        has_waits: where it waits was recorded.
    """
    begin = "samples: none was taken: "
    clocks = [event for event in events if event.is_clock]
    if not clocks:
        names = ", ".join(event.event.name for event in events)
        return f"{begin}there were too few {names} for one; take more (a higher rate, or period 1)"
    if used_ns == 0:
        return f"{begin}process {pid} did not run, it waited all the time; sample it while it works"
    each_ns = min(1e9 / event.period if event.is_frequency else event.period for event in clocks)
    who = f"process {pid}" if pid else "the program"
    used = "less CPU time" if used_ns is None else f"{duration(used_ns)} of CPU time, less"
    if used_ns is not None and used_ns >= each_ns:
        where = " in user code" if clocks[0].is_user_only else ""
        return (
            f"{begin}of the {duration(used_ns)} of CPU time that {who} used, none{where} fell "
            "on a sample; take more (a higher rate), or sample for longer"
        )
    remedy = "" if has_waits else ", or record where it waits (off-cpu)"
    return (
        f"{begin}{who} used {used} than a sample stands for ({duration(each_ns)}); take more "
        f"(a higher rate){remedy}"
    )
