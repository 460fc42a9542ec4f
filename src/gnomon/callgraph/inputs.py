"""What a command line names as one call profile: a program and its gmon.out files, or runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.callgraph.call_profile import CallProfile
from gnomon.callgraph.file_values import FileValues
from gnomon.errors import UsageError
from gnomon.named_tuple import NamedTuple
from gnomon.units import printable

if TYPE_CHECKING:
    from gnomon.callgraph.gmon_profile import GmonProfile
    from gnomon.store.run_files import Reader

    Progress = Callable[[Iterable[Path]], Iterable[Path]]

_ELF = b"\x7fELF"
USUAL_FILE = "gmon.out"


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
    with_unused: bool = False,
) -> GraphInput:
    """Return the call profile of what was named.

    Args:
        names: a program and gmon.out files of it (the usual one if none is named), or names or
            paths of runs and files that stand for runs; none for the latest run.
        readers: of the formats.
        metric: of runs, "" for the first one.
        progress: is given files and hands them on, one after the other.
        by_file: keep what each file says of functions, too.
        with_unused: functions without a value or a call will be shown.

    Raises:
        UsageError: the names do not fit together, or there is no such metric.
        RunDirectoryError: a file cannot be read, or is damaged.
    """
    if names and _is_program(Path(names[0])):
        paths = [Path(name) for name in names[1:]]
        gmon = _gmon(Path(names[0]), paths, metric, progress, by_file=by_file)
        return _gmon_input(gmon, with_unused=with_unused)
    if names and all(_is_gmon(Path(name)) for name in names):
        from gnomon.store.profile_files.gmon.program_search import program_beside

        paths = [Path(name) for name in names]
        gmon = _gmon(program_beside(paths[0]), paths, metric, progress, by_file=by_file)
        return _gmon_input(gmon, with_unused=with_unused)
    from gnomon.callgraph.merged_profiles import merged_profiles
    from gnomon.callgraph.run_profile import call_profile_of_run
    from gnomon.store.run_directory import find

    runs = [find(name, readers=readers) for name in names] or [find(None, readers=readers)]
    paths = [run.path for run in runs]
    by_path = dict(zip(paths, runs, strict=True))
    profiles = [call_profile_of_run(by_path[path], metric) for path in progress(paths)]
    if len(profiles) == 1 and not by_file:
        return GraphInput(profiles[0], ())
    return GraphInput(*merged_profiles(profiles, paths, by_file=by_file))


def _gmon(
    program: Path, paths: Sequence[Path], metric: str, progress: Progress, *, by_file: bool
) -> GmonProfile:
    from gnomon.callgraph.gmon_profile import gmon_profile
    from gnomon.model.metric import CPU_TIME

    if metric and metric.lower() != CPU_TIME.lower():
        raise UsageError(f"--metric {metric}: gmon.out files have {CPU_TIME} alone; leave it out")
    if not paths:
        usual = Path(USUAL_FILE)
        if not usual.is_file():
            raise UsageError(
                printable(
                    f"{program}: which gmon.out files of it? There is none in this folder: a "
                    "program that was compiled and linked with -pg writes it when it exits"
                )
            )
        paths = [usual]
    return gmon_profile(program, paths, progress, by_file=by_file)


def _gmon_input(gmon: GmonProfile, *, with_unused: bool) -> GraphInput:
    from gnomon.callgraph.gmon_profile import Sources, call_profile

    sources = Sources.OF_ALL if with_unused else Sources.OF_USED
    return GraphInput(call_profile(gmon, sources), gmon.files, gmon)


def _is_program(path: Path) -> bool:
    return _start(path).startswith(_ELF)


def _is_gmon(path: Path) -> bool:
    from gnomon.store.profile_files.gmon.gmon_file import is_gmon

    return is_gmon(_start(path)) or path.name.startswith((USUAL_FILE, "gmon.sum"))


def _start(path: Path) -> bytes:
    try:
        if not path.is_file():
            return b""
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            return file.read(64)
    except (OSError, ValueError):
        return b""
