"""The names of the HPM Toolkit: sections (`from gnomon import hpm`), result files, aggregators.

Sections are imported when they are asked for: result files and aggregators need no libhpm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnomon.sections._libhpm import (
        HPM_AUTO_PARENT,
        HPM_NO_PARENT,
        HPM_ONLY_EXCLUSIVE,
        error_count,
        hpmGetCounters,
        hpmGetTimeAndCounters,
        hpmStart,
        hpmStartx,
        hpmStop,
        hpmTstart,
        hpmTstartx,
        hpmTstop,
    )
    from gnomon.sections.api import (
        Section,
        check,
        hpmInit,
        hpmTerminate,
        init,
        section,
        terminate,
    )

    hpm_error_count: int

__all__ = [
    "HPM_AUTO_PARENT",
    "HPM_NO_PARENT",
    "HPM_ONLY_EXCLUSIVE",
    "Section",
    "check",
    "error_count",
    "hpmGetCounters",
    "hpmGetTimeAndCounters",
    "hpmInit",
    "hpmStart",
    "hpmStartx",
    "hpmStop",
    "hpmTerminate",
    "hpmTstart",
    "hpmTstartx",
    "hpmTstop",
    "hpm_error_count",
    "init",
    "section",
    "terminate",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from gnomon.sections import _libhpm, api

    if name == "hpm_error_count":
        return _libhpm.error_count()
    # hpmInit and hpmTerminate are those of sections, which do more.
    globals()[name] = found = getattr(api if hasattr(api, name) else _libhpm, name)
    return found
