"""The name by which scripts have imported `gnomon.store.run_directory` ever since."""

from __future__ import annotations

from gnomon.store.run_directory import (
    HEAD,
    MAGIC,
    SCHEMA_VERSION,
    SUFFIX,
    Draft,
    Run,
    check_free,
    drafted,
    exists,
    find,
    is_run,
    located,
    path_of,
    runs,
    stamp,
    write,
)

__all__ = [
    "HEAD",
    "MAGIC",
    "SCHEMA_VERSION",
    "SUFFIX",
    "Draft",
    "Run",
    "check_free",
    "drafted",
    "exists",
    "find",
    "is_run",
    "located",
    "path_of",
    "runs",
    "stamp",
    "write",
]
