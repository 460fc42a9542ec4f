"""Where the source files of a run are looked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import UsageError
from gnomon.store import source_files
from gnomon.store.source_digests import Sources
from gnomon.store.source_files import Folders
from gnomon.units import printable

if TYPE_CHECKING:
    from gnomon.store.run import Run

RECORDED = "@"
"""Stands for the place that the run names, and for what the run itself has of the file."""


def sources(run: Run, places: Sequence[str] = ()) -> Sources:
    """Return the source files of a run.

    Args:
        run: the run.
        places: folders, and `RECORDED`, in the order in which they are looked through; several may
            be in one, separated by colons. () for the recorded place alone.

    Raises:
        UsageError: a folder does not exist, or has too many files.
    """
    searched: list[Folders | None] = []
    for place in source_files.listed_places(places):
        folder = Path(source_files.home_path(place))
        if place != RECORDED and not folder.is_dir():
            raise UsageError(
                printable(f"--source-path {place}: there is no such directory; {RECORDED} is the "
                          "place that the run has recorded")
            )  # fmt: skip
        searched.append(None if place == RECORDED else Folders([folder]))
    if not searched:
        return Sources(run.source_text)

    def text_of(file: str) -> bytes | None:
        for folders in searched:
            if folders is None:
                packed = run.source_text(file)
                if packed is not None or Path(file).is_file():
                    return packed
            elif (text := _text_in(folders, file)) is not None:
                return text
        return b""

    return Sources(text_of)


def _text_in(folders: Folders, file: str) -> bytes | None:
    """Return the text of the file in folders that has most of a path, None for none or several."""
    candidates = folders.candidates(file)
    if len(candidates) != 1:
        return None
    found = source_files.find(file, [file], {}, folders, choice=candidates[0])
    return None if found.text is None else found.text.encode()
