"""Compile libmpitrace for the MPIs of this machine, which Gnomon then comes with.

    compile_mpi_trace.py FOLDER TRACE-ARCHIVE ARCHIVE... -- COMPILER...

Each lies in a folder that is named by the MPI library (src/gnomon/mpi/trace_library.py).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from gnomon.mpi.header import read_header  # noqa: E402
from gnomon.mpi.trace_library import compile_trace_library  # noqa: E402
from gnomon.mpi.wrapper_build import Parts, linked_library  # noqa: E402

INCLUDES = ("native/mpi", "native/include", "native/core")


def main(words: list[str]) -> None:
    """Compile it for each compiler."""
    folder, mark = Path(words[0]), words.index("--")
    parts = Parts(
        tuple(ROOT / name for name in INCLUDES),
        tuple(map(Path, words[2:mark])),
        ROOT / "src/gnomon/mpi/native/entry_points.c",
    )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for compiler in words[mark + 1 :]:
        with tempfile.TemporaryDirectory() as scratch:
            identity = linked_library(compiler, Path(scratch)).identity
        own = folder / identity
        if not own.exists():
            own.mkdir()
            compile_trace_library(read_header(compiler), parts, Path(words[1]), own)


main(sys.argv[1:])
