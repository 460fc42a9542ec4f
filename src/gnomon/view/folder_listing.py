"""What a folder has that can be opened: runs and files, or programs and gmon.out files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from gnomon.capabilities import readers
from gnomon.errors import RunDirectoryError
from gnomon.named_tuple import NamedTuple
from gnomon.store import run_directory
from gnomon.store.regular_file import ELF, start_of
from gnomon.store.run_files import SNIFFED_BYTES
from gnomon.store.source_files import home_path

Kind = Literal["run", "file", "folder", "program", "profile"]
_ENTRIES_LIMIT = 2000


class FolderEntry(NamedTuple):
    """Something that can be opened, or a folder to look into.

    Attributes:
        changed: when it was written, in seconds since the epoch.
    """

    path: str
    name: str
    kind: Kind
    changed: float


class Listing(NamedTuple):
    """What a folder has."""

    path: str
    parent: str | None
    entries: tuple[FolderEntry, ...]
    truncated: bool


def listing(folder: str, *, profiles: bool = False) -> Listing:
    """Return the runs, files that stand for runs, and folders that a folder has, the latest first.

    Args:
        folder: its path.
        profiles: programs and gmon.out files instead of runs.

    Raises:
        RunDirectoryError: it is no folder, or cannot be read.
    """
    path = absolute_of(folder or ".")
    entries: list[FolderEntry] = []
    truncated = False
    try:
        ends = tuple(end for reader in readers() for end in reader.suffixes)
        with os.scandir(path) as found:
            for entry in found:
                kind = _profile_kind(entry) if profiles else _run_kind(entry, ends)
                if kind:
                    if len(entries) >= _ENTRIES_LIMIT:
                        truncated = True
                        break
                    entries.append(
                        FolderEntry(entry.path, _shown(entry.name), kind, entry.stat().st_mtime)
                    )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no name of a folder"
        raise RunDirectoryError(f"{path}: cannot be listed: {why}") from None
    order = {"run": 0, "program": 0, "file": 1, "profile": 1, "folder": 2}
    entries.sort(
        key=lambda one: (order[one.kind], one.name if one.kind == "folder" else "", -one.changed)
    )
    parent = os.path.dirname(path)  # noqa: PTH120
    return Listing(path, parent if parent != path else None, tuple(entries), truncated)


def absolute_of(path: str) -> str:
    """Return where a path leads that a user typed; `~name` without such a user is a name."""
    return os.path.abspath(home_path(path))  # noqa: PTH100


def _shown(name: str) -> str:
    return name.encode(errors="backslashreplace").decode()


def _run_kind(entry: os.DirEntry[str], ends: tuple[str, ...]) -> Kind | Literal[""]:
    try:
        if entry.is_dir():
            if entry.name.endswith(run_directory.SUFFIX):
                return "run" if (Path(entry.path) / "run.json").is_file() else ""
            return "" if entry.name.startswith(".") else "folder"
        return "file" if entry.name.lower().endswith(ends) and entry.is_file() else ""
    except OSError:
        return ""


def _profile_kind(entry: os.DirEntry[str]) -> Kind | Literal[""]:
    # The page's types are written before there are extensions.
    from gnomon.store.profile_files.gmon.gmon_file import is_gmon

    try:
        if entry.is_dir():
            is_hidden = entry.name.startswith(".") or entry.name.endswith(run_directory.SUFFIX)
            return "" if is_hidden else "folder"
        start = start_of(Path(entry.path), SNIFFED_BYTES)
    except OSError:
        return ""
    if start is None or not start:
        return ""
    if start.startswith(ELF):
        return "program" if os.access(entry.path, os.X_OK) and ".so" not in entry.name else ""
    return "profile" if is_gmon(start) or entry.name.startswith("gmon.") else ""
