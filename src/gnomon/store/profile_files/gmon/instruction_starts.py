"""The instructions that samples of bins are of: program counters are at their first bytes.

A bin is of some bytes of code, whatever instructions are in them. What it counts is of those that
begin there, of the first one if they are several: a bin of glibc has four bytes. Of functions that
share a bin, one has nothing of it if no instruction of it begins there.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError
from gnomon.symbols import Module, code_of
from gnomon.symbols.disassembly import disassembled, encoding_of

if TYPE_CHECKING:
    from pathlib import Path

    from gnomon.store.profile_files.gmon.function_times import BinParts


def with_instruction_starts(program: Path, parts: BinParts) -> BinParts:
    """Return parts of bins that begin where their first instructions do.

    Bins stay as they are in which none begins, and all of them if code cannot be read.

    Args:
        program: whose code it is.
        parts: of its bins.
    """
    import numpy as np

    if not len(parts.address):
        return parts
    module = Module(str(program))
    wanted = np.unique(parts.address)
    answers, _ = code_of({module: wanted})
    answer = answers.get(module)
    if answer is None:
        return parts
    encoding = encoding_of(str(program), answer.machine)
    starts: list[int] = []
    for number in sorted({number for number in answer.function_of if number >= 0}):
        try:
            code = disassembled(*answer.functions[number], encoding)
        except GnomonError:  # an instruction set that is not known
            return parts
        starts += (instruction.address for instruction in code)
    starts.sort()
    address = parts.address.copy()
    begins = np.zeros(len(address), np.bool_)
    for row, (begin, n_bytes) in enumerate(
        zip(parts.address.tolist(), parts.n_bytes.tolist(), strict=True)
    ):
        position = bisect_left(starts, begin)
        if position < len(starts) and starts[position] < begin + n_bytes:
            address[row] = starts[position]
            begins[row] = True
    _, bin_of = np.unique(parts.bin, return_inverse=True)
    whole = np.bincount(bin_of, parts.times)[bin_of]
    own = np.bincount(bin_of, np.where(begins, parts.times, 0.0))[bin_of]
    times = np.where(own > 0, np.where(begins, parts.times * whole / np.maximum(own, 1e-9), 0.0),
                     parts.times)  # fmt: skip
    kept = times > 0
    return parts._replace(
        function=parts.function[kept], address=address[kept], n_bytes=parts.n_bytes[kept],
        bin=parts.bin[kept], times=times[kept],
    )  # fmt: skip
