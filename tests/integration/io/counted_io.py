"""What `gnomon io` counts of a program, beside what the program and strace say of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from commands import GNOMON
from corpus import Left, Program, Row, left_in
from strace_counts import Counts, Tally, path_name

# Of the operations that strace sees, those that have to agree.
COMPARED = frozenset((
    "open", "creat", "openat", "stat", "fstat", "lstat", "fstatat", "statx", "read", "pread",
    "readv", "preadv", "preadv2", "write", "pwrite", "writev", "pwritev", "pwritev2", "lseek",
    "close", "dup", "dup2", "dup3", "fcntl", "ftruncate", "truncate", "fsync", "fdatasync",
    "rename", "renameat", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "access", "mmap",
    "sendfile", "copy_file_range", "splice", "sendfile source", "copy_file_range source",
    "splice source",
))  # fmt: skip
# How libstdc++ opens files, and strace sees it.
_OF_STREAMS = {"fopen": "open", "fclose": "close"}

# By path, layer and operation.
Counted = dict[tuple[str, str, str], Tally]


def counted(document: Mapping[str, Any], folder: Path, also: Iterable[str] = ()) -> Counted:
    """Return what a report counts of files below a folder, by their names there, and of others."""
    start, others = f"{folder}/", set(also)
    sums: Counted = {}
    for file in document["files"]:
        path = path_name(file["path"])
        if not path.startswith(start) and path not in others:
            continue
        for one in file["operations"]:
            key = (path.removeprefix(start), one["layer"], one["name"])
            tally = Tally(one["calls"], one["bytes_asked"], one["bytes"])
            sums[key] = sums.get(key, Tally()).plus(tally)
    return sums


def _is(tally: Tally, row: Row) -> bool:
    wanted = (row.calls, row.bytes_asked, row.bytes)
    return all(want in (None, value) for value, want in zip(tally, wanted, strict=True))


def differences_from_table(rows: Iterable[Row], sums: Counted) -> list[str]:
    """Return what is counted otherwise than a program expects: of its own calls, and no others."""
    wanted = {
        (row.path, row.layer, row.name): row
        for row in rows
        if row.layer == "stdio" or (row.layer == "posix" and row.name in COMPARED)
    }
    problems = [
        f"{' '.join(key)}: {sums.get(key, Tally())} instead of {row}"
        for key, row in wanted.items()
        if not _is(sums.get(key, Tally()), row)
    ]
    more = [
        f"{' '.join(key)}: {tally} of no call of the program"
        for key, tally in sums.items()
        if key not in wanted and (key[1] == "stdio" or key[2] in COMPARED)
    ]
    return problems + more


def differences_from_strace(counts: Counts, sums: Counted) -> list[str]:
    """Return what is counted otherwise than strace does, of a program without a table."""
    as_strace: Counts = {}
    for (path, layer, name), tally in sums.items():
        key = (path, _OF_STREAMS.get(name, name) if layer == "stdio" else name)
        as_strace[key] = as_strace.get(key, Tally()).plus(tally)
    for path, layer, name in sums:
        # That appends: the C library looks for the end.
        sought = (path, "lseek")
        if layer == "stdio" and name == "fopen" and sought in counts and sought not in as_strace:
            as_strace[sought] = counts[sought]
    return [
        f"{' '.join(key)}: {as_strace.get(key)} instead of {counts.get(key)}"
        for key in sorted({*counts, *as_strace})
        if key[1] in COMPARED and as_strace.get(key) != counts.get(key)
    ]


class Ran(NamedTuple):
    """What came of a program, and what of `gnomon io` if it ran under that."""

    status: int
    out: bytes
    left: dict[str, Left]


def run_in(folder: Path, *command: str | Path, under: tuple[str | Path, ...] = ()) -> Ran:
    """Run a command in a new folder; what it is run under stays outside of it."""
    folder.mkdir()
    words = [*under, "sh", "-c", 'cd "$0" && exec "$@"', folder, *command]
    out = folder.with_suffix(".out")
    with out.open("wb") as stream:
        done = subprocess.run(words, cwd=folder.parent, stdin=subprocess.DEVNULL, stdout=stream)
    return Ran(done.returncode, out.read_bytes(), left_in(folder))


def report(folder: Path, *options: str) -> dict[str, Any]:
    """Return what `gnomon report` tells of the run r in a folder."""
    command = [GNOMON, "report", "r", "io", *options, "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def differences_with_gnomon(
    program: Program, command: list[str | Path], rows: list[Row], counts: Counts, parent: Path
) -> list[str]:
    """Run a program with and without `gnomon io`; return what differs, counts included."""
    plain = run_in(parent / "plain", *command)
    measured = run_in(parent / "measured", *command, under=(GNOMON, "io", "--name", "r", "--"))
    problems = [
        f"{what}: {with_gnomon!r:.200} instead of {without!r:.200}"
        for what, without, with_gnomon in zip(Ran._fields, plain, measured, strict=True)
        if with_gnomon != without
    ]
    sums = counted(report(parent), parent / "measured", {row.path for row in rows})
    if program.is_static:
        # Nothing can be preloaded into it.
        return problems + [f"{' '.join(key)} in a static program" for key in sums]
    if program.has_table:
        return problems + differences_from_table(rows, sums)
    return problems + differences_from_strace(counts, sums)
