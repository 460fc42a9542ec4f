"""The instructions that samples of bins are of: program counters are at their first bytes.

A bin is of some bytes of code, whatever instructions are in them. What it counts is of those that
begin there, of the first one if they are several: a bin of glibc has four bytes. Of functions that
share a bin, one has nothing of it if no instruction of it begins there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.errors import GnomonError
from gnomon.symbols import Module, code_of
from gnomon.symbols.disassembly import disassembled, encoding_of

if TYPE_CHECKING:
    from pathlib import Path

    from gnomon.model.array_types import Longs
    from gnomon.store.profile_files.gmon.function_times import BinParts


def with_instruction_starts(program: Path, parts: BinParts) -> BinParts:
    """Return parts of bins that begin where their first instructions do.

    Bins stay as they are in which none begins, and all of them if code cannot be read.

    Args:
        program: whose code it is.
        parts: of its bins.
    """
    import numpy as np

    try:
        starts = np.array(_starts(program, parts.address), np.int64)
    except GnomonError:
        return parts
    if not len(starts):
        return parts
    place = np.searchsorted(starts, parts.address)
    first = starts[np.minimum(place, len(starts) - 1)]
    begins = (place < len(starts)) & (first < parts.address + parts.n_bytes)
    _, bin_of = np.unique(parts.bin, return_inverse=True)
    whole = np.bincount(bin_of, parts.times)[bin_of]
    own = np.bincount(bin_of, np.where(begins, parts.times, 0.0))[bin_of]
    times = np.where(own > 0, np.where(begins, parts.times * whole / np.maximum(own, 1e-9), 0.0),
                     parts.times)  # fmt: skip
    kept = times > 0
    return parts._replace(
        function=parts.function[kept], address=np.where(begins, first, parts.address)[kept],
        n_bytes=parts.n_bytes[kept], bin=parts.bin[kept], times=times[kept],
    )  # fmt: skip


def _starts(program: Path, addresses: Longs) -> list[int]:
    """Return where instructions begin of the functions that addresses are in, ascending.

    Raises:
        GnomonError: the code cannot be read or disassembled.
    """
    module = Module(str(program))
    answers, failed = code_of({module: addresses})
    if module in failed:
        raise GnomonError(failed[module])
    answer = answers[module]
    encoding = encoding_of(str(program), answer.machine)
    return sorted(
        instruction.address
        for number in {number for number in answer.function_of if number >= 0}
        for instruction in disassembled(*answer.functions[number], encoding)
    )
