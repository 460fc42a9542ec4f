"""The programs of tests/programs/io: how they are built and run, and what they expect."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

SOURCES = Path(__file__).parents[2] / "programs"
FORTIFIED = ("-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2")
STRICT = ("-Wall", "-Wextra", "-Werror")
# Of a program that cannot do here what it is about.
NOT_HERE = 77


class Program(NamedTuple):
    """A program of the corpus.

    One that has a table says what is to be counted of each file. What runtimes of languages make
    of a program is theirs to say: of those strace knows it.
    """

    source: str
    flags: tuple[str, ...] = ("-O1",)
    arguments: tuple[str, ...] = ()
    status: int = 0
    has_table: bool = True
    is_static: bool = False
    # Frames have no room there with the sanitizers, which make them larger.
    has_small_stacks: bool = False

    def __str__(self) -> str:
        return "-".join((Path(self.source).stem, *self.arguments, *("static",) * self.is_static))

    def command(self, compiled: Callable[..., Path]) -> list[str | Path]:
        """Return the command that runs it, compiled by the fixture of that name."""
        suffix = Path(self.source).suffix
        path = f"io/{self.source}"
        if suffix == ".py":
            return [sys.executable, SOURCES / path, *self.arguments]
        compiler = {".c": "cc", ".cpp": "c++", ".f90": "gfortran"}[suffix]
        more = ("-static",) if self.is_static else ()
        flags = () if suffix == ".f90" else STRICT
        return [compiled(compiler, path, *self.flags, *flags, *more, "-pthread"), *self.arguments]


# Statuses are what subprocess calls them: negative for a signal.
ENDINGS = {"return": 3, "exit": 4, "thread": 5, "_exit": 6, "_Exit": 7, "quick_exit": 8,
           "abort": -6, "SIGTERM": -15, "SIGKILL": -9, "SIGSEGV": -11}  # fmt: skip
C_PROGRAMS = ("alarms", "buffered", "copies", "devices", "direct", "directories", "early", "errnos",
              "exec_chain", "fork_storm", "large_file", "lines", "loader", "many_files", "names",
              "offsets", "pipes", "shells", "spawned", "stale", "stats", "thread_storm",
              "unflushed", "unnamed", "vectors", "vforked")  # fmt: skip
FORTIFIED_PROGRAMS = tuple(Program(f"{n}.c", FORTIFIED) for n in ("fortified", "fortified_stdio"))
PROGRAMS = (
    *(Program(f"{name}.c") for name in C_PROGRAMS),
    *FORTIFIED_PROGRAMS,
    *(Program("endings.c", arguments=(way,), status=ENDINGS[way]) for way in ENDINGS),
    Program("offsets.c", is_static=True),
    Program("small_stacks.c", has_small_stacks=True),
    Program("streams.cpp", ("-O2",), has_table=False),
    Program("fortran_files.f90", ("-O2",), has_table=False),
    Program("python_files.py", has_table=False),
    Program("python_processes.py", has_table=False),
)


class Row(NamedTuple):
    """What a program expects of a file; no bytes: whatever they are."""

    path: str
    name: str
    layer: str
    calls: int
    bytes_asked: int | None
    bytes: int | None


def table(command: list[str | Path], folder: Path) -> list[Row]:
    """Return the table that a program prints of what it expects."""
    done = subprocess.run([command[0], "--expect"], cwd=folder, capture_output=True, check=True)
    return [Row(**json.loads(line)) for line in done.stdout.splitlines()]


class Left(NamedTuple):
    """What a program leaves under a path."""

    mode: int
    content: bytes | str


def _content(path: Path) -> bytes | str:
    if path.is_symlink():
        return str(path.readlink())
    return "" if path.is_dir() else path.read_bytes()


def left_in(folder: Path) -> dict[str, Left]:
    """Return all that is in a folder: files, links and folders."""
    return {
        str(path.relative_to(folder)): Left(path.lstat().st_mode, _content(path))
        for path in sorted(folder.rglob("*"))
    }
