"""Which program wrote a gmon.out file, which does not say it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import RunDirectoryError
from gnomon.store.profile_files.gmon import function_times
from gnomon.store.profile_files.gmon.gmon_file import read_gmon, says_nothing

if TYPE_CHECKING:
    from gnomon.store.profile_files.gmon.function_times import Program
    from gnomon.store.profile_files.gmon.gmon_file import GmonFile

VARIABLE = "GNOMON_PROGRAM"
"""Names the program of gmon.out files that are given alone."""
_USUAL = "a.out"
_LOOKED_AT_MOST = 200
_ENDS_OF_CODE = ("etext", "_etext", "__etext")
_ROUNDED_BYTES = 64


def program_beside(path: Path) -> Path:
    """Return the program of a gmon.out file: as GNOMON_PROGRAM says, else the one in its folder.

    In the folder it is `a.out`, as for gprof, or the only program whose code the histogram covers
    and all of whose calls are of its functions.

    Raises:
        RunDirectoryError: there is none, or there are several, or the file holds nothing.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    gmon = read_gmon(path)
    if gmon.is_empty:
        raise RunDirectoryError(says_nothing(path))
    fitting = [one for one in _programs(path.parent) if _fits(one, gmon)]
    # What is linked with -pg names the end of its code, where the histogram ends, too.
    ending = [one for one in fitting if _ends_there(one, gmon)]
    usual = [one for one in ending or fitting if one.path.name == _USUAL]
    if len(usual or ending or fitting) == 1:
        return (usual or ending or fitting)[0].path
    what = "no program in its folder fits it"
    if fitting:
        names = ", ".join(sorted(one.path.name for one in fitting)[:5])
        what = f"several programs in its folder fit it ({names})"
    raise RunDirectoryError(
        f"{path}: a gmon.out file does not say which program wrote it, and {what}; name the "
        f"program: gnomon callgraph PROGRAM {path.name}, gnomon import {path.name} --program "
        f"PROGRAM, or {VARIABLE}=PROGRAM"
    )


def _ends_there(program: Program, gmon: GmonFile) -> bool:
    symbols = program.symbols
    shift = function_times.shift_of(program, gmon)
    high = max(one.high for one in gmon.histograms) - shift
    ends = [symbols.names.index(name) for name in _ENDS_OF_CODE if name in symbols.names]
    return any(abs(high - int(symbols.start[end])) <= _ROUNDED_BYTES for end in ends)


def _programs(folder: Path) -> Iterator[Program]:
    try:
        entries = sorted(folder.iterdir())[:_LOOKED_AT_MOST]
    except OSError:
        return
    for entry in entries:
        if entry.is_file() and os.access(entry, os.X_OK):
            try:
                yield function_times.program_of(entry)
            except RunDirectoryError:
                continue


def _fits(program: Program, gmon: GmonFile) -> bool:
    """Return whether a file is of the range of a program's code, and its calls are of it."""
    symbols = program.symbols
    if program.layout != gmon.layout or not gmon.histograms:
        return False
    shift = function_times.shift_of(program, gmon)
    low = min(one.low for one in gmon.histograms) - shift
    high = max(one.high for one in gmon.histograms) - shift
    if not low <= int(symbols.start[0]) < high:
        return False
    # A call counter is asked with the address behind its own call, within the function.
    arcs = function_times.function_arcs(program, gmon, shift)
    return not len(gmon.callees) or len(arcs.counts) > 0
