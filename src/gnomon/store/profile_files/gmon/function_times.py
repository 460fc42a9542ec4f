"""Which functions the histograms and arcs of gmon.out are of (native/profiles/gmon_functions.h).

A bin belongs to the functions that share its addresses, to each in proportion: in `function_times`
as GNU gprof shares it, in `bin_parts` as the C library filled it. An arc whose caller or callee is
in no function of the program, such as the call of main, is left out.
"""

from __future__ import annotations

import os

from gnomon.errors import GnomonError, RunDirectoryError
from gnomon.named_tuple import NamedTuple
from gnomon.store.profile_files.gmon import _gmon
from gnomon.store.profile_files.gmon.gmon_file import Layout
from gnomon.store.regular_file import ELF, special_kind, start_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from gnomon.model.array_types import Floats, Ints, Longs
    from gnomon.store.profile_files.gmon.gmon_file import GmonFile, Histogram
    from gnomon.symbols import TextSymbols

# Some are in code without names, as start files have it, or count in clones such as work.isra.0,
# which belong to the function before them as in gprof.
_MISPLACED_MOST = 0.3


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


def program_of(path: Path, *, with_files: bool = False) -> Program:
    """Return a program with its functions.

    Args:
        path: of its file.
        with_files: and the source files of those that are known in one object file only.

    Raises:
        RunDirectoryError: it cannot be read, is no program, or has no names.
    """
    from gnomon.symbols import text_symbols

    _check_program(path)
    try:
        symbols = text_symbols(str(path), with_files=with_files)
    except GnomonError as error:
        raise RunDirectoryError(str(error)) from None
    if not symbols.names:
        raise RunDirectoryError(
            f"{path}: it has no names of functions; name the program as it was before strip"
        )
    return Program(path, symbols)


def _check_program(path: Path) -> None:
    """Refuse what is no program; who reads symbols does not know what was asked for.

    Raises:
        RunDirectoryError: it cannot be read, or is none.
    """
    kind = special_kind(path)
    start = b"" if kind else start_of(path, len(ELF))
    if start is None:
        kind = "no such file"
    elif not kind and start != ELF and os.access(path, os.R_OK):
        kind = "no program (no ELF file)"
    if kind:
        raise RunDirectoryError(f"{path}: {kind}; name the program that wrote the gmon.out file")


def shift_of(program: Program, file: GmonFile) -> int:
    """Return what is to be taken from addresses of a file: where the program was loaded."""
    return file.core.shift(program.symbols.records)


def misfit(program: Program, file: GmonFile, shift: int) -> str:
    """Return why a file seems to be of another program, "" for what fits."""
    arcs, misplaced_arcs, samples, misplaced_samples = file.core.misfit(
        program.symbols.records, shift
    )
    reasons = []
    if misplaced_arcs > arcs * _MISPLACED_MOST:
        reasons.append(f"arcs to no start of a function: {misplaced_arcs} of {arcs}")
    if misplaced_samples > samples * _MISPLACED_MOST:
        reasons.append(f"samples in no function: {misplaced_samples} of {samples}")
    if not reasons:
        return ""
    return (
        f"gmon.out seems to be of another program, or of another build of {program.path} "
        f"({'; '.join(reasons)})"
    )


class BinParts(NamedTuple):
    """What functions have of bins, in the order of addresses, each part of one of both.

    Attributes:
        function: position of the function, int64.
        address: where the part begins in the program, int64.
        n_bytes: its length, int64.
        bin: number of the bin, int64.
        times: samples of the part, float64; they may be fractions, and those of a bin add up to
            its samples.
    """

    function: Longs
    address: Longs
    n_bytes: Longs
    bin: Longs
    times: Floats


def function_times(program: Program, file: GmonFile, shift: int) -> Floats:
    """Return the samples of each function by gprof's rule, float64; they may be fractions.

    Args:
        program: the program, of n functions.
        file: what it wrote.
        shift: see `shift_of`.
    """
    import numpy as np

    return np.frombuffer(file.core.function_times(program.symbols.records, shift))


def bin_parts(program: Program, histogram: Histogram, shift: int) -> BinParts:
    """Return what functions have of the bins of a histogram, which add up to its samples."""
    import numpy as np

    row = np.dtype(
        [("function", "u4"), ("bin", "u4"), ("address", "u8"), ("bytes", "u8"), ("times", "f8")]
    )
    bins = np.ascontiguousarray(histogram.bins, np.uint32)
    parts = np.frombuffer(
        _gmon.bin_parts(
            program.symbols.records, histogram.low, histogram.high, bins.tobytes(), shift
        ),
        row,
    )
    return BinParts(
        parts["function"].astype(np.int64), parts["address"].astype(np.int64),
        parts["bytes"].astype(np.int64), parts["bin"].astype(np.int64), parts["times"],
    )  # fmt: skip


def function_arcs(program: Program, file: GmonFile, shift: int) -> FunctionArcs:
    """Return the arcs between functions of the program."""
    import numpy as np

    caller, callee, counts = file.core.function_arcs(program.symbols.records, shift)
    return FunctionArcs(
        np.frombuffer(caller, np.int32), np.frombuffer(callee, np.int32),
        np.frombuffer(counts, np.int64),
    )  # fmt: skip
