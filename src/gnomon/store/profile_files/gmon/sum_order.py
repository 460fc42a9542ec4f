"""The order of arcs in gmon.sum, which decides how reports sort what is equal.

GNU gprof writes arcs by the line of the source that they are from, and of a line the last first.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.model.array_types import Longs
    from gnomon.store.profile_files.gmon.function_times import Program
    from gnomon.store.profile_files.gmon.gmon_file import GmonArrays

_ADDRESSES_MOST = 4_000_000
"""Of code that is looked at: of larger programs arcs stand in the order of their addresses."""


def in_sum_order(file: GmonArrays, program: Program, shift: int) -> GmonArrays:
    """Return a file with its arcs in the order in which GNU gprof writes them.

    Args:
        file: the sum of some files.
        program: theirs.
        shift: see `function_times.shift_of`.
    """
    import numpy as np

    begins = _line_begins(file, program, shift)
    last_first = np.arange(len(file.callers))[::-1]
    order = last_first[np.argsort(begins[last_first], kind="stable")]
    return file._replace(
        callers=file.callers[order], callees=file.callees[order], counts=file.counts[order]
    )


def _line_begins(file: GmonArrays, program: Program, shift: int) -> Longs:
    """Return where the code of the line begins that each call is in; without lines, the call."""
    import numpy as np

    from gnomon.symbols import Module, resolve

    symbols = program.symbols
    callers = (file.callers - np.uint64(shift)).astype(np.int64)
    function = np.searchsorted(symbols.start, callers.astype(np.uint64), side="right") - 1
    functions = np.unique(function[function >= 0])
    # What follows the section .text, such as _fini, has no end there.
    sizes = np.maximum((symbols.end - symbols.start)[functions].astype(np.int64), 0)
    if not len(functions) or int(sizes.sum()) > _ADDRESSES_MOST:
        return callers
    first = np.repeat(symbols.start[functions].astype(np.int64), sizes)
    within = np.arange(len(first)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    addresses = first + within
    module = Module(str(program.path))
    frames = resolve({module: addresses.astype(np.uint64)}).frames.get(module)
    if frames is None or not len(frames.frames):
        return callers
    has_frame = np.diff(frames.first.astype(np.int64)) > 0
    innermost = frames.frames[np.minimum(frames.first[:-1], len(frames.frames) - 1)]
    is_new = within == 0
    for field in ("file", "line", "function"):
        is_new[1:] |= innermost[field][1:] != innermost[field][:-1]
    is_new[1:] |= has_frame[1:] != has_frame[:-1]
    begins = addresses[is_new]
    at_line = np.searchsorted(begins, callers, side="right") - 1
    return np.where(at_line >= 0, begins[np.maximum(at_line, 0)], callers)
