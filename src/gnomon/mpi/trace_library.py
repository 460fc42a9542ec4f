"""libmpitrace for an MPI: its wrappers with the seed's functions and files, to be linked with.

Both kinds lie in a folder of that MPI's: `libmpitrace.a`, which is one object with no other names
than those that programs call, and `libmpitrace.so`. Those of MPIs that were there when Gnomon was
built come with it; others are compiled when `gnomon config` is asked for them, and kept.
"""

from __future__ import annotations

import os
import shutil
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from gnomon.errors import MpiError
from gnomon.installation import LIBRARY_FOLDER, user_cache_folder
from gnomon.mpi.header import read_header
from gnomon.mpi.wrapper_build import (
    Parts,
    compile_shared,
    installed_parts,
    linked_library,
    run_compiler,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gnomon.mpi.header import Header

PREBUILT_FOLDER = LIBRARY_FOLDER / "mpitrace"
SHARED, STATIC = "libmpitrace.so", "libmpitrace.a"
ARCHIVE = "libgnomon-mpitrace.a"
# What programs call, in C and in Fortran; all else is hidden in the static library.
_SEEN = ("MPI_*", "MPIX_*", "mpi_*", "mpix_*", "MT_*", "mt_*", "trace_st*", "gnomon_mpi_*")
_MPICC = "MPICC"


def trace_library(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder with libmpitrace for the MPI of `mpicc`, or of the compiler in MPICC.

    Raises:
        MpiError: there is no such compiler, it does not compile, or there is no place to keep what
            it does.
    """
    compiler = environment.get(_MPICC) or "mpicc"
    with TemporaryDirectory(prefix="gnomon-") as name:
        identity = linked_library(compiler, Path(name)).identity
    prebuilt = PREBUILT_FOLDER / identity
    if (prebuilt / STATIC).exists():
        return prebuilt
    root = user_cache_folder("mpitrace")
    if root is None:
        raise MpiError(
            f"libmpitrace for {compiler} has to be compiled, and GNOMON_CACHE=off leaves no place "
            "for it; unset GNOMON_CACHE"
        )
    folder = root / f"{identity}-{_made_with()}"
    try:
        if not (folder / STATIC).exists():
            root.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(prefix=".new-", dir=root) as name:
                fresh = Path(name, "mpitrace")
                fresh.mkdir()
                compile_trace_library(read_header(compiler), installed_parts(), _archive(), fresh)
                _put(fresh, folder)
    except OSError as error:
        raise MpiError(f"libmpitrace cannot be kept in {root}: {error.strerror}") from error
    return folder


def shared_library_of(identity: str) -> Path | None:
    """Return libmpitrace.so for an MPI library, if there is one already.

    Args:
        identity: as `gnomon.mpi.wrapper_build.identity` has it.
    """
    root = user_cache_folder("mpitrace")
    folders = [PREBUILT_FOLDER / identity]
    if root is not None and _archive().exists():
        folders.append(root / f"{identity}-{_made_with()}")
    return next((it / SHARED for it in folders if (it / SHARED).exists()), None)


def compile_trace_library(header: Header, parts: Parts, archive: Path, folder: Path) -> None:
    """Compile both kinds of libmpitrace for an MPI.

    Args:
        header: what it declares, and the compiler.
        parts: what wrappers are compiled with.
        archive: the static library of native/mpi/trace.
        folder: where they come to lie, with what is needed on the way.

    Raises:
        MpiError: the compiler refuses.
        OSError: the files cannot be written.
    """
    from gnomon.mpi.fortran_source import fortran_source
    from gnomon.mpi.wrapper_source import wrapper_source

    source = folder / "mpitrace.c"
    text = wrapper_source(header, fortran_source(header))
    source.write_text(f"#define GN_MPI_TRACE 1\n{text}", encoding="utf-8")
    whole = ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive"]
    words = [*whole, "-Wl,-soname," + SHARED]
    compile_shared(header.compiler, source, folder / SHARED, parts, words)
    _compile_static(header.compiler, source, parts, archive, folder)
    source.unlink()


def _compile_static(compiler: str, source: Path, parts: Parts, archive: Path, folder: Path) -> None:
    from gnomon.mpi.wrapper_build import COMPILE_FLAGS

    wrappers, joined = folder / "wrappers.o", folder / "mpitrace.o"
    includes = [f"-I{place}" for place in parts.includes]
    run_compiler(compiler, [*COMPILE_FLAGS, *includes, "-c", "-o", str(wrappers), str(source)])
    # Without what the MPI's compiler would link besides: the program's own link has that.
    run_compiler(
        os.environ.get("CC", "cc"),
        ["-r", "-nostdlib", "-o", str(joined), str(wrappers), "-Wl,--whole-archive", str(archive),
         "-Wl,--no-whole-archive", *map(str, parts.archives)],
    )  # fmt: skip
    seen = [f"--keep-global-symbol={name}" for name in _SEEN]
    run_compiler("objcopy", ["--wildcard", *seen, str(joined)])
    run_compiler("ar", ["rcs", str(folder / STATIC), str(joined)])
    wrappers.unlink()
    joined.unlink()


def _archive() -> Path:
    return LIBRARY_FOLDER / ARCHIVE


def _made_with() -> str:
    """Return what tells installations apart: all files of one have its time."""
    status = _archive().stat()
    return sha256(f"{status.st_size} {status.st_mtime_ns}".encode()).hexdigest()[:12]


def _put(fresh: Path, folder: Path) -> None:
    """Give the folder its name, unless another process was first."""
    try:
        fresh.rename(folder)
    except OSError:
        if not (folder / STATIC).exists():
            raise
        shutil.rmtree(fresh, ignore_errors=True)
