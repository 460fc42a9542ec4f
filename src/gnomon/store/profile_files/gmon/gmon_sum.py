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
    from collections.abc import Iterator

    from gnomon.model.array_types import Longs
    from gnomon.store.profile_files.gmon.gmon_file import Addresses

_SCALE_DIFFERENCE_MOST = 1e-6
_BIN_MOST = (1 << 16) - 1
_COUNT_MOST = (1 << 32) - 1


def merged(total: GmonFile, other: GmonFile, path: Path) -> GmonFile:
    """Return the sum of two files of one program.

    Args:
        total: the sum so far.
        other: what is added.
        path: of the other, to be named in errors.

    Raises:
        RunDirectoryError: they cannot be of one program.
    """
    if other.layout != total.layout:
        _refuse(path, "its addresses are of another width or byte order")
    callers, callees, counts = _merged_arcs(total, other)
    blocks = _merged_arcs(
        total._replace(
            callers=total.block_addresses, callees=total.block_addresses, counts=total.block_counts
        ),
        other._replace(
            callers=other.block_addresses, callees=other.block_addresses, counts=other.block_counts
        ),
    )
    return GmonFile(
        total.layout, tuple(_merged_histograms(total, other, path)), callers, callees, counts,
        blocks[0], blocks[2], total.says_rate and other.says_rate,
    )  # fmt: skip


def checked(file: GmonFile, path: Path) -> GmonFile:
    """Return a file of which each range of addresses has one histogram, and each arc one count.

    Raises:
        RunDirectoryError: its histograms overlap or are of different kinds.
    """
    import numpy as np

    nothing, none = np.zeros(0, np.uint64), np.zeros(0, np.int64)
    empty = GmonFile(file.layout, (), nothing, nothing, none, nothing, none, file.says_rate)
    return merged(empty, file, path)


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


def _merged_histograms(total: GmonFile, other: GmonFile, path: Path) -> Iterator[Histogram]:
    by_range = {(one.low, one.high): one for one in total.histograms}
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
    yield from by_range.values()


def _scale(histogram: Histogram) -> float:
    """Return the size of a bin in units of two bytes."""
    n = len(histogram.bins)
    return ((histogram.high - histogram.low) // 2) / n if n else 0.0


def _merged_arcs(total: GmonFile, other: GmonFile) -> tuple[Addresses, Addresses, Longs]:
    """Return arcs with their counts, in the order in which they were first there."""
    import numpy as np

    callers = np.concatenate((total.callers, other.callers))
    callees = np.concatenate((total.callees, other.callees))
    counts = np.concatenate((total.counts, other.counts))
    in_order = np.lexsort((callees, callers))
    is_new = np.ones(len(in_order), bool)
    is_new[1:] = (np.diff(callers[in_order]) != 0) | (np.diff(callees[in_order]) != 0)
    group = np.cumsum(is_new) - 1
    first = in_order[is_new]  # lexsort is stable: the first of each
    sums = np.zeros(len(first), np.int64)
    np.add.at(sums, group, counts[in_order])
    by_place = np.argsort(first, kind="stable")
    place = first[by_place]
    return callers[place], callees[place], sums[by_place]


def _refuse(path: Path, what: str) -> None:
    raise RunDirectoryError(
        f"{path}: cannot be added to the files before it: {what}; name files of one program"
    )
