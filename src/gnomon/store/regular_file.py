"""Files that are read whole, from their begin to their end."""

from __future__ import annotations

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
