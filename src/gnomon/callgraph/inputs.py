"""What a command line names as one call profile: a program and its gmon.out files, or runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from gnomon.callgraph.call_profile import CallProfile, Sources
from gnomon.callgraph.file_values import FileValues
from gnomon.callgraph.gmon_names import SUM_FILE, USUAL_FILE
from gnomon.errors import UsageError
from gnomon.named_tuple import NamedTuple
from gnomon.units import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.callgraph.gmon_profile import GmonProfile
    from gnomon.store.run import Run
    from gnomon.store.run_files import Reader

    Progress = Callable[[Iterable[Path]], Iterable[Path]]

_SNIFFED_BYTES = 64


class GmonFiles(NamedTuple):
    """gmon.out files, one at least, and the program that wrote them."""

    program: Path
    paths: tuple[Path, ...]


class GraphInput(NamedTuple):
    """A call profile and what it was made of.

    Attributes:
        profile: of all files together.
        files: each by itself, where that was asked for.
        gmon: the files, if they are gmon.out files.
    """

    profile: CallProfile
    files: tuple[FileValues, ...]
    gmon: GmonProfile | None = None


def read_inputs(
    names: Sequence[str],
    readers: Sequence[Reader],
    metric: str = "",
    progress: Progress = iter,
    *,
    by_file: bool = False,
    sources: Sources = Sources.OF_USED,
) -> GraphInput:
    """Return the call profile of what was named.

    Args:
        names: a program and gmon.out files of it (the usual one if none is named), or names or
            paths of runs and files that stand for runs; none for the latest run.
        readers: of the formats.
        metric: of runs, "" for the first one.
        progress: is given files and hands them on, one after the other.
        by_file: keep what each file says of functions, too.
        sources: of which functions of gmon.out files the file and line are wanted.

    Raises:
        UsageError: the names do not fit together, or there is no such metric.
        RunDirectoryError: a file cannot be read, or is damaged.
    """
    gmon = gmon_files(names)
    if gmon is not None:
        return gmon_input(gmon, metric, progress, by_file=by_file, sources=sources)
    from gnomon.store.run_directory import find

    runs = [find(name, readers=readers) for name in names] or [find(None, readers=readers)]
    return runs_input(runs, metric, progress, by_file=by_file)


def gmon_files(names: Sequence[str]) -> GmonFiles | None:
    """Return the program and the gmon.out files that were named; None if these are others.

    Args:
        names: a program and files of it (the usual one if none is named), or such files alone.

    Raises:
        UsageError: there is no file.
        RunDirectoryError: which program wrote them cannot be told.
    """
    paths = tuple(Path(name) for name in names)
    if paths and _is_program(paths[0]):
        if len(paths) == 1 and not Path(USUAL_FILE).is_file():
            raise UsageError(
                printable(
                    f"{paths[0]}: which gmon.out files of it? There is none in this folder: a "
                    "program that was compiled and linked with -pg writes it when it exits"
                )
            )
        return GmonFiles(paths[0], paths[1:] or (Path(USUAL_FILE),))
    if paths and all(map(_is_gmon, paths)):
        from gnomon.store.profile_files.gmon.program_search import program_beside

        return GmonFiles(program_beside(paths[0]), paths)
    if len(paths) > 1 and all(map(_is_gmon, paths[1:])):
        kind = _kind_of_no_profile(names[0])
        if kind:
            raise UsageError(
                printable(
                    f"{paths[0]}: {kind}; before gmon.out files name the program that wrote them"
                )
            )
    return None


def runs_input(
    runs: Sequence[Run], metric: str = "", progress: Progress = iter, *, by_file: bool = False
) -> GraphInput:
    """Return the call profile of one run, or of several together.

    Args:
        runs: one at least.
        metric: "" for the first one.
        progress: is given the paths and hands them on, one after the other.
        by_file: keep what each run says of functions, too.

    Raises:
        UsageError: there is no such metric, or runs are of different ones.
        RunDirectoryError: a run cannot be read.
    """
    from gnomon.callgraph.merged_profiles import file_values, merged_profiles
    from gnomon.callgraph.run_profile import call_profile_of_run

    paths = [run.path for run in runs]
    by_path = dict(zip(paths, runs, strict=True))
    profiles = [call_profile_of_run(by_path[path], metric) for path in progress(paths)]
    if len(profiles) == 1:
        (profile,) = profiles
        return GraphInput(profile, (file_values(profile, paths[0]),) if by_file else ())
    return GraphInput(*merged_profiles(profiles, paths, by_file=by_file))


def gmon_input(
    files: GmonFiles, metric: str = "", progress: Progress = iter, *, by_file: bool = False,
    sources: Sources = Sources.OF_USED,
) -> GraphInput:  # fmt: skip
    """Return the call profile of a program and its gmon.out files.

    Args:
        files: the files.
        metric: "" or the only one that such files have.
        progress: is given the files and hands them on, one after the other.
        by_file: keep what each file says of functions, too.
        sources: of which functions the file and line are wanted.

    Raises:
        UsageError: there is no such metric.
        RunDirectoryError: a file cannot be read, or is damaged.
    """
    from gnomon.callgraph.gmon_profile import call_profile, gmon_profile
    from gnomon.model.metric import CPU_TIME

    if metric and metric.lower() != CPU_TIME.lower():
        raise UsageError(f"--metric {metric}: gmon.out files have {CPU_TIME} alone; leave it out")
    gmon = gmon_profile(
        files.program, files.paths, progress, by_file=by_file,
        with_files=sources is Sources.OF_STATIC,
    )  # fmt: skip
    return GraphInput(call_profile(gmon, sources), gmon.files, gmon)


def _is_program(path: Path) -> bool:
    from gnomon.store.regular_file import ELF

    return _start(path).startswith(ELF)


def _is_gmon(path: Path) -> bool:
    from gnomon.store.profile_files.gmon.gmon_file import is_gmon

    return is_gmon(_start(path)) or path.name.startswith((USUAL_FILE, SUM_FILE))


def _kind_of_no_profile(name: str) -> str:
    """Return what something is that is neither a file nor a run; "" of these."""
    from gnomon.store.regular_file import special_kind
    from gnomon.store.run_directory import is_run, path_of

    path = Path(name)
    if is_run(path) or is_run(path_of(name.rstrip("/"))):
        return ""
    return special_kind(path) or ("" if path.exists() else "no such file")


def _start(path: Path) -> bytes:
    from gnomon.store.regular_file import start_of

    return start_of(path, _SNIFFED_BYTES) or b""
