"""Which wrappers a command may need: those that are there, and those to be compiled before it.

Kept below the user's cache folder, by what the header declares and what they are compiled with; a
file for each build of the MPI library. What a compiler links is noted beside them with the states
of the files that decide it, so that a later run asks no compiler. Several tasks of a job come here
at once: a lock lets the first compile, and the others find what it left.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from gnomon.errors import MpiError
from gnomon.installation import user_cache_folder
from gnomon.launch import preloads
from gnomon.mpi.header import MPICH, OPEN_MPI, read_header
from gnomon.mpi.wrapper_build import (
    compile_wrappers,
    installed_parts,
    linked_library,
    stub_of,
    wrappers_file,
)
from gnomon.named_tuple import NamedTuple
from gnomon.symbols.elf_file import needed_libraries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


PREBUILT_FOLDER = Path(__file__).parent / "wrappers"
"""Wrappers that came with Gnomon, of the MPIs that were there when it was built."""
MPICC_VARIABLE = "MPICC"
# Of launchers that belong to an MPI: what their names begin with. Source: Open MPI, MPICH, PRRTE.
_LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun", "prun")
_OTHER_LAUNCHERS = ("srun", "jsrun", "aprun")
_COMPILER = "mpicc"
_FOLDERS_KEPT = 16
# What decides, besides the compiler, which MPI it links and the loader finds. Source: ld.so(8), the
# compiler wrappers of Open MPI and MPICH.
_DECIDE_TOO = ("LD_LIBRARY_PATH", "OPAL_PREFIX", "OMPI_CC", "MPICH_CC")
# Programs stand among the first words of a command; what follows may be thousands of files.
_WORDS_MOST = 256


class Wrappers(NamedTuple):
    """Wrappers that are ready.

    Attributes:
        folders: where they lie, the first to be looked into first.
        stubs: of what the command's MPI has and others may lack, where it is known.
        problem: why those that the command seems to need are not among them; "" if they are.
        identity: of the command's MPI, where it is known; "" if not.
    """

    folders: tuple[str, ...] = ()
    stubs: tuple[str, ...] = ()
    problem: str = ""
    identity: str = ""


class _Linked(NamedTuple):
    """What a compiler links, and where the wrappers for it lie."""

    name: str
    identity: str
    folder: str
    family: str

    @property
    def wrappers(self) -> Path:
        return wrappers_file(Path(self.folder), self.identity)


def prepare(
    command: Sequence[str],
    *,
    in_job: bool,
    spare_folder: Path,
    environment: Mapping[str, str] = os.environ,
    prebuilt: Path = PREBUILT_FOLDER,
) -> Wrappers:
    """Return the wrappers for a command, compiled if it seems to need any that are not there.

    It seems so where it begins with an MPI's launcher, where a word of it is a program that is
    linked with an MPI, or where it is a task of a job.

    Args:
        command: program and arguments.
        in_job: a launcher started this process.
        spare_folder: where they lie if there is no cache.
        environment: of the command.
        prebuilt: the folder of those that came with Gnomon.
    """
    spare = spare_folder / "mpi-wrappers"
    root = user_cache_folder("mpi") or spare
    # The stub is preloaded from there.
    if not preloads.can_be_named(str(root)):
        root = spare
    names = {name for word in command[:_WORDS_MOST] for name in _mpi_names(word)}
    launchers = [word for word in command if _is_launcher(word, _LAUNCHERS)]
    stubs, problem, identity = list[str](), "", ""
    if names or launchers or in_job or any(_is_launcher(it, _OTHER_LAUNCHERS) for it in command):
        compilers = list(dict.fromkeys(_compilers(launchers, environment)))
        for place in dict.fromkeys((root, spare)):
            root = place
            try:
                all_linked, problem = _provide(root, prebuilt, compilers, names, environment)
                break
            except OSError as error:
                all_linked = []
                problem = (
                    f"wrappers cannot be kept in {root}: {error.strerror}; name another folder: "
                    "XDG_CACHE_HOME=/folder"
                )
        family = "" if names or launchers else _family_of_job(environment)
        if len(all_linked) == 1 and family in ("", all_linked[0].family):
            stub = str(stub_of(all_linked[0].wrappers))
            stubs += [stub] if preloads.can_be_named(stub) and os.access(stub, os.R_OK) else []
            identity = all_linked[0].identity
    return Wrappers((*_folders(root), *_existing(prebuilt)), tuple(stubs), problem, identity)


# --- which compiler -------------------------------------------------------------------------------


def _is_launcher(word: str, names: Iterable[str]) -> bool:
    base = Path(word).name
    return any(base == name or base.startswith(f"{name}.") for name in names)


def _family_of_job(environment: Mapping[str, str]) -> str:
    """Return whose launcher started this process, "" if that cannot be told."""
    if "OMPI_COMM_WORLD_SIZE" in environment:
        return OPEN_MPI
    return MPICH if "HYDI_CONTROL_FD" in environment else ""


def _mpi_names(word: str) -> tuple[str, ...]:
    """Return the MPI libraries that a word of a command is linked with, if it is a program."""
    path = word if "/" in word else shutil.which(word)
    try:
        if path and os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113
            return tuple(name for name in needed_libraries(Path(path)) if _is_mpi(name))
    except (OSError, ValueError):
        pass
    return ()


def _is_mpi(name: str) -> bool:
    """Return whether a library is one for C: those for Fortran need it, as libmpitrace does."""
    stem = Path(name).name.partition(".so")[0]
    return stem.startswith("libmpi") and not stem.startswith(
        ("libmpi_mpifh", "libmpi_use", "libmpi_cxx", "libmpifort", "libmpicxx", "libmpichf",
         "libmpichcxx", "libmpitrace")
    )  # fmt: skip


def _compilers(launchers: Iterable[str], environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the compilers that may be meant, the likeliest first."""
    path = environment.get("PATH", os.defpath)
    own = environment.get(MPICC_VARIABLE, "")
    words = [own] if own else []
    for launcher in launchers:
        place = shutil.which(launcher, path=path)
        if place:
            suffix = Path(launcher).name.partition(".")[2]
            name = f"{_COMPILER}.{suffix}" if suffix else _COMPILER
            words += [str(Path(place).with_name(name)), str(Path(place).resolve().parent / name)]
    words += [_COMPILER, f"{_COMPILER}.openmpi", f"{_COMPILER}.mpich"]
    for word in words:
        place = shutil.which(word, path=path)
        if place:
            yield place


def _provide(
    root: Path,
    prebuilt: Path,
    compilers: Sequence[str],
    names: set[str],
    environment: Mapping[str, str],
) -> tuple[list[_Linked], str]:
    """Have wrappers for what programs are linked with, else for the first compiler's MPI.

    Returns:
        what there is, and why some are missing, "" if none are.
    """
    missing, problems = set(names), []
    all_linked: list[_Linked] = []
    for compiler in compilers:
        if all_linked and not missing:
            break
        try:
            linked = _linked(root, prebuilt, compiler, environment)
            if names and linked.name not in missing:
                continue
            if not linked.wrappers.exists():
                _compile(root, compiler, linked)
        except MpiError as error:
            problems.append(str(error))
            continue
        all_linked.append(linked)
        missing.discard(linked.name)
    # Without a compiler there may still be wrappers for all compatible builds of a library.
    missing = {name for name in missing if not wrappers_file(prebuilt, Path(name).name).exists()}
    if missing and not problems:
        what = " or ".join(sorted(missing))
        problems.append(f"no compiler wrapper here links {what}; name it: MPICC=mpicc")
    return all_linked, problems[0] if problems and (missing or not all_linked) else ""


# --- what is there --------------------------------------------------------------------------------


def _linked(root: Path, prebuilt: Path, compiler: str, environment: Mapping[str, str]) -> _Linked:
    """Return what a compiler links, and where wrappers for it are or are to be."""
    asked = [compiler, *(environment.get(name, "") for name in _DECIDE_TOO)]
    note = root / f"{sha256(os.fsencode(repr(asked))).hexdigest()[:16]}.json"
    linked = _noted(note, compiler)
    if linked is not None:
        return linked
    from tempfile import TemporaryDirectory

    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(root), TemporaryDirectory(prefix=".new-", dir=root) as name:
        # Another task of the job had the lock before.
        linked = _noted(note, compiler)
        if linked is not None:
            return linked
        header = read_header(compiler)
        library = linked_library(compiler, Path(name))
        place = prebuilt
        if not wrappers_file(prebuilt, library.identity).exists():
            facts = (header.digest, platform.machine(), *_states(*_made_with()))
            place = root / sha256(repr(facts).encode()).hexdigest()[:16]
        linked = _Linked(library.name, library.identity, str(place), header.family)
        text = json.dumps(
            {"linked": linked, "states": _states(compiler, library.path, *_made_with())}
        )
        (Path(name) / "note").write_text(text, encoding="utf-8")
        (Path(name) / "note").replace(note)
    return linked


def _compile(root: Path, compiler: str, linked: _Linked) -> None:
    from tempfile import TemporaryDirectory

    with _locked(root):
        if linked.wrappers.exists():
            return
        linked.wrappers.parent.mkdir(exist_ok=True)
        with TemporaryDirectory(prefix=".new-", dir=root) as name:
            compile_wrappers(read_header(compiler), installed_parts(), linked.wrappers, Path(name))
        for folder in _folders(root)[_FOLDERS_KEPT:]:
            shutil.rmtree(folder, ignore_errors=True)


def _noted(note: Path, compiler: str) -> _Linked | None:
    """Return what was noted of a compiler, if nothing that it depends on has changed since."""
    try:
        about = json.loads(note.read_text(encoding="utf-8"))
        linked = _Linked(*map(str, about["linked"]))
        library = str(about["states"][1][0])
        is_so = bool(about["states"] == _states(compiler, library, *_made_with()))
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None
    return linked if is_so else None


def _states(*paths: str) -> list[list[str | int]]:
    """Return path, size and time of what decides; an MPI's header comes with its library."""
    return [[path, *_state(path)] for path in paths]


def _state(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return -1, -1
    return status.st_size, status.st_mtime_ns


def _made_with() -> list[str]:
    """Return archives, a header and a generator: all files of one installation have its time."""
    parts = installed_parts()
    return [*map(str, parts.archives), str(parts.includes[0] / "wrapper.h"), __file__]


def _folders(root: Path) -> list[str]:
    """Return the folders with wrappers in the cache, the newest first."""
    try:
        entries = [(entry.stat().st_mtime_ns, entry.path) for entry in os.scandir(root)
                   if entry.is_dir() and not entry.name.startswith(".")]  # fmt: skip
    except OSError:
        return []
    return [path for _, path in sorted(entries, reverse=True) if ":" not in path]


def _existing(folder: Path) -> list[str]:
    return [str(folder)] if folder.is_dir() else []


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Wait for others that compile; a file system without locks lets all compile."""
    import fcntl

    with (root / "lock").open("w") as file:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
