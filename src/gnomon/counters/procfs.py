"""Files of /proc and /sys: read whole, tolerantly, and without disturbing anything.

Whatever such a file holds, nothing here raises for it: what cannot be read or is not a number is
None. Source: proc(5), sysfs(5).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_CHUNK_BYTES = 1 << 16
_LIMIT_BYTES = 1 << 26
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY

_MOST_DIGITS = 20

PF_FORKNOEXEC = 0x40
"""Bit of the flags in /proc/PID/stat: forked, and has not executed a program since."""


def below(root: Path | str, name: str) -> str:
    """Return where a file of a machine is, whose tree "/" is or was recorded under `root`."""
    return f"{str(root).rstrip('/')}/{name}"


def read_text(
    path: Path | str, directory: int | None = None, most_bytes: int = _LIMIT_BYTES
) -> str | None:
    """Return a file's content, None if it cannot be read.

    Args:
        path: the file.
        directory: descriptor of the directory that a relative path starts from.
        most_bytes: stop after so many; less than all spares the kernel making up the rest.
    """
    try:
        fd = os.open(path, _FLAGS, dir_fd=directory)
    except (OSError, ValueError):
        return None
    try:
        return _drain(fd, most_bytes)
    except OSError:
        return None
    finally:
        os.close(fd)


def read_line(path: Path | str) -> str:
    """Return the first line of a file without the blanks around it, "" if it cannot be read."""
    return (read_text(path) or "").partition("\n")[0].strip("\0 \t\r")


def read_number(path: Path | str) -> int | None:
    """Return the whole number, zero or more, that a file holds; None if it holds none."""
    return whole(read_line(path))


def read_errno(path: Path | str) -> int:
    """Return the error number that reading a file ends with, 0 if it can be read."""
    try:
        fd = os.open(path, _FLAGS)
    except OSError as error:
        return error.errno or errno.EIO
    try:
        os.read(fd, 1)
    except OSError as error:
        return error.errno or errno.EIO
    finally:
        os.close(fd)
    return 0


def entries(folder: Path | str) -> tuple[str, ...]:
    """Return the names in a folder, sorted; () if it cannot be listed."""
    try:
        return tuple(sorted(os.listdir(folder)))  # noqa: PTH208
    except OSError:
        return ()


def whole(text: str) -> int | None:
    """Return a whole decimal number that 64 bits hold, None for other text."""
    if len(text) > _MOST_DIGITS or not text.isascii() or not text.isdigit():
        return None
    number = int(text)
    return number if number < 1 << 64 else None


def kilobytes(text: str) -> int | None:
    """Return the bytes that a value such as "1788 kB" stands for; None if it is not of that form.

    What proc(5) calls kB are units of 1024 bytes.
    """
    amount, _, unit = text.strip().partition(" ")
    number = whole(amount)
    return number * 1024 if number is not None and unit.strip() == "kB" else None


def keyed(text: str, separator: str = ":") -> dict[str, str]:
    """Return the values of lines such as "key: value", the first where a key comes twice."""
    values: dict[str, str] = {}
    for line in text.split("\n"):
        key, is_pair, value = line.partition(separator)
        if is_pair:
            values.setdefault(key.strip(), value.strip())
    return values


def stat_fields(text: str) -> list[str]:
    """Return the fields of /proc/PID/stat so that [n] is field n of proc(5), from 3 (state) on.

    The program's name, field 2, may hold blanks and brackets; what is before its end is left out.
    """
    _, is_stat, rest = text.rpartition(")")
    return ["", "", "", *rest.split()] if is_stat else []


class ProcessFiles:
    """Some files of one process, opened once, so that they stay readable when it has ended.

    A zombie's files belong to root, so only a descriptor opened earlier lets others read its
    /proc/PID/io; and a descriptor never turns to another process that took over the number.
    """

    def __init__(self, proc: Path | str, pid: int | str, names: Iterable[str]) -> None:
        """Open files of /proc/PID; `pid` is a number or "self".

        Raises:
            ProcessLookupError: there is no such process.
        """
        self.errors: dict[str, int] = {}
        self._files: dict[str, int] = {}
        try:
            self._directory = os.open(f"{proc}/{pid}", _FLAGS | os.O_DIRECTORY)
        except OSError as error:
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH), str(pid)) from error
        for name in {*names, "stat"}:
            try:
                self._files[name] = os.open(name, _FLAGS, dir_fd=self._directory)
            except OSError as error:
                self.errors[name] = error.errno or errno.EIO

    def read(self, name: str) -> str | None:
        """Return a file's present content, None if it cannot be read (`errors` then says why)."""
        fd = self._files.get(name)
        if fd is None:
            return None
        try:
            return _drain(fd, rewind=True)
        except OSError as error:
            self.errors[name] = error.errno or errno.EIO
            return None

    def reopen(self, name: str) -> str | None:
        """Open a file anew and return its content, None if it cannot be read.

        numa_maps and maps stay with the memory that the process had when they were opened, even
        after it has executed another program.
        """
        return read_text(name, self._directory)

    def awaits_exec(self) -> bool:
        """Return whether the process is still a copy of its parent: forked, nothing executed."""
        fields = stat_fields(self.read("stat") or "")
        flags = whole(fields[9]) if len(fields) > 9 else None
        return bool((flags or 0) & PF_FORKNOEXEC)

    def close(self) -> None:
        """Close every descriptor; reading then returns None."""
        for fd in self._files.values():
            os.close(fd)
        self._files.clear()
        if self._directory >= 0:
            os.close(self._directory)
        self._directory = -1


def _drain(fd: int, most_bytes: int = _LIMIT_BYTES, *, rewind: bool = False) -> str:
    chunk_bytes = min(_CHUNK_BYTES, most_bytes)
    parts = []
    got = 0
    while got < most_bytes:
        part = os.pread(fd, chunk_bytes, got) if rewind else os.read(fd, chunk_bytes)
        if not part:
            break
        parts.append(part)
        got += len(part)
    return b"".join(parts).decode("utf-8", "replace")
