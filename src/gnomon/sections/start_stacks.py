"""The call stacks that sections were started from, where a program's values are kept by them.

libhpm leaves them beside its items, with the number that these have of the place
(native/hpm/section_staging.c).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.model.inlining import PYTHON
from gnomon.sections.staged_lines import read_lines, read_processes
from gnomon.symbols import Address, Module, resolve
from gnomon.symbols.code_frames import CodeFrame, module_name, named_frames, unnamed
from gnomon.units import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gnomon.model.value import Unavailable

_BEGIN = "gnomon section stacks 1\n"
_BYTES_MAX = 256 << 20
_PLACE = re.compile(r"place ([0-9]{1,9})")
_FRAME = re.compile(r"frame ([0-9a-f]{1,16}) (-|[0-9a-f]{2,128}) (-|/.*)")
_PYTHON = re.compile(r"python (-?[0-9]{1,9}) ([^\t]*)\t(.*)")
_UNKNOWN = "[unknown]"

Stack = tuple[Address | CodeFrame, ...]
"""The outermost caller first: addresses, or functions of Python."""
Functions = tuple[CodeFrame, ...]
"""What leads to a start, the outermost first."""


def read_start_stacks(path: Path) -> dict[int, Stack]:
    """Return the stack of each place by its number.

    One that is cut off or damaged is left out: what was measured there has no path.

    Raises:
        GnomonError: it is no such file.
        OSError: it cannot be read.
    """
    stacks: dict[int, Stack] = {}
    place, frames = 0, list[Address | CodeFrame]()
    for line in read_lines(path, _BEGIN, "stacks of sections", _BYTES_MAX):
        begin = _PLACE.fullmatch(line)
        if begin:
            place, frames = int(begin[1]), []
        elif line == "end":
            if place and frames:
                stacks.setdefault(place, tuple(frames))
            place = 0
        elif place:
            frame = _frame(line)
            place = place if frame else 0
            frames += [frame] if frame else []
    return stacks


def _frame(line: str) -> Address | CodeFrame | None:
    native = _FRAME.fullmatch(line)
    if native and "\0" not in line:
        offset, build_id, module = native.groups()
        return Address("" if module == "-" else module, int(offset, 16), build_id.strip("-"))
    python = _PYTHON.fullmatch(line)
    if python and "\0" not in line:
        return CodeFrame(python[2], PYTHON, python[3], max(int(python[1]), 0))
    return None


def resolve_stacks(
    stacks: Iterable[Stack],
) -> tuple[dict[Stack, Functions], tuple[Unavailable, ...]]:
    """Return the functions that each stack leads through, the outermost first; what has no names.

    Functions that were compiled into others stand below these.
    """
    import numpy as np

    wanted = dict.fromkeys(stacks)
    modules: dict[Module, set[int]] = {}
    for stack in wanted:
        for frame in stack:
            if isinstance(frame, Address) and frame.module:
                own = Module(frame.module, frame.build_id, 0)
                modules.setdefault(own, set()).add(frame.offset)
    names: dict[Address, tuple[CodeFrame, ...]] = {}
    if not modules:
        return {stack: tuple(_functions(stack, names)) for stack in wanted}, ()
    offsets = {module: np.array(sorted(own), np.uint64) for module, own in modules.items()}
    resolution = resolve(offsets)
    for module, frames in resolution.frames.items():
        chains = named_frames(frames, offsets[module], module_name(module.path))
        for offset, chain in zip(offsets[module].tolist(), chains, strict=True):
            names[Address(module.path, offset, module.build_id)] = chain
    missing = tuple(
        why._replace(event=f"names of {printable(module_name(module.path))}")
        for module, why in resolution.unavailable.items()
    )
    return {stack: tuple(_functions(stack, names)) for stack in wanted}, missing


def _functions(stack: Stack, names: Mapping[Address, tuple[CodeFrame, ...]]) -> Iterator[CodeFrame]:
    for frame in stack:
        if isinstance(frame, CodeFrame):
            yield frame
        elif frame in names:
            yield from names[frame]
        else:
            name = module_name(frame.module) if frame.module else _UNKNOWN
            yield CodeFrame(unnamed(name, frame.offset), name)


def stacks_of_processes(
    stems: Sequence[str], folder: Path, warnings: list[str]
) -> tuple[dict[str, Mapping[int, Functions]], tuple[Unavailable, ...]]:
    """Return the functions that lead to each process's starts, by numbers of places; what failed.

    All processes are asked about at once: the ranks of a job have the same few stacks.
    """
    paths = {stem: folder / f"{stem}.hpmstacks" for stem in stems}
    distinct: dict[Stack, Stack] = {}
    stacks = {
        stem: {place: distinct.setdefault(stack, stack) for place, stack in own.items()}
        for stem, own in read_processes(paths, read_start_stacks, "call paths", warnings).items()
    }
    functions, missing = resolve_stacks(distinct)
    named: dict[str, Mapping[int, Functions]] = {
        stem: {place: functions[stack] for place, stack in own.items()}
        for stem, own in stacks.items()
    }
    return named, missing
