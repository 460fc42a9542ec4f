"""Regular files: others, as pipes and devices, would be waited for."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager

from gnomon.errors import RunDirectoryError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import IO


ELF = b"\x7fELF"
"""What programs and libraries begin with."""
DIRECTORY = "a directory"
_KINDS = (
    (stat.S_ISDIR, DIRECTORY),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def special_kind(path: Path) -> str:
    """Return what a path is that is no regular file; "" of one, and of what is not there."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return ""
    return next((name for is_kind, name in _KINDS if is_kind(mode)), "")


@contextmanager
def open_regular(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that is one: a pipe or a device would be waited for.

    Raises:
        RunDirectoryError: it cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            kind = special_kind(path)
            raise RunDirectoryError(f"{path}: {kind}, where a file is expected; name a file")
        file = path.open("rb")
    except OSError as error:
        raise RunDirectoryError(f"{path}: cannot be read: {error.strerror}") from None
    with file:
        yield file


def start_of(path: Path, most: int) -> bytes | None:
    """Return the first bytes of a file, b"" of what is no regular one; None if it is not there.

    Args:
        path: the file.
        most: so many bytes at most.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return None if path.is_dir() else b""
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            return file.read(most)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return b""
