"""Compile the wrappers of an MPI with its own compiler, for the MPI library that this links.

A file of wrappers is named by the library that it is for (`native/wrapper_library.h` has the rule,
and opens them in the program), so that no process gets those of another build.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from gnomon.errors import MpiError
from gnomon.installation import LIBRARY_FOLDER
from gnomon.named_tuple import NamedTuple
from gnomon.symbols.elf_file import build_id, needed_libraries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from subprocess import CompletedProcess

    from gnomon.mpi.header import Header

_INCLUDES = Path(__file__).parent / "include"
_ARCHIVES = (
    "libgnomon-mpi.a", "libgnomon-call-sites.a", "libgnomon-runtime.a", "libgnomon-core.a",
)  # fmt: skip
# Position-independent and without MPI's data moved into it; -O1 takes half the time of -O2, and
# what has to be quick is in inline functions and in the archives.
COMPILE_FLAGS = ("-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g0", "-fPIC", "-fvisibility=hidden")
_LINK_FLAGS = ("-shared", "-Wl,-z,nodelete", "-Wl,--as-needed")
_SAID_MOST = 300


class MpiLibrary(NamedTuple):
    """An MPI library.

    Attributes:
        path: of the file that has the functions.
        name: as programs ask the loader for it, e.g. `libmpi.so.40`.
        identity: what files of wrappers for it have in their names.
    """

    path: str
    name: str
    identity: str


class Parts(NamedTuple):
    """Where the headers and archives lie that wrappers are compiled with.

    Attributes:
        includes: folders of headers.
        archives: static libraries, in the order in which they are linked.
        entry_points: the source of stubs.
    """

    includes: tuple[Path, ...]
    archives: tuple[Path, ...]
    entry_points: Path


def installed_parts() -> Parts:
    """Return those of this installation."""
    return Parts(
        (_INCLUDES, LIBRARY_FOLDER.parent / "include"),
        tuple(LIBRARY_FOLDER / name for name in _ARCHIVES),
        _INCLUDES / "entry_points.c",
    )


def linked_library(compiler: str, folder: Path) -> MpiLibrary:
    """Return the MPI library that programs of a compiler are linked with.

    Args:
        compiler: the compiler wrapper, e.g. `mpicc`.
        folder: for files that are no longer needed afterwards.

    Raises:
        MpiError: it does not compile, or its MPI is not found by the loader.
    """
    source, probe = folder / "probe.c", folder / "probe.so"
    # The functions alone, without the header: it takes a tenth of the time.
    source.write_text("int PMPI_Init(int *, char ***);\nint probe(void){return PMPI_Init(0, 0);}\n")
    run_compiler(compiler, ["-fPIC", *_LINK_FLAGS, "-o", str(probe), str(source)])
    return needed_mpi(probe, compiler)


def needed_mpi(path: Path, compiler: str) -> MpiLibrary:
    """Return the MPI library that the loader finds for a program or library.

    Raises:
        MpiError: it needs none, or the loader does not find it.
    """
    names = [name for name in needed_libraries(path) if name.startswith("libmpi")]
    places = _loaded(path)
    for name in names:
        place = places.get(name, "")
        if place and _has_profiling(place):
            return MpiLibrary(place, name, identity(place))
    what = " ".join(names) or "an MPI library"
    raise MpiError(
        f"{compiler}: what it links needs {what}, which the loader does not find; add its folder "
        "to LD_LIBRARY_PATH"
    )


def _has_profiling(path: str) -> bool:
    try:
        return b"\0PMPI_Init\0" in Path(path).read_bytes()
    except OSError as error:
        raise MpiError(f"{path}: {error.strerror}; name another MPI with MPICC") from error


def identity(path: str) -> str:
    """Return what files of wrappers for a library are named by: its build id, else size and time.

    Raises:
        MpiError: the file cannot be read.
    """
    try:
        status = os.stat(path)  # noqa: PTH116
        number = build_id(Path(path))
    except (OSError, ValueError, struct.error) as error:
        raise MpiError(f"{path}: cannot be read: {error}; name another MPI with MPICC") from error
    return number or f"{status.st_size}-{int(status.st_mtime)}"


def wrappers_file(folder: Path, name: str) -> Path:
    """Return the file of wrappers for a library, by its identity or name.

    Samples know calls of MPI by it (sampling/interposed_calls.py).
    """
    return folder / f"libgnomon_mpi-{name}.so"


def stub_of(wrappers: Path) -> Path:
    """Return where the stub lies that has what an MPI has beyond others, by its wrappers."""
    return wrappers.with_suffix(".stub.so")


def compile_wrappers(header: Header, parts: Parts, target: Path, folder: Path) -> None:
    """Compile the wrappers of an MPI into a library, and the stub of what others lack.

    Args:
        header: what it declares, and the compiler.
        parts: what they are compiled with.
        target: the file of the wrappers, there as a whole or not at all, the stub before it.
        folder: for files that are no longer needed afterwards, on the target's file system.

    Raises:
        MpiError: the compiler refuses.
        OSError: the file cannot be written.
    """
    from gnomon.mpi.entry_points import c_table, further_entry_points
    from gnomon.mpi.fortran_source import fortran_source
    from gnomon.mpi.wrapper_source import wrapper_source

    source, library = folder / "wrappers.c", folder / "wrappers.so"
    source.write_text(wrapper_source(header, fortran_source(header)), encoding="utf-8")
    includes = [f"-I{place}" for place in parts.includes]
    compile_shared(header.compiler, source, library, parts)
    (folder / "entry_points.h").write_text(c_table(further_entry_points(header)), encoding="utf-8")
    stub = folder / "stub.so"
    run_compiler(
        header.compiler,
        [*COMPILE_FLAGS, *_LINK_FLAGS, "-fvisibility=default", f"-I{folder}", *includes, "-o",
         str(stub), str(parts.entry_points)],
    )  # fmt: skip
    stub.replace(stub_of(target))
    library.replace(target)


def compile_shared(
    compiler: str, source: Path, library: Path, parts: Parts, others: Sequence[str] = ()
) -> None:
    """Compile wrappers into a shared library, with others' options before the archives.

    Raises:
        MpiError: the compiler refuses.
    """
    includes = [f"-I{place}" for place in parts.includes]
    run_compiler(
        compiler,
        [*COMPILE_FLAGS, *_LINK_FLAGS, *includes, "-o", str(library), str(source), *others,
         *map(str, parts.archives), "-lpthread", "-ldl"],
    )  # fmt: skip


def _run(*command: str) -> CompletedProcess[str]:
    """Run a command to its end, without input; OSError: it cannot be started."""
    import subprocess

    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def _loaded(path: Path) -> Mapping[str, str]:
    """Return where the loader finds what a library needs, by name. Source: ldd(1)."""
    try:
        done = _run("ldd", str(path))
    except OSError as error:
        raise MpiError(f"ldd, which tells what {path} loads: {error.strerror}") from error
    places = {}
    for line in done.stdout.splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if arrow and rest.startswith("/"):
            places[name] = rest.rpartition(" (")[0]
    return places


def run_compiler(compiler: str, words: Sequence[str]) -> None:
    """Run a compiler; MpiError: it is not there, or it refuses."""
    try:
        done = _run(compiler, *words)
    except OSError as error:
        raise MpiError(
            f"{compiler}: cannot be started: {error.strerror}; install the MPI's compiler wrapper, "
            "or name another one: MPICC=mpicc"
        ) from error
    if done.returncode:
        lines = done.stderr.splitlines()
        said = next((line for line in lines if "error" in line), " ".join(lines))[:_SAID_MOST]
        raise MpiError(
            f"{compiler}: cannot compile the wrappers of its MPI (status {done.returncode}): "
            f"{said}; name another one: MPICC=mpicc"
        )
