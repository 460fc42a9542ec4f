"""The reader of perf.data files: what it knows them by."""

from __future__ import annotations

from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from gnomon.store.run import Run

# What a file begins with: of either byte order, and of perf before 2.6.36.
_MAGIC = (b"PERFILE2", b"2ELIFREP", b"PERFFILE")


class PerfDataReader(NamedTuple):
    """perf.data, or what `perf record -o -` wrote (gnomon/sampling/perf_data/profile.py)."""

    name: str = "perf"
    title: str = "samples of perf record, perf.data"
    suffixes: tuple[str, ...] = (".perf.data", ".data")

    def sniff(self, start: bytes) -> bool:
        """Return whether it begins as such a file."""
        return start.startswith(_MAGIC)

    def open(self, path: Path) -> Run:
        """Return the file as a run, its tables unpacked into files without a name."""
        from gnomon.sampling.perf_data.profile import open_perf_data

        return open_perf_data(path)
