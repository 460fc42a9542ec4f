"""The command line: one module per command, imported when the command is asked for."""

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
]
