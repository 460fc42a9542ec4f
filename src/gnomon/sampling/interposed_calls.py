"""Functions of libraries that stand before others, as the calls that they measure.

A capability that measures calls has a library with their functions in the program; in a sampled
stack that function is between the program's and the one that was called. It becomes the call: a
region of the capability's kind, named by what is called, with module, file and line of where it is
called from, as the capability's own tables have it. So both are one path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gnomon.measurement.call_paths import NONE
from gnomon.named_tuple import NamedTuple
from gnomon.symbols.code_frames import CodeFrame, calling_frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.sampling.python_call_paths import SampledPaths
    from gnomon.sampling.sample_file import SampleFile

MPI = "mpi"
# Wrappers of MPI as `gnomon run` loads them, and as programs are linked with them.
_LIBRARY = re.compile(r"libgnomon_mpi-.*\.so|libmpitrace\.so.*")
# gn_f_Send is what mpi_send_ and its other names in Fortran have in common (mpi/fortran_source.py).
_NAME = re.compile(r"(?:gn_f_|mpi_|MPI_)(\w+?)(?:_f08(?:ts)?(?:_large)?_|_cptr_*|_*)")


class InterposedCalls(NamedTuple):
    """Paths with calls in the place of functions that measure them.

    Attributes:
        paths: with places of calls behind all others.
        calls: the calls among the frames of these places.
    """

    paths: SampledPaths
    calls: frozenset[CodeFrame]


def with_calls(
    samples: SampleFile, paths: SampledPaths, frames: Sequence[tuple[CodeFrame, ...]]
) -> InterposedCalls:
    """Return paths with calls in the place of functions of libraries that stand before others.

    Args:
        samples: of a task.
        paths: of its samples.
        frames: of each of its own places.
    """
    of_modules = [bool(_LIBRARY.fullmatch(Path(it.path).name)) for it in samples.modules]
    if not any(of_modules):
        return InterposedCalls(paths, frozenset())
    places, parents = paths.node_places.copy(), paths.node_parents.copy()
    all_frames = [*frames, *paths.python_frames]
    is_measuring = np.zeros(len(all_frames), bool)
    is_measuring[: len(frames)] = np.array(of_modules)[samples.place_modules]
    numbers: dict[tuple[int, CodeFrame], int] = {}
    calls: list[tuple[CodeFrame, ...]] = []
    for node in np.flatnonzero(is_measuring[places]).tolist():
        above = int(parents[node])
        if above != NONE and places[above] >= len(all_frames):
            # Functions of the library that call each other are one call.
            places[node], parents[node] = places[above], parents[above]
            continue
        name = routine_name(all_frames[places[node]][0].function)
        # The library's constructor, for one, is no call.
        if not name:
            continue
        caller = calling_frame(
            all_frames[places[one]][-1] for one in _stack(parents, above)
            if places[one] < len(all_frames)
        )  # fmt: skip
        key = (int(places[node]), caller)
        if key not in numbers:
            numbers[key] = len(all_frames) + len(calls)
            calls.append((CodeFrame(name, caller.module, caller.file, caller.line),))
        places[node] = numbers[key]
    paths = paths._replace(
        node_places=places, node_parents=parents, python_frames=(*paths.python_frames, *calls)
    )
    return InterposedCalls(paths, frozenset(frame for (frame,) in calls))


def _stack(parents: NDArray[np.uint32], node: int) -> Iterator[int]:
    """Yield a node and those that it was called from."""
    while node != NONE:
        yield node
        node = int(parents[node])


def routine_name(function: str) -> str:
    """Return the standard's name of a routine of MPI, of a name in C or Fortran; "" for no such."""
    match = _NAME.fullmatch(function)
    if match is None:
        return ""
    is_in_c = function.startswith("gn_f_") or (
        function.startswith("MPI") and not function.isupper()
    )
    return "MPI_" + (match[1] if is_in_c else match[1].capitalize())
