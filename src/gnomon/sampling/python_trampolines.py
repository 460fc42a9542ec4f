"""Perf maps that Python processes wrote of their trampolines: taken from /tmp into the run.

With PYTHONPERFSUPPORT=1 CPython 3.12 and newer calls each Python function by a piece of code of its
own, which a map names: `7f211f051c30 b py::QUALIFIED.NAME:FILE`. A forked child begins a map of its
own, and what was running at the fork stands in that of its parent.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gnomon.launch.recordings import files_of
from gnomon.store.staging import is_written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "PYTHONPERFSUPPORT"
_PREFIX = "py::"


def map_of_process(pid: int) -> Path:
    """Return where a process of this machine writes its map."""
    return Path(f"/tmp/perf-{pid}.map")


def taken_map(folder: Path, host: str, pid: int) -> Path:
    """Return where the map of a process is that was taken into a staging folder."""
    return folder / f"{host}.{pid}.perfmap"


def function_and_file(name: str) -> tuple[str, str] | None:
    """Return the Python function that a map's name stands for, and its file; None: it is none."""
    if not name.startswith(_PREFIX):
        return None
    function, _, file = name.removeprefix(_PREFIX).partition(":")
    return (function, file) if function else None


def take_maps(folder: Path, writer: str) -> None:
    """Move the maps of recorded processes of this machine that have ended into a staging folder.

    Args:
        folder: the staging folder.
        writer: of the processes' record files.
    """
    host = os.uname().nodename
    for pid in sorted(_ended(folder, writer, host)):
        take_map(folder, host, pid)


def take_map(folder: Path, host: str, pid: int) -> None:
    """Move the map of a process of this machine into a staging folder, unless it still runs."""
    source = map_of_process(pid)
    if _runs(pid):
        return
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return  # it wrote none
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
        os.close(descriptor)
        return
    with os.fdopen(descriptor, "rb") as file:
        try:
            taken_map(folder, host, pid).write_bytes(file.read())
        except OSError:  # without room for it the names are missing
            taken_map(folder, host, pid).unlink(missing_ok=True)
    source.unlink(missing_ok=True)


def _ended(folder: Path, writer: str, host: str) -> Iterator[int]:
    for path in files_of(folder, writer):
        # HOST.PID.NANOSECONDS.WRITER.gnrec
        words = path.name.removeprefix(f"{host}.").split(".")
        if path.name.startswith(f"{host}.") and words[0].isdecimal() and not is_written(path):
            yield int(words[0])


def _runs(pid: int) -> bool:
    """Return whether there is a process of a number; a zombie is none."""
    try:
        Path(f"/proc/{pid}/exe").readlink()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True
