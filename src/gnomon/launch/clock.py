"""The clock that times of executions, turns and intervals are taken from."""

from __future__ import annotations

import time


def raw_clock_ns() -> int:
    """Return CLOCK_MONOTONIC_RAW in nanoseconds."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
