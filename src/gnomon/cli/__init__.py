"""The command line: `main` chooses among `commands`, one module each."""

from __future__ import annotations

from gnomon.cli.main import (
    gnomon_script,
    hpmcount,
    hpmcount_script,
    hpmstat,
    hpmstat_script,
    main,
    parser,
    peekperf,
    peekperf_script,
    xprofiler,
    xprofiler_script,
)

__all__ = [
    "gnomon_script",
    "hpmcount",
    "hpmcount_script",
    "hpmstat",
    "hpmstat_script",
    "main",
    "parser",
    "peekperf",
    "peekperf_script",
    "xprofiler",
    "xprofiler_script",
]
