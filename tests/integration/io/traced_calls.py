"""The calls of a program on files, in order: as strace sees them, and as `gnomon io --trace` does.

A call has what both know of it: its name, the file, bytes asked for and delivered, and where in the
file it began. Where strace does not say that, it is reckoned from the calls before.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from commands import GNOMON
from strace_counts import STRACE, descriptor, path_name
from strace_lines import Call, events

# By strace's names: ours, and which argument is the offset.
MOVES: dict[str, tuple[str, int | None]] = {
    "read": ("read", None), "write": ("write", None), "readv": ("readv", None),
    "writev": ("writev", None), "pread64": ("pread", 3), "pwrite64": ("pwrite", 3),
    "preadv": ("preadv", 3), "pwritev": ("pwritev", 3),
}  # fmt: skip
OTHERS = ("open", "lseek", "close", "dup")
COMPARED = {*(name for name, _ in MOVES.values()), *OTHERS}
_LENGTH = re.compile(r"iov_len=(\d+)")


class FileCall(NamedTuple):
    """A call on a file; -1 stands for what is not known, or has no meaning."""

    name: str
    path: str
    asked: int = -1
    delivered: int = -1
    offset: int = -1


class Descriptors:
    """Where the descriptors of a process are in their files."""

    def __init__(self) -> None:
        self.position: dict[str, int] = {}
        self._first: dict[str, str] = {}
        self._appends: set[str] = set()
        self._sizes: dict[str, int] = {}

    def open(self, number: str, path: str, flags: str) -> None:
        self._first[number] = number
        self.position[number] = 0
        self._appends -= {number}
        if "O_APPEND" in flags:
            self._appends.add(number)
        if "O_TRUNC" in flags:
            self._sizes[path] = 0

    def duplicate(self, number: str, of: str) -> None:
        self._first[number] = self._first[of]

    def seek(self, number: str, offset: int) -> None:
        self.position[self._first[number]] = offset

    def moved(self, number: str, path: str, n: int, at: int | None, *, writes: bool) -> int:
        """Return where `n` bytes were moved."""
        own = self._first[number]
        offset = self.position[own] if at is None else at
        if at is None and writes and own in self._appends:
            offset = self._sizes.get(path, 0)
        if at is None:
            self.position[own] = offset + n
        if writes:
            self._sizes[path] = max(self._sizes.get(path, 0), offset + n)
        return offset


def strace_calls(command: Sequence[str | Path], folder: Path, log: Path) -> list[FileCall]:
    """Return a program's calls on files below a folder, which it opens itself, in their order."""
    words = [*STRACE, str(log), *map(str, command)]
    subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    descriptors = Descriptors()
    with log.open(errors="surrogateescape") as lines:
        calls = [_file_call(call, folder, descriptors) for call in events(lines)
                 if isinstance(call, Call) and call.arguments]  # fmt: skip
    return [call for call in calls if call is not None]


def _file_call(call: Call, folder: Path, descriptors: Descriptors) -> FileCall | None:
    returned = descriptor(call.returned.strip())
    is_open = call.name in ("open", "openat", "creat")
    number, path = returned if is_open else descriptor(call.arguments[0])
    if path is None or not path.startswith(f"{folder}/"):
        return None
    name, result = path_name(path).removeprefix(f"{folder}/"), max(call.result or 0, 0)
    if is_open:
        descriptors.open(number, path, " ".join(call.arguments))
        return FileCall("open", name)
    if call.name == "lseek":
        descriptors.seek(number, result)
        return FileCall("lseek", name, offset=result)
    if call.name == "dup":
        descriptors.duplicate(returned.number, number)
    if call.name in ("close", "dup"):
        return FileCall(call.name, name)
    if call.name not in MOVES:
        return None
    counted, place = MOVES[call.name]
    is_vector = counted.endswith("v")
    lengths = _LENGTH.findall(call.arguments[1]) if is_vector else [call.arguments[2]]
    at = int(call.arguments[place]) if place is not None else None
    offset = descriptors.moved(number, path, result, at, writes="write" in counted)
    return FileCall(counted, name, sum(map(int, lengths)), result, offset)


def record(command: Iterable[str | Path], folder: Path, run: Path, *options: str) -> int:
    """Run a command with `gnomon io --trace` in a folder; return its status."""
    words = (GNOMON, "io", "--trace", *options, "--name", run, "--", *command)
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True)
    return done.returncode


def event_rows(run: Path) -> list[dict[str, Any]]:
    """Return the events of a run, in order of time."""
    words = (GNOMON, "report", run, "events", "--json", "--top", "0")
    done = subprocess.run(words, capture_output=True, check=True)
    rows: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    return rows


def gnomon_calls(rows: Iterable[dict[str, Any]], folder: Path) -> list[FileCall]:
    """Return the events that are such calls on files below a folder."""

    def known(value: int | None) -> int:
        return -1 if value is None else value

    return [
        FileCall(row["region"], path_name(row["file"]).removeprefix(f"{folder}/"),
                 known(row["asked"]), known(row["bytes"]), known(row["file_offset"]))
        for row in rows
        if row["region"] in COMPARED and row["file"].startswith(f"{folder}/")
    ]  # fmt: skip
