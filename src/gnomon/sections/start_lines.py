"""Where sections start in the program, for those that have told no place in the source.

libhpm leaves the address of each section's first start beside its items
(native/hpm/section_staging.c).
"""

from __future__ import annotations

import re
from pathlib import Path

from gnomon.sections.staged_lines import read_lines, read_processes
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
    addresses: dict[int, Address] = {}
    for line in read_lines(path, _BEGIN, "places of sections", _BYTES_MAX):
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
    paths = {stem: folder / f"{stem}.hpmplaces" for stem in stems}
    distinct: dict[tuple[tuple[int, Address], ...], int] = {}
    addresses = {
        stem: distinct.setdefault(tuple(own.items()), len(distinct))
        for stem, own in read_processes(paths, read_start_lines, "lines", warnings).items()
    }
    places, missing = resolve_lines(address for known in distinct for _, address in known)
    lines_of = [
        {number: places[address] for number, address in known if address in places}
        for known in distinct
    ]
    return {stem: lines_of[at] for stem, at in addresses.items()}, missing
