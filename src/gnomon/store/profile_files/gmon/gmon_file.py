"""The content of gmon.out files: histograms of addresses, arcs, counts of basic blocks.

native/profiles/gmon_file.h says which forms there are. Arrays are made when somebody asks for them:
the reports of gprof need none.
"""

from __future__ import annotations

from functools import cached_property

from gnomon.named_tuple import NamedTuple
from gnomon.store.profile_files import profile_file
from gnomon.store.profile_files.gmon import _gmon
from gnomon.store.regular_file import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from gnomon.model.array_types import Longs

    Bins = NDArray[np.uint32]
    Addresses = NDArray[np.uint64]

FORMAT = "gmon"
BSD44_VERSION = _gmon.BSD44_VERSION
SECONDS = "seconds"


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


class GmonArrays(NamedTuple):
    """What a file holds, as arrays.

    Attributes:
        layout: of its numbers.
        histograms: of different ranges.
        callers, callees, counts: of each arc the addresses of the call and of the function, and how
            often; in the order of the file, uint64, uint64 and int64.
        block_addresses, block_counts: of basic blocks, likewise.
    """

    layout: Layout
    histograms: tuple[Histogram, ...]
    callers: Addresses
    callees: Addresses
    counts: Longs
    block_addresses: Addresses
    block_counts: Longs


class GmonFile:
    """What a file holds, or the sum of several.

    Attributes:
        core: it in C.
        layout: of its numbers.
        says_rate: the file told how many samples a second has.
        histograms, callers, callees, counts, block_addresses, block_counts: as of `GmonArrays`.
    """

    def __init__(self, core: _gmon.Gmon) -> None:
        self.core = core
        is_wide, is_big = core.layout()
        self.layout = Layout(is_wide, ">" if is_big else "<")
        self.says_rate = core.says_rate()

    @cached_property
    def histograms(self) -> tuple[Histogram, ...]:  # noqa: D102
        return tuple(
            Histogram(low, high, rate, unit, letter, _array(self.core.bins(number), "u4"))
            for number, (low, high, rate, unit, letter, _) in enumerate(self.core.histograms())
        )

    @property
    def callers(self) -> Addresses:  # noqa: D102
        return self._arcs[0]

    @property
    def callees(self) -> Addresses:  # noqa: D102
        return self._arcs[1]

    @property
    def counts(self) -> Longs:  # noqa: D102
        return self._arcs[2]

    @cached_property
    def _arcs(self) -> tuple[Addresses, Addresses, Longs]:
        callers, callees, counts = self.core.arcs()
        return _array(callers, "u8"), _array(callees, "u8"), _array(counts, "i8")

    @property
    def block_addresses(self) -> Addresses:  # noqa: D102
        return self._blocks[0]

    @property
    def block_counts(self) -> Longs:  # noqa: D102
        return self._blocks[1]

    @cached_property
    def _blocks(self) -> tuple[Addresses, Longs]:
        addresses, counts = self.core.blocks()
        return _array(addresses, "u8"), _array(counts, "i8")

    @property
    def is_empty(self) -> bool:
        """Whether it holds no record: neither a histogram nor an arc nor a block's count."""
        return not (self.core.histograms() or self.core.arcs()[0] or self.core.blocks()[0])

    def arrays(self) -> GmonArrays:
        """Return all of it as arrays."""
        return GmonArrays(self.layout, self.histograms, *self._arcs, *self._blocks)


def says_nothing(path: Path) -> str:
    """Return what is to be said of a file that is empty, and how that comes about."""
    # Even a program that switched profiling off by moncontrol() writes a histogram.
    return (
        f"{path}: it holds no record, neither samples nor calls: the program was killed while it "
        "wrote the file, or the disk was full; run it again"
    )


def is_gmon(start: bytes) -> bool:
    """Return whether a file that begins so is GNU's form or 4.4BSD's."""
    return _gmon.is_gmon(start)


def parse(path: Path, content: bytes, layout: Layout | None = None) -> GmonFile:
    """Return what a file holds.

    Args:
        path: to be named in errors.
        content: the whole file.
        layout: the program's; None to take the one that makes sense of the file.

    Raises:
        RunDirectoryError: it is damaged or no such file; names the byte.
    """
    given = None if layout is None else (layout.is_wide, layout.order == ">")
    try:
        core = _gmon.parse(content, given)
    except ValueError as error:
        problem, offset = error.args
        profile_file.refuse(path, offset, problem, FORMAT)
    return GmonFile(core)


def read_gmon(path: Path, layout: Layout | None = None) -> GmonFile:
    """Return what the file of a path holds; args as of `parse`.

    Raises:
        RunDirectoryError: it cannot be read, or is damaged.
    """
    with open_regular(path) as file:
        return parse(path, profile_file.whole_content(path, file, FORMAT), layout)


def _array(values: bytes, kind: str) -> NDArray[Any]:
    import numpy as np

    return np.frombuffer(values, kind)
