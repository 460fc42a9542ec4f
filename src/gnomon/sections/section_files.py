"""What processes with sections left in the staging folder; of killed ones, out of the raw file."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from gnomon.errors import GnomonError
from gnomon.installation import LIBRARY_FOLDER
from gnomon.measurement.item_codec import BYTES_MAX, decoded, owner_of
from gnomon.measurement.items import RankFile


def owners_of(folder: Path, unreadable: dict[str, str]) -> dict[str, tuple[int, int, float]]:
    """Return the task and process that left something, and its begin, by what its files are called.

    Items of those that were killed are written.
    """
    owners = {}
    names = {path.name for path in folder.iterdir()}
    stems = {name.rpartition(".")[0] for name in names if name.endswith((".hpmitems", ".hpmraw"))}
    for stem in sorted(stems):
        items = folder / f"{stem}.hpmitems"
        try:
            if items.name not in names:
                _recover(folder / f"{stem}.hpmraw", items)
            owners[stem] = owner_of(_content(items), str(items))
        except (OSError, GnomonError) as error:
            unreadable[stem] = complaint(stem, error)
    return owners


def read_items(folder: Path, stem: str) -> RankFile:
    """Return the content of a process's file.

    Raises:
        OSError: it cannot be read.
        GnomonError: it is damaged.
    """
    items = folder / f"{stem}.hpmitems"
    return decoded(_content(items), str(items))[0]


def _content(items: Path) -> bytes:
    with items.open("rb") as file:
        return file.read(BYTES_MAX + 1)


def complaint(stem: str, error: OSError | GnomonError) -> str:
    """Return what is said of a process whose sections are lost."""
    why = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
    return f"sections of process {stem}: {why}"


def _recover(link: Path, items: Path) -> None:
    """Write the items of a process that was killed.

    Raises:
        GnomonError: its raw file is gone, or cannot be read.
    """
    helper = LIBRARY_FOLDER / "hpm-repair"
    raw = link.readlink() if link.is_symlink() else link
    if not raw.is_file():
        raise GnomonError(f"it ended without hpmTerminate, and its {raw} is gone")
    done = subprocess.run(
        [os.fspath(helper), "--run", str(raw), str(items)],
        check=False, capture_output=True, text=True, errors="replace",
    )  # fmt: skip
    if done.returncode:
        said = done.stderr.strip() or f"status {done.returncode}"
        raise GnomonError(f"it ended without hpmTerminate, and what it left is no use: {said}")
