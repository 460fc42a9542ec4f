"""Run directories while they are written: hidden beside their names, until they are whole.

The writer holds a lock on it. What a killed process has left is not locked, and is removed
by who writes in the same folder next, on the same node: some file systems of clusters do not show
one node's locks to the others (Lustre with localflock, sshfs).
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SUFFIX = ".gnomon"
# Before nodes were told apart, names ended with the process number.
_HIDDEN = re.compile(rf"\..+{re.escape(SUFFIX)}\.\d+(?:-([0-9a-f]{{8}}))?")
# renameat2(2)
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


@contextmanager
def begun(path: Path) -> Iterator[Path]:
    """Make the folder in which a run directory is written; remove it unless it was moved.

    Args:
        path: where the run directory will be.

    Raises:
        OSError: it cannot be made.
    """
    sweep(path.parent)
    folder = path.with_name(f".{path.name}.{os.getpid()}-{_node()}")
    # Nobody looks at it before it is locked.
    unlocked = path.with_name(f".{os.urandom(8).hex()}.new")
    unlocked.mkdir()
    own = unlocked
    try:
        fd = os.open(unlocked, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with suppress(OSError):  # a network's file system may have no such locks
                fcntl.flock(fd, fcntl.LOCK_EX)
            own = unlocked.rename(folder)
            yield folder
        finally:
            os.close(fd)
    finally:
        shutil.rmtree(own, ignore_errors=True)


def sweep(where: Path) -> None:
    """Remove what killed processes of this node have left of run directories in a folder."""
    try:
        names = [entry.name for entry in os.scandir(where) if entry.name.startswith(".")]
    except OSError:
        return
    for name in names:
        match = _HIDDEN.fullmatch(name)
        if match is None or match[1] not in (None, _node()):
            continue
        try:
            fd = os.open(where / name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(where / name, ignore_errors=True)
        except OSError:  # it is being written, or nobody can tell
            pass
        finally:
            os.close(fd)


def _node() -> str:
    """Return eight digits for this node's name, which may be long."""
    return f"{zlib.crc32(os.fsencode(os.uname().nodename)):08x}"


def replace(folder: Path, path: Path) -> None:
    """Give a folder the name of a directory that is there, which takes its own.

    At no time there is nothing of that name, where the kernel and the file system can do that.

    Raises:
        OSError: it cannot be moved.
    """
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    words = (_AT_FDCWD, os.fsencode(folder), _AT_FDCWD, os.fsencode(path), _RENAME_EXCHANGE)
    if hasattr(libc, "renameat2") and libc.renameat2(*words) == 0:
        return
    aside = folder.with_name(f".{os.getpid()}.old")
    path.rename(aside)
    try:
        folder.rename(path)
    except OSError:
        aside.rename(path)
        raise
    aside.rename(folder)
