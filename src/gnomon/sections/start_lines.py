"""Where sections start in the program, for those that have told no place in the source.

libhpm leaves the address of each section's first start beside its items
(native/hpm/section_staging.c).
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from gnomon.errors import GnomonError
from gnomon.symbols import Address

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
