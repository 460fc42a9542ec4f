"""Compile the wrappers of the MPIs of this machine, which Gnomon then comes with.

    compile_mpi_wrappers.py FOLDER ARCHIVE... -- COMPILER...

A file is named as those are that are compiled at a user's (src/gnomon/mpi/wrapper_build.py), and by
the name of the MPI library, for builds of it that are compatible where there is no compiler.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from gnomon.mpi.header import read_header  # noqa: E402
from gnomon.mpi.wrapper_build import (  # noqa: E402
    Parts,
    compile_wrappers,
    linked_library,
    stub_of,
    wrappers_file,
)

INCLUDES = ("native/mpi", "native/include", "native/core", "src/gnomon/mpi/native")


def main(words: list[str]) -> None:
    """Compile the wrappers for each compiler."""
    folder, mark = Path(words[0]), words.index("--")
    parts = Parts(
        tuple(ROOT / name for name in INCLUDES),
        tuple(map(Path, words[1:mark])),
        ROOT / "src/gnomon/mpi/native/entry_points.c",
    )
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*.so"):
        file.unlink()
    for compiler in words[mark + 1 :]:
        with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as scratch:
            library = linked_library(compiler, Path(scratch))
            target = wrappers_file(folder, library.identity)
            if not target.exists():
                compile_wrappers(read_header(compiler), parts, target, Path(scratch))
                named = wrappers_file(folder, library.name)
                os.link(target, named)
                os.link(stub_of(target), stub_of(named))


main(sys.argv[1:])
