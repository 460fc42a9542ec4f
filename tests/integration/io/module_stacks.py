"""Stacks of MIO's modules that programs are run with, as MIO_FILES has them behind the names."""

from __future__ import annotations

STACKS = (
    "trace/stats/inter",
    "wb",
    "wb/size=4k",
    "pf",
    "pf/private/noahead/cache_size=16k",
    "pf/synchronous/nodirect/page_size=16k",
    "pf/advise/retain",
    "pf/stream",
    "wb | pf",
    "pf | wb",
    "trace | wb/size=4k | trace/nostats | pf/cache_size=1m | trace",
)


def mio_files(stack: str) -> str:
    """Return MIO_FILES that gives each file the stack."""
    return f"** [ {stack} ]"
