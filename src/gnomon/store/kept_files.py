"""Files of capabilities in a run directory: `files/CAPABILITY/...`, as they left them.

What run.json names is read and nothing else, with the size that it has there: a file that was cut
off, exchanged for a link, or put there by somebody is noticed.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from gnomon.errors import FormatError
from gnomon.units import printable

FOLDER = "files"
SOURCES = "sources"
"""Below it the source files that `gnomon bundle` packs."""
CODE = "code"
"""Below it the code of hot functions that it packs."""
SOURCE_PLACES = "source_files"
"""Field of a run's head: the path below `files/` of each source file that was packed."""
FILES_MOST = 10_000
"""Files of one run."""
_DEPTH_MOST = 8
_NAME_MOST = 255
_REMEDY = "restore it from a copy, or measure again"


def keep(folder: Path, files: Mapping[str, Path]) -> tuple[dict[str, int], list[str]]:
    """Put files into a run directory that is being written.

    They stay where they are, too, in case it cannot be finished.

    Args:
        folder: of the run.
        files: each by its path below `files/`, as "capability/name".

    Returns:
        The size of each that was kept, as run.json has it, and what is to be said of the others.

    Raises:
        OSError: the disk refuses.
    """
    sizes: dict[str, int] = {}
    warnings = []
    for name, file in files.items():
        why = _problem(name) or ("" if len(sizes) < FILES_MOST else f"a run has {FILES_MOST} files")
        if not why and not _is_regular(file):
            why = "not a regular file"
        if why:
            warnings.append(f"{printable(name)}: not kept in the run: {why}")
            continue
        target = folder / FOLDER / name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(file, target)
        except OSError:  # another file system, or one without links
            shutil.copyfile(file, target)
        sizes[name] = target.stat().st_size
    return sizes, warnings


def _is_regular(file: Path) -> bool:
    try:
        return stat.S_ISREG(file.lstat().st_mode)
    except OSError:
        return False


def of_capability(run: Path, head: Mapping[str, Any], capability: str) -> tuple[Path, ...]:
    """Return the files that a capability left in a run, in the order of their names.

    Args:
        run: its directory.
        head: what is in its run.json.
        capability: whose.

    Raises:
        FormatError: one is missing, of another size, or none of the run.
    """
    names = sorted(head.get(FOLDER, {}))
    return tuple(
        _checked(run, name, head[FOLDER][name])
        for name in names
        if name.partition("/")[0] == capability
    )


def content(run: Path, head: Mapping[str, Any], name: str) -> bytes:
    """Return what is in a file of a run.

    Args:
        run: its directory.
        head: what is in its run.json.
        name: the file's path below `files/`, which the head has.

    Raises:
        FormatError: it is missing, of another size, or none of the run.
    """
    file = _checked(run, name, head[FOLDER][name])
    try:
        return file.read_bytes()
    except OSError as error:
        raise FormatError(file, 0, f"cannot be read: {error.strerror}; {_REMEDY}") from None


def nothing_packed(_file: str) -> bytes | None:
    """Return None: what stands for `Run.source_text` where there is no run."""
    return None


def _checked(run: Path, name: str, size: int) -> Path:
    file = run / FOLDER / name
    try:
        status = os.lstat(file)
        is_inside = file.resolve().is_relative_to((run / FOLDER).resolve())
    except OSError as error:
        raise FormatError(file, 0, f"cannot be read: {error.strerror}; {_REMEDY}") from None
    if not stat.S_ISREG(status.st_mode) or not is_inside:
        raise FormatError(file, 0, f"not a file of the run; {_REMEDY}")
    if status.st_size != size:
        end = min(status.st_size, size)
        raise FormatError(file, end, f"it has {status.st_size} bytes, not {size}; {_REMEDY}")
    return file


def problem_of(files: object) -> str:
    """Return the error in the file list of a run's head, "" if there is none."""
    if not isinstance(files, dict) or len(files) > FILES_MOST:
        return "'files' is no table of names and sizes"
    for name, size in files.items():
        if why := _problem(name):
            return f"'files' has {name[:40]!a}: {why}"
        if not isinstance(size, int) or size < 0:
            return f"'files' has no size for {name[:40]!a}"
    return ""


def _problem(name: str) -> str:
    """Return why a file cannot have a name in a run, "" if it can."""
    parts = PurePosixPath(name).parts
    if not 1 < len(parts) <= _DEPTH_MOST or "/".join(parts) != name:
        return f"its path has not 2 to {_DEPTH_MOST} names"
    for part in parts:
        if part in (".", "..") or len(part.encode(errors="replace")) > _NAME_MOST:
            return "a name in its path is none that a file can have"
        if not part.isprintable():
            return "a name in its path is not printable"
    return ""
