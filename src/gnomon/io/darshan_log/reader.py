"""The reader of Darshan's logs: what it knows them by."""

from __future__ import annotations

from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from gnomon.store.run import Run

# Source: include/darshan-log-format.h, DARSHAN_MAGIC_NR; in the byte order of the writer.
_MAGIC = tuple((6567223).to_bytes(8, order) for order in ("little", "big"))


class DarshanReader(NamedTuple):
    """NAME.darshan (gnomon/io/darshan_log/log_tables.py)."""

    name: str = "darshan"
    title: str = "counters and traces of I/O by file and rank, of Darshan"
    suffixes: tuple[str, ...] = (".darshan",)

    def sniff(self, start: bytes) -> bool:
        """Return whether it begins with the version of such a log and Darshan's number."""
        is_version = start[1:2] == b"." and (start[:1] + start[2:4]).isdigit()
        return is_version and start[4:8] == bytes(4) and start[8:16] in _MAGIC

    def open(self, path: Path) -> Run:
        """Return the file as a run, its tables unpacked into files without a name."""
        from gnomon.io.darshan_log.log_run import open_darshan

        return open_darshan(path)
