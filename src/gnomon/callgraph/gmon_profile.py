"""The call profile of a program and its gmon.out files, each of which stands for itself, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.callgraph.call_profile import CallProfile, GraphMetric
from gnomon.model.metric import CPU_TIME
from gnomon.model.value import How
from gnomon.store.profile_files.gmon import function_times, gmon_sum
from gnomon.store.profile_files.gmon.gmon_file import FORMAT as GMON
from gnomon.store.profile_files.gmon.gmon_file import GmonFile, parse
from gnomon.store.profile_files.profile_file import whole_content
from gnomon.store.unpacked_run import open_regular

if TYPE_CHECKING:
    from gnomon.model.array_types import Floats, Longs
    from gnomon.store.profile_files.gmon.function_times import Program


@dataclass(frozen=True, slots=True)
class FileValues:
    """What one of several files says of n functions.

    Attributes:
        path: the file.
        own: seconds of each function, float64.
        calls: of each function, from itself too, int64.
    """

    path: Path
    own: Floats
    calls: Longs


@dataclass(frozen=True, slots=True)
class GmonProfile:
    """Files of one program, added up.

    Attributes:
        program: the program.
        total: the sum of the files.
        shift: what is taken from their addresses: where the program was loaded.
        files: each by itself.
    """

    program: Program
    total: GmonFile
    shift: int
    files: tuple[FileValues, ...]


def read_gmon(path: Path, program: Program) -> GmonFile:
    """Return what a gmon.out file of a program holds.

    Raises:
        RunDirectoryError: it cannot be read, or is damaged.
    """
    with open_regular(path) as file:
        content = whole_content(path, file, GMON)
    return gmon_sum.checked(parse(path, content, program.layout), path)


def gmon_profile(
    program_path: Path,
    paths: Sequence[Path],
    progress: Callable[[Iterable[Path]], Iterable[Path]] = iter,
) -> GmonProfile:
    """Return the sum of some gmon.out files of a program.

    Args:
        program_path: the program.
        paths: one file at least.
        progress: is given the files and hands them on, one after the other.

    Raises:
        RunDirectoryError: one cannot be read, is damaged, or does not fit the others.
    """
    program = function_times.program_of(program_path)
    total: GmonFile | None = None
    files = []
    for path in progress(paths):
        file = read_gmon(path, program)
        shift = function_times.shift_of(program, file)
        files.append(_file_values(program, path, file, shift))
        total = file if total is None else gmon_sum.merged(total, file, path)
    assert total is not None
    return GmonProfile(program, total, function_times.shift_of(program, total), tuple(files))


def _file_values(program: Program, path: Path, file: GmonFile, shift: int) -> FileValues:
    import numpy as np

    arcs = function_times.function_arcs(program, file, shift)
    calls = np.zeros(len(program.symbols.start), np.int64)
    np.add.at(calls, arcs.callee, arcs.counts)
    rate = file.histograms[0].rate if file.histograms else 1
    own = function_times.function_times(program, file, shift) / rate
    return FileValues(path, own, calls)


def call_profile(gmon: GmonProfile) -> CallProfile:
    """Return the functions and arcs of a profile; own values are samples."""
    import numpy as np

    from gnomon.symbols import IS_STATIC

    program, total = gmon.program, gmon.total
    symbols = program.symbols
    arcs = function_times.function_arcs(program, total, gmon.shift)
    own = function_times.function_times(program, total, gmon.shift)
    n = len(symbols.start)
    sources = _sources(program, own, arcs)
    first = total.histograms[0] if total.histograms else None
    metric = GraphMetric(CPU_TIME, "s", How.SAMPLED.value)
    if first is not None:
        units = (first.high - first.low) // 2 / len(first.bins) if len(first.bins) else 0.0
        metric = metric._replace(per_unit=float(first.rate), sample_bytes=int(units) * 2)
    nothing = np.full(len(arcs.counts), np.nan)
    return CallProfile(
        program=program.path.name, metric=metric, name=symbols.names, title=symbols.titles,
        module=(program.path.name,) * n,
        file=tuple(file for file, _ in sources),
        line=np.array([line for _, line in sources], np.int32),
        is_static=(symbols.flags & IS_STATIC) != 0,
        own=own, whole=float(sum(int(one.bins.sum()) for one in total.histograms)),
        caller=arcs.caller, callee=arcs.callee, calls=arcs.counts,
        arc_total=nothing, arc_own=nothing, n_files=len(gmon.files),
    )  # fmt: skip


def _sources(
    program: Program, own: Floats, arcs: function_times.FunctionArcs
) -> list[tuple[str, int]]:
    """Return the file and line of the functions that the profile has; of others nobody asks."""
    import numpy as np

    from gnomon.symbols import Module, resolve

    symbols = program.symbols
    is_wanted = own > 0
    is_wanted[arcs.caller] = is_wanted[arcs.callee] = True
    module = Module(str(program.path))
    frames = resolve({module: symbols.start[is_wanted]}).frames.get(module)
    sources = [("", 0)] * len(symbols.start)
    if frames is not None:
        for position in np.flatnonzero(is_wanted).tolist():
            stack = frames.at(int(symbols.start[position]))
            if stack:
                sources[position] = (stack[-1].file, stack[-1].line)
    return sources
