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


@contextmanager
def open_regular(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that is one: a pipe or a device would be waited for.

    Raises:
        RunDirectoryError: it cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise RunDirectoryError(f"{path}: not a regular file")
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
