"""The functions and lines that sampled addresses are in, the outermost of inlined calls first."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import numpy as np

from gnomon.errors import GnomonError
from gnomon.model.value import Unavailable
from gnomon.named_tuple import NamedTuple
from gnomon.sampling.sample_file import CUT, FILE, JIT, KERNEL, SampleFile
from gnomon.symbols import Module, ModuleFrames, perf_map_frames, resolve
from gnomon.symbols.frames import IS_INLINED

if TYPE_CHECKING:
    from numpy.typing import NDArray

TRUNCATED = "(truncated)"
"""The region that stands for the outer part of a stack which is not known."""


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


class FrameNames:
    """The frames of the addresses of several tasks, asked for together: most have the same."""

    def __init__(self) -> None:
        self._offsets: dict[Module, list[NDArray[np.uint64]]] = {}
        self._frames: dict[Module, ModuleFrames] = {}

    def add(self, samples: SampleFile) -> None:
        """Take note of a task's addresses."""
        for number, places in enumerate(_by_module(samples)):
            module = _file_module(samples, number)
            if module is not None and len(places):
                self._offsets.setdefault(module, []).append(samples.place_offsets[places])

    def resolve(self) -> tuple[Unavailable, ...]:
        """Find the names; return what has none."""
        wanted = {module: np.concatenate(parts) for module, parts in self._offsets.items()}
        resolution = resolve(wanted)
        self._frames = resolution.frames
        return tuple(
            missing._replace(event=f"names of {module_name(module.path)}")
            for module, missing in resolution.unavailable.items()
            if not module.path.startswith("[")
        )

    def of_places(self, samples: SampleFile) -> Sequence[tuple[CodeFrame, ...]]:
        """Return the frames of each of a task's places, at least one."""
        frames: list[tuple[CodeFrame, ...]] = [()] * len(samples.place_modules)
        for number, places in enumerate(_by_module(samples)):
            module = samples.modules[number]
            name = module_name(module.path)
            own = _file_module(samples, number)
            names = None if own is None else self._frames.get(own)
            if module.kind == JIT and len(places):
                names = _compiled(samples, module.pid, samples.place_offsets[places])
            if names is not None:
                named = _named(names, samples.place_offsets[places], name)
                for place, chain in zip(places.tolist(), named, strict=True):
                    frames[place] = chain
                continue
            for place, offset in zip(
                places.tolist(), samples.place_offsets[places].tolist(), strict=True
            ):
                function = _unnamed(name, offset)
                if module.kind == KERNEL:
                    function = samples.kernel_names.get(place, name)
                frames[place] = (CodeFrame(function, "" if module.kind == CUT else name),)
        return frames


def module_name(path: str) -> str:
    """Return what a module is called: the base name of its path, or what has none as it is."""
    return path if path.startswith(("[", "(")) else PurePath(path).name or path


def _unnamed(module: str, offset: int) -> str:
    """Return what stands for a function without a name."""
    return module if module.startswith(("[", "(")) else f"{module}+{offset:#x}"


def _by_module(samples: SampleFile) -> Iterator[NDArray[np.int64]]:
    """Yield the places of each module."""
    order = np.argsort(samples.place_modules, kind="stable")
    numbers = np.arange(len(samples.modules) + 1)
    bounds = np.searchsorted(samples.place_modules[order], numbers)
    for begin, end in zip(bounds.tolist(), bounds[1:].tolist(), strict=False):
        yield order[begin:end]


def _file_module(samples: SampleFile, number: int) -> Module | None:
    module = samples.modules[number]
    if module.kind != FILE:
        return None
    return Module(module.path, module.build_id, samples.ended)


def _compiled(samples: SampleFile, pid: int, addresses: NDArray[np.uint64]) -> ModuleFrames | None:
    """Return the functions of code that a process compiled, if it left a map of them here."""
    if samples.file.host != os.uname().nodename:
        return None
    try:
        return perf_map_frames(Path(f"/tmp/perf-{pid}.map"), addresses)
    except GnomonError:
        return None  # few runtimes write one


def _named(
    frames: ModuleFrames, offsets: NDArray[np.uint64], name: str
) -> Iterator[tuple[CodeFrame, ...]]:
    """Yield the frames of addresses of a module, of each the outermost first."""
    texts, first = frames.texts, frames.first.tolist()
    rows = frames.frames[["function", "file", "line", "flags"]].tolist()
    positions = np.searchsorted(frames.addresses, offsets).tolist()
    for offset, position in zip(offsets.tolist(), positions, strict=True):
        own = rows[first[position] : first[position + 1]]
        yield tuple(
            CodeFrame(
                texts[function] or _unnamed(name, offset),
                name,
                texts[file],
                line,
                bool(flags & IS_INLINED),
            )
            for function, file, line, flags in reversed(own)
        ) or (CodeFrame(_unnamed(name, offset), name),)
