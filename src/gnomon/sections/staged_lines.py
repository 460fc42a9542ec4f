"""Files of lines that libhpm leaves beside the items of each process, below a line that says what.

One that cannot be read costs a warning, never the others.
"""

from __future__ import annotations

import os
from pathlib import Path

from gnomon.errors import GnomonError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    Content = TypeVar("Content")


def read_lines(path: Path, begin: str, what: str, bytes_max: int) -> list[str]:
    """Return the whole lines of a file, without the first, which says what it is.

    Args:
        path: the file; what follows `bytes_max` is left out.
        begin: its first line, with its end.
        what: whose lines they are, for errors: `places of sections`.
        bytes_max: no file that libhpm writes is larger.

    Raises:
        GnomonError: it is no such file.
        OSError: it cannot be read.
    """
    if not path.is_file():
        raise GnomonError(f"{path}: not a regular file")
    with path.open("rb") as file:
        text = os.fsdecode(file.read(bytes_max))
    if not text.startswith(begin):
        raise GnomonError(f"{path}: byte 0: it does not begin as {what} do")
    return text[len(begin) : text.rfind("\n")].split("\n")


def read_processes(
    paths: Mapping[str, Path],
    read: Callable[[Path], Content],
    what: str,
    warnings: list[str],
) -> dict[str, Content]:
    """Return what each process left, of those that left a file that can be read.

    Args:
        paths: the file of each process, by what its files are called.
        read: reads one; OSError, GnomonError.
        what: what is missing where it cannot be, for warnings: `lines`.
        warnings: these are added to it.
    """
    contents: dict[str, Content] = {}
    for stem, path in paths.items():
        try:
            if path.exists():
                contents[stem] = read(path)
        except OSError as error:
            warnings.append(f"{what} of process {stem}: cannot be read: {error.strerror}")
        except GnomonError as error:
            warnings.append(f"{what} of process {stem}: {error}")
    return contents
