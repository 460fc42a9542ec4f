"""Compile what Gnomon comes with for the MPIs of this machine: wrappers, and libmpitrace.

    compile_mpi_libraries.py FOLDER TRACE-ARCHIVE ARCHIVE... -- COMPILER...

Wrappers are in FOLDER/wrappers, named as those are that are compiled at a user's
(src/gnomon/mpi/wrapper_build.py), and by the name of the MPI library, for builds of it that are
compatible where there is no compiler. libmpitrace is in a folder of FOLDER/mpitrace for each MPI
library (src/gnomon/mpi/trace_library.py). An MPI that cannot be used is none of this machine's.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from gnomon.errors import MpiError  # noqa: E402
from gnomon.mpi.header import read_header  # noqa: E402
from gnomon.mpi.trace_library import compile_trace_library  # noqa: E402
from gnomon.mpi.wrapper_build import (  # noqa: E402
    Parts,
    compile_wrappers,
    linked_library,
    stub_of,
    wrappers_file,
)

INCLUDES = (
    "native/mpi", "native/call_sites", "native/include", "native/core", "src/gnomon/mpi/native",
)  # fmt: skip


def main(words: list[str]) -> None:
    """Compile for each compiler."""
    mark = words.index("--")
    parts = Parts(
        tuple(ROOT / name for name in INCLUDES),
        tuple(map(Path, words[2:mark])),
        ROOT / "src/gnomon/mpi/native/entry_points.c",
    )
    wrappers, traces = Path(words[0]) / "wrappers", Path(words[0]) / "mpitrace"
    for folder in (wrappers, traces):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    for compiler in words[mark + 1 :]:
        try:
            compile_for(compiler, parts, wrappers, traces, Path(words[1]))
        except MpiError as error:
            print(f"no libraries for this MPI: {error}", file=sys.stderr)


def compile_for(compiler: str, parts: Parts, wrappers: Path, traces: Path, archive: Path) -> None:
    """Compile for an MPI, unless that was done for another compiler of it."""
    with tempfile.TemporaryDirectory(prefix=".new-", dir=wrappers) as scratch:
        library = linked_library(compiler, Path(scratch))
        target = wrappers_file(wrappers, library.identity)
        if target.exists():
            return
        header = read_header(compiler)
        compile_wrappers(header, parts, target, Path(scratch))
    named = wrappers_file(wrappers, library.name)
    os.link(target, named)
    os.link(stub_of(target), stub_of(named))
    trace = traces / library.identity
    trace.mkdir()
    compile_trace_library(header, parts, archive, trace)


main(sys.argv[1:])
