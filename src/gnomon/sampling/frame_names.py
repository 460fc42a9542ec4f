"""The functions and lines that sampled addresses are in, the outermost of inlined calls first."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gnomon.errors import GnomonError
from gnomon.model.inlining import PYTHON
from gnomon.model.value import Unavailable
from gnomon.sampling.python_trampolines import function_and_file, map_of_process
from gnomon.sampling.sample_file import CUT, FILE, JIT, KERNEL, SampleFile
from gnomon.sampling.sample_file import Module as SampledModule
from gnomon.symbols import Module, ModuleFrames, perf_map_frames, resolve
from gnomon.symbols.code_frames import CodeFrame, module_name, named_frames, unnamed

if TYPE_CHECKING:
    from numpy.typing import NDArray

TRUNCATED = "(truncated)"
"""The region that stands for the outer part of a stack which is not known."""


def maps_in_tmp(host: str, pid: int) -> Sequence[Path]:
    """Return where the functions are named that a process compiled while it ran."""
    return [map_of_process(pid)] if host == os.uname().nodename else []


class FrameNames:
    """The frames of the addresses of several tasks, asked for together: most have the same.

    Args:
        perf_maps: gives the maps of code that a process of a host compiled, the best one first.
    """

    def __init__(self, perf_maps: Callable[[str, int], Sequence[Path]] = maps_in_tmp) -> None:
        self._perf_maps = perf_maps
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
            named: Iterable[tuple[CodeFrame, ...]] | None = None
            if module.kind == JIT and len(places):
                maps = self._perf_maps(samples.host, module.pid)
                named = _compiled(maps, samples.place_offsets[places], name)
            elif names is not None:
                named = named_frames(names, samples.place_offsets[places], name)
            if named is not None:
                for place, chain in zip(places.tolist(), named, strict=True):
                    frames[place] = chain
                continue
            for place, offset in zip(
                places.tolist(), samples.place_offsets[places].tolist(), strict=True
            ):
                function = unnamed(name, offset)
                if module.kind == KERNEL:
                    function = samples.kernel_names.get(place, name)
                frames[place] = (CodeFrame(function, "" if module.kind == CUT else name),)
        return frames


def _by_module(samples: SampleFile) -> Iterator[NDArray[np.int64]]:
    """Yield the places of each module."""
    order = np.argsort(samples.place_modules, kind="stable")
    numbers = np.arange(len(samples.modules) + 1)
    bounds = np.searchsorted(samples.place_modules[order], numbers)
    for begin, end in zip(bounds.tolist(), bounds[1:].tolist(), strict=False):
        yield order[begin:end]


def _file_module(samples: SampleFile, number: int) -> Module | None:
    module = samples.modules[number]
    if module.kind != FILE or (not module.build_id and _is_other_file(samples, module)):
        return None
    return Module(module.file or module.path, module.build_id, samples.ended)


def _is_other_file(samples: SampleFile, module: SampledModule) -> bool:
    """Return whether another file has a module's path here: its process had another root."""
    if not module.inode or samples.host != os.uname().nodename:
        return False
    try:
        return Path(module.path).stat().st_ino != module.inode
    except (OSError, ValueError):
        return False


def _compiled(
    maps: Sequence[Path], addresses: NDArray[np.uint64], name: str
) -> list[tuple[CodeFrame, ...]]:
    """Return the frames of addresses of code that a process compiled."""
    chains: list[tuple[CodeFrame, ...]] = [
        (CodeFrame(unnamed(name, address), name),) for address in addresses.tolist()
    ]
    rest = np.arange(len(addresses))
    for path in maps:
        try:
            frames = perf_map_frames(path, addresses[rest])
        except GnomonError:
            continue  # few runtimes write one
        functions = frames.frames["function"][np.searchsorted(frames.addresses, addresses[rest])]
        for place, function in zip(rest.tolist(), functions.tolist(), strict=True):
            if function:
                chains[place] = (_compiled_frame(frames.texts[function], name),)
        rest = rest[functions == 0]
    return chains


def _compiled_frame(function: str, module: str) -> CodeFrame:
    python = function_and_file(function)
    if python is None:
        return CodeFrame(function, module)
    return CodeFrame(python[0], PYTHON, python[1])
