"""The reader of Darshan's logs: what it knows them by."""

from __future__ import annotations

import re

from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from gnomon.store.run import Run

_MAGIC = 6567223
"""Source: include/darshan-log-format.h, DARSHAN_MAGIC_NR; in the byte order of the writer."""
_START = re.compile(
    rb"\d\.\d\d\0{4}(?:%b|%b)"
    % tuple(re.escape(_MAGIC.to_bytes(8, order)) for order in ("little", "big")),
    re.DOTALL,
)


class DarshanReader(NamedTuple):
    """NAME.darshan (gnomon/io/darshan_log/log_tables.py)."""

    name: str = "darshan"
    title: str = "counters and traces of I/O by file and rank, of Darshan"
    suffixes: tuple[str, ...] = (".darshan",)

    def sniff(self, start: bytes) -> bool:
        """Return whether it begins with the version of such a log and Darshan's number."""
        return _START.match(start) is not None

    def open(self, path: Path) -> Run:
        """Return the file as a run, its tables unpacked into files without a name."""
        from gnomon.io.darshan_log.log_run import open_darshan

        return open_darshan(path)
