"""The content of gmon.out files: histograms of addresses, arcs, counts of basic blocks.

GNU's form begins with "gmon"; those of BSD do not say what they are but for 4.4BSD's version. No
form says how wide its addresses are: the program does, else what makes sense of the whole file.

    GNU      "gmon", version u32, 12 bytes; then records, each behind a byte that says its kind:
             0 histogram: low, high (addresses), bins, rate (u32), unit (15 bytes), its letter, bins
             1 arc: from, to (addresses), count (u32)
             2 basic blocks: n (u32), n times address, count (as wide as an address)
    BSD      low, high (addresses), bytes of bins and header (u32); 4.4BSD: version, rate, 12 bytes;
             bins; then arcs: from, to, count, all as wide as an address

A bin is a u16. Sources: GNU gprof's manual, "Profiling Data File Format"; glibc's gmon/sys/
gmon_out.h; FreeBSD's sys/gmon.h.
"""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn

from gnomon.named_tuple import NamedTuple
from gnomon.store.profile_files import profile_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gnomon.model.array_types import Longs

    Bins = NDArray[np.uint32]
    Addresses = NDArray[np.uint64]

FORMAT = "gmon"
MAGIC = b"gmon"
BSD44_VERSION = 0x00051879
USUAL_RATE = 100
"""Samples per second where the file does not say it: BSD's old form."""
SECONDS = "seconds"
_VERSIONS = (0, 1)
_ORDERS: tuple[tuple[str, Literal["little", "big"]], ...] = (("<", "little"), (">", "big"))
_COUNT_MOST = (1 << 63) - 1
_HISTOGRAM, _ARC, _BLOCKS = range(3)
_HEADER_BYTES = 20
_UNIT_BYTES = 15
_ROWS_LOOKED_AT = 64


class Layout(NamedTuple):
    """How a file has its numbers: addresses of 64 bits or of 32, and which byte comes first."""

    is_wide: bool
    order: str

    @property
    def address_bytes(self) -> int:
        """Bytes of an address."""
        return 8 if self.is_wide else 4


LAYOUTS = (Layout(True, "<"), Layout(False, "<"), Layout(True, ">"), Layout(False, ">"))


class Histogram(NamedTuple):
    """How often the program counter was in each of equal parts of a range of addresses.

    Attributes:
        low, high: the range.
        rate: samples per second.
        unit: of what a sample is so much; "seconds", unless somebody changed the program.
        letter: short for the unit.
        bins: the counts.
    """

    low: int
    high: int
    rate: int
    unit: str
    letter: str
    bins: Bins


class GmonFile(NamedTuple):
    """What a file holds.

    Attributes:
        layout: of its numbers.
        histograms: of different ranges.
        callers, callees, counts: of each arc the addresses of the call and of the function, and how
            often; in the order of the file, uint64, uint64 and int64.
        block_addresses, block_counts: of basic blocks, likewise.
        says_rate: the file told how many samples a second has.
    """

    layout: Layout
    histograms: tuple[Histogram, ...]
    callers: Addresses
    callees: Addresses
    counts: Longs
    block_addresses: Addresses
    block_counts: Longs
    says_rate: bool = True


def is_gmon(start: bytes) -> bool:
    """Return whether a file that begins so is GNU's form or 4.4BSD's."""
    if start.startswith(MAGIC):
        return any(int.from_bytes(start[4:8], order) in _VERSIONS for _, order in _ORDERS)
    versions = [start[begin : begin + 4] for begin in (20, 12)]
    return any(
        int.from_bytes(version, order) == BSD44_VERSION
        for version in versions
        for _, order in _ORDERS
    )


def parse(path: Path, content: bytes, layout: Layout | None = None) -> GmonFile:
    """Return what a file holds.

    Args:
        path: to be named in errors.
        content: the whole file.
        layout: the program's; None to take the one that makes sense of the file.

    Raises:
        RunDirectoryError: it is damaged or no such file; names the byte.
    """
    if not content:
        profile_file.refuse(path, 0, "the file is empty: the program wrote no profile", FORMAT)
    layouts: tuple[Layout, ...] = (layout,) if layout else LAYOUTS
    if content.startswith(MAGIC):
        orders = {
            order for order, name in _ORDERS if int.from_bytes(content[4:8], name) in _VERSIONS
        }
        if len(content) >= _HEADER_BYTES and not orders:
            profile_file.refuse(path, 4, "its version is neither 0 nor 1", FORMAT)
        if layout and orders and layout.order not in orders:
            profile_file.refuse(
                path, 4, "its byte order is not the program's: name the program that wrote it",
                FORMAT,
            )  # fmt: skip
        layouts = tuple(one for one in layouts if one.order in orders) or layouts
    furthest = _NonsenseError(-1, "")
    for candidate in layouts:
        try:
            return _Parser(path, content, candidate).result()
        except _NonsenseError as problem:
            furthest = max(furthest, problem, key=lambda nonsense: nonsense.offset)
    return profile_file.refuse(path, furthest.offset, furthest.what, FORMAT)


class _NonsenseError(Exception):
    def __init__(self, offset: int, what: str) -> None:
        super().__init__(what)
        self.offset = offset
        self.what = what


class _Parser:
    def __init__(self, path: Path, content: bytes, layout: Layout) -> None:
        import numpy as np

        self._path = path
        self._content = content
        self._layout = layout
        self._offset = 0
        self._histograms: list[Histogram] = []
        self._arcs: list[tuple[Addresses, Addresses, Longs]] = []
        self._blocks: list[tuple[Addresses, Longs]] = []
        self._address = np.dtype(f"{layout.order}u{layout.address_bytes}")

    def result(self) -> GmonFile:
        """Return what the file holds.

        Raises:
            _NonsenseError: it makes none so.
        """
        says_rate = True
        if self._content.startswith(MAGIC):
            self._read_gnu()
        else:
            says_rate = self._read_bsd()
        callers, _ = _joined([(caller, count) for caller, _, count in self._arcs])
        callees, counts = _joined([(callee, count) for _, callee, count in self._arcs])
        return GmonFile(
            self._layout, tuple(self._histograms), callers, callees, counts,
            *_joined(self._blocks), says_rate,
        )  # fmt: skip

    def _fail(self, what: str, offset: int = -1) -> NoReturn:
        raise _NonsenseError(self._offset if offset < 0 else offset, what)

    def _number(self, size: int) -> int:
        piece = self._content[self._offset : self._offset + size]
        if len(piece) < size:
            self._fail("it ends within a record", len(self._content))
        self._offset += size
        return int.from_bytes(piece, "little" if self._layout.order == "<" else "big")

    def _text(self, size: int) -> str:
        piece = self._content[self._offset : self._offset + size]
        if len(piece) < size:
            self._fail("it ends within a record", len(self._content))
        self._offset += size
        return piece.partition(b"\0")[0].decode("latin-1")

    def _read_gnu(self) -> None:
        self._offset = 4
        version = self._number(4)
        self._text(_HEADER_BYTES - 8)
        while self._offset < len(self._content):
            begin = self._offset
            kind = self._number(1)
            if kind == _HISTOGRAM:
                self._read_histogram()
            elif kind == _ARC:
                self._offset = begin
                self._read_arcs()
            elif kind == _BLOCKS and version == 0:
                self._read_old_blocks()
            elif kind == _BLOCKS:
                self._read_blocks()
            else:
                self._fail(f"a record of kind {kind}, which there is not", begin)

    def _read_histogram(self) -> None:
        begin = self._offset
        size = self._layout.address_bytes
        low, high = self._number(size), self._number(size)
        n, rate = self._number(4), self._number(4)
        unit, letter = self._text(_UNIT_BYTES), self._text(1)
        bins = self._bins(begin, (low, high), n, rate)
        self._histograms.append(Histogram(low, high, rate, unit, letter, bins))

    def _bins(self, begin: int, bounds: tuple[int, int], n: int, rate: int) -> Bins:
        import numpy as np

        low, high = bounds
        if low > high or (n and low == high):
            self._fail(f"a histogram from address {low:#x} to {high:#x}", begin)
        if not rate:
            self._fail("a histogram of 0 samples a second", begin)
        if 2 * n > len(self._content) - self._offset:
            self._fail(f"a histogram of {n} bins, which is longer than the file", begin)
        bins = np.frombuffer(self._content, f"{self._layout.order}u2", n, self._offset)
        self._offset += 2 * n
        return bins.astype(np.uint32)

    def _read_arcs(self) -> None:
        """Read arcs that stand one behind the other, which nearly all do."""
        import numpy as np

        record = np.dtype(
            [("kind", "u1"), ("caller", self._address), ("callee", self._address),
             ("count", f"{self._layout.order}u4")]
        )  # fmt: skip
        looked_at = _ROWS_LOOKED_AT
        while True:
            left = (len(self._content) - self._offset) // record.itemsize
            rows = np.frombuffer(self._content, record, min(left, looked_at), self._offset)
            is_arc = rows["kind"] == _ARC
            n = len(rows) if is_arc.all() else int(is_arc.argmin())
            if n:
                kept = rows[:n]
                self._arcs.append(
                    (kept["caller"].astype(np.uint64), kept["callee"].astype(np.uint64),
                     kept["count"].astype(np.int64))
                )  # fmt: skip
                self._offset += n * record.itemsize
            if n < len(rows) or not n:
                break
            looked_at *= 8
        if self._content[self._offset : self._offset + 1] == bytes([_ARC]):
            self._fail("it ends within an arc")

    def _read_blocks(self) -> None:
        import numpy as np

        begin = self._offset
        n = self._number(4)
        size = 2 * self._layout.address_bytes
        if n * size > len(self._content) - self._offset:
            self._fail(f"counts of {n} basic blocks, which are longer than the file", begin)
        rows = np.frombuffer(self._content, self._address, 2 * n, self._offset).reshape(-1, 2)
        self._offset += n * size
        self._blocks.append((rows[:, 0].astype(np.uint64), rows[:, 1].astype(np.int64)))

    def _read_old_blocks(self) -> None:
        """Read counts of version 0, which name the file, function and line of each, too."""
        import numpy as np

        n = self._number(4)
        self._skip_text()
        addresses, counts = array("Q"), array("Q")
        for _ in range(n):
            counts.append(self._number(self._layout.address_bytes) & _COUNT_MOST)
            addresses.append(self._number(self._layout.address_bytes))
            self._skip_text()
            self._skip_text()
            self._number(4)
        self._blocks.append((np.array(addresses, np.uint64), np.array(counts, np.int64)))

    def _skip_text(self) -> None:
        end = self._content.find(b"\0", self._offset)
        if end < 0:
            self._fail("a name without an end")
        self._offset = end + 1

    def _read_bsd(self) -> bool:
        """Read one of BSD's forms; return whether it says the rate."""
        import numpy as np

        size = self._layout.address_bytes
        low, high, n_bytes = self._number(size), self._number(size), self._number(4)
        rate, says_rate = USUAL_RATE, False
        begin = self._offset
        if len(self._content) >= begin + 20 and self._number(4) == BSD44_VERSION:
            rate, says_rate = self._number(4), True
            self._text(12)
        else:
            self._offset = begin
        if n_bytes < self._offset or n_bytes % 2:
            self._fail(f"a header that tells of {n_bytes} bytes", begin - 4)
        n = (n_bytes - self._offset) // 2
        bins = self._bins(0, (low, high), n, rate)
        self._histograms.append(Histogram(low, high, rate, SECONDS, "s", bins))
        left = len(self._content) - self._offset
        if left % (3 * size):
            self._fail("it ends within an arc", len(self._content) - left % (3 * size))
        rows = np.frombuffer(self._content, self._address, left // size, self._offset)
        rows = rows.reshape(-1, 3)
        if (rows[:, 2].astype(np.uint64) >> np.uint64(63)).any():
            self._fail("a count of calls below 0")
        self._arcs.append((rows[:, 0].astype(np.uint64), rows[:, 1].astype(np.uint64),
                           rows[:, 2].astype(np.int64)))  # fmt: skip
        return says_rate


def _joined(pieces: list[tuple[Addresses, Longs]]) -> tuple[Addresses, Longs]:
    import numpy as np

    pieces = pieces or [(np.zeros(0, np.uint64), np.zeros(0, np.int64))]
    return np.concatenate([one for one, _ in pieces]), np.concatenate([one for _, one in pieces])
