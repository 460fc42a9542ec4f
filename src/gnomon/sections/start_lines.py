"""Where sections start in the program, for those that have told no place in the source.

libhpm leaves the address of each section's first start beside its items
(native/hpm/section_staging.c).
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from gnomon.errors import GnomonError
from gnomon.symbols import Address, SourceLine, resolve_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gnomon.model.value import Unavailable

_BEGIN = "gnomon places 1\n"
_BYTES_MAX = 64 << 20
_LINE = re.compile(r"([0-9]{1,9}) ([0-9a-f]{1,16}) (/.*)")


def read_start_lines(path: Path) -> dict[int, Address]:
    """Return the address of each section by its number.

    A line that is cut off or damaged is left out: its section has no place.

    Raises:
        GnomonError: it is no such file.
        OSError: it cannot be read.
    """
    if not path.is_file():
        raise GnomonError(f"{path}: not a regular file")
    with path.open("rb") as file:
        text = os.fsdecode(file.read(_BYTES_MAX))
    if not text.startswith(_BEGIN):
        raise GnomonError(f"{path}: byte 0: it does not begin as places of sections do")
    addresses: dict[int, Address] = {}
    for line in text[len(_BEGIN) : text.rfind("\n")].split("\n"):
        match = _LINE.fullmatch(line)
        if match and "\0" not in line:
            number, offset, module = match.groups()
            addresses.setdefault(int(number), Address(module, int(offset, 16)))
    return addresses


def lines_of_processes(
    stems: Sequence[str], folder: Path, warnings: list[str]
) -> tuple[dict[str, Mapping[int, SourceLine]], tuple[Unavailable, ...]]:
    """Return the lines of each process's sections by their numbers, and why some have none.

    All processes are asked about at once: the ranks of a job have the same few addresses.
    """
    addresses: dict[str, int] = {}
    distinct: dict[tuple[tuple[int, Address], ...], int] = {}
    for stem in stems:
        path = folder / f"{stem}.hpmplaces"
        try:
            if path.exists():
                known = tuple(read_start_lines(path).items())
                addresses[stem] = distinct.setdefault(known, len(distinct))
        except OSError as error:
            warnings.append(f"lines of process {stem}: cannot be read: {error.strerror}")
        except GnomonError as error:
            warnings.append(f"lines of process {stem}: {error}")
    places, missing = resolve_lines(address for known in distinct for _, address in known)
    lines_of = [
        {number: places[address] for number, address in known if address in places}
        for known in distinct
    ]
    return {stem: lines_of[at] for stem, at in addresses.items()}, missing
