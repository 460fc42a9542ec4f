"""Source files that a run names: found, checked to be harmless, and compared with what ran.

A run that was packed by `gnomon bundle` has them itself. Of the others only files that the run
names are ever read, as they are named or by the same end of their path in a directory that the
user gave. What is read is a regular file of text of a bounded size, and in a given directory one
that does not lead out of it by a link.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gnomon.errors import UsageError
from gnomon.named_tuple import NamedTuple
from gnomon.store.kept_files import nothing_packed
from gnomon.units import size

LIMIT_BYTES = 8 << 20
# Directories are looked through once; what has more files than this is not a source tree.
_FILES_LIMIT = 200_000
_CHOICES_LIMIT = 50
# Nobody waits for a look at more; they are then found or not when they are asked for.
_LOOKED_FOR = 20_000
_NOT_SOURCES = ("/proc", "/sys", "/dev", "/run")
_SKIPPED = frozenset((".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"))
_LANGUAGES = {
    "c": "c", "h": "c", "cc": "cpp", "cp": "cpp", "cpp": "cpp", "cxx": "cpp", "c++": "cpp",
    "hh": "cpp", "hpp": "cpp", "hxx": "cpp", "h++": "cpp", "ipp": "cpp", "tcc": "cpp", "inl": "cpp",
    "cu": "cpp", "cuh": "cpp", "m": "c", "mm": "cpp", "f": "fortran-fixed", "for": "fortran-fixed",
    "ftn": "fortran-fixed", "f77": "fortran-fixed", "fpp": "fortran", "f18": "fortran",
    "f23": "fortran", "fi": "fortran", "fh": "fortran", "f90": "fortran", "f95": "fortran",
    "f03": "fortran", "f08": "fortran", "inc": "fortran",
    "py": "python", "pyx": "python", "pxd": "python",
    "pyi": "python", "rs": "rust", "s": "assembler", "asm": "assembler", "go": "go", "jl": "julia",
    "d": "d", "ada": "ada", "adb": "ada", "ads": "ada", "pas": "pascal", "java": "java",
    "def": "c", "l": "c", "y": "c", "ll": "text", "r": "r", "js": "javascript", "zig": "text",
    "nim": "text", "hs": "text", "ml": "text", "swift": "text", "kt": "text", "lua": "text",
    "pl": "text", "rb": "text", "sh": "text", "ci": "text", "cl": "c", "glsl": "c",
}  # fmt: skip
# C++'s own headers have no suffix.
_PLAIN_HEADERS = ("/include/", "/c++/")


class Source(NamedTuple):
    """A source file as the page gets it; `Source` of the contract."""

    file: str
    path: str
    text: str | None
    language: str
    state: str
    reason: str
    choices: tuple[str, ...] = ()


def listed_places(lists: Sequence[str]) -> list[str]:
    """Return the places of lists that have colons between them, as in --source-path."""
    return [place for some in lists for place in some.split(":") if place]


def home_path(place: str) -> str:
    """Return a path whose ~ is a home; `~name` without such a user is a name."""
    # Path's own expanduser() raises an error that is no OSError.
    return os.path.expanduser(place)  # noqa: PTH111


class Folders:
    """Directories in which the user lets us look for sources; may be used from any thread.

    Attributes:
        preferred: those that go before the place that the run names; None for none.
    """

    def __init__(self, folders: Iterable[Path] = (), preferred: Folders | None = None) -> None:
        self.preferred = preferred
        self._lock = threading.Lock()
        self._folders: dict[str, dict[str, list[str]]] = {}
        for folder in folders:
            self.add(os.fspath(folder))

    def add(self, folder: str) -> None:
        """Look into one more directory.

        Raises:
            UsageError: it is none, or has too many files.
        """
        path = os.path.realpath(home_path(folder)) if "\0" not in folder else ""
        if not folder.strip() or not os.path.isdir(path):  # noqa: PTH112
            raise UsageError(
                f"{folder[:200]}: no directory on the machine that gnomon view runs on"
            )
        with self._lock:
            self._folders[path] = _index(path)

    def names(self) -> list[str]:
        """Return the directories."""
        with self._lock:
            return list(self._folders)

    def candidates(self, file: str) -> list[str]:
        """Return the files that have a source file's name, those with most of its path first."""
        parts = _parts(file)
        if not parts:
            return []
        shared_parts: dict[str, int] = {}
        with self._lock:
            for folder, index in self._folders.items():
                for path in index.get(parts[-1], ()):
                    shared = _shared(parts, _parts(path))
                    shared_parts[os.path.join(folder, path)] = shared  # noqa: PTH118
        best = max(shared_parts.values(), default=0)
        return sorted(path for path, shared in shared_parts.items() if shared == best)


def _index(folder: str) -> dict[str, list[str]]:
    """Return the files below a directory by their last name, relative to it, following no link."""
    by_name: dict[str, list[str]] = {}
    count = 0
    for where, inner, files in os.walk(folder):
        inner[:] = sorted(name for name in inner if name not in _SKIPPED)
        for name in files:
            count += 1
            if count > _FILES_LIMIT:
                raise UsageError(
                    f"{folder}: more than {_FILES_LIMIT} files; give the source directory"
                )
            if _is_source_name(os.path.join(where, name)):  # noqa: PTH118
                by_name.setdefault(name, []).append(
                    os.path.relpath(os.path.join(where, name), folder)  # noqa: PTH118
                )
    return by_name


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".", "..")]


def _shared(first: Sequence[str], other: Sequence[str]) -> int:
    """Return how many names two paths have in common at their ends."""
    count = 0
    for a, b in zip(reversed(first), reversed(other), strict=False):
        if a != b:
            break
        count += 1
    return count


def language(file: str) -> str:
    """Return the language of a file by its name: `text` where it is not known."""
    name = file.rpartition("/")[2]
    return _LANGUAGES.get(name.rpartition(".")[2].lower(), "cpp" if "." not in name else "text")


def _is_source_name(path: str) -> bool:
    name = path.rpartition("/")[2]
    if "." not in name.lstrip("."):
        return any(part in path for part in _PLAIN_HEADERS)
    return name.rpartition(".")[2].lower() in _LANGUAGES


def find(
    file: str,
    named: Iterable[str],
    head: Mapping[str, Any],
    folders: Folders,
    choice: str = "",
    packed: Callable[[str], bytes | None] = nothing_packed,
) -> Source:
    """Return a source file's text, or why there is none.

    Args:
        file: as the run names it.
        named: the source files that the run names.
        head: the run's; `sources` in it has the digests, where they were taken.
        folders: where the user lets us look.
        choice: which of several candidates is meant.
        packed: returns the text that the run itself has of a file (`Run.source_text`).

    Raises:
        UsageError: the run does not name the file, or the choice is none of the candidates.
    """
    if file not in set(named):
        raise UsageError(f"{file[:200]!a}: the run names no such source file")
    kind = language(file)
    if not choice and (data := packed(file)) is not None:
        state, why = _state(file, data, 0, head)
        return Source(file, "", data.decode(errors="replace"), kind, state, why)
    preferred = folders.preferred
    if preferred is not None and not choice and len(first := preferred.candidates(file)) == 1:
        return _read(file, first[0], kind, head, inside=preferred.names())
    own = file if file.startswith("/") else os.path.join(_directory(head), file)  # noqa: PTH118
    candidates = folders.candidates(file)
    if choice:
        if choice not in candidates:
            raise UsageError(f"{choice[:200]!a}: not one of the files to choose from")
        return _read(file, choice, kind, head, inside=folders.names())
    if own.startswith("/") and os.path.lexists(own):
        found = _read(file, own, kind, head)
        if found.text is not None or not candidates:
            return found
    if len(candidates) == 1:
        return _read(file, candidates[0], kind, head, inside=folders.names())
    if candidates:
        shown = tuple(candidates[:_CHOICES_LIMIT])
        why = f"{len(candidates)} files could be it: choose one"
        return Source(file, "", None, kind, "choose", why, shown)
    why = "it is not on this machine; name the directory that has the sources"
    return Source(file, own, None, kind, "missing", why)


def missing(
    files: Sequence[str],
    head: Mapping[str, Any],
    folders: Folders,
    packed: Callable[[str], bytes | None] = nothing_packed,
) -> list[str]:
    """Return the files that are neither where the run names them, nor in it, nor in a directory.

    Args:
        files: as the run names them.
        head: see `find`, as for the others.
        folders: where the user lets us look.
        packed: returns the text that the run itself has of a file.
    """
    if len(files) > _LOOKED_FOR:
        return []
    directory = _directory(head)
    absent = [
        file
        for file in files
        if not os.path.lexists(os.path.join(directory, file))  # noqa: PTH118
        and not folders.candidates(file)
    ]
    return [file for file in absent if packed(file) is None]


def _directory(head: Mapping[str, Any]) -> str:
    found = head.get("working_directory")
    return found if isinstance(found, str) and "\0" not in found else ""


class _Content(NamedTuple):
    """What is in a file, or why it is not read.

    Attributes:
        data: its bytes; None where it is not read.
        path: where it is, no link.
        changed: when it was written, in seconds since the epoch.
        state: missing or refused, where it is not read.
        reason: likewise.
    """

    data: bytes | None
    path: str
    changed: float = 0
    state: str = ""
    reason: str = ""


def text_that_ran(file: str, head: Mapping[str, Any]) -> bytes | None:
    """Return a source file as it was when the program ran; None if that is not to be had.

    Args:
        file: as the run names it.
        head: the run's.
    """
    content = _content(file if file.startswith("/") else os.path.join(_directory(head), file))  # noqa: PTH118
    if content.data is None:
        return None
    state, _ = _state(file, content.data, content.changed, head)
    return None if state == "changed" else content.data


def _read(
    file: str, path: str, kind: str, head: Mapping[str, Any], inside: Sequence[str] = ()
) -> Source:
    content = _content(path, inside)
    if content.data is None:
        return Source(file, content.path, None, kind, content.state, content.reason)
    state, why = _state(file, content.data, content.changed, head)
    text = content.data.decode(errors="replace")
    return Source(file, content.path, text, kind, state, why)


def _content(path: str, inside: Sequence[str] = ()) -> _Content:
    def refused(why: str) -> _Content:
        return _Content(None, path, 0, "refused", why)

    def missing(error: OSError) -> _Content:
        return _Content(None, path, 0, "missing", f"it cannot be read: {error.strerror}")

    if "\0" in path:
        return refused("not a file name")
    real = os.path.realpath(path)
    if inside and not any(real == one or real.startswith(one + "/") for one in inside):
        return refused("a link out of the source directory")
    if any(real == one or real.startswith(one + "/") for one in _NOT_SOURCES):
        return refused("kernel files and devices are not source files")
    if not _is_source_name(real):
        return refused("not the name of a source file")
    try:
        # Not a pipe or device, not even for the moment between looking and opening.
        descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        return missing(error)
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            return refused("not a regular file")
        if about.st_size > LIMIT_BYTES:
            return refused(f"it has {size(about.st_size)}; at most {size(LIMIT_BYTES)} are shown")
        with open(descriptor, "rb", closefd=False) as opened:
            data = opened.read(LIMIT_BYTES + 1)
    except OSError as error:
        return missing(error)
    finally:
        os.close(descriptor)
    if len(data) > LIMIT_BYTES:
        return refused(f"it is growing; at most {size(LIMIT_BYTES)} are shown")
    if b"\0" in data[: 1 << 16]:
        return refused("not a text file")
    return _Content(data, real, about.st_mtime)


def _state(file: str, data: bytes, changed: float, head: Mapping[str, Any]) -> tuple[str, str]:
    """Return whether a text is what ran, and what that is known from."""
    recorded = head.get("sources")
    if isinstance(recorded, dict) and isinstance(recorded.get(file), str):
        algorithm, _, digest = recorded[file].partition(":")
        if algorithm == "sha256":
            if hashlib.sha256(data).hexdigest() == digest:
                return "same", "its digest is that of the measured one"
            return "changed", "its digest is not that of the file that was measured"
    started = head.get("started")
    if not isinstance(started, (int, float)) or not started:
        return "unknown", "nobody knows when the program ran"
    if changed > started:
        return "changed", "it was written after the program had started"
    return "unknown", "not written since the program started; no digest was taken when it ran"
