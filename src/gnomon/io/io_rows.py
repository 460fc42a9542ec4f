"""The calls of one process on files as rows of the profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gnomon.io import io_metrics
from gnomon.io.calls import direction_of
from gnomon.io.io_metrics import READS, WRITES
from gnomon.measurement.call_rows import CallRows, Measure, whole
from gnomon.measurement.size_classes import size_name
from gnomon.model.metric import Aggregation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from gnomon.measurement.call_sites import CallSites
    from gnomon.measurement.totals_file import TotalsFile

_NS = 1e9
_ROOT = np.zeros(1, np.int64)
"""The program's path."""
NO_FILE = "(none)"

HOW_OPENED = {
    io_metrics.APPENDED: 1, io_metrics.DIRECT: 2, io_metrics.SYNCHRONOUS: 4,
    io_metrics.INHERITED: 8,
}  # fmt: skip
"""Of enum gn_file_opened (native/call_sites/totals_file.h)."""
MEASURES = (
    Measure(io_metrics.TIME, "ns", "in calls on files"),
    Measure(io_metrics.ASKED, "bytes", "what calls on files were to move"),
    Measure(io_metrics.DELIVERED, "bytes", "what calls on files moved"),
    Measure(io_metrics.FAILURES, "", "calls on files that failed"),
    Measure(
        io_metrics.LONGEST, "ns", "the longest call of all from a place",
        aggregation=Aggregation.MAX,
    ),
    Measure(io_metrics.TIME_BY_FILE, "ns", "in calls on files, by file"),
    Measure(io_metrics.ASKED_BY_FILE, "bytes", "what calls were to move, by file"),
    Measure(io_metrics.DELIVERED_BY_FILE, "bytes", "what calls moved, by file"),
    Measure(io_metrics.FAILURES_BY_FILE, "", "calls that failed, by file"),
    Measure(io_metrics.TIME_BY_SIZE, "ns", "in calls that move bytes, by how many were asked for"),
    Measure(io_metrics.BYTES_BY_SIZE, "bytes", "that calls moved, by how many were asked for"),
    Measure(io_metrics.CALLS_BY_FILE_SIZE, "ns", "in reads and writes, by file and size"),
    Measure(io_metrics.FORWARD, "", "requests behind the end of the last one of the open file"),
    Measure(io_metrics.FORWARD_BYTES, "bytes", "that these left out"),
    Measure(io_metrics.BACKWARD, "", "requests before the end of the last one of the open file"),
    Measure(io_metrics.BACKWARD_BYTES, "bytes", "that these went back"),
    Measure(io_metrics.UNALIGNED, "", "requests that are no whole blocks of the file system"),
    Measure(
        io_metrics.END, "bytes", "the offset that requests reached", aggregation=Aggregation.MAX
    ),
    Measure(io_metrics.OPENS, "", "descriptors that were opened"),
    Measure(
        io_metrics.FILE_BYTES, "bytes", "size when first opened", aggregation=Aggregation.MAX
    ),
    *(
        Measure(name, "", "1 of files of which a process had such a descriptor",
                aggregation=Aggregation.MAX)
        for name in HOW_OPENED
    ),
    Measure(io_metrics.KERNEL_READ, "bytes", "by system calls, as the kernel counts"),
    Measure(io_metrics.KERNEL_WRITTEN, "bytes", "by system calls, as the kernel counts"),
    Measure(io_metrics.DEVICE_READ, "bytes", "fetched from storage, as the kernel counts"),
    Measure(io_metrics.DEVICE_WRITTEN, "bytes", "sent to storage, as the kernel counts"),
    Measure(io_metrics.MAJOR_FAULTS, "", "pages that were fetched when they were touched"),
)  # fmt: skip
FETCHED_MEASURE = Measure(
    io_metrics.FETCHED, "", "pages of mapped files that were fetched when they were touched"
)
"""Behind the others, in runs in which these were counted."""
(_TIME, _ASKED, _DELIVERED, _FAILURES, _LONGEST, _TIME_BY_FILE, _ASKED_BY_FILE, _DELIVERED_BY_FILE,
 _FAILURES_BY_FILE, _TIME_BY_SIZE, _BYTES_BY_SIZE, _CALLS_BY_FILE_SIZE, _FORWARD, _FORWARD_BYTES,
 _BACKWARD, _BACKWARD_BYTES, _UNALIGNED, _END, _OPENS, _FILE_BYTES, _APPENDED, _DIRECT,
 _SYNCHRONOUS, _INHERITED, _KERNEL_READ, _KERNEL_WRITTEN, _DEVICE_READ, _DEVICE_WRITTEN,
 _MAJOR_FAULTS) = range(len(MEASURES))  # fmt: skip
_WITH_CALLS = (_TIME, _TIME_BY_FILE, _TIME_BY_SIZE, _CALLS_BY_FILE_SIZE)
_HOW_OPENED = (_APPENDED, _DIRECT, _SYNCHRONOUS, _INHERITED)
_KERNEL = (
    (_KERNEL_READ, "read_bytes"), (_KERNEL_WRITTEN, "written_bytes"),
    (_DEVICE_READ, "device_read_bytes"), (_DEVICE_WRITTEN, "device_written_bytes"),
    (_MAJOR_FAULTS, "major_faults"),
)  # fmt: skip


def file_names(file: TotalsFile) -> Mapping[int, str]:
    """Return the paths of files by their numbers."""
    return {number: text for (kind, number), text in file.texts.items() if kind == "file"}


def number_pairs(sites: CallSites, file: TotalsFile) -> None:
    """Have paths made for what a file has by file beside its sites."""
    _accesses(sites, file)
    _sizes(sites, file)


def number_fetched(sites: CallSites, fetched: Mapping[str, int]) -> NDArray[np.int64]:
    """Have paths made for pages of mapped files, by path."""
    return sites.number_pairs(io_metrics.ACCESS, [(path, READS) for path in fetched])


def _accesses(sites: CallSites, file: TotalsFile) -> NDArray[np.int64]:
    names, own = file_names(file), file.accesses
    pairs = [
        (names.get(number, NO_FILE), WRITES if writes else READS)
        for number, writes in zip(own["file"].tolist(), own["writes"].tolist(), strict=True)
    ]
    return sites.number_pairs(io_metrics.ACCESS, pairs)


def _sizes(sites: CallSites, file: TotalsFile) -> NDArray[np.int64]:
    names, own = file_names(file), file.sizes
    directions = [READS if direction_of(name) == "read" else WRITES for name in file.routines]
    columns = (own[name].tolist() for name in ("file", "routine", "size_class"))
    pairs = [
        (names.get(number, NO_FILE), f"{directions[routine]}, {size_name(size)}")
        for number, routine, size in zip(*columns, strict=True)
    ]
    return sites.number_pairs(io_metrics.FILE_SIZE, pairs)


class ProcessRows:
    """The rows of a process, of one file or several."""

    def __init__(self, sites: CallSites) -> None:
        """Have no rows yet."""
        self._sites = sites
        self._rows = CallRows(sites, _WITH_CALLS)

    def add(self, file: TotalsFile) -> None:
        """Take in what a file has.

        Args:
            file: one that `sites` and `number_pairs` have been told of, too.
        """
        ns = _NS / file.ticks_hz
        own, paths, rows = file.sites, self._sites.of_sites(file), self._rows
        calls, of_files = whole(own["calls"]), self._sites.of_objects(file)
        for metrics, places in (
            ((_TIME, _ASKED, _DELIVERED, _FAILURES), paths),
            ((_TIME_BY_FILE, _ASKED_BY_FILE, _DELIVERED_BY_FILE, _FAILURES_BY_FILE), of_files),
        ):
            rows.add(metrics[0], places, own["ticks"] * ns, calls)
            rows.add(metrics[1], places, own["sent"])
            rows.add(metrics[2], places, own["received"])
            rows.add(metrics[3], places, own["completion_ticks"])
        rows.add_greatest(_LONGEST, paths, own["most_ticks"] * ns)
        sizes, of_sizes = file.sizes, self._sites.of_sizes(file)
        rows.add(_TIME_BY_SIZE, of_sizes, sizes["ticks"] * ns, whole(sizes["calls"]))
        rows.add(_BYTES_BY_SIZE, of_sizes, sizes["bytes"])
        of_file_sizes = self._sites.of_pairs(io_metrics.FILE_SIZE, _sizes(self._sites, file))
        rows.add(_CALLS_BY_FILE_SIZE, of_file_sizes, sizes["ticks"] * ns, whole(sizes["calls"]))
        self._add_accesses(file)

    def _add_accesses(self, file: TotalsFile) -> None:
        own, rows = file.accesses, self._rows
        paths = self._sites.of_pairs(io_metrics.ACCESS, _accesses(self._sites, file))
        for metric, name in (
            (_FORWARD, "forward"), (_FORWARD_BYTES, "forward_bytes"), (_BACKWARD, "backward"),
            (_BACKWARD_BYTES, "backward_bytes"), (_UNALIGNED, "unaligned"), (_OPENS, "opens"),
        ):  # fmt: skip
            rows.add(metric, paths, own[name])
        rows.add_greatest(_END, paths, own["end"])
        numbers, files = own["file"].tolist(), file.files["file"].tolist()
        bytes_of = dict(zip(files, file.files["bytes"].tolist(), strict=True))
        sizes = np.array([bytes_of.get(number, 0) for number in numbers], np.float64)
        rows.add_greatest(_FILE_BYTES, paths, sizes)
        how_of = dict(zip(files, file.files["how_opened"].tolist(), strict=True))
        opened = np.array([how_of.get(number, 0) for number in numbers], np.int64)
        for metric, bit in zip(_HOW_OPENED, HOW_OPENED.values(), strict=True):
            is_so = opened & bit > 0
            rows.add_greatest(metric, paths[is_so], np.ones(int(is_so.sum())))

    def add_fetched(self, fetched: Mapping[str, int]) -> None:
        """Add pages of mapped files by path, of which `number_fetched` was told."""
        numbers = number_fetched(self._sites, fetched)
        paths = self._sites.of_pairs(io_metrics.ACCESS, numbers)
        self._rows.add(len(MEASURES), paths, np.array(list(fetched.values()), np.float64))

    def add_kernel(self, counts: Mapping[str, int]) -> None:
        """Add what the kernel counted, of KernelCounts."""
        for metric, name in _KERNEL:
            self._rows.add(metric, _ROOT, np.array([counts[name]]))

    def profile(self, location: int) -> dict[str, NDArray[np.generic]]:
        """Return the rows of the profile as columns, `calls` with -1 where it is not known."""
        return self._rows.columns(location)
