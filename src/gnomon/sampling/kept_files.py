"""The record files of kept stacks (kept_stacks.py), of which every task that keeps some has one."""

from __future__ import annotations

from gnomon.store.record_kinds import SUFFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_KIND = "stacks"


def kept_file(folder: Path, task: str) -> Path:
    """Return the file of a task in a folder."""
    return folder / f"{task}.{_KIND}{SUFFIX}"


def kept_files(folder: Path) -> dict[str, Path]:
    """Return the files of all tasks in a folder, by their names."""
    return {file.name: file for file in sorted(folder.glob(f"*.{_KIND}{SUFFIX}"))}
