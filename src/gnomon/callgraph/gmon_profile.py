"""The call profile of a program and its gmon.out files, each of which stands for itself, too."""

from __future__ import annotations

from functools import cached_property

from gnomon.callgraph import _call_graph
from gnomon.callgraph.call_graph import call_graph
from gnomon.callgraph.call_profile import CallProfile, GraphMetric, Sources
from gnomon.callgraph.file_values import FileValues
from gnomon.callgraph.gmon_names import SUM_FILE
from gnomon.model.metric import CPU_TIME
from gnomon.model.value import How
from gnomon.named_tuple import NamedTuple
from gnomon.store.profile_files.gmon import function_times, gmon_sum
from gnomon.store.profile_files.gmon.gmon_file import GmonFile, read_gmon, says_nothing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from gnomon.model.array_types import Ints
    from gnomon.store.profile_files.gmon.function_times import Program


class GmonProfile(NamedTuple):
    """Files of one program, added up.

    Attributes:
        program: the program.
        total: the sum of the files.
        shift: what is taken from their addresses: where the program was loaded.
        n_files: how many there are.
        files: each by itself, where that was asked for.
        notes: what is to be said of files.
    """

    program: Program
    total: GmonFile
    shift: int
    n_files: int
    files: tuple[FileValues, ...]
    notes: tuple[str, ...] = ()


def gmon_profile(
    program_path: Path,
    paths: Sequence[Path],
    progress: Callable[[Iterable[Path]], Iterable[Path]] = iter,
    *,
    by_file: bool = False,
    with_files: bool = False,
) -> GmonProfile:
    """Return the sum of some gmon.out files of a program.

    Args:
        program_path: the program.
        paths: one file at least.
        progress: is given the files and hands them on, one after the other.
        by_file: keep what each says of functions, too.
        with_files: and the source files of functions that are known in one object file only.

    Raises:
        RunDirectoryError: one cannot be read, is damaged, or does not fit the others.
    """
    program = function_times.program_of(program_path, with_files=with_files)
    total: gmon_sum.GmonSum | None = None
    files = []
    notes = []
    for path in progress(paths):
        file = read_gmon(path, program.layout)
        if file.is_empty:
            notes.append(says_nothing(path))
        if by_file:
            shift = function_times.shift_of(program, file)
            files.append(_file_values(program, path, file, shift))
        if total is None:
            total = gmon_sum.GmonSum(path, file)
        else:
            total.add(path, file)
    assert total is not None
    whole = total.file()
    shift = function_times.shift_of(program, whole)
    misfit = function_times.misfit(program, whole, shift)
    notes += [misfit] if misfit else []
    if len(paths) > 1:
        notes += [
            f"{path}: a sum of files, which is added to the others"
            for path in paths
            if path.name == SUM_FILE
        ]
    return GmonProfile(program, whole, shift, len(paths), tuple(files), tuple(notes))


def _file_values(program: Program, path: Path, file: GmonFile, shift: int) -> FileValues:
    import numpy as np

    one = GmonProfile(program, file, shift, 1, ())
    profile = call_profile(one, Sources.OF_NONE)
    graph = call_graph(profile)
    calls = np.zeros(len(profile.name), np.int64)
    np.add.at(calls, profile.callee, profile.calls)
    # Without the fractions by which gprof counts what was called from nowhere.
    total = profile.own + graph.children_time[: len(profile.name)]
    return FileValues(path, profile.own, total, calls)


def sum_bytes(gmon: GmonProfile) -> bytes:
    """Return the content of gmon.sum."""
    from gnomon.store.profile_files.gmon.sum_order import in_sum_order

    return gmon_sum.gmon_bytes(in_sum_order(gmon.total.arrays(), gmon.program, gmon.shift))


def call_profile(gmon: GmonProfile, sources: Sources = Sources.OF_USED) -> CallProfile:
    """Return the functions and arcs of a profile; own values are samples.

    Args:
        gmon: the files.
        sources: of which functions the file and line is looked up.
    """
    program, total = gmon.program, gmon.total.core
    symbols = program.symbols
    caller, callee, calls = total.function_arcs(symbols.records, gmon.shift)
    own = memoryview(bytearray(total.function_times(symbols.records, gmon.shift))).cast("d")
    whole = float(total.samples())
    # Not by sum(), which rounds in its own way from Python 3.12 on.
    samples = 0.0
    for function in _call_graph.of_profiling(symbols.names):
        samples += own[function]
        own[function] = 0.0
    whole -= samples
    metric = GraphMetric(CPU_TIME, "s", How.SAMPLED.value)
    for low, high, rate, _, _, n_bins in total.histograms()[:1]:
        units = (high - low) // 2 / n_bins if n_bins else 0.0
        metric = metric._replace(per_unit=float(rate), sample_bytes=int(units) * 2)
    return CallProfile(
        program=program.path.name, metric=metric, name=symbols.names, title=symbols.titles,
        module=(program.path.name,) * len(symbols.names),
        places=ProgramPlaces(program, sources, own, caller, callee), own=own, whole=whole,
        caller=caller, callee=callee, calls=calls, n_files=gmon.n_files,
    )  # fmt: skip


class ProgramPlaces:
    """Where functions of a program stand, which is looked up when somebody asks.

    Args:
        program: the program, of n functions.
        sources: of which of them the place is wanted.
        own: what each has itself, float64.
        caller, callee: of arcs, int32.
    """

    def __init__(
        self,
        program: Program,
        sources: Sources,
        own: memoryview[float],
        caller: bytes,
        callee: bytes,
    ) -> None:
        self._program = program
        self._sources = sources
        self._own = own
        self._arcs = (caller, callee)

    def files(self) -> tuple[str, ...]:
        """Return the file of each function, "" of those that nobody asks for."""
        return tuple(file for file, _ in self._places)

    def lines(self) -> Ints:
        """Return the line of each, int32; 0 of those that nobody asks for."""
        import numpy as np

        return np.array([line for _, line in self._places], np.int32)

    def static_files(self) -> tuple[str, ...]:
        """Return the file of each that is known in one object file only, "" of others."""
        if self._sources in (Sources.OF_NONE, Sources.OF_STATIC):
            return self._program.symbols.files
        from gnomon.symbols import IS_STATIC

        flags = self._program.symbols.flags.tolist()
        return tuple(
            file if flag & IS_STATIC else "" for file, flag in zip(self.files(), flags, strict=True)
        )

    @cached_property
    def _places(self) -> list[tuple[str, int]]:
        import numpy as np

        from gnomon.symbols import Module, resolve

        symbols, sources = self._program.symbols, self._sources
        n = len(symbols.names)
        places = [("", 0)] * n
        if sources in (Sources.OF_NONE, Sources.OF_STATIC):
            return places
        is_wanted = np.asarray(self._own) > 0
        for functions in self._arcs:
            is_wanted[np.frombuffer(functions, np.int32)] = True
        if sources is Sources.OF_ALL:
            is_wanted = np.ones(n, bool)
        if not is_wanted.any():
            return places
        module = Module(str(self._program.path))
        frames = resolve({module: symbols.start[is_wanted]}).frames.get(module)
        if frames is not None:
            for position in np.flatnonzero(is_wanted).tolist():
                stack = frames.at(int(symbols.start[position]))
                if stack:
                    places[position] = (stack[-1].file, stack[-1].line)
        return places
