"""Functions at their lines as regions have them, from the frames of a module's addresses."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from gnomon.model.inlining import PYTHON
from gnomon.named_tuple import NamedTuple
from gnomon.symbols.frames import IS_INLINED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from gnomon.symbols.frames import ModuleFrames


class CodeFrame(NamedTuple):
    """A function at a line of it.

    Attributes:
        function: its name.
        module: the base name of the program or library.
        file: of the line; "" where it is not known.
        line: 0 where it is not known.
        is_inlined: its code stands in the function that calls it.
    """

    function: str
    module: str
    file: str = ""
    line: int = 0
    is_inlined: bool = False


def module_name(path: str) -> str:
    """Return what a module is called: the base name of its path, or what has none as it is."""
    return path if path.startswith(("[", "(")) else PurePath(path).name or path


def calling_frame(stack: Iterable[CodeFrame]) -> CodeFrame:
    """Return where a call is, of the frames that lead to it, the innermost first.

    It is the innermost one; but what was made of a Python module by Cython, and the like, has no
    lines: of its calls those in Python are known, where a module is imported the line that does.
    """
    innermost, importer = None, None
    for frame in stack:
        innermost = innermost or frame
        if frame.module == PYTHON:
            if not is_importer(frame.module, frame.file):
                return frame
            importer = importer or frame
        elif frame.file:
            break
    return importer or innermost or CodeFrame("", "")


def is_importer(module: str, file: str) -> bool:
    """Return whether a function is one of those by which Python imports modules."""
    return module == PYTHON and file.startswith("<frozen importlib")


def unnamed(module: str, offset: int) -> str:
    """Return what stands for a function without a name."""
    return module if module.startswith(("[", "(")) else f"{module}+{offset:#x}"


def named_frames(
    frames: ModuleFrames, offsets: NDArray[np.uint64], name: str
) -> Iterator[tuple[CodeFrame, ...]]:
    """Yield the frames of addresses of a module, of each the outermost first."""
    import numpy as np

    texts, first = frames.texts, frames.first.tolist()
    rows = frames.frames[["function", "file", "line", "flags"]].tolist()
    positions = np.searchsorted(frames.addresses, offsets).tolist()
    for offset, position in zip(offsets.tolist(), positions, strict=True):
        own = rows[first[position] : first[position + 1]]
        yield tuple(
            CodeFrame(
                texts[function] or unnamed(name, offset),
                name,
                texts[file],
                line,
                bool(flags & IS_INLINED),
            )
            for function, file, line, flags in reversed(own)
        ) or (CodeFrame(unnamed(name, offset), name),)
