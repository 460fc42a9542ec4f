"""Several gmon.out files as one, and the file gmon.sum of it.

Source: GNU gprof's manual, option --sum.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import RunDirectoryError
from gnomon.store.profile_files.gmon.gmon_file import MAGIC, GmonFile, Histogram

if TYPE_CHECKING:
    from gnomon.model.array_types import Longs
    from gnomon.store.profile_files.gmon.gmon_file import Addresses

_SCALE_DIFFERENCE_MOST = 1e-6
_BIN_MOST = (1 << 16) - 1
_COUNT_MOST = (1 << 32) - 1
_PENDING_MOST = 1_000_000
"""Arcs that are added up at once."""


class GmonSum:
    """Adds up files of one program, one after the other.

    Args:
        path: of the first file.
        first: what it holds.

    Raises:
        RunDirectoryError: its histograms overlap or are of different kinds.
    """

    def __init__(self, path: Path, first: GmonFile) -> None:
        self._layout = first.layout
        self._says_rate = first.says_rate
        self._histograms: dict[tuple[int, int], Histogram] = {}
        _add_histograms(self._histograms, first, path)
        self._arcs = _ArcSum(first.callers, first.callees, first.counts)
        self._blocks = _ArcSum(first.block_addresses, first.block_addresses, first.block_counts)

    def add(self, path: Path, other: GmonFile) -> None:
        """Add a file.

        Raises:
            RunDirectoryError: it cannot be of the same program.
        """
        if other.layout != self._layout:
            _refuse(path, "its addresses are of another width or byte order")
        _add_histograms(self._histograms, other, path)
        self._says_rate &= other.says_rate
        self._arcs.add(other.callers, other.callees, other.counts)
        self._blocks.add(other.block_addresses, other.block_addresses, other.block_counts)

    def file(self) -> GmonFile:
        """Return the sum."""
        addresses, _, counts = self._blocks.sums()
        return GmonFile(
            self._layout, tuple(self._histograms.values()), *self._arcs.sums(), addresses, counts,
            self._says_rate,
        )  # fmt: skip


def checked(file: GmonFile, path: Path) -> GmonFile:
    """Return a file of which each range of addresses has one histogram, and each arc one count.

    Raises:
        RunDirectoryError: its histograms overlap or are of different kinds.
    """
    return GmonSum(path, file).file()


class _ArcSum:
    """Numbers of pairs of addresses, in the order in which they were first there."""

    def __init__(self, callers: Addresses, callees: Addresses, counts: Longs) -> None:
        self._sums = _arc_sums(callers, callees, counts)
        self._first = (callers, callees)
        self._pending: list[tuple[Addresses, Addresses, Longs]] = []
        self._n_pending = 0

    def add(self, callers: Addresses, callees: Addresses, counts: Longs) -> None:
        import numpy as np

        # Ranks of a job mostly make the same calls.
        same = self._sums[:2] if len(self._sums[0]) == len(callers) else self._first
        if len(same[0]) == len(self._sums[0]) and all(
            np.array_equal(*pair) for pair in zip(same, (callers, callees), strict=True)
        ):
            self._sums = (*self._sums[:2], self._sums[2] + counts)
            return
        self._pending.append((callers, callees, counts))
        self._n_pending += len(callers)
        if self._n_pending > _PENDING_MOST:
            self._combine()

    def sums(self) -> tuple[Addresses, Addresses, Longs]:
        self._combine()
        return self._sums

    def _combine(self) -> None:
        import numpy as np

        if self._pending:
            columns = zip(self._sums, *self._pending, strict=True)
            self._sums = _arc_sums(*map(np.concatenate, columns))
            self._pending, self._n_pending = [], 0


def _arc_sums(
    callers: Addresses, callees: Addresses, counts: Longs
) -> tuple[Addresses, Addresses, Longs]:
    import numpy as np

    if not len(callers):
        return callers, callees, counts
    low, high = min(callers.min(), callees.min()), max(callers.max(), callees.max())
    if int(high) - int(low) < 1 << 32:
        key = (callers - low) << np.uint64(32) | (callees - low)
    else:
        key = np.rec.fromarrays((callers, callees))
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    sums = np.zeros(len(first), np.int64)
    np.add.at(sums, group, counts)
    by_place = np.argsort(first, kind="stable")
    place = first[by_place]
    return callers[place], callees[place], sums[by_place]


def gmon_bytes(file: GmonFile) -> bytes:
    """Return the file that GNU gprof reads: counts that are too large for it stand there in parts.

    GNU gprof itself writes the lowest 16 and 32 bits of such counts.
    """
    import numpy as np

    order, size = file.layout.order, file.layout.address_bytes
    letter = "Q" if size > 4 else "I"
    pieces = [MAGIC, struct.pack(f"{order}I12x", 1)]
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


def _add_histograms(
    by_range: dict[tuple[int, int], Histogram], other: GmonFile, path: Path
) -> None:
    for histogram in other.histograms:
        first = next(iter(by_range.values()), histogram)
        if (histogram.unit, histogram.letter) != (first.unit, first.letter):
            _refuse(path, f"its samples are of {histogram.unit}, not of {first.unit}")
        if abs(_scale(histogram) - _scale(first)) > _SCALE_DIFFERENCE_MOST:
            _refuse(path, "its bins are of another size")
        key = (histogram.low, histogram.high)
        same = by_range.get(key)
        if same is None:
            if any(histogram.low < end and begin < histogram.high for begin, end in by_range):
                _refuse(path, f"its histogram from {histogram.low:#x} overlaps another one")
            by_range[key] = histogram
        elif len(same.bins) != len(histogram.bins):
            _refuse(path, "its histogram has another number of bins")
        else:
            by_range[key] = same._replace(bins=same.bins + histogram.bins)


def _scale(histogram: Histogram) -> float:
    """Return the size of a bin in units of two bytes."""
    n = len(histogram.bins)
    return ((histogram.high - histogram.low) // 2) / n if n else 0.0


def _refuse(path: Path, what: str) -> None:
    raise RunDirectoryError(
        f"{path}: cannot be added to the files before it: {what}; name files of one program"
    )
