"""gmon.out files, their sums, and what they say of functions: native/profiles/gmon_file.h.

Columns are bytes of numbers as this machine has them. Functions of a program are those of
`TextSymbols.records`.
"""

BSD44_VERSION: int

class Gmon:
    """A file that was read, or a sum, of nothing at first."""

    def __new__(cls) -> Gmon:
        """Return the sum of nothing."""

    def add(self, other: Gmon, /) -> None:
        """Add a file.

        Raises:
            ValueError: it cannot be of the same program; its args are why, and 0.
        """

    def layout(self) -> tuple[bool, bool]:
        """Return whether addresses have 64 bits, and whether the first byte is the highest."""

    def says_rate(self) -> bool:
        """Return whether the file tells how many samples a second has."""

    def histograms(self) -> list[tuple[int, int, int, str, str, int]]:
        """Return low and high address, rate, unit, its letter and number of bins of each."""

    def bins(self, histogram: int, /) -> bytes:
        """Return the counts of a histogram, uint32."""

    def samples(self) -> int:
        """Return the sum of all bins."""

    def arcs(self) -> tuple[bytes, bytes, bytes]:
        """Return callers, callees (uint64 each) and counts (int64)."""

    def blocks(self) -> tuple[bytes, bytes]:
        """Return addresses (uint64) and counts (int64) of basic blocks."""

    def shift(self, functions: bytes, /) -> int:
        """Return what is to be taken from addresses: where the program was loaded."""

    def function_times(self, functions: bytes, shift: int, /) -> bytes:
        """Return the samples of each function, float64."""

    def function_arcs(self, functions: bytes, shift: int, /) -> tuple[bytes, bytes, bytes]:
        """Return callers, callees (int32 each) and counts (int64) of arcs between functions."""

    def misfit(self, functions: bytes, shift: int, /) -> tuple[int, int, int, int]:
        """Return numbers of arcs, arcs to no function's start, samples, and samples in none."""

def parse(content: bytes, layout: tuple[bool, bool] | None, /) -> Gmon:
    """Return what a file holds; the layout is the program's, None to take what makes sense.

    Raises:
        ValueError: it makes none; its args are why, and the byte.
    """

def bin_parts(functions: bytes, low: int, high: int, bins: bytes, shift: int, /) -> bytes:
    """Return what functions have of bins that are not empty.

    Of each part: function, bin (uint32), address, bytes (uint64), samples (float64).
    """

def is_gmon(start: bytes, /) -> bool:
    """Return whether a file that begins so is GNU's form or 4.4BSD's."""
