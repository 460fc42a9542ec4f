"""Several gmon.out files as one, and the file gmon.sum of it.

Source: GNU gprof's manual, option --sum.
"""

from __future__ import annotations

from gnomon.errors import RunDirectoryError
from gnomon.store.profile_files.gmon import _gmon
from gnomon.store.profile_files.gmon.gmon_file import GmonFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from gnomon.store.profile_files.gmon.gmon_file import GmonArrays

_MAGIC = b"gmon"
_BIN_MOST = (1 << 16) - 1
_COUNT_MOST = (1 << 32) - 1


class GmonSum:
    """Adds up files of one program, one after the other.

    Args:
        path: of the first file.
        first: what it holds.

    Raises:
        RunDirectoryError: its histograms overlap or are of different kinds.
    """

    def __init__(self, path: Path, first: GmonFile) -> None:
        self._core = _gmon.Gmon()
        self.add(path, first)

    def add(self, path: Path, other: GmonFile) -> None:
        """Add a file.

        Raises:
            RunDirectoryError: it cannot be of the same program.
        """
        try:
            self._core.add(other.core)
        except ValueError as error:
            raise RunDirectoryError(
                f"{path}: cannot be added to the files before it: {error.args[0]}; name files of "
                "one program"
            ) from None

    def file(self) -> GmonFile:
        """Return the sum; nothing is to be added any more."""
        return GmonFile(self._core)


def checked(file: GmonFile, path: Path) -> GmonFile:
    """Return a file of which each range of addresses has one histogram, and each arc one count.

    Raises:
        RunDirectoryError: its histograms overlap or are of different kinds.
    """
    return GmonSum(path, file).file()


def gmon_bytes(file: GmonArrays) -> bytes:
    """Return the file that GNU gprof reads: counts that are too large for it stand there in parts.

    GNU gprof itself writes the lowest 16 and 32 bits of such counts.
    """
    import struct

    import numpy as np

    order, size = file.layout.order, file.layout.address_bytes
    letter = "Q" if size > 4 else "I"
    pieces = [_MAGIC, struct.pack(f"{order}I12x", 1)]
    for histogram in file.histograms:
        left = histogram.bins.astype(np.int64)
        while True:
            part = np.minimum(left, _BIN_MOST)
            pieces += [
                struct.pack(
                    f"{order}B{letter}{letter}II15sc", 0, histogram.low, histogram.high, len(part),
                    histogram.rate, histogram.unit.encode("latin-1"),
                    histogram.letter.encode("latin-1") or b"\0",
                ),
                part.astype(f"{order}u2").tobytes(),
            ]  # fmt: skip
            left = left - part
            if not left.any():
                break
    counts = file.counts.copy()
    rows = np.arange(len(counts))
    record = np.dtype(
        [("kind", "u1"), ("caller", f"{order}u{size}"), ("callee", f"{order}u{size}"),
         ("count", f"{order}u4")]
    )  # fmt: skip
    while len(rows):
        arcs = np.zeros(len(rows), record)
        arcs["kind"] = 1
        arcs["caller"], arcs["callee"] = file.callers[rows], file.callees[rows]
        arcs["count"] = np.minimum(counts[rows], _COUNT_MOST)
        pieces.append(arcs.tobytes())
        counts[rows] -= np.minimum(counts[rows], _COUNT_MOST)
        rows = np.flatnonzero(counts)
    if len(file.block_addresses):
        blocks = np.column_stack((file.block_addresses, file.block_counts.astype(np.uint64)))
        pieces.append(struct.pack(f"{order}BI", 2, len(blocks)))
        pieces.append(blocks.astype(f"{order}u{size}").tobytes())
    return b"".join(pieces)
