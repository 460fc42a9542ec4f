"""What the errors of perf_event_open(2) mean here, and what to do about each.

Source: native/counters/perf_errors.c.
"""

from __future__ import annotations

from functools import cache

from gnomon import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_ROOT = "/"

ON_EMULATED = _core.ON_EMULATED
"""The end of a remedy where a machine has no counters."""


def explain(
    number: int, *, hardware: bool, tracepoint: bool, cpu: int = -1, root: Path | str = _ROOT
) -> tuple[str, str]:
    """Return why perf_event_open(2) failed, and the remedy.

    Args:
        number: the error number.
        hardware: the event counts on a PMU.
        tracepoint: the event is a tracepoint.
        cpu: the CPU that it was to be counted on, -1 for any.
        root: what /proc and /sys lie under, "/" but for recorded trees.
    """
    return _core.refusal(number, hardware, tracepoint, cpu, root)


@cache
def no_pmu(root: Path | str = _ROOT) -> tuple[str, str]:
    """Return why a machine has no PMU for its cores, and what to do about it.

    Many events may lack it: each machine is looked at once.
    """
    return _core.no_pmu(root)


def lower_paranoid(level: int) -> str:
    """Return the command that sets kernel.perf_event_paranoid to a level, until the next boot."""
    return f"{_core.LOWER_PARANOID}{level}"
