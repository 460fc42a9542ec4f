"""Which functions the histograms and arcs of gmon.out are of, as GNU gprof says it.

A bin belongs to the functions that share its addresses, to each in proportion. An arc whose caller
or callee is in no function of the program, such as the call of main, is left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError, RunDirectoryError
from gnomon.named_tuple import NamedTuple
from gnomon.store.profile_files.gmon.gmon_file import Layout

if TYPE_CHECKING:
    from gnomon.model.array_types import Floats, Ints, Longs
    from gnomon.store.profile_files.gmon.gmon_file import Addresses, GmonFile, Histogram
    from gnomon.symbols import TextSymbols

_UNIT = 2
"""Bytes; gprof counts addresses so."""


class Program(NamedTuple):
    """A program and its functions.

    Attributes:
        path: of its file.
        symbols: its functions, ascending.
    """

    path: Path
    symbols: TextSymbols

    @property
    def layout(self) -> Layout:
        """How its gmon.out has numbers."""
        return Layout(self.symbols.is_wide, self.symbols.byte_order)


class FunctionArcs(NamedTuple):
    """Arcs between functions, in the order in which a file first has them.

    Attributes:
        caller, callee: positions of the functions.
        counts: how many calls.
    """

    caller: Ints
    callee: Ints
    counts: Longs


def program_of(path: Path) -> Program:
    """Return a program with its functions.

    Raises:
        RunDirectoryError: it cannot be read, is no program, or has no names.
    """
    from gnomon.symbols import text_symbols

    try:
        symbols = text_symbols(str(path))
    except GnomonError as error:
        raise RunDirectoryError(str(error)) from None
    if not len(symbols.start):
        raise RunDirectoryError(
            f"{path}: it has no names of functions; name the program as it was before strip"
        )
    return Program(path, symbols)


def shift_of(program: Program, file: GmonFile) -> int:
    """Return what is to be taken from addresses of a file: where the program was loaded.

    C libraries that do not take it from them themselves write the addresses of the process.
    """
    symbols = program.symbols
    begin, end = int(symbols.start[0]), int(symbols.end.max())
    lowest = min((one.low for one in file.histograms), default=0)
    return lowest - begin // 4096 * 4096 if lowest >= end and begin < lowest else 0


class BinParts(NamedTuple):
    """What functions have of bins, in the order of addresses, each part of one of both.

    Attributes:
        function: position of the function, int64.
        address: where the part begins in the program, int64.
        bin: number of the bin, int64.
        times: samples of the part, float64; they may be fractions.
    """

    function: Longs
    address: Longs
    bin: Longs
    times: Floats


def function_times(program: Program, file: GmonFile, shift: int) -> Floats:
    """Return the samples of each function, float64; they may be fractions.

    Args:
        program: the program, of n functions.
        file: what it wrote.
        shift: see `shift_of`.
    """
    import numpy as np

    n = len(program.symbols.start)
    times = np.zeros(n)
    for histogram in file.histograms:
        parts = bin_parts(program, histogram, shift)
        # In the order of addresses, as gprof adds them: sums of fractions depend on it.
        times += np.bincount(parts.function, parts.times, minlength=n)
    return times


def bin_parts(program: Program, histogram: Histogram, shift: int) -> BinParts:
    """Return what functions have of the bins of a histogram."""
    import numpy as np

    symbols = program.symbols
    bins = np.flatnonzero(histogram.bins)
    if not len(bins):
        nothing = np.zeros(0, np.int64)
        return BinParts(nothing, nothing, nothing, np.zeros(0))
    low = max(histogram.low - shift, 0) // _UNIT
    scale = ((histogram.high - histogram.low) // _UNIT) / len(histogram.bins)
    first = low + (scale * bins).astype(np.int64)
    end = low + (scale * (bins + 1)).astype(np.int64)
    starts = (symbols.start // np.uint64(_UNIT)).astype(np.int64)
    ends = np.append(starts[1:], int(symbols.end[-1]) // _UNIT)
    # Of each bin the functions from the one that holds its begin to the one that holds its end.
    begin_of = np.searchsorted(ends, first, side="right")
    n = np.maximum(np.searchsorted(starts, end, side="left") - begin_of, 0)
    row = np.repeat(np.arange(len(bins)), n)
    function = np.repeat(begin_of - (np.cumsum(n) - n), n) + np.arange(n.sum())
    begin = np.maximum(first[row], starts[function])
    overlap = np.maximum(np.minimum(end[row], ends[function]) - begin, 0)
    times = overlap * histogram.bins[bins[row]] / scale
    is_part = overlap > 0
    return BinParts(function[is_part], begin[is_part] * _UNIT, bins[row[is_part]], times[is_part])


def function_arcs(program: Program, file: GmonFile, shift: int) -> FunctionArcs:
    """Return the arcs between functions of the program."""
    import numpy as np

    caller = _functions_at(program.symbols, file.callers, shift)
    callee = _functions_at(program.symbols, file.callees, shift)
    is_kept = (caller >= 0) & (callee >= 0)
    caller, callee, counts = caller[is_kept], callee[is_kept], file.counts[is_kept]
    key = caller.astype(np.int64) * len(program.symbols.start) + callee
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    sums = np.zeros(len(first), np.int64)
    np.add.at(sums, group, counts)
    by_place = np.argsort(first, kind="stable")
    place = first[by_place]
    return FunctionArcs(caller[place], callee[place], sums[by_place])


def _functions_at(symbols: TextSymbols, addresses: Addresses, shift: int) -> Ints:
    """Return the position of the function that each address is in, -1 for none."""
    import numpy as np

    own = addresses - np.uint64(shift)
    position = np.searchsorted(symbols.start, own, side="right").astype(np.int32) - 1
    is_inside = (position >= 0) & (own < symbols.end[np.maximum(position, 0)])
    return np.where(is_inside, position, -1).astype(np.int32)
