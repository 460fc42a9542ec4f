"""What `gnomon io --trace` and `gnomon run --io-trace` take."""

from __future__ import annotations

TRACE_HELP = "also record each call with its time, file, offset and bytes: gnomon report RUN events"
TRACE_MB, TRACE_MB_MOST = 1024, 1 << 20
"""Megabytes of events that a process may leave: without the option, and at most."""
TRACE_MB_HELP = (
    "the same, up to so many megabytes in each process, 33 thousand calls each (default: "
    f"{TRACE_MB})"
)
