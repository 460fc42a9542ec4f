"""Settings of the machine's kernel that tests change."""

from __future__ import annotations

from pathlib import Path

_USER_ACCESS = Path("/proc/sys/kernel/perf_user_access")


def user_access(allowed: bool) -> None:
    """Let the kernel allow or forbid that programs read counters themselves (arm64)."""
    _USER_ACCESS.write_text(f"{int(allowed)}\n")
