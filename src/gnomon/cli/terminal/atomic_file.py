"""A file that is whole or not there: written beside its place, and moved there in the end.

What is no regular file (a terminal, a pipe, /dev/null) is written in place. So is a file in a
folder where none can be made, or whose name leaves no room for a longer one.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import IO

from gnomon.cli.terminal.streams import open_for_writing
from gnomon.errors import GnomonError


class WholeFile:
    """A text file that takes its place, and that of an earlier one, with `keep`.

    Attributes:
        name: its name in messages.
        text: what is to be written to.
    """

    def __init__(self, name: str) -> None:
        """Open it, so that a wrong name is found now and not when all is measured.

        Raises:
            GnomonError: it cannot be written.
        """
        self.name = name
        self._path = Path(os.path.realpath(name))
        self._part: Path | None = None
        self._before = self._stamp()
        mode = self._mode()
        if mode is not None and not (stat.S_ISREG(mode) and os.access(self._path, os.W_OK)):
            self.text: IO[str] = open_for_writing(name)
            return
        part = self._path.with_name(f"{self._path.name}.{os.getpid()}.part")
        try:
            # Arguments may hold bytes that are no UTF-8: they are shown as escapes.
            self.text = part.open("x", encoding="utf-8", errors="backslashreplace")
        except FileExistsError:
            raise GnomonError(f"{part}: is in the way; remove it") from None
        except OSError as error:
            if mode is None and error.errno != errno.ENAMETOOLONG:
                raise GnomonError(f"{name}: cannot be written: {error.strerror}") from None
            self.text = open_for_writing(name)
            return
        self._part = part
        if mode is not None:
            os.fchmod(self.text.fileno(), stat.S_IMODE(mode))

    def keep(self) -> None:
        """Close the file and put it in its place.

        Raises:
            OSError: what was written does not fit, or the place is gone; an earlier file stays.
        """
        self.text.close()
        if self._part:
            self._part.replace(self._path)
            self._part = None

    def drop(self) -> None:
        """Close the file and remove what was written beside its place; nothing if it was kept."""
        with suppress(OSError):
            self.text.close()
        if self._part:
            with suppress(OSError):
                self._part.unlink()
            self._part = None

    def is_of_another(self) -> bool:
        """Return whether another process has written a file of this name since it was opened."""
        now = self._stamp()
        return self._part is not None and now is not None and now != self._before

    def _stamp(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    def _mode(self) -> int | None:
        try:
            return self._path.stat().st_mode
        except OSError:
            return None
