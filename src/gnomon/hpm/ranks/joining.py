"""This process as a task of its job, which the others know of as long as it lives."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from gnomon.hpm.ranks.child import ABOVE

_ROOM = 4096
_LIBRARY = "libhpm_plugin.so.0"


class Joined(NamedTuple):
    """A task's place in its job.

    Attributes:
        fd: locked as long as this process lives.
        variables: tell a child of it.
    """

    fd: int
    variables: Mapping[str, str]

    def beats(self) -> int:
        """Return something that changes while a child of this task waits for others."""
        return os.fstat(self.fd).st_mtime_ns


def library(folder: Path) -> ctypes.CDLL:
    """Return the library of reductions.

    Raises:
        OSError: it cannot be loaded.
    """
    return ctypes.CDLL(str(folder / _LIBRARY), use_errno=True)


def join(folder: Path) -> tuple[Joined | None, str]:
    """Make this process a task of its job, for as long as it lives.

    Returns the place, or None without a job; and why there is none where a launcher started it as
    one of several tasks, else "".
    """
    try:
        found = library(folder)
    except OSError as error:
        return None, f"{folder / _LIBRARY}: cannot be loaded: {error}; install Gnomon again"
    where = ctypes.create_string_buffer(_ROOM)
    fd = found.hpm_job_join(b"count", where, ctypes.c_size_t(_ROOM))
    said = os.fsdecode(where.value)
    if fd >= 0:
        # The lock is held by this one as well, and no other descriptor of a child has its number.
        fd = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, ABOVE)
        return Joined(fd, {"HPM_JOB_FD": str(fd), "HPM_JOB_DIR": said}), ""
    if -fd == errno.ENODATA:
        return None, ""
    return None, said or os.strerror(-fd)
