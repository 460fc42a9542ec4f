"""An oracle for counted I/O: what strace sees of a program, by path and by operation.

strace sees what a program asks of the kernel, a preloaded library what it asks of the C library. To
be compared, calls carry the names of the functions that make them (`newfstatat` of a descriptor is
`fstat`), bytes go to paths as these were when the file was opened, and only what lies between the
marks of a program is looked at: neither the loader's calls nor the interpreter's start are.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from strace_lines import Call, Event, Signal, events

BEGIN, END = "/gnomon-corpus-begin", "/gnomon-corpus-end"
# -v: vectors of any length, whole. Signals' handlers tell whether an interrupted call is repeated,
# processes' calls whose working directory a child has.
STRACE = ("strace", "-f", "-y", "-v", "-s", "32", "-e",
          "trace=%file,%desc,%process,rt_sigaction", "-o")  # fmt: skip
_FORKS = ("fork", "vfork", "clone", "clone3")
_DESCRIPTOR = re.compile(r"(-?\d+|AT_FDCWD)(?:<(.*)>(\(deleted\))?)?", re.DOTALL)
_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9a-f]{2}|.)", re.DOTALL)
_LENGTH = re.compile(r"\biov_len=(\d+)")
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"', re.DOTALL)
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f"}


class Shape(NamedTuple):
    """Where a system call has what is counted; numbers are those of its arguments.

    A path belongs to the directory of the descriptor before it if `directory`, else to the
    process's. What has two ends (sendfile) is counted at both, the first of which is its source.
    The bytes that are asked for stand in one argument: a number, or a vector.
    """

    operation: str
    descriptors: tuple[int, ...] = ()
    path: int | None = None
    directory: bool = False
    bytes_asked: int | None = None


class Tally(NamedTuple):
    """How often, with how many bytes asked for, and how many that came or went."""

    calls: int = 0
    bytes_asked: int = 0
    bytes: int = 0

    def plus(self, other: Tally) -> Tally:
        return Tally(*(own + more for own, more in zip(self, other, strict=True)))


Counts = dict[tuple[str, str], Tally]


def _by_descriptor(*names: str, bytes_asked: int | None = None) -> dict[str, Shape]:
    return {name: Shape(name, (0,), bytes_asked=bytes_asked) for name in names}


def _by_path(*names: str, path: int = 0) -> dict[str, Shape]:
    return {name: Shape(name, path=path) for name in names}


def _in_directory(**operations: str) -> dict[str, Shape]:
    return {
        name: Shape(operation, path=1, directory=True) for name, operation in operations.items()
    }


SHAPES: Mapping[str, Shape] = {
    **_by_descriptor("read", "write", bytes_asked=2),
    **_by_descriptor("readv", "writev", "preadv", "pwritev", "preadv2", "pwritev2", bytes_asked=1),
    "pread64": Shape("pread", (0,), bytes_asked=2),
    "pwrite64": Shape("pwrite", (0,), bytes_asked=2),
    "sendfile": Shape("sendfile", (1, 0), bytes_asked=3),
    "copy_file_range": Shape("copy_file_range", (0, 2), bytes_asked=4),
    "splice": Shape("splice", (0, 2), bytes_asked=4),
    "mmap": Shape("mmap", (4,)),
    **_by_descriptor("lseek", "close", "dup", "dup2", "dup3", "fcntl", "ftruncate", "fsync",
                     "fdatasync", "fstat", "fallocate", "fchmod", "flock"),
    # Of two paths it is the first that is credited.
    **_by_path("open", "creat", "stat", "lstat", "access", "truncate", "rename", "unlink", "mkdir",
               "rmdir", "link", "readlink", "chmod"),
    "symlink": Shape("symlink", path=1),
    **_in_directory(openat="openat", newfstatat="fstatat", statx="statx", faccessat="faccessat",
                    faccessat2="faccessat", renameat="renameat", renameat2="renameat2",
                    unlinkat="unlinkat", mkdirat="mkdirat", linkat="linkat",
                    readlinkat="readlinkat"),
    "symlinkat": Shape("symlinkat", path=2, directory=True),
}  # fmt: skip

# In the working directory these are what the function without `at` makes of it, by its flags if
# another argument has such.
_WITHOUT_AT = {"openat": "open", "fstatat": "stat", "faccessat": "access", "renameat": "rename",
               "renameat2": "rename", "unlinkat": "unlink", "mkdirat": "mkdir", "linkat": "link",
               "readlinkat": "readlink", "symlinkat": "symlink"}  # fmt: skip


def _unescaped(text: str) -> str:
    def meant(escape: re.Match[str]) -> str:
        code = escape[1]
        if code[0] == "x" and len(code) > 1:
            return chr(int(code[1:], 16))
        return chr(int(code, 8)) if code[0].isdigit() else _CONTROLS.get(code, code)

    bytes_of_path = _ESCAPE.sub(meant, text).encode("latin-1", errors="replace")
    return os.fsdecode(bytes_of_path)


def path_name(path: str) -> str:
    """Return the name under which a path is counted.

    Of unnamed things it is their kind; of a file without a name its folder; a process calls its own
    folder of /proc `self`; and that a name is gone changes nothing.
    """
    path = path.removesuffix(" (deleted)")
    path = re.sub(r"^/proc/\d+(?=/|$)", "/proc/self", path)
    path = re.sub(r"/#\d+$", "", path)
    return re.sub(r"^(pipe|socket):\[\d+\]$", r"\1:", path)


class Descriptor(NamedTuple):
    """A descriptor among a call's arguments; `path` is None where strace knows of none."""

    number: str
    path: str | None


def descriptor(argument: str) -> Descriptor:
    """Return the descriptor that an argument, or what open returned, is."""
    matched = _DESCRIPTOR.fullmatch(argument)
    if matched is None:
        return Descriptor(argument, None)
    path = None if matched[2] is None else _unescaped(matched[2]).removesuffix(" (deleted)")
    return Descriptor(matched[1], path)


def _string(argument: str) -> str | None:
    """Return what a quoted argument says; None for a null pointer, or one that leads nowhere."""
    quoted = re.fullmatch(r'"(.*)"', argument, re.DOTALL)
    return None if quoted is None else _unescaped(quoted[1])


def _window(seen: Sequence[Event]) -> tuple[int, int]:
    """Return the places of the first event between a program's marks, and of the one behind.

    A program that ends at once leaves no second mark: then it is all that follows the first.
    """
    marks: dict[str, list[int]] = {BEGIN: [], END: []}
    for place, event in enumerate(seen):
        if isinstance(event, Call) and event.name in ("access", "faccessat", "faccessat2"):
            for argument in event.arguments[:2]:
                marks.get(_string(argument) or "", []).append(place)
    first = min(marks[BEGIN], default=len(seen))
    return first + 1, max(marks[END], default=len(seen))


class _Tasks:
    """What has to be known of each task to name the paths of its calls, and to count them once."""

    def __init__(self, folder: str) -> None:
        self._first = folder
        self._folders: dict[int, str] = {}
        self._restarts: dict[str, bool] = {}

    def folder(self, task: int) -> str:
        return self._folders.get(task, self._first)

    def see(self, call: Call) -> None:
        """Take note of forks, of working directories, and of handlers of signals."""
        if call.name == "rt_sigaction" and call.result == 0 and call.arguments[1] != "NULL":
            # A handler of one process counts for all: our programs have one of them.
            has_handler = not re.search(r"sa_handler=SIG_(?:DFL|IGN)", call.arguments[1])
            repeats = "SA_RESTART" in call.arguments[1] or not has_handler
            self._restarts[call.arguments[0]] = repeats
        elif call.name in _FORKS and call.result and call.result > 0:
            self._folders[call.result] = self.folder(call.task)
        elif call.name == "chdir" and call.result == 0:
            self._folders[call.task] = self.joined(call.task, _string(call.arguments[0]) or "")
        elif call.name == "fchdir" and call.result == 0:
            path = descriptor(call.arguments[0]).path
            self._folders[call.task] = path or self.folder(call.task)

    def joined(self, task: int, path: str, folder: str | None = None) -> str:
        return os.path.normpath(os.path.join(folder or self.folder(task), path))  # noqa: PTH118

    def is_repeated(self, call: Call, following: Iterable[Event]) -> bool:
        """Whether the kernel makes an interrupted call anew, of which the program knows nothing."""
        if call.error is None or not call.error.startswith("ERESTART"):
            return False
        own = (event for event in following if event.task == call.task)
        interruption = next(own, None)
        if call.error == "ERESTARTNOINTR" or not isinstance(interruption, Signal):
            return True
        return call.error == "ERESTARTSYS" and self._restarts.get(interruption.name, True)


def _tally(call: Call, shape: Shape) -> Tally:
    """Return what a call adds to the counts."""
    if shape.bytes_asked is None or shape.bytes_asked >= len(call.arguments):
        return Tally(1)
    argument = call.arguments[shape.bytes_asked]
    if argument.startswith("["):
        asked = sum(map(int, _LENGTH.findall(_QUOTED.sub("", argument))))
    else:
        asked = int(argument) if argument.isdecimal() else 0
    return Tally(1, asked, max(call.result or 0, 0))


def _named(call: Call, shape: Shape, tasks: _Tasks) -> list[tuple[str, str]]:
    """Return the paths that a call is counted at, each behind the operation that it is there."""
    words = call.arguments
    if shape.path is None:
        ends = [descriptor(words[place]).path for place in shape.descriptors if place < len(words)]
        sources = len(shape.descriptors) - 1
        operations = (f"{shape.operation} source",) * sources + (shape.operation,)
        return [
            (operation, path) for operation, path in zip(operations, ends, strict=False) if path
        ]
    name = _string(words[shape.path]) if shape.path < len(words) else None
    if name is None:
        return []
    if not shape.directory:
        return [(shape.operation, tasks.joined(call.task, name))]
    start = descriptor(words[shape.path - 1])
    flags = " ".join(words[shape.path + 1 :])
    if not name:
        # An empty path with AT_EMPTY_PATH is the descriptor itself.
        operation = "fstat" if shape.operation == "fstatat" else shape.operation
        return [(operation, start.path)] if start.path else []
    operation = shape.operation
    if start.number == "AT_FDCWD":
        operation = _WITHOUT_AT.get(operation, operation)
        if operation == "stat" and "AT_SYMLINK_NOFOLLOW" in flags:
            operation = "lstat"
        elif operation == "unlink" and "AT_REMOVEDIR" in flags:
            operation = "rmdir"
    return [(operation, tasks.joined(call.task, name, start.path))]


def counts_of(seen: Iterable[Event], folder: str) -> Counts:
    """Return the counts of what lies between a program's marks; it began in `folder`."""
    log = list(seen)
    first, behind = _window(log)
    tasks = _Tasks(folder)
    counts: Counts = {}
    for place, event in enumerate(log):
        if not isinstance(event, Call):
            continue
        shape = SHAPES.get(event.name)
        is_counted = shape is not None and first <= place < behind
        if shape and is_counted and not tasks.is_repeated(event, islice(log, place + 1, None)):
            tally = _tally(event, shape)
            for operation, path in _named(event, shape, tasks):
                key = (path_name(path), operation)
                counts[key] = counts.get(key, Tally()).plus(tally)
        tasks.see(event)
    return counts


class Traced(NamedTuple):
    """A program that ran under strace: what came of it, and what it asked of the kernel."""

    status: int
    out: str
    counts: Counts


def traced(command: Sequence[str | Path], folder: Path, log: Path) -> Traced:
    """Run a command in `folder` under strace, whose log goes to a file elsewhere."""
    words = [*STRACE, str(log), *map(str, command)]
    out = log.with_suffix(".out")
    # What the program says goes to a file that is none of its own, and no pipe.
    with out.open("wb") as stream:
        done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=stream)
    with log.open(encoding="utf-8", errors="surrogateescape") as lines:
        return Traced(done.returncode, out.read_text(), counts_of(events(lines), str(folder)))


def below(counts: Counts, folder: Path, also: Iterable[str] = ()) -> Counts:
    """Return the counts of files below a folder, by their names there, and of a few others."""
    others = set(also)
    start = f"{folder}/"
    return {
        (path.removeprefix(start), operation): tally
        for (path, operation), tally in counts.items()
        if path.startswith(start) or path in others
    }
